//! A plan as Rust source: what the program of the user includes.

use super::{
    Access, Buffer, CudaLaunch, Digit, Dim, Free, GridAxis, Isa, Kernel, Launch, Origin, Packing, Param,
    Place, Plan, Port, Relation, Rule, Term,
};
use crate::dtype::Dtype;
use std::fmt::Write;

/// Where the program finds the generated texts, which are included from files.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// The environment variable that names their folder when the program is compiled: `OUT_DIR` in a build script.
    pub folder: &'a str,
    /// File name of the PTX module; none if the plan has none. The files of [`Plan::sources`] have their own names.
    pub ptx: Option<&'a str>,
}

/// The Rust source of the item `pub static PLAN`, to be included in the program.
///
/// `symbols` has an entry for each kernel: its compiled versions, best first. Where these are foreign functions,
/// linking them is the caller's part. Texts go into the binary through `include_str!` and stay there.
///
/// # Panics
/// If `symbols` does not have one entry for each kernel.
pub fn emit(plan: &Plan, symbols: &[Vec<(Isa, String)>], files: &Files<'_>) -> String {
    assert_eq!(symbols.len(), plan.kernels.len(), "one list of symbols for each kernel");
    let mut source = Source { text: String::new(), depth: 1 };
    source.text +=
        &format!("// Written by the build of the model `{}`. Do not edit.\n", plan.model.escape_debug());
    source.text += "::luminal::rt::embed_plan! {\n";
    let mut names: Vec<&str> = vec![];
    for (_, symbol) in symbols.iter().flatten() {
        // Kernels may share a version, but it is declared once.
        if !names.contains(&&symbol[..]) {
            names.push(symbol);
        }
    }
    source.line(format_args!("kernels: [{}],", names.join(", ")));
    let include =
        |file: &str| format!("include_str!(concat!(env!({:?}), {:?}))", files.folder, format!("/{file}"));
    let ptx = files.ptx.map(&include);
    let c_texts: Vec<String> = plan.sources.iter().map(|source| include(&source.name)).collect();
    source.open("kept: [");
    for text in ptx.iter().chain(&c_texts) {
        source.line(format_args!("{text},"));
    }
    source.close("],");
    source.open("plan: Plan {");
    source.field("model", text(&plan.model));
    source.list("free", plan.free.iter().map(free));
    source.list("relations", plan.relations.iter().map(relation));
    source.list("inputs", plan.inputs.iter().map(port));
    source.list("outputs", plan.outputs.iter().map(port));
    source.list("states", plan.states.iter().map(port));
    source.list("params", plan.params.iter().map(param));
    source.list("buffers", plan.buffers.iter().map(buffer));
    source.list("kernels", plan.kernels.iter().zip(symbols).map(|(k, symbols)| kernel(k, symbols)));
    source.list("load", plan.load.iter().map(launch));
    source.list("run", plan.run.iter().map(launch));
    source.list("writes", plan.writes.iter().map(|(from, to)| format!("({from}, {to})")));
    source.field("arena", plan.arena.to_string());
    source.field("weights", plan.weights.to_string());
    source.field("state", plan.state.to_string());
    source.field("ptx", format!("Cow::Borrowed({})", ptx.unwrap_or_else(|| "\"\"".into())));
    let sources = plan.sources.iter().zip(&c_texts);
    source.list(
        "sources",
        sources.map(|(source, include)| {
            format!("Source {{ name: {}, text: Cow::Borrowed({include}) }}", text(&source.name))
        }),
    );
    source.close("},");
    source.text += "}\n";
    source.text
}

/// Text with indentation.
struct Source {
    text: String,
    depth: usize,
}

impl Source {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        let indent = self.depth * 4;
        // Writing to a `String` does not fail.
        let _ = writeln!(self.text, "{:indent$}{line}", "");
    }

    fn open(&mut self, line: &str) {
        self.line(format_args!("{line}"));
        self.depth += 1;
    }

    fn close(&mut self, line: &str) {
        self.depth -= 1;
        self.line(format_args!("{line}"));
    }

    fn field(&mut self, name: &str, value: String) {
        self.line(format_args!("{name}: {value},"));
    }

    /// A field that is a list, one entry a line.
    fn list(&mut self, name: &str, entries: impl Iterator<Item = String>) {
        let entries: Vec<String> = entries.collect();
        if entries.is_empty() {
            return self.field(name, "Cow::Borrowed(&[])".into());
        }
        self.open(&format!("{name}: Cow::Borrowed(&["));
        for entry in entries {
            self.line(format_args!("{entry},"));
        }
        self.close("]),");
    }
}

fn text(text: &str) -> String {
    format!("Cow::Borrowed({text:?})")
}

fn list<T>(entries: &[T], entry: impl FnMut(&T) -> String) -> String {
    let entries: Vec<String> = entries.iter().map(entry).collect();
    format!("Cow::Borrowed(&[{}])", entries.join(", "))
}

fn dtype(dtype: Dtype) -> String {
    format!("Dtype::{dtype:?}")
}

fn free(free: &Free) -> String {
    format!("Free {{ name: {}, max: {} }}", text(&free.name), free.max)
}

fn relation(relation: &Relation) -> String {
    let rule = if relation.rule == Rule::Equal { "Equal" } else { "AtMost" };
    let term = |Term { factor, free }: &Term| format!("Term {{ factor: {factor}, free: {free} }}");
    let origin = |Origin { op, file, line, column }: &Origin| {
        let (op, file) = (text(op), text(file));
        format!("Some(Origin {{ op: {op}, file: {file}, line: {line}, column: {column} }})")
    };
    format!(
        "Relation {{ left: {}, rule: Rule::{rule}, terms: {}, plus: {}, over: {}, origin: {} }}",
        dim(&relation.left),
        list(&relation.terms, term),
        relation.plus,
        relation.over,
        relation.origin.as_ref().map_or("None".into(), origin)
    )
}

fn dim(dim: &Dim) -> String {
    match dim {
        Dim::Fixed(size) => format!("Dim::Fixed({size})"),
        Dim::Free { index, max } => format!("Dim::Free {{ index: {index}, max: {max} }}"),
    }
}

fn port(port: &Port) -> String {
    format!(
        "Port {{ name: {}, dtype: {}, shape: {}, buffer: {} }}",
        text(&port.name),
        dtype(port.dtype),
        list(&port.shape, dim),
        port.buffer
    )
}

fn digit(digit: &Digit) -> String {
    let size = if digit.size == usize::MAX { "usize::MAX".into() } else { digit.size.to_string() };
    format!("Digit {{ size: {size}, stride: {} }}", digit.stride)
}

fn packing(packing: &Packing) -> String {
    let storage = list(&packing.storage, |digits| list(digits, digit));
    format!("Packing {{ buffer: {}, storage: {storage} }}", packing.buffer)
}

fn param(param: &Param) -> String {
    format!(
        "Param {{ name: {}, aliases: {}, dtype: {}, shape: {}, packings: {} }}",
        text(&param.name),
        list(&param.aliases, |alias| text(alias)),
        dtype(param.dtype),
        list(&param.shape, usize::to_string),
        list(&param.packings, packing)
    )
}

fn buffer(buffer: &Buffer) -> String {
    let place = match buffer.place {
        Place::Input(number) => format!("Place::Input({number})"),
        Place::Output(number) => format!("Place::Output({number})"),
        Place::Weights(offset) => format!("Place::Weights({offset})"),
        Place::State(offset) => format!("Place::State({offset})"),
        Place::Arena(offset) => format!("Place::Arena({offset})"),
    };
    format!("Buffer {{ place: {place}, bytes: {} }}", buffer.bytes)
}

fn grid(grid: &[GridAxis]) -> String {
    list(grid, |axis| format!("GridAxis {{ size: {}, block: {} }}", dim(&axis.size), axis.block))
}

fn isa(isa: Isa) -> &'static str {
    match isa {
        Isa::Baseline => "Isa::Baseline",
        Isa::X86V3 => "Isa::X86V3",
    }
}

fn kernel(kernel: &Kernel, symbols: &[(Isa, String)]) -> String {
    let access = |access: &Access| format!("Access::{access:?}");
    let cuda =
        |cuda: &CudaLaunch| format!("CudaLaunch {{ threads: {}, grid: {} }}", cuda.threads, grid(&cuda.grid));
    let cuda = kernel.cuda.as_ref().map_or("None".into(), |launch| format!("Some({})", cuda(launch)));
    let fields = [
        format!("name: {}", text(&kernel.name)),
        format!("form: {}", text(&kernel.form)),
        format!("shape: {}", text(&kernel.shape)),
        format!("fused: {}", list(&kernel.fused, |name| text(name))),
        format!("args: {}", list(&kernel.args, access)),
        format!("entries: {}", list(symbols, |(version, symbol)| format!("({}, {symbol})", isa(*version)))),
        format!("grid: {}", grid(&kernel.grid)),
        format!("flops: {}", float(kernel.flops)),
        format!("bytes: {}", float(kernel.bytes)),
        format!("cuda: {cuda}"),
    ];
    format!("Kernel {{ {} }}", fields.join(", "))
}

/// A literal; what has no literal is not known.
fn float(value: f64) -> String {
    if value.is_finite() { format!("{value:?}") } else { "0.0".into() }
}

fn launch(launch: &Launch) -> String {
    format!("Launch {{ kernel: {}, args: {} }}", launch.kernel, list(&launch.args, usize::to_string))
}
