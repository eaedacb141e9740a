use crate::dtype::Dtype;
use crate::graph::samples::{every_op, random_graph};
use crate::graph::{Graph, Origin};

/// A legal beginning: the lines under test start with node %7.
const BEGIN: &str = r#"luminal graph 1
free d0 "N" max 6
free d1 "M" max 4
%0 = input "x" : f32[d0, 6]
%1 = param "w" : f32[4, 6]
%2 = state "s" : f32[d0, 6]
%3 = input "i" : i32[5]
%4 = input "b" : bool[4, 6]
%5 = input "y" : f32[d1, 6]
%6 = input "z" : f32[]
"#;

fn verified(lines: &str) -> Result<(), String> {
    let graph = Graph::parse(&format!("{BEGIN}{lines}\n")).unwrap_or_else(|error| panic!("{lines}: {error}"));
    graph.verify().map_err(|error| error.to_string())
}

#[track_caller]
fn accepts(lines: &str) {
    if let Err(error) = verified(lines) {
        panic!("{lines}: {error}");
    }
}

#[track_caller]
fn rejects(lines: &str, message: &str) {
    match verified(lines) {
        Ok(()) => panic!("{lines}: accepted, expected an error: {message}"),
        Err(error) => assert!(error.contains(message), "{lines}:\n   error: {error}\nexpected: {message}"),
    }
}

#[test]
fn legal_graphs_are_accepted() {
    every_op().verify().unwrap();
    for seed in 0..500 {
        let graph = random_graph(seed, 40);
        if let Err(error) = graph.verify() {
            panic!("seed {seed}: {error}\n{graph}");
        }
    }
    Graph::default().verify().unwrap();
    accepts("");
}

#[test]
fn the_error_names_node_operation_rule_and_origin() {
    let mut graph = Graph::parse(&format!("{BEGIN}%7 = sin %3 : i32[5]\n")).unwrap();
    let error = graph.verify().unwrap_err();
    assert_eq!(error.node, Some(7));
    assert_eq!(error.op, "sin");
    assert_eq!(error.origin, None);
    assert_eq!(error.to_string(), "node %7 (sin): the operand must be f32, it is i32");
    let origin = Origin { op: "gelu".into(), file: "src/model.rs".into(), line: 14, column: 9 };
    graph.nodes[7].origin = Some(origin.clone());
    let error = graph.verify().unwrap_err();
    assert_eq!(error.origin, Some(origin));
    let message = "node %7 (sin): the operand must be f32, it is i32; from gelu at src/model.rs:14:9";
    assert_eq!(error.to_string(), message);
    assert_eq!(crate::error::Error::from(error).to_string(), message);
}

#[test]
fn order() {
    rejects("%7 = sin %7 : f32[]", "node %7 (sin): the operand %7 must be an earlier node");
    rejects("%7 = add %6 %8 : f32[]\n%8 = const 0 : f32[]", "the operand %8 must be an earlier node");
    rejects("%7 = select %4 %1 %99 : f32[4, 6]", "the operand %99 must be an earlier node");
}

#[test]
fn free_dimensions() {
    rejects("free d2 \"N\" max 9", "free dimension: \"N\" is declared twice");
    let mut graph = every_op();
    graph.free[0].max += 1;
    let error = graph.verify().unwrap_err().to_string();
    assert_eq!(error, "node %0 (input): free dimension d0 has the bound 4 here, but 5 in the graph");
    let mut graph = every_op();
    graph.free.clear();
    let error = graph.verify().unwrap_err().to_string();
    assert_eq!(error, "node %0 (input): the result has free dimension d0, but the graph declares 0");
}

#[test]
fn size() {
    let most = isize::MAX as usize / 8;
    accepts(&format!("%7 = input \"big\" : bool[{most}]"));
    rejects(&format!("%7 = input \"big\" : bool[{}]", most + 1), "too many elements to address");
    rejects("%7 = input \"big\" : f32[4294967296, 4294967296]", "too many elements to address");
    rejects("%7 = input \"big\" : f32[0, 4294967296, 4294967296]", "too many elements to address");
}

#[test]
fn constants() {
    for value in ["0.5", "-0", "inf", "-inf", "nan", "1e-45"] {
        let exact = if value == "1e-45" { "1.401298464324817e-45" } else { value };
        accepts(&format!("%7 = const {exact} : f32[]"));
    }
    rejects("%7 = const 0.1 : f32[]", "node %7 (const): the value 0.1 is not exact in f32");
    rejects("%7 = const 1e39 : f32[]", "is not exact in f32");
    rejects("%7 = const 16777217 : f32[]", "is not exact in f32");
    accepts("%7 = const 16777217 : i32[]");
    accepts("%7 = const -2147483648 : i32[]");
    rejects("%7 = const 2147483648 : i32[]", "is not exact in i32");
    rejects("%7 = const 0.5 : i32[]", "is not exact in i32");
    rejects("%7 = const nan : i32[]", "is not exact in i32");
    accepts("%7 = const 1 : bool[]");
    rejects("%7 = const 2 : bool[]", "is not exact in bool");
    rejects("%7 = const nan : bool[]", "is not exact in bool");
    rejects("%7 = const 1 : f32[1]", "the result must have shape [], it has [1]");
}

#[test]
fn iota() {
    accepts("%7 = iota : i32[0]");
    accepts("%7 = iota : i32[d0]");
    rejects("%7 = iota : i32[]", "the result [] must have one axis");
    rejects("%7 = iota : i32[2, 3]", "the result [2, 3] must have one axis");
    rejects("%7 = iota : f32[2]", "the result must be i32, it is f32");
    rejects("%7 = iota : i32[2147483648]", "do not fit in i32");
}

#[test]
fn unary() {
    for op in ["exp2", "log2", "sin", "sqrt", "recip"] {
        accepts(&format!("%7 = {op} %0 : f32[d0, 6]"));
        rejects(&format!("%7 = {op} %3 : i32[5]"), "the operand must be f32, it is i32");
        rejects(&format!("%7 = {op} %4 : bool[4, 6]"), "the operand must be f32, it is bool");
        rejects(&format!("%7 = {op} %0 : i32[d0, 6]"), "the result must be f32, it is i32");
        rejects(&format!("%7 = {op} %0 : f32[6, 6]"), "must have shape [d0, 6], it has [6, 6]");
    }
}

#[test]
fn binary() {
    for op in ["add", "mul", "mod", "max"] {
        accepts(&format!("%7 = {op} %0 %2 : f32[d0, 6]"));
        accepts(&format!("%7 = {op} %3 %3 : i32[5]"));
        rejects(&format!("%7 = {op} %0 %0 : bool[d0, 6]"), "the result must be f32, it is bool");
        rejects(&format!("%7 = {op} %0 %0 : f32[6]"), "must have shape [d0, 6], it has [6]");
        rejects(
            &format!("%7 = {op} %0 %1 : f32[d0, 6]"),
            "operands must have equal shapes, not [d0, 6] and [4, 6]",
        );
        // Free dimensions are equal if they are the same one, whatever the bounds are.
        rejects(
            &format!("%7 = {op} %0 %5 : f32[d0, 6]"),
            "operands must have equal shapes, not [d0, 6] and [d1, 6]",
        );
        rejects(&format!("%7 = {op} %1 %4 : f32[4, 6]"), "operands must have equal types, not f32 and bool");
    }
    for op in ["mul", "max"] {
        accepts(&format!("%7 = {op} %4 %4 : bool[4, 6]"));
    }
    for op in ["add", "mod"] {
        rejects(&format!("%7 = {op} %4 %4 : bool[4, 6]"), "is not defined for bool");
    }
    accepts("%7 = less_than %0 %2 : bool[d0, 6]");
    accepts("%7 = less_than %3 %3 : bool[5]");
    accepts("%7 = less_than %4 %4 : bool[4, 6]");
    rejects("%7 = less_than %0 %2 : f32[d0, 6]", "the result must be bool, it is f32");
    rejects("%7 = less_than %1 %4 : bool[4, 6]", "operands must have equal types, not f32 and bool");
}

#[test]
fn select() {
    accepts("%7 = select %4 %1 %1 : f32[4, 6]");
    accepts("%7 = select %4 %4 %4 : bool[4, 6]");
    rejects("%7 = select %1 %1 %1 : f32[4, 6]", "the condition must be bool, it is f32");
    rejects("%7 = select %4 %0 %0 : f32[d0, 6]", "condition and first value must have equal shapes");
    rejects("%7 = select %4 %1 %0 : f32[4, 6]", "values must have equal shapes");
    rejects("%7 = select %4 %1 %4 : f32[4, 6]", "values must have equal types, not f32 and bool");
    rejects("%7 = select %4 %1 %1 : bool[4, 6]", "the result must be f32, it is bool");
    rejects("%7 = select %4 %1 %1 : f32[4]", "must have shape [4, 6], it has [4]");
}

#[test]
fn reduce() {
    for op in ["reduce_sum", "reduce_max"] {
        accepts(&format!("%7 = {op} %0 axis 0 : f32[6]"));
        accepts(&format!("%7 = {op} %0 axis 1 : f32[d0]"));
        accepts(&format!("%7 = {op} %3 axis 0 : i32[]"));
        rejects(&format!("%7 = {op} %0 axis 2 : f32[6]"), "the operand [d0, 6] has no axis 2");
        rejects(&format!("%7 = {op} %6 axis 0 : f32[]"), "the operand [] has no axis 0");
        rejects(&format!("%7 = {op} %0 axis 0 : f32[d0]"), "must have shape [6], it has [d0]");
        rejects(&format!("%7 = {op} %0 axis 0 : i32[6]"), "the result must be f32, it is i32");
    }
    accepts("%7 = reduce_max %4 axis 0 : bool[6]");
    rejects("%7 = reduce_sum %4 axis 0 : bool[6]", "bool has no sum");
}

#[test]
fn gather() {
    accepts("%7 = gather %1 %3 : f32[5, 6]");
    accepts("%7 = gather %0 %3 : f32[5, 6]");
    accepts("%7 = gather %4 %3 : bool[5, 6]");
    rejects("%7 = gather %6 %3 : f32[5]", "the table must have at least one axis");
    rejects("%7 = gather %1 %0 : f32[d0, 6, 6]", "the index must be i32, it is f32");
    rejects("%7 = gather %1 %3 : f32[5]", "must have shape [5, 6], it has [5]");
    rejects("%7 = gather %1 %3 : i32[5, 6]", "the result must be f32, it is i32");
}

#[test]
fn cast() {
    for dtype in Dtype::ALL {
        accepts(&format!("%7 = cast %0 : {dtype}[d0, 6]"));
        accepts(&format!("%7 = cast %3 : {dtype}[5]"));
        accepts(&format!("%7 = cast %4 : {dtype}[4, 6]"));
        rejects(&format!("%7 = cast %0 : {dtype}[6, 6]"), "must have shape [d0, 6], it has [6, 6]");
    }
}

#[test]
fn views_keep_the_type() {
    for line in [
        "permute %1 order [1, 0] : i32[6, 4]",
        "expand %1 axis 0 : i32[2, 4, 6]",
        "slice %1 axis 0 start 0 step 1 : i32[2, 6]",
        "pad %1 axis 0 before 0 fill 0 : i32[5, 6]",
        "split %1 axis 0 : i32[2, 2, 6]",
        "merge %1 axis 0 : i32[24]",
        "window %1 axis 0 stride 1 dilation 1 : i32[3, 2, 6]",
    ] {
        rejects(&format!("%7 = {line}"), "the result must be f32, it is i32");
        accepts(&format!("%7 = {}", line.replace("i32", "f32")));
    }
}

#[test]
fn permute() {
    accepts("%7 = permute %0 order [1, 0] : f32[6, d0]");
    accepts("%7 = permute %6 order [] : f32[]");
    for order in ["[0]", "[0, 0]", "[1, 2]", "[0, 1, 2]", "[]"] {
        rejects(&format!("%7 = permute %0 order {order} : f32[d0, 6]"), "is not a permutation of the 2 axes");
    }
    rejects("%7 = permute %0 order [1, 0] : f32[d0, 6]", "must have shape [6, d0], it has [d0, 6]");
}

#[test]
fn expand() {
    for shape in ["[d1, d0, 6]", "[0, d0, 6]", "[7, d0, 6]"] {
        accepts(&format!("%7 = expand %0 axis 0 : f32{shape}"));
    }
    accepts("%7 = expand %0 axis 2 : f32[d0, 6, 3]");
    rejects("%7 = expand %0 axis 3 : f32[d0, 6, 3]", "the new axis 3 must be at most 2");
    rejects("%7 = expand %0 axis 1 : f32[d0, 6]", "the result must have 3 axes");
    rejects("%7 = expand %0 axis 1 : f32[d0, 6, 3]", "must keep all axes of the operand [d0, 6]");
}

#[test]
fn slice() {
    accepts("%7 = slice %0 axis 1 start 0 step 1 : f32[d0, 6]");
    accepts("%7 = slice %0 axis 1 start 1 step 2 : f32[d0, 3]");
    accepts("%7 = slice %0 axis 1 start 5 step 9 : f32[d0, 1]");
    accepts("%7 = slice %0 axis 1 start 6 step 1 : f32[d0, 0]");
    rejects("%7 = slice %0 axis 2 start 0 step 1 : f32[d0, 6]", "the operand [d0, 6] has no axis 2");
    rejects("%7 = slice %0 axis 1 start 0 step 0 : f32[d0, 3]", "the step must be at least 1");
    rejects(
        "%7 = slice %0 axis 1 start 2 step 2 : f32[d0, 3]",
        "3 elements from 2 with step 2 do not fit in an axis of 6",
    );
    rejects(
        "%7 = slice %0 axis 1 start 6 step 1 : f32[d0, 1]",
        "1 elements from 6 with step 1 do not fit in an axis of 6",
    );
    let far = usize::MAX;
    rejects(
        &format!("%7 = slice %0 axis 1 start {far} step {far} : f32[d0, 3]"),
        "do not fit in an axis of 6",
    );
    rejects("%7 = slice %0 axis 1 start 0 step 1 : f32[d1, 3]", "must keep all axes of the operand [d0, 6]");
    rejects("%7 = slice %0 axis 1 start 0 step 1 : f32[d0]", "must keep all axes of the operand [d0, 6]");
    rejects(
        "%7 = slice %0 axis 1 start 0 step 1 : f32[d0, 3, 6]",
        "must keep all axes of the operand [d0, 6]",
    );
}

#[test]
fn slice_of_free_sizes() {
    // A fixed axis must hold the bound.
    accepts("%7 = slice %1 axis 1 start 0 step 1 : f32[4, d0]");
    rejects(
        "%7 = slice %1 axis 1 start 1 step 1 : f32[4, d0]",
        "6 elements from 1 with step 1 do not fit in an axis of 6",
    );
    // Elements of a free axis must exist at its bound; that they exist at run time is checked then.
    accepts("%7 = slice %0 axis 0 start 5 step 1 : f32[1, 6]");
    rejects(
        "%7 = slice %0 axis 0 start 6 step 1 : f32[1, 6]",
        "1 elements from 6 with step 1 do not fit in an axis of 6",
    );
    // All of a free axis.
    accepts("%7 = slice %0 axis 0 start 0 step 1 : f32[d0, 6]");
    rejects("%7 = slice %0 axis 0 start 1 step 1 : f32[d0, 6]", "start at 0 with step 1, not at 1 with 1");
    rejects("%7 = slice %0 axis 0 start 0 step 2 : f32[d0, 6]", "start at 0 with step 1, not at 0 with 2");
    accepts("%7 = slice %0 axis 0 start 1 step 1 : f32[d1, 6]");
}

#[test]
fn pad() {
    accepts("%7 = pad %0 axis 1 before 2 fill -inf : f32[d0, 9]");
    accepts("%7 = pad %0 axis 1 before 0 fill 0 : f32[d0, 6]");
    rejects("%7 = pad %0 axis 2 before 2 fill 0 : f32[d0, 9]", "the operand [d0, 6] has no axis 2");
    rejects(
        "%7 = pad %0 axis 1 before 2 fill 0 : f32[d0, 7]",
        "6 elements behind 2 new ones do not fit in an axis of 7",
    );
    let far = usize::MAX;
    rejects(&format!("%7 = pad %0 axis 1 before {far} fill 0 : f32[d0, 7]"), "do not fit in an axis of 7");
    rejects("%7 = pad %0 axis 1 before 0 fill 0.1 : f32[d0, 7]", "the value 0.1 is not exact in f32");
    rejects("%7 = pad %3 axis 0 before 0 fill -inf : i32[7]", "the value -inf is not exact in i32");
    rejects("%7 = pad %0 axis 1 before 0 fill 0 : f32[7, 7]", "must keep all axes of the operand [d0, 6]");
}

#[test]
fn pad_of_free_sizes() {
    accepts("%7 = pad %0 axis 0 before 2 fill 0 : f32[8, 6]");
    rejects(
        "%7 = pad %0 axis 0 before 2 fill 0 : f32[7, 6]",
        "6 elements behind 2 new ones do not fit in an axis of 7",
    );
    accepts("%7 = pad %1 axis 0 before 2 fill 0 : f32[d0, 6]");
    rejects(
        "%7 = pad %1 axis 0 before 3 fill 0 : f32[d0, 6]",
        "4 elements behind 3 new ones do not fit in an axis of 6",
    );
    accepts("%7 = pad %0 axis 0 before 0 fill 0 : f32[d0, 6]");
    rejects(
        "%7 = pad %0 axis 0 before 1 fill 0 : f32[d0, 6]",
        "an axis of d0 does not fit in d0 behind 1 more",
    );
    accepts("%7 = pad %0 axis 0 before 4 fill 0 : f32[d1, 6]");
    rejects(
        "%7 = pad %0 axis 0 before 5 fill 0 : f32[d1, 6]",
        "0 elements behind 5 new ones do not fit in an axis of 4",
    );
}

#[test]
fn split_and_merge() {
    accepts("%7 = split %0 axis 1 : f32[d0, 2, 3]");
    rejects("%7 = split %0 axis 2 : f32[d0, 6, 1]", "the operand [d0, 6] has no axis 2");
    rejects("%7 = split %0 axis 1 : f32[d0, 2, 2]", "2 times 2 is not 6");
    rejects("%7 = split %0 axis 1 : f32[d0, 6]", "must keep all axes of the operand [d0, 6]");
    rejects("%7 = split %0 axis 1 : f32[6, 2, 3]", "must keep all axes of the operand [d0, 6]");
    rejects("%7 = split %0 axis 0 : f32[d0, 1, 6]", "free dimension d0 cannot be split");
    rejects("%7 = split %1 axis 1 : f32[4, d0, 1]", "free dimension d0 cannot be split");
    accepts("%7 = merge %1 axis 0 : f32[24]");
    rejects("%7 = merge %1 axis 1 : f32[24]", "the last axis has no next one to merge with");
    rejects("%7 = merge %1 axis 2 : f32[24]", "the operand [4, 6] has no axis 2");
    rejects("%7 = merge %1 axis 0 : f32[23]", "4 times 6 is not 23");
    rejects("%7 = merge %1 axis 0 : f32[4, 6]", "must keep all axes of the operand [4, 6]");
    rejects("%7 = merge %0 axis 0 : f32[36]", "free dimension d0 cannot be split, merged");
    rejects("%7 = merge %1 axis 0 : f32[d0]", "free dimension d0 cannot be split, merged");
}

#[test]
fn window() {
    accepts("%7 = window %0 axis 1 stride 1 dilation 1 : f32[d0, 4, 3]");
    accepts("%7 = window %0 axis 1 stride 2 dilation 1 : f32[d0, 2, 3]");
    accepts("%7 = window %0 axis 1 stride 1 dilation 2 : f32[d0, 2, 3]");
    accepts("%7 = window %0 axis 1 stride 9 dilation 9 : f32[d0, 1, 1]");
    rejects("%7 = window %0 axis 2 stride 1 dilation 1 : f32[d0, 4, 3]", "the operand [d0, 6] has no axis 2");
    rejects("%7 = window %0 axis 1 stride 0 dilation 1 : f32[d0, 4, 3]", "the stride must be at least 1");
    rejects("%7 = window %0 axis 1 stride 1 dilation 0 : f32[d0, 4, 3]", "the dilation must be at least 1");
    rejects("%7 = window %0 axis 1 stride 1 dilation 1 : f32[d0, 7, 0]", "a window must have at least 1 tap");
    rejects(
        "%7 = window %0 axis 1 stride 1 dilation 1 : f32[d0, 1, 7]",
        "7 taps with dilation 1 do not fit in an axis of 6",
    );
    let far = usize::MAX;
    rejects(
        &format!("%7 = window %0 axis 1 stride 1 dilation {far} : f32[d0, 1, 3]"),
        "do not fit in an axis of 6",
    );
    for positions in [3, 5] {
        rejects(
            &format!("%7 = window %0 axis 1 stride 1 dilation 1 : f32[d0, {positions}, 3]"),
            &format!("have 4 positions in an axis of 6, not {positions}"),
        );
    }
    // Windows over a free axis must fit at its bound; that they do at run time is checked then.
    accepts("%7 = window %0 axis 0 stride 1 dilation 1 : f32[4, 3, 6]");
    accepts("%7 = window %0 axis 0 stride 1 dilation 1 : f32[d1, 3, 6]");
    accepts("%7 = window %0 axis 0 stride 1 dilation 1 : f32[d0, 1, 6]");
    accepts("%7 = window %1 axis 0 stride 1 dilation 1 : f32[d1, 1, 6]");
    rejects(
        "%7 = window %0 axis 0 stride 1 dilation 1 : f32[5, 3, 6]",
        "have 4 positions in an axis of 6, not 5",
    );
    rejects(
        "%7 = window %0 axis 0 stride 1 dilation 1 : f32[d0, 2, 6]",
        "2 taps with dilation 1 do not fit in each of d0",
    );
    rejects(
        "%7 = window %1 axis 0 stride 1 dilation 1 : f32[d1, 2, 6]",
        "have 3 positions in an axis of 4, not 4",
    );
    rejects(
        "%7 = window %0 axis 1 stride 1 dilation 1 : f32[d0, 4, d1]",
        "free dimension d1 cannot be split",
    );
    rejects(
        "%7 = window %0 axis 1 stride 1 dilation 1 : f32[d0, 4]",
        "must keep all axes of the operand [d0, 6]",
    );
}

#[test]
fn names() {
    rejects("%7 = input \"x\" : f32[]", "node %7 (input): the name \"x\" is taken by node %0 (input)");
    rejects("%7 = param \"w\" : f32[]", "node %7 (param): the name \"w\" is taken by node %1 (param)");
    rejects("%7 = state \"s\" : f32[]", "node %7 (state): the name \"s\" is taken by node %2 (state)");
    rejects("%7 = param \"x\" : f32[]", "node %7 (param): the name \"x\" is taken by node %0 (input)");
}

#[test]
fn outputs() {
    accepts("output \"a\" %0\noutput \"b\" %0");
    rejects("output \"a\" %7", "output: \"a\" refers to node %7, but there are 7");
    rejects("output \"a\" %0\noutput \"a\" %1", "output: there are two of the name \"a\"");
}

#[test]
fn writes() {
    accepts("write %2 %0");
    accepts("write %2 %2");
    rejects("write %7 %0", "write: refers to node %7, but there are 7");
    rejects("write %2 %7", "write: refers to node %7, but there are 7");
    rejects("write %0 %2", "write: the target %0 must be a state, it is input");
    rejects("write %2 %1", "state %2 and value %1 must have equal shapes, not [d0, 6] and [4, 6]");
    rejects(
        "%7 = cast %0 : i32[d0, 6]\nwrite %2 %7",
        "state %2 and value %7 must have equal types, not f32 and i32",
    );
    rejects("write %2 %0\nwrite %2 %2", "state %2 is written twice");
}

fn size_error(lines: &str, free: &[usize]) -> String {
    let graph = Graph::parse(&format!("{BEGIN}{lines}\n")).unwrap();
    graph.verify().unwrap();
    graph.check_sizes(free).map_or_else(|error| error.to_string(), |()| "fits".into())
}

#[test]
fn sizes_at_run_time() {
    assert_eq!(size_error("", &[6, 4]), "fits");
    assert_eq!(size_error("", &[0, 0]), "fits");
    assert_eq!(size_error("", &[7, 4]), "free dimension: \"N\" is 7, its bound is 6");
    assert_eq!(size_error("", &[6]), "free dimension: 1 sizes are given, the graph needs 2");
    assert_eq!(size_error("", &[1, 1, 1]), "free dimension: 3 sizes are given, the graph needs 2");

    let second = "%7 = slice %0 axis 0 start 1 step 1 : f32[1, 6]";
    assert_eq!(size_error(second, &[2, 0]), "fits");
    let message = "node %7 (slice): `N` is 1, but it must be at least 2";
    assert_eq!(size_error(second, &[1, 0]), message);

    let behind_one = "%7 = pad %5 axis 0 before 1 fill 0 : f32[d0, 6]";
    assert_eq!(size_error(behind_one, &[3, 2]), "fits");
    let message = "node %7 (pad): `M` is 2, but it must be at most `N - 1`, which is 2 - 1 = 1";
    assert_eq!(size_error(behind_one, &[2, 2]), message);

    let windows = "%7 = window %0 axis 0 stride 2 dilation 1 : f32[d1, 3, 6]";
    assert_eq!(size_error(windows, &[6, 2]), "fits");
    assert_eq!(size_error(windows, &[2, 0]), "fits");
    let message =
        "node %7 (window): `M` is 2, but it must be at most `(N - 1) / 2`, which is (4 - 1) / 2 = 1";
    assert_eq!(size_error(windows, &[4, 2]), message);
}

#[test]
fn types_that_only_store() {
    let narrow = |line: &str, dtype: &str| {
        let shape = "[d0, 6]";
        let cast = format!("%7 = cast %0 : {dtype}{shape}\n");
        cast + &line.replace("TYPE", dtype)
    };
    for (dtype, wide) in [("f16", "f32"), ("bf16", "f32"), ("u8", "i32")] {
        for moved in [
            "%8 = input \"n\" : TYPE[2]",
            "%8 = param \"n\" : TYPE[2]",
            "%8 = state \"n\" : TYPE[d0, 6]\nwrite %8 %7",
            "%8 = const 1 : TYPE[]",
            "%8 = cast %7 : bool[d0, 6]\n%9 = select %8 %7 %7 : TYPE[d0, 6]",
            "%8 = gather %7 %3 : TYPE[5, 6]",
            "%8 = permute %7 order [1, 0] : TYPE[6, d0]",
            "%8 = expand %7 axis 0 : TYPE[3, d0, 6]",
            "%8 = slice %7 axis 1 start 1 step 2 : TYPE[d0, 3]",
            "%8 = pad %7 axis 1 before 1 fill 7 : TYPE[d0, 8]",
            "%8 = split %7 axis 1 : TYPE[d0, 2, 3]\n%9 = merge %8 axis 1 : TYPE[d0, 6]",
            "%8 = window %7 axis 1 stride 1 dilation 1 : TYPE[d0, 4, 3]",
        ] {
            accepts(&narrow(moved, dtype));
        }
        let message = format!("{dtype} only stores numbers; cast the operands to {wide} to compute");
        for computed in ["add %7 %7", "max %7 %7", "sin %7", "reduce_sum %7 axis 0", "reduce_max %7 axis 1"] {
            rejects(&narrow(&format!("%8 = {computed} : TYPE[d0, 6]"), dtype), &message);
        }
        rejects(&narrow("%8 = less_than %7 %7 : bool[d0, 6]", dtype), &message);
        rejects(&narrow("%8 = gather %1 %7 : f32[d0, 6, 6]", dtype), "the index must be i32");
    }
    for op in ["add", "mul", "mod", "max"] {
        accepts(&format!("%7 = cast %3 : i64[5]\n%8 = {op} %7 %7 : i64[5]"));
    }
    accepts("%7 = cast %3 : i64[5]\n%8 = reduce_sum %7 axis 0 : i64[]\n%9 = reduce_max %7 axis 0 : i64[]");
    rejects("%7 = cast %3 : i64[5]\n%8 = sqrt %7 : i64[5]", "the operand must be f32, it is i64");
    rejects("%7 = cast %3 : i64[5]\n%8 = add %7 %3 : i64[5]", "equal types, not i64 and i32");
    rejects("%7 = const 1e17 : i64[]", "the value 1e17 is not exact in i64");
    rejects("%7 = const 0.1 : f16[]", "the value 0.1 is not exact in f16");
    rejects("%7 = const 256 : u8[]", "the value 256 is not exact in u8");
}
