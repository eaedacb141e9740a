//! What operations mean, on values where meanings differ.

mod dtypes;
mod simple;

use super::*;
use crate::dtype::Dtype;
use crate::graph::samples::{every_op, mutated};
use crate::graph::{Binary, Dim, Origin, Reduce, Unary};

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

/// Runs the lines of a graph whose inputs are `x` and, if given, `y`; the result is the last node.
fn result(lines: &str, feeds: &[(&str, Tensor)], free: &[usize]) -> Result<Tensor> {
    let graph = Graph::parse(&format!("luminal graph 1\n{lines}\n"))?;
    let feeds = feeds.iter().map(|(name, tensor)| (name.to_string(), tensor.clone())).collect();
    let evaluation = run(&graph, &feeds, free)?;
    evaluation.value(graph.nodes.len() - 1)
}

/// The last node's value, where `x` is a vector.
#[track_caller]
fn of_vector(x: impl Into<Data>, operation: &str, ty: &str) -> Data {
    let x = Tensor::vector(x);
    let lines = format!("%0 = input \"x\" : {}[{}]\n%1 = {operation} : {ty}", x.dtype(), x.shape[0]);
    result(&lines, &[("x", x)], &[]).unwrap().data
}

#[track_caller]
fn assert_f32(data: Data, expected: &[f32]) {
    let data = data.as_f32().expect("f32");
    let same = |(x, y): (&f32, &f32)| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
    assert!(
        data.len() == expected.len() && data.iter().zip(expected).all(same),
        "{data:?} is not {expected:?}"
    );
}

#[test]
fn nan_stays_in_maxima_and_compares_false() {
    let x = vec![NAN, 1.0, NAN, -INF];
    let y = vec![1.0, NAN, NAN, 2.0];
    let feeds = [("x", Tensor::vector(x)), ("y", Tensor::vector(y))];
    let inputs = "%0 = input \"x\" : f32[4]\n%1 = input \"y\" : f32[4]\n";
    let max = result(&format!("{inputs}%2 = max %0 %1 : f32[4]"), &feeds, &[]).unwrap();
    assert_f32(max.data, &[NAN, NAN, NAN, 2.0]);
    let less = result(&format!("{inputs}%2 = less_than %0 %1 : bool[4]"), &feeds, &[]).unwrap();
    assert_eq!(less.data, Data::Bool(vec![false, false, false, true]));
}

#[test]
fn nan_stays_in_reductions_wherever_it_is() {
    for place in 0..3 {
        let mut x = vec![1.0, 2.0, INF];
        x[place] = NAN;
        assert_f32(of_vector(x.clone(), "reduce_max %0 axis 0", "f32[]"), &[NAN]);
        assert_f32(of_vector(x, "reduce_sum %0 axis 0", "f32[]"), &[NAN]);
    }
    assert_f32(of_vector(vec![INF, -INF], "reduce_sum %0 axis 0", "f32[]"), &[NAN]);
    assert_f32(of_vector(vec![-INF, -INF], "reduce_max %0 axis 0", "f32[]"), &[-INF]);
    assert_f32(of_vector(vec![-3.0, -2.0], "reduce_max %0 axis 0", "f32[]"), &[-2.0]);
}

#[test]
fn empty_axes_give_the_neutral_element() {
    assert_f32(of_vector(Vec::<f32>::new(), "reduce_sum %0 axis 0", "f32[]"), &[0.0]);
    assert_f32(of_vector(Vec::<f32>::new(), "reduce_max %0 axis 0", "f32[]"), &[-INF]);
    assert_eq!(of_vector(Vec::<i32>::new(), "reduce_sum %0 axis 0", "i32[]"), Data::I32(vec![0]));
    assert_eq!(of_vector(Vec::<i32>::new(), "reduce_max %0 axis 0", "i32[]"), Data::I32(vec![i32::MIN]));
    assert_eq!(of_vector(Vec::<bool>::new(), "reduce_max %0 axis 0", "bool[]"), Data::Bool(vec![false]));
}

#[test]
fn sums_are_exact_as_long_as_binary64_is() {
    // In f32 the large number swallows each small one, and the sum of ones stops at 2^24.
    let mut x = vec![1.0f32; 1001];
    x[0] = 1e8;
    assert_f32(of_vector(x, "reduce_sum %0 axis 0", "f32[]"), &[100_001_000.0]);
    assert_f32(of_vector(vec![f32::MAX, f32::MAX, -f32::MAX], "reduce_sum %0 axis 0", "f32[]"), &[f32::MAX]);
    assert_f32(of_vector(vec![f32::MAX, f32::MAX], "reduce_sum %0 axis 0", "f32[]"), &[INF]);
    assert_f32(of_vector(vec![-0.0f32, -0.0], "reduce_sum %0 axis 0", "f32[]"), &[0.0]);
}

#[test]
fn every_operation_rounds_to_f32() {
    // 1 + 2^-24 rounds to 1; kept in binary64 the difference would survive.
    let lines = "%0 = input \"x\" : f32[]\n%1 = const 5.9604644775390625e-8 : f32[]\n%2 = const -1 : f32[]\n\
                 %3 = add %0 %1 : f32[]\n%4 = add %3 %2 : f32[]";
    assert_f32(result(lines, &[("x", Tensor::scalar(1.0f32))], &[]).unwrap().data, &[0.0]);
    // A product is rounded before it is added: no fused multiply-add.
    let lines =
        "%0 = input \"x\" : f32[]\n%1 = mul %0 %0 : f32[]\n%2 = const -1 : f32[]\n%3 = add %1 %2 : f32[]";
    let x = 1.0 + 3.0 * f32::EPSILON;
    let sum = result(lines, &[("x", Tensor::scalar(x))], &[]).unwrap().data;
    assert_f32(sum, &[x * x - 1.0]);
    assert_ne!(x * x - 1.0, x.mul_add(x, -1.0));
}

#[test]
fn integers_wrap() {
    let x = vec![i32::MAX, i32::MIN, 65536];
    assert_eq!(of_vector(x.clone(), "add %0 %0", "i32[3]"), Data::I32(vec![-2, 0, 131072]));
    assert_eq!(of_vector(x.clone(), "mul %0 %0", "i32[3]"), Data::I32(vec![1, 0, 0]));
    assert_eq!(of_vector(x, "reduce_sum %0 axis 0", "i32[]"), Data::I32(vec![65535]));
    assert_eq!(of_vector(vec![5, 0, -7], "mod %0 %0", "i32[3]"), Data::I32(vec![0, 0, 0]));
}

#[test]
fn floor_modulo() {
    let feeds = [("x", Tensor::vector(vec![7, -7, 7, -7, 5])), ("y", Tensor::vector(vec![3, 3, -3, -3, 0]))];
    let lines = "%0 = input \"x\" : i32[5]\n%1 = input \"y\" : i32[5]\n%2 = mod %0 %1 : i32[5]";
    assert_eq!(result(lines, &feeds, &[]).unwrap().data, Data::I32(vec![1, 2, -2, -1, 0]));
    let feeds = [
        ("x", Tensor::vector(vec![7.5f32, -7.5, 7.5, -7.5, 5.0])),
        ("y", Tensor::vector(vec![3.0f32, 3.0, -3.0, -3.0, 0.0])),
    ];
    let lines = lines.replace("i32", "f32");
    assert_f32(result(&lines, &feeds, &[]).unwrap().data, &[1.5, 1.5, -1.5, -1.5, NAN]);
}

#[test]
fn logic() {
    let feeds = [
        ("x", Tensor::vector(vec![false, false, true, true])),
        ("y", Tensor::vector(vec![false, true, false, true])),
    ];
    let logical = |op: &str| {
        let lines =
            format!("%0 = input \"x\" : bool[4]\n%1 = input \"y\" : bool[4]\n%2 = {op} %0 %1 : bool[4]");
        result(&lines, &feeds, &[]).unwrap().data
    };
    assert_eq!(logical("mul"), Data::Bool(vec![false, false, false, true]));
    assert_eq!(logical("max"), Data::Bool(vec![false, true, true, true]));
    assert_eq!(logical("less_than"), Data::Bool(vec![false, true, false, false]));
    assert_eq!(of_vector(vec![false, true, false], "reduce_max %0 axis 0", "bool[]"), Data::Bool(vec![true]));
}

#[test]
fn casts_saturate() {
    let x = vec![NAN, INF, -INF, 3e9, -3e9, 1.9, -1.9, -0.0, 1e-45];
    let expected = vec![0, i32::MAX, i32::MIN, i32::MAX, i32::MIN, 1, -1, 0, 0];
    assert_eq!(of_vector(x.clone(), "cast %0", "i32[9]"), Data::I32(expected));
    let expected = vec![true, true, true, true, true, true, true, false, true];
    assert_eq!(of_vector(x.clone(), "cast %0", "bool[9]"), Data::Bool(expected));
    assert_f32(of_vector(x.clone(), "cast %0", "f32[9]"), &x);
    let x = vec![16_777_217, i32::MIN, 0];
    assert_f32(of_vector(x.clone(), "cast %0", "f32[3]"), &[16_777_216.0, -2_147_483_648.0, 0.0]);
    assert_eq!(of_vector(x, "cast %0", "bool[3]"), Data::Bool(vec![true, true, false]));
    assert_f32(of_vector(vec![true, false], "cast %0", "f32[2]"), &[1.0, 0.0]);
    assert_eq!(of_vector(vec![true, false], "cast %0", "i32[2]"), Data::I32(vec![1, 0]));
}

#[test]
fn selection_does_not_mix_values() {
    let lines = "%0 = input \"x\" : f32[2]\n%1 = input \"c\" : bool[2]\n%2 = const 0 : f32[]\n\
                 %3 = expand %2 axis 0 : f32[2]\n%4 = select %1 %0 %3 : f32[2]";
    let feeds = [("x", Tensor::vector(vec![INF, NAN])), ("c", Tensor::vector(vec![false, false]))];
    assert_f32(result(lines, &feeds, &[]).unwrap().data, &[0.0, 0.0]);
}

#[test]
fn signs_of_zero_are_kept() {
    assert_f32(of_vector(vec![-0.0f32], "mul %0 %0", "f32[1]"), &[0.0]);
    assert_f32(of_vector(vec![-0.0f32], "add %0 %0", "f32[1]"), &[-0.0]);
    assert_f32(of_vector(vec![-0.0f32], "recip %0", "f32[1]"), &[-INF]);
    assert_f32(of_vector(vec![-0.0f32, 0.0], "reduce_max %0 axis 0", "f32[]"), &[0.0]);
    assert_f32(of_vector(vec![-0.0f32], "pad %0 axis 0 before 1 fill -0", "f32[2]"), &[-0.0, -0.0]);
}

#[test]
fn subnormal_numbers_are_kept() {
    let tiny = f32::from_bits(3);
    assert_f32(of_vector(vec![tiny], "add %0 %0", "f32[1]"), &[f32::from_bits(6)]);
    assert_f32(of_vector(vec![tiny], "max %0 %0", "f32[1]"), &[tiny]);
}

#[test]
fn views() {
    let x: Vec<i32> = (0..6).collect();
    let ints = |operation: &str, ty: &str| of_vector(x.clone(), operation, ty).as_i32().unwrap().to_vec();
    assert_eq!(ints("slice %0 axis 0 start 1 step 2", "i32[3]"), [1, 3, 5]);
    assert_eq!(ints("slice %0 axis 0 start 1 step 2", "i32[0]"), [0; 0]);
    assert_eq!(ints("pad %0 axis 0 before 1 fill -9", "i32[9]"), [-9, 0, 1, 2, 3, 4, 5, -9, -9]);
    assert_eq!(ints("window %0 axis 0 stride 2 dilation 1", "i32[2, 3]"), [0, 1, 2, 2, 3, 4]);
    assert_eq!(ints("window %0 axis 0 stride 1 dilation 2", "i32[2, 3]"), [0, 2, 4, 1, 3, 5]);
    assert_eq!(ints("split %0 axis 0", "i32[2, 3]"), [0, 1, 2, 3, 4, 5]);
    assert_eq!(ints("expand %0 axis 1", "i32[6, 2]"), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
    assert_eq!(ints("expand %0 axis 0", "i32[0, 6]"), [0; 0]);

    let matrix = [("x", Tensor::new(&[2, 3], x.clone()).unwrap())];
    let of_matrix = |operation: &str, ty: &str| {
        let lines = format!("%0 = input \"x\" : i32[2, 3]\n%1 = {operation} : {ty}");
        result(&lines, &matrix, &[]).unwrap().as_i32().unwrap().to_vec()
    };
    assert_eq!(of_matrix("permute %0 order [1, 0]", "i32[3, 2]"), [0, 3, 1, 4, 2, 5]);
    assert_eq!(of_matrix("merge %0 axis 0", "i32[6]"), [0, 1, 2, 3, 4, 5]);
    assert_eq!(of_matrix("reduce_sum %0 axis 0", "i32[3]"), [3, 5, 7]);
    assert_eq!(of_matrix("reduce_sum %0 axis 1", "i32[2]"), [3, 12]);
    assert_eq!(of_matrix("reduce_max %0 axis 1", "i32[2]"), [2, 5]);
}

#[test]
fn gather_takes_rows() {
    let table = Tensor::new(&[3, 2], vec![INF, 1.0, 2.0, 3.0, 4.0, NAN]).unwrap();
    let index = Tensor::new(&[2, 2], vec![2, 0, 1, 1]).unwrap();
    let lines =
        "%0 = input \"t\" : f32[3, 2]\n%1 = input \"i\" : i32[2, 2]\n%2 = gather %0 %1 : f32[2, 2, 2]";
    let gathered = result(lines, &[("t", table.clone()), ("i", index)], &[]).unwrap();
    assert_eq!(gathered.shape, [2, 2, 2]);
    assert_f32(gathered.data, &[4.0, NAN, INF, 1.0, 2.0, 3.0, 2.0, 3.0]);
    for wrong in [3, -1, i32::MIN] {
        let index = Tensor::new(&[2, 2], vec![2, 0, wrong, 1]).unwrap();
        let error = result(lines, &[("t", table.clone()), ("i", index)], &[]).unwrap_err().to_string();
        let place = "element 2 of the indices";
        assert_eq!(
            error,
            format!("node %2 (gather): index {wrong} ({place}) is not in the 3 rows of the table")
        );
    }
}

#[test]
fn a_gather_error_names_the_origin() {
    let mut graph = Graph::default();
    let table = graph.param("table", &[Dim::Fixed(3)], Dtype::F32);
    let index = graph.input("index", &[], Dtype::I32);
    let node = graph.gather(table, index);
    graph.nodes[node].origin =
        Some(Origin { op: "embedding".into(), file: "src/model.rs".into(), line: 5, column: 11 });
    let feeds = Feeds::from([
        ("table".into(), Tensor::vector(vec![1.0f32, 2.0, 3.0])),
        ("index".into(), Tensor::scalar(7)),
    ]);
    let error = run(&graph, &feeds, &[]).unwrap_err().to_string();
    assert!(error.ends_with("rows of the table; from embedding at src/model.rs:5:11"), "{error}");
}

#[test]
fn free_dimensions_have_their_run_time_size() {
    let lines = "free d0 \"N\" max 4\n%0 = input \"x\" : f32[d0]\n%1 = reduce_sum %0 axis 0 : f32[]";
    for size in 0..=4 {
        let x = Tensor::vector(vec![2.0f32; size]);
        assert_f32(result(lines, &[("x", x)], &[size]).unwrap().data, &[2.0 * size as f32]);
    }
    let x = Tensor::vector(vec![2.0f32; 5]);
    let error = result(lines, &[("x", x)], &[5]).unwrap_err().to_string();
    assert_eq!(error, "free dimension: \"N\" is 5, its bound is 4");
}

#[test]
fn feeds_are_checked() {
    let lines = "%0 = param \"w\" : f32[2]";
    let error = |feeds: &[(&str, Tensor)]| result(lines, feeds, &[]).unwrap_err().to_string();
    assert_eq!(error(&[]), "param \"w\" is missing: f32[2]");
    let message = "param \"w\" must be f32[2], given is i32[2] with 2 elements";
    assert_eq!(error(&[("w", Tensor::vector(vec![1, 2]))]), message);
    let message = "param \"w\" must be f32[2], given is f32[3] with 3 elements";
    assert_eq!(error(&[("w", Tensor::vector(vec![1.0f32, 2.0, 3.0]))]), message);
    let broken = Tensor { shape: vec![2], data: Data::F32(vec![1.0]) };
    assert_eq!(error(&[("w", broken)]), "param \"w\" must be f32[2], given is f32[2] with 1 elements");
    let unrelated = ("v", Tensor::scalar(1));
    assert!(result(lines, &[("w", Tensor::zeros(&[2], Dtype::F32)), unrelated], &[]).is_ok());
}

#[test]
fn broken_graphs_are_errors() {
    let mut graph = Graph::default();
    graph.push(Op::Unary(Unary::Sin, 0), vec![], Dtype::F32);
    let error = run(&graph, &Feeds::new(), &[]).unwrap_err().to_string();
    assert_eq!(error, "node %0 (sin): the operand %0 must be an earlier node");
    let mut graph = Graph::default();
    let one = graph.constant(1.0, Dtype::F32);
    graph.expand(one, 0, Dim::Fixed(isize::MAX as usize / 8));
    let error = run(&graph, &Feeds::new(), &[]).unwrap_err().to_string();
    assert!(error.starts_with("node %1 (expand): there is no memory for "), "{error}");
}

#[test]
fn states_are_written_in_parallel() {
    let lines = "%0 = state \"a\" : f32[]\n%1 = state \"b\" : f32[]\n%2 = state \"c\" : f32[]\n\
                 output \"old\" %0\nwrite %0 %1\nwrite %1 %0";
    let graph = Graph::parse(&format!("luminal graph 1\n{lines}\n")).unwrap();
    let feed = |name: &str, value: f32| (name.to_string(), Tensor::scalar(value));
    let feeds = Feeds::from([feed("a", 1.0), feed("b", 2.0), feed("c", 3.0)]);
    let evaluation = run(&graph, &feeds, &[]).unwrap();
    assert_eq!(evaluation.states, Feeds::from([feed("a", 2.0), feed("b", 1.0), feed("c", 3.0)]));
    assert_eq!(evaluation.outputs, [Tensor::scalar(1.0f32)]);
}

#[test]
fn any_node_can_be_asked_for() {
    let graph = every_op();
    let free = [3, 5];
    let feeds = random_feeds(&graph, &free, 1).unwrap();
    let evaluation = run(&graph, &feeds, &free).unwrap();
    for (id, node) in graph.nodes.iter().enumerate() {
        let value = evaluation.value(id).unwrap();
        assert_eq!(value.shape, graph.sizes(id, &free));
        assert_eq!(value.dtype(), node.dtype);
    }
    for ((_, node), output) in graph.outputs.iter().zip(&evaluation.outputs) {
        assert!(compare(output, &evaluation.value(*node).unwrap(), Tolerance::EXACT).is_ok());
    }
    let count = graph.nodes.len();
    let error = evaluation.value(count).unwrap_err().to_string();
    assert_eq!(error, format!("there is no node %{count}, the graph has {count} nodes"));
}

/// `[m, k] x [k, n]` as a sum of an expanded product.
fn matmul(m: usize, k: usize, n: usize) -> Graph {
    let mut graph = Graph::default();
    let [m, k, n] = [m, k, n].map(Dim::Fixed);
    let x = graph.input("x", &[m, k], Dtype::F32);
    let w = graph.param("w", &[k, n], Dtype::F32);
    let x = graph.expand(x, 2, n);
    let w = graph.expand(w, 0, m);
    let product = graph.binary(Binary::Mul, x, w);
    let sum = graph.reduce(Reduce::Sum, product, 1);
    graph.outputs.push(("y".into(), sum));
    graph
}

#[test]
fn large_products_are_not_stored_and_mean_the_same() {
    let graph = matmul(20, 300, 200);
    let feeds = random_feeds(&graph, &[], 1).unwrap();
    let evaluation = run(&graph, &feeds, &[]).unwrap();
    assert!(!evaluation.values.is_stored(4), "1.2 million products");
    assert!(evaluation.values.is_stored(5));
    let stored = run_with_limit(&graph, &feeds, &[], usize::MAX).unwrap();
    assert!(stored.values.is_stored(4));
    assert_eq!(evaluation.outputs, stored.outputs);
    assert_eq!(evaluation.value(4).unwrap(), stored.value(4).unwrap());
    let (x, w) = (feeds["x"].as_f32().unwrap(), feeds["w"].as_f32().unwrap());
    let y = evaluation.outputs[0].as_f32().unwrap();
    for (row, column) in [(0, 0), (7, 123), (19, 199)] {
        let sum: f64 = (0..300).map(|k| f64::from(x[row * 300 + k] * w[k * 200 + column])).sum();
        assert_eq!(y[row * 200 + column], sum as f32);
    }
}

#[test]
fn chains_of_values_that_are_not_stored_are_cut() {
    let mut graph = Graph::default();
    let mut node = graph.input("x", &[Dim::Fixed(2)], Dtype::F32);
    for _ in 0..20_000 {
        node = graph.unary(Unary::Recip, node);
    }
    graph.reduce(Reduce::Sum, node, 0);
    let feeds = Feeds::from([("x".into(), Tensor::vector(vec![4.0f32, 2.0]))]);
    let evaluation = run_with_limit(&graph, &feeds, &[], 0).unwrap();
    assert_f32(evaluation.value(20_001).unwrap().data, &[6.0]);
}

#[test]
fn what_is_asked_for_repeatedly_is_stored() {
    let mut graph = Graph::default();
    let x = graph.input("x", &[Dim::Fixed(8)], Dtype::F32);
    let expensive = graph.unary(Unary::Sin, x);
    let repeated = graph.expand(expensive, 0, Dim::Fixed(4));
    let twice = graph.binary(Binary::Mul, repeated, repeated);
    let once = graph.unary(Unary::Exp2, twice);
    let sum = graph.reduce(Reduce::Sum, once, 0);
    let rows = graph.unary(Unary::Sin, sum);
    let index = graph.input("index", &[Dim::Fixed(2)], Dtype::I32);
    let gathered = graph.gather(rows, index);
    let returned = graph.unary(Unary::Sin, gathered);
    graph.outputs.push(("y".into(), returned));
    let feeds = random_feeds(&graph, &[], 1).unwrap();
    let evaluation = run_with_limit(&graph, &feeds, &[], 0).unwrap();
    for node in [expensive, repeated, sum, rows, gathered, returned] {
        assert!(evaluation.values.is_stored(node), "node %{node}");
    }
    for node in [twice, once] {
        assert!(!evaluation.values.is_stored(node), "node %{node}");
    }
}

#[test]
fn whatever_passes_verification_can_be_run() {
    let mut random = SplitMix64::new(4);
    let text = every_op().to_string();
    let (mut finished, mut changed) = (0, 0);
    for _ in 0..5000 {
        let hostile = mutated(&text, &mut random);
        let Ok(graph) = Graph::parse(&hostile) else { continue };
        let free: Vec<usize> = graph.free.iter().map(|dim| dim.max.min(5)).collect();
        let elements = |id| graph.sizes(id, &free).into_iter().try_fold(1usize, usize::checked_mul);
        let small =
            graph.verify().is_ok() && (0..graph.nodes.len()).all(|id| elements(id).is_some_and(|n| n < 1000));
        if !small {
            continue;
        }
        // Errors are welcome: indices may be out of range, sizes may not fit.
        if let Ok(feeds) = random_feeds(&graph, &free, 1)
            && run(&graph, &feeds, &free).is_ok()
        {
            finished += 1;
            changed += usize::from(graph.to_string() != text);
        }
    }
    assert!(finished > 100 && changed > 50, "{finished} runs, {changed} of them of graphs that were changed");
}
