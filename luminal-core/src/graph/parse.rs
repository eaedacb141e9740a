//! Reading the text form of a graph. The text may come from anywhere: every mistake is an error with its line.
//!
//! Parsing checks the form only; [`Graph::verify`] checks the meaning.

use super::text::HEADER;
use super::{Binary, Dim, FreeDim, Graph, Node, NodeId, Op, Reduce, Relation, Rule, Term, Unary};
use crate::dtype::Dtype;
use std::fmt::{self, Display, Formatter};

/// Why a text is not a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// What was expected and what is there.
    pub message: String,
}

impl Display for ParseError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of a graph: {}", self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

impl From<ParseError> for crate::error::Error {
    fn from(error: ParseError) -> crate::error::Error {
        crate::error::Error::new(error.to_string())
    }
}

impl Graph {
    /// Reads the text form: the inverse of `to_string`, except that nodes have no origin. Empty lines are skipped, and
    /// so are lines that start with `#`.
    ///
    /// The result is a graph in form only: call [`Graph::verify`] before using one that comes from elsewhere.
    pub fn parse(text: &str) -> Result<Graph, ParseError> {
        let mut graph = Graph::default();
        let mut header_seen = false;
        let mut last_line = 1;
        for (number, line) in text.lines().enumerate() {
            last_line = number + 1;
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let result = if header_seen {
                parse_line(line, &mut graph)
            } else {
                header_seen = true;
                check_header(line)
            };
            result.map_err(|message| ParseError { line: last_line, message })?;
        }
        if !header_seen {
            return Err(ParseError {
                line: last_line,
                message: format!("expected `{HEADER}`, found nothing"),
            });
        }
        Ok(graph)
    }
}

fn check_header(line: &str) -> Result<(), String> {
    if line == HEADER { Ok(()) } else { Err(format!("expected `{HEADER}`, found `{}`", shortened(line))) }
}

fn parse_line(line: &str, graph: &mut Graph) -> Result<(), String> {
    let mut cursor = Cursor { rest: line };
    if line.starts_with('%') {
        let number = cursor.node()?;
        if number != graph.nodes.len() {
            return Err(format!("expected node %{}, found %{number}", graph.nodes.len()));
        }
        cursor.symbol('=')?;
        let node = parse_node(&mut cursor, &graph.free)?;
        graph.nodes.push(node);
    } else {
        match cursor.word()? {
            "free" => {
                let name = cursor.word()?;
                let expected = format!("d{}", graph.free.len());
                if name != expected {
                    return Err(format!("expected free dimension `{expected}`, found `{}`", shortened(name)));
                }
                let name = cursor.name()?;
                let max = cursor.field("max")?;
                graph.free.push(FreeDim { name, max });
            }
            "relation" => {
                let relation = cursor.relation(&graph.free)?;
                graph.relations.push(relation);
            }
            "output" => {
                let name = cursor.name()?;
                graph.outputs.push((name, cursor.node()?));
            }
            "write" => {
                let state = cursor.node()?;
                graph.writes.push((state, cursor.node()?));
            }
            "tied" => {
                let field = cursor.name()?;
                graph.ties.push((field, cursor.name()?));
            }
            word => {
                let found = shortened(word);
                return Err(format!(
                    "expected `free`, `relation`, `%`, `output` or `write`, found `{found}`"
                ));
            }
        }
    }
    cursor.end()
}

fn parse_node(cursor: &mut Cursor<'_>, free: &[FreeDim]) -> Result<Node, String> {
    let op = parse_op(cursor)?;
    cursor.symbol(':')?;
    let word = cursor.word()?;
    let dtype =
        Dtype::from_name(word).ok_or_else(|| format!("`{}` is not an element type", shortened(word)))?;
    let shape = cursor.list(|cursor| cursor.dim(free))?;
    Ok(Node { op, shape, dtype, origin: None })
}

fn parse_op(cursor: &mut Cursor<'_>) -> Result<Op, String> {
    let name = cursor.word()?;
    if let Some(op) = Unary::ALL.into_iter().find(|op| op.name() == name) {
        return Ok(Op::Unary(op, cursor.node()?));
    }
    if let Some(op) = Binary::ALL.into_iter().find(|op| op.name() == name) {
        return Ok(Op::Binary(op, cursor.node()?, cursor.node()?));
    }
    if let Some(op) = Reduce::ALL.into_iter().find(|op| op.name() == name) {
        return Ok(Op::Reduce(op, cursor.node()?, cursor.field("axis")?));
    }
    // The fields of a struct expression are read in the order in which they are written.
    Ok(match name {
        "input" => Op::Input(cursor.name()?),
        "param" => Op::Param(cursor.name()?),
        "state" => Op::State(cursor.name()?),
        "const" => Op::Const(cursor.number()?),
        "iota" => Op::Iota,
        "select" => Op::Select(cursor.node()?, cursor.node()?, cursor.node()?),
        "gather" => Op::Gather(cursor.node()?, cursor.node()?),
        "cast" => Op::Cast(cursor.node()?),
        "permute" => {
            let x = cursor.node()?;
            cursor.keyword("order")?;
            Op::Permute(x, cursor.list(Cursor::integer)?)
        }
        "expand" => Op::Expand(cursor.node()?, cursor.field("axis")?),
        "slice" => Op::Slice {
            x: cursor.node()?,
            axis: cursor.field("axis")?,
            start: cursor.field("start")?,
            step: cursor.field("step")?,
        },
        "pad" => {
            let x = cursor.node()?;
            let axis = cursor.field("axis")?;
            let before = cursor.field("before")?;
            cursor.keyword("fill")?;
            Op::Pad { x, axis, before, fill: cursor.number()? }
        }
        "split" => Op::Split(cursor.node()?, cursor.field("axis")?),
        "merge" => Op::Merge(cursor.node()?, cursor.field("axis")?),
        "window" => Op::Window {
            x: cursor.node()?,
            axis: cursor.field("axis")?,
            stride: cursor.field("stride")?,
            dilation: cursor.field("dilation")?,
        },
        _ => return Err(format!("`{}` is not an operation", shortened(name))),
    })
}

/// What is left of a line.
struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    /// What is left, without leading spaces.
    fn peek(&mut self) -> &'a str {
        self.rest = self.rest.trim_start_matches(' ');
        self.rest
    }

    /// The longest beginning of these characters; may be empty.
    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let rest = self.peek();
        let end = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        let (taken, rest) = rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn expected<T>(&mut self, what: &str) -> Result<T, String> {
        let rest = self.peek();
        let found =
            if rest.is_empty() { "the end of the line".into() } else { format!("`{}`", shortened(rest)) };
        Err(format!("expected {what}, found {found}"))
    }

    fn end(&mut self) -> Result<(), String> {
        if self.peek().is_empty() { Ok(()) } else { self.expected("the end of the line") }
    }

    fn symbol(&mut self, symbol: char) -> Result<(), String> {
        match self.peek().strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => self.expected(&format!("`{symbol}`")),
        }
    }

    fn word(&mut self) -> Result<&'a str, String> {
        let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        if word.is_empty() { self.expected("a word") } else { Ok(word) }
    }

    fn keyword(&mut self, keyword: &str) -> Result<(), String> {
        let before = self.rest;
        if self.word().is_ok_and(|word| word == keyword) {
            return Ok(());
        }
        self.rest = before;
        self.expected(&format!("`{keyword}`"))
    }

    fn integer(&mut self) -> Result<usize, String> {
        let digits = self.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            return self.expected("a number");
        }
        digits.parse().map_err(|_| format!("`{}` is too large", shortened(digits)))
    }

    /// A keyword and an integer.
    fn field(&mut self, keyword: &str) -> Result<usize, String> {
        self.keyword(keyword)?;
        self.integer()
    }

    fn node(&mut self) -> Result<NodeId, String> {
        self.symbol('%')?;
        self.integer()
    }

    fn dim(&mut self, free: &[FreeDim]) -> Result<Dim, String> {
        let Some(rest) = self.peek().strip_prefix('d') else {
            return self.integer().map(Dim::Fixed);
        };
        self.rest = rest;
        let index = self.integer()?;
        match free.get(index) {
            Some(dim) => Ok(Dim::Free { index, max: dim.max }),
            None => Err(format!("free dimension `d{index}` is not declared above")),
        }
    }

    /// `d2 = d0 + 3 * d1 - 2`, `d1 <= (d0 + 1) / 2`.
    fn relation(&mut self, free: &[FreeDim]) -> Result<Relation, String> {
        let left = self.dim(free)?;
        let rule = if self.accept("<=") {
            Rule::AtMost
        } else {
            self.symbol('=')?;
            Rule::Equal
        };
        let divided = self.accept("(");
        let (terms, plus) = self.sum(free)?;
        let over = if divided {
            self.symbol(')')?;
            self.symbol('/')?;
            self.integer()?
        } else {
            1
        };
        Ok(Relation { left, rule, terms: terms.into(), plus, over, origin: None })
    }

    /// Multiples of free dimensions, then perhaps a number.
    fn sum(&mut self, free: &[FreeDim]) -> Result<(Vec<Term>, i64), String> {
        let mut terms = vec![];
        loop {
            let factor = if self.peek().starts_with('d') { None } else { Some(self.integer()?) };
            if let Some(number) = factor
                && !self.accept("*")
            {
                let number = i64::try_from(number).map_err(|_| format!("`{number}` is too large"))?;
                return Ok((terms, number));
            }
            let Dim::Free { index, .. } = self.dim(free)? else { return self.expected("a free dimension") };
            terms.push(Term { factor: factor.unwrap_or(1), free: index });
            if self.accept("-") {
                let number = self.integer()?;
                let number = i64::try_from(number).map_err(|_| format!("`{number}` is too large"))?;
                return Ok((terms, -number));
            }
            if !self.accept("+") {
                return Ok((terms, 0));
            }
        }
    }

    /// Takes this text if it comes next.
    fn accept(&mut self, text: &str) -> bool {
        match self.peek().strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Result<T, String>) -> Result<Vec<T>, String> {
        self.symbol('[')?;
        let mut items = vec![];
        if self.peek().starts_with(']') {
            self.symbol(']')?;
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if !self.peek().starts_with(',') {
                self.symbol(']')?;
                return Ok(items);
            }
            self.symbol(',')?;
        }
    }

    fn number(&mut self) -> Result<f64, String> {
        let text = self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.'));
        let special = match text {
            "nan" => Some(f64::NAN),
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            "" => return self.expected("a number"),
            _ => None,
        };
        // A number too large for binary64 would become infinite, and words such as `infinity` are not in this form.
        let value = special.or_else(|| text.parse().ok().filter(|value: &f64| value.is_finite()));
        value.ok_or_else(|| format!("`{}` is not a number", shortened(text)))
    }

    /// A name in quotes, with the escapes that `char::escape_default` writes.
    fn name(&mut self) -> Result<String, String> {
        if self.symbol('"').is_err() {
            return self.expected("a name in quotes");
        }
        let unclosed = || "a name has no closing quote".to_string();
        let mut name = String::new();
        loop {
            let c = self.character().ok_or_else(unclosed)?;
            match c {
                '"' => return Ok(name),
                '\\' => name.push(self.escape()?),
                c => name.push(c),
            }
        }
    }

    /// The next character, a space too.
    fn character(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    /// What follows a backslash.
    fn escape(&mut self) -> Result<char, String> {
        match self.character() {
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some(c @ ('"' | '\'' | '\\')) => Ok(c),
            Some('u') => {
                let body = self.rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
                let (digits, rest) = body.ok_or("an escape `\\u` needs its number in braces")?;
                self.rest = rest;
                let hexadecimal = digits.len() <= 6 && digits.chars().all(|c| c.is_ascii_hexdigit());
                let code = u32::from_str_radix(digits, 16).ok().filter(|_| hexadecimal);
                let character = code.and_then(char::from_u32);
                character.ok_or_else(|| format!("`\\u{{{}}}` is not a character", shortened(digits)))
            }
            Some(c) => Err(format!("unknown escape `\\{c}` in a name")),
            None => Err("a name ends in a backslash".into()),
        }
    }
}

/// The beginning of a text, for messages.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::samples::{every_op, mutated, random_graph};
    use crate::reference::SplitMix64;

    fn parse_error(text: &str) -> String {
        Graph::parse(text).expect_err(text).to_string()
    }

    /// The error of one line after a legal beginning.
    fn line_error(line: &str) -> String {
        let error =
            parse_error(&format!("{HEADER}\nfree d0 \"N\" max 4\n%0 = input \"x\" : f32[d0, 2]\n{line}\n"));
        error.strip_prefix("line 4 of a graph: ").unwrap_or_else(|| panic!("{error}")).to_string()
    }

    #[test]
    fn every_op_comes_back() {
        let graph = every_op();
        let text = graph.to_string();
        assert!(text.is_ascii());
        assert_eq!(Graph::parse(&text), Ok(graph));
    }

    #[test]
    fn random_graphs_come_back() {
        for seed in 0..200 {
            let graph = random_graph(seed, 30);
            assert_eq!(Graph::parse(&graph.to_string()), Ok(graph));
        }
    }

    #[test]
    fn origins_are_left_out() {
        let mut graph = every_op();
        graph.nodes[0].origin =
            Some(crate::graph::Origin { op: "relu".into(), file: "a".into(), line: 1, column: 1 });
        assert_eq!(Graph::parse(&graph.to_string()), Ok(every_op()));
    }

    #[test]
    fn nan_comes_back() {
        let mut graph = Graph::default();
        graph.constant(f64::NAN, Dtype::F32);
        let again = Graph::parse(&graph.to_string()).unwrap();
        assert!(matches!(again.nodes[0].op, Op::Const(value) if value.is_nan()));
        assert_eq!(again.to_string(), graph.to_string());
    }

    #[test]
    fn every_double_comes_back() {
        let mut random = SplitMix64::new(1);
        for _ in 0..20_000 {
            let value = f64::from_bits(random.next_u64());
            let mut graph = Graph::default();
            graph.constant(value, Dtype::F32);
            let again = Graph::parse(&graph.to_string()).unwrap();
            let Op::Const(read) = again.nodes[0].op else { panic!("not a constant") };
            assert!(read.to_bits() == value.to_bits() || (read.is_nan() && value.is_nan()), "{value:e}");
        }
    }

    #[test]
    fn comments_and_spacing_do_not_matter() {
        let text = "\n# a comment\nluminal graph 1\r\n\n  %0=iota:i32[ 3 ]  \n# end";
        let mut graph = Graph::default();
        graph.iota(Dim::Fixed(3));
        assert_eq!(Graph::parse(text), Ok(graph));
    }

    #[test]
    fn errors_name_the_line_and_what_is_wrong() {
        assert_eq!(parse_error(""), "line 1 of a graph: expected `luminal graph 1`, found nothing");
        assert_eq!(
            parse_error("\nluminal graph 2"),
            "line 2 of a graph: expected `luminal graph 1`, found `luminal graph 2`"
        );
        let cases = [
            ("hello", "expected `free`, `relation`, `%`, `output` or `write`, found `hello`"),
            ("?", "expected a word, found `?`"),
            ("%2 = iota : i32[1]", "expected node %1, found %2"),
            ("%1 iota : i32[1]", "expected `=`, found `iota : i32[1]`"),
            ("%1 = conv %0 : f32[1]", "`conv` is not an operation"),
            ("%1 = iota : f64[1]", "`f64` is not an element type"),
            ("%1 = iota : i32[d1]", "free dimension `d1` is not declared above"),
            ("%1 = iota : i32[1", "expected `]`, found the end of the line"),
            ("%1 = iota : i32[1] 2", "expected the end of the line, found `2`"),
            ("%1 = iota : i32[99999999999999999999]", "`99999999999999999999` is too large"),
            ("%1 = iota : i32[-1]", "expected a number, found `-1]`"),
            ("%1 = sin 0 : f32[d0, 2]", "expected `%`, found `0 : f32[d0, 2]`"),
            ("%1 = reduce_sum %0 : f32[2]", "expected `axis`, found `: f32[2]`"),
            ("%1 = permute %0 order 1 : f32[2]", "expected `[`, found `1 : f32[2]`"),
            ("%1 = const 1e999 : f32[]", "`1e999` is not a number"),
            ("%1 = const infinity : f32[]", "`infinity` is not a number"),
            ("%1 = const : f32[]", "expected a number, found `: f32[]`"),
            ("%1 = input x : f32[]", "expected a name in quotes, found `x : f32[]`"),
            ("%1 = input \"x : f32[]", "a name has no closing quote"),
            ("%1 = input \"\\q\" : f32[]", "unknown escape `\\q` in a name"),
            ("%1 = input \"\\u{d800}\" : f32[]", "`\\u{d800}` is not a character"),
            ("%1 = input \"\\u{+1}\" : f32[]", "`\\u{+1}` is not a character"),
            ("%1 = input \"\\u{0000041}\" : f32[]", "`\\u{0000041}` is not a character"),
            ("%1 = input \"\\u41\" : f32[]", "an escape `\\u` needs its number in braces"),
            ("%1 = input \"\\", "a name ends in a backslash"),
            ("free d0 \"M\" max 4", "expected free dimension `d1`, found `d0`"),
            ("free d1 \"M\" 4", "expected `max`, found `4`"),
            ("output \"y\" 0", "expected `%`, found `0`"),
            ("write %0", "expected `%`, found the end of the line"),
        ];
        for (line, message) in cases {
            assert_eq!(line_error(line), message, "{line}");
        }
    }

    #[test]
    fn hostile_text_gives_an_error_or_a_graph_that_comes_back() {
        let mut random = SplitMix64::new(2);
        let text = every_op().to_string();
        let mut accepted = 0;
        for _ in 0..20_000 {
            let hostile = mutated(&text, &mut random);
            if let Ok(graph) = Graph::parse(&hostile) {
                accepted += 1;
                let canonical = graph.to_string();
                assert_eq!(Graph::parse(&canonical).map(|graph| graph.to_string()), Ok(canonical));
                // Whatever was read, checking it must not panic either.
                let _ = graph.verify();
            }
        }
        assert!(accepted > 100, "mutations were all rejected by the first check: {accepted}");
    }
}
