//! Collects a report from what a build knows.

use super::after::is_weight;
use super::before::{shape_text, size};
use super::{Attempt, Facts, Kernel, Region, Report, Tensor, after, before};
use crate::compile::{Outcome, Unit, search_options};
use crate::graph::{Graph, Op};
use crate::kernel::schedule::Machine;
use crate::phases::Phases;
use crate::search;
use crate::search::lower::{Lowered, Program, Source};
use crate::search::partition::When;

impl Report {
    /// Collects what there is to say. This saturates once more, to explain the chosen variants.
    pub fn new(facts: &Facts<'_>) -> Report {
        let Facts { graph, compiled, options, .. } = *facts;
        let mut phases: Phases = compiled.phases.clone();
        let kernels: Vec<Kernel> =
            (0..compiled.units.list.len()).map(|number| kernel(facts, number)).collect();
        let regions = phases.time("explain", || {
            let regions = compiled.regions.iter().map(|region| {
                let rules = search::explain(&region.graph, &region.found, &search_options(options));
                Region {
                    times: region.times,
                    primitives: region.graph.nodes.len(),
                    kernels: region.found.kernels.len(),
                    variant: region.found.variant + 1,
                    explored: region.found.explored,
                    log: region.found.log.clone(),
                    program: region.found.to_string(),
                    rules: rules.map_err(|error| error.to_string()),
                    before: before::picture(&region.graph),
                }
            });
            regions.collect()
        });
        Report {
            package: facts.package.into(),
            model: options.model.clone(),
            machine: describe(&options.machine),
            remark: facts.remark.map(String::from),
            primitives: graph.nodes.len(),
            free: graph.free.iter().map(|free| (free.name.clone(), free.max)).collect(),
            memory: [compiled.plan.weights, compiled.plan.arena, compiled.plan.state],
            regions,
            after: after::picture(graph, compiled, &kernels),
            kernels,
            checks: facts.checks.to_vec(),
            phases,
        }
    }
}

fn describe(machine: &Machine) -> String {
    format!(
        "one core with {} lanes at {} GHz: {:.0} Gflop/s, {:.0} GB/s from memory",
        machine.lanes,
        machine.ghz,
        peak(machine) / 1e9,
        machine.memory_bandwidth * machine.ghz
    )
}

/// Floating-point operations a second of one core.
fn peak(machine: &Machine) -> f64 {
    machine.lanes as f64 * machine.fma * 2.0 * machine.ghz * 1e9
}

/// The roofline: arithmetic at the peak, or bytes at the bandwidth of the smallest cache that holds them all.
fn bound(lowered: &Lowered, machine: &Machine) -> f64 {
    let holds = machine.caches.iter().position(|cache| lowered.bytes <= *cache);
    let bandwidth = holds.map_or(machine.memory_bandwidth, |level| machine.cache_bandwidth[level]);
    (lowered.flops / peak(machine)).max(lowered.bytes / (bandwidth * machine.ghz * 1e9))
}

fn kernel(facts: &Facts<'_>, number: usize) -> Kernel {
    let Facts { graph, compiled, options, .. } = *facts;
    let (unit, program): (&Unit, &Program) = (&compiled.units.list[number], &compiled.program);
    let launches = |when: When| {
        let mut all = compiled.units.of.iter().zip(&program.kernels);
        all.by_ref().filter(|(of, lowered)| **of == number && lowered.when == when).count()
    };
    let first = compiled.units.of.iter().position(|of| *of == number).unwrap_or_default();
    let lowered = &program.kernels[first];
    let in_plan = &compiled.plan.kernels[number];
    let tried = unit.tried.iter().map(|tried| Attempt {
        schedule: tried.schedule.to_string(),
        predicted: tried.predicted,
        measured: if let Outcome::Seconds(seconds) = tried.outcome { Some(seconds) } else { None },
        outcome: match tried.outcome {
            Outcome::Seconds(_) => "run".into(),
            other => other.to_string(),
        },
    });
    let tensors = lowered.args.iter().zip(&lowered.writes).map(|(value, written)| {
        let tensor = &program.values.list[*value];
        Tensor {
            name: tensor.name.clone(),
            role: role(graph, program, *value),
            written: *written,
            shape: shape_text(graph, &tensor.shape, tensor.dtype),
            bytes: size(&tensor.shape, tensor.dtype),
        }
    });
    let texts = compiled.plan.sources.iter().filter_map(|source| {
        let text = function(&source.text, &unit.program.name, "void ")?;
        Some((source.name.to_string(), text))
    });
    let ptx = function(facts.ptx, &unit.program.name, ".visible .entry ");
    Kernel {
        name: unit.program.name.clone(),
        form: in_plan.form.to_string(),
        shape: in_plan.shape.to_string(),
        operations: lowered.fused.clone(),
        runs: launches(When::Run),
        loads: launches(When::Load),
        flops: lowered.flops,
        bytes: lowered.bytes,
        bound: bound(lowered, &options.machine),
        predicted: unit.predicted,
        measured: unit.measured,
        chosen: unit.chosen,
        tensors: tensors.collect(),
        tried: tried.collect(),
        winner: unit.tried.iter().position(|tried| tried.schedule == unit.schedule),
        notation: unit.kernel.to_string(),
        schedule: unit.schedule.to_string(),
        program: unit.program.to_string(),
        code: texts.chain(ptx.map(|text| (format!("{}.ptx", options.model), text))).collect(),
    }
}

fn role(graph: &Graph, program: &Program, value: usize) -> &'static str {
    if program.outputs.contains(&value) {
        return "output";
    }
    if program.writes.iter().any(|(_, new)| *new == value) {
        return "new state";
    }
    match program.values.list[value].source {
        source if is_weight(graph, source) => "weight",
        Source::Given(node) if matches!(graph.nodes[node].op, Op::State(_)) => "state",
        Source::Given(_) => "input",
        _ => "between kernels",
    }
}

/// One function of a module with the comment above it: from the blank line before it to the brace that ends it. The
/// name may have a suffix of its version.
fn function(module: &str, name: &str, before: &str) -> Option<String> {
    let head = |line: &&str| {
        let rest = line.strip_prefix(before).and_then(|rest| rest.strip_prefix(name));
        // `m_1` is no part of `m_10`.
        rest.is_some_and(|rest| rest.starts_with('(') || rest.starts_with("_v"))
    };
    let lines: Vec<&str> = module.lines().collect();
    let at = lines.iter().position(|line| head(&line))?;
    let start = lines[..at].iter().rposition(|line| !line.starts_with("//")).map_or(0, |blank| blank + 1);
    let end = at + lines[at..].iter().position(|line| *line == "}")?;
    Some(lines[start..=end].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::function;

    #[test]
    fn functions_are_cut_out_of_modules() {
        let c = "#include <x>\n\n// ten\nvoid m_10(char **b) {\n  if (1) {\n  }\n}\n\n// one\n// more\nvoid m_1_v3(char **b) {\n}\n";
        assert_eq!(function(c, "m_1", "void ").unwrap(), "// one\n// more\nvoid m_1_v3(char **b) {\n}");
        assert_eq!(
            function(c, "m_10", "void ").unwrap(),
            "// ten\nvoid m_10(char **b) {\n  if (1) {\n  }\n}"
        );
        assert_eq!(function(c, "m_2", "void "), None);
    }
}
