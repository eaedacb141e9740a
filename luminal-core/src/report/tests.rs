use super::layout::layout;
use super::*;
use crate::compile::compile;
use crate::dtype::Dtype;
use crate::graph::{Binary, Dim, Graph, Op, Origin, Reduce};
use crate::kernel::schedule::Machine;
use crate::search::testing::{deep, models};

const HOSTILE: &str = "a<b>&\"c'\n-->";

fn report(model: &str, graph: &Graph) -> Report {
    let options =
        Options { prefix: "m".into(), model: model.into(), fuse: true, machine: Machine::x86_64_v3() };
    let mut compiled = compile(graph, &options).unwrap();
    let programs: Vec<_> = compiled.units.list.iter().map(|unit| &unit.program).collect();
    let text = crate::codegen::c::render_module(&programs, "_v3");
    compiled.plan.sources =
        vec![crate::plan::Source { name: format!("{model}_v3.c").into(), text: text.into() }].into();
    let checks = [("m_v3.c".to_string(), "kernels: 3 elements compared".to_string())];
    let facts = Facts {
        package: "package",
        graph,
        compiled: &compiled,
        options: &options,
        ptx: "",
        checks: &checks,
        remark: None,
    };
    let mut report = Report::new(&facts);
    // Nothing else depends on time.
    report.phases = Phases::default();
    report
}

/// `max(x w + b, 0)` with names of a user who means ill.
fn hostile() -> Graph {
    let mut graph = Graph::default();
    let batch = graph.free_dim(HOSTILE, 3);
    let x = graph.input(HOSTILE, &[batch, Dim::Fixed(4)], Dtype::F32);
    let weight = graph.param(HOSTILE, &[Dim::Fixed(4)], Dtype::F32);
    let rows = graph.expand(weight, 0, batch);
    let product = graph.binary(Binary::Mul, x, rows);
    let sum = graph.reduce(Reduce::Sum, product, 1);
    graph.outputs.push((HOSTILE.into(), sum));
    for node in &mut graph.nodes {
        if !matches!(node.op, Op::Input(_) | Op::Param(_)) {
            node.origin = Some(Origin { op: HOSTILE.into(), file: HOSTILE.into(), line: 1, column: 2 });
        }
    }
    graph
}

fn all() -> Vec<(String, Report)> {
    let mut all: Vec<(String, Report)> =
        models::small().iter().map(|(name, graph)| (name.to_string(), report(name, graph))).collect();
    all.push(("hostile".into(), report(HOSTILE, &hostile())));
    all
}

#[test]
fn summaries_have_five_lines() {
    for (name, report) in all() {
        let summary = report.summary();
        assert_eq!(summary.lines().count(), 5, "{name}: {summary}");
        assert!(summary.ends_with('\n') && !summary.contains("NaN"), "{name}: {summary}");
    }
}

#[test]
fn every_kernel_is_in_picture_text_and_page() {
    for (name, report) in all() {
        let (text, page) = (report.text(), report.html());
        assert!(!report.kernels.is_empty(), "{name}");
        for kernel in &report.kernels {
            let short = kernel.short();
            let link = Some(short.clone());
            assert!(report.after.shapes.iter().any(|shape| shape.link == link), "{name}: {short}");
            assert!(text.contains(&format!("== {}: ", kernel.name)), "{name}: {short}");
            assert!(page.contains(&format!("<article id=\"{short}\">")), "{name}: {short}");
            assert!(
                page.contains(&format!("<a href=\"#{short}\"><g class=\"shape kernel\">")),
                "{name}: {short}"
            );
            let code = kernel.code.iter().find(|(_, code)| code.contains(&format!("{}_v3(", kernel.name)));
            let (_, code) = code.unwrap_or_else(|| panic!("{name}: {short} has no C"));
            assert!(page.contains(&escape::escape(code)), "{name}: {short}");
        }
    }
}

#[test]
fn layers_of_deep_models_are_drawn_once() {
    let sizes = models::Sizes::SMALL;
    let graph = deep::bert(sizes, 12, 50);
    let report = report("deep", &graph);
    let kernels = report.after.shapes.iter().filter(|shape| shape.kind == Kind::Kernel).count();
    let launches: usize = report.kernels.iter().map(|kernel| kernel.runs + kernel.loads).sum();
    assert!(kernels < launches / 3, "{kernels} of {launches}");
    let titles: Vec<&str> = report.after.shapes.iter().map(|shape| shape.title.as_str()).collect();
    assert!(titles.iter().any(|title| title.contains('×')), "{titles:?}");
    for kernel in &report.kernels {
        assert!(
            report.after.shapes.iter().any(|shape| shape.link == Some(kernel.short())),
            "{}",
            kernel.name
        );
    }
    is_well_formed(&report.html()).unwrap();
}

#[test]
fn reports_are_the_same_every_time() {
    let (_, graph) = &models::small()[0];
    let (first, second) = (report("m", graph), report("m", graph));
    assert_eq!(first.text(), second.text());
    assert_eq!(first.html(), second.html());
}

#[test]
fn the_text_of_a_small_model() {
    let mut graph = Graph::default();
    let x = graph.input("x", &[Dim::Fixed(2), Dim::Fixed(16)], Dtype::F32);
    let weight = graph.param("weight", &[Dim::Fixed(16)], Dtype::F32);
    let rows = graph.expand(weight, 0, Dim::Fixed(2));
    let product = graph.binary(Binary::Mul, x, rows);
    let sum = graph.reduce(Reduce::Sum, product, 1);
    graph.outputs.push(("y".into(), sum));
    let text = report("small", &graph).text();
    if std::env::var_os("LUMINAL_GOLDENS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/report/golden.txt"), &text).unwrap();
    }
    assert!(text == include_str!("golden.txt"), "LUMINAL_GOLDENS=1 writes the text anew; it is now\n{text}");
}

#[test]
fn shapes_do_not_overlap_and_arrows_lead_down() {
    for (name, report) in all() {
        for picture in report.regions.iter().map(|region| &region.before).chain([&report.after]) {
            let sizes: Vec<(f64, f64)> = (0..picture.shapes.len())
                .map(|n| (60.0 + (n * 37 % 50) as f64, 20.0 + (n % 3) as f64))
                .collect();
            let layout = layout(picture, &sizes);
            let apart = |x: &layout::Place, y: &layout::Place| {
                x.x + x.width <= y.x || y.x + y.width <= x.x || x.y + x.height <= y.y || y.y + y.height <= x.y
            };
            for (number, place) in layout.places.iter().enumerate() {
                assert!(
                    place.x >= 0.0 && place.x + place.width <= layout.width,
                    "{name}: {number} is outside"
                );
                assert!(
                    place.y >= 0.0 && place.y + place.height <= layout.height,
                    "{name}: {number} is outside"
                );
                for other in &layout.places[number + 1..] {
                    assert!(apart(place, other), "{name}: {place:?} and {other:?}");
                }
            }
            for edge in &picture.edges {
                let (from, to) = (layout.places[edge.from], layout.places[edge.to]);
                assert!(from.y + from.height < to.y, "{name}: {edge:?}");
            }
        }
    }
}

#[test]
fn pages_are_well_formed_and_need_nothing_else() {
    for (name, report) in all() {
        let page = report.html();
        is_well_formed(&page).unwrap_or_else(|error| panic!("{name}: {error}"));
        let outside = page.replace("http://www.w3.org/2000/svg", "");
        for word in ["http:", "https:", "src=", "@import", "url("] {
            assert!(!outside.contains(word), "{name} has {word}");
        }
    }
    assert!(is_well_formed("<p>a & b</p>").is_err());
    assert!(is_well_formed("<p><b></p></b>").is_err());
    assert!(is_well_formed("<p>").is_err());
    assert!(is_well_formed("<p title=\"a\"b\">x</p>").is_err());
}

/// Every tag is closed in order, every attribute quoted, and text holds neither `<` nor a bare `&`.
fn is_well_formed(page: &str) -> Result<(), String> {
    let mut rest = page.strip_prefix("<!DOCTYPE html>").unwrap_or(page);
    let mut open: Vec<&str> = vec![];
    while let Some(at) = rest.find('<') {
        text_is_escaped(&rest[..at])?;
        rest = &rest[at + 1..];
        let end = rest.find('>').ok_or("a tag has no end")?;
        let (tag, after) = (&rest[..end], &rest[end + 1..]);
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("</{name}> closes something else"));
            }
            continue;
        }
        let name = tag.split([' ', '\n', '/']).next().unwrap_or_default();
        attributes(tag[name.len()..].trim_end_matches('/'))?;
        if name == "style" || name == "script" {
            let close = format!("</{name}>");
            rest = &rest[rest.find(&close).ok_or(format!("<{name}> is not closed"))? + close.len()..];
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    text_is_escaped(rest)?;
    if open.is_empty() { Ok(()) } else { Err(format!("{open:?} are not closed")) }
}

fn attributes(mut text: &str) -> Result<(), String> {
    loop {
        text = text.trim();
        if text.is_empty() {
            return Ok(());
        }
        let wrong = || format!("attributes `{text}`");
        let (name, value) = text.split_once("=\"").ok_or_else(wrong)?;
        if !name.chars().all(|c| c.is_ascii_alphabetic() || c == '-') || name.is_empty() {
            return Err(wrong());
        }
        let (value, rest) = value.split_once('"').ok_or_else(wrong)?;
        text_is_escaped(value)?;
        text = rest;
    }
}

fn text_is_escaped(text: &str) -> Result<(), String> {
    for part in text.split('&').skip(1) {
        if !["lt;", "gt;", "amp;", "quot;", "#39;"].iter().any(|entity| part.starts_with(entity)) {
            return Err(format!("a bare & before `{}`", part.chars().take(20).collect::<String>()));
        }
    }
    if text.contains('>') { Err(format!("a bare > in `{text}`")) } else { Ok(()) }
}
