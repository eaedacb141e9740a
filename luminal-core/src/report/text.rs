//! The whole report as text.

use super::number::{bytes, flops, percent, plural, time};
use super::{Kernel, Picture, Region, Report};
use std::fmt::Write;

impl Report {
    /// Everything, as text.
    pub fn text(&self) -> String {
        let mut text = self.summary();
        let _ = writeln!(text, "\ntimes are for {}", self.machine);
        if let Some(remark) = &self.remark {
            let _ = writeln!(text, "{remark}");
        }
        for (name, max) in &self.free {
            let _ = writeln!(text, "size known at run time: {name}, at most {max}, for which times are");
        }
        text += &heading("kernels");
        text += &self.table();
        text += &heading("what runs");
        text += &list(&self.after);
        for (number, region) in self.regions.iter().enumerate() {
            text += &region.text(number + 1, self.regions.len());
        }
        for kernel in &self.kernels {
            text += &kernel.text();
        }
        text += &heading("checks");
        for (version, result) in &self.checks {
            let _ = writeln!(text, "{version}:\n{}", indent(result));
        }
        if self.checks.is_empty() {
            text += "nothing was run: the code is not for this machine\n";
        }
        text += &heading("time of the build");
        for (phase, seconds) in self.phases.iter() {
            let _ = writeln!(text, "{phase:<12} {:>9}", time(seconds));
        }
        text
    }

    fn table(&self) -> String {
        let mut text = format!(
            "{:<6} {:>8} {:>9} {:>9} {:>9} {:>6}  operations\n",
            "kernel", "launches", "roofline", "predicted", "measured", "share"
        );
        for kernel in &self.kernels {
            let launches = match kernel.loads {
                0 => kernel.runs.to_string(),
                loads => format!("{}+{loads}", kernel.runs),
            };
            let _ = writeln!(
                text,
                "{:<6} {launches:>8} {:>9} {:>9} {:>9} {:>6}  {}",
                kernel.short(),
                time(kernel.bound),
                time(kernel.predicted),
                kernel.measured.map_or("-".into(), time),
                percent(kernel.share()),
                kernel.title()
            );
        }
        text
    }
}

fn heading(text: &str) -> String {
    format!("\n== {text}\n")
}

fn indent(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("  {line}\n")).collect::<String>().trim_end().to_string()
}

/// Shapes with what leads to them, one a line.
fn list(picture: &Picture) -> String {
    let mut text = String::new();
    for (number, shape) in picture.shapes.iter().enumerate() {
        let from = picture.edges.iter().filter(|edge| edge.to == number);
        let from: Vec<String> = from.map(|edge| format!("{}", edge.from)).collect();
        let from = if from.is_empty() { String::new() } else { format!(" <- {}", from.join(" ")) };
        let kind = format!("{:?}", shape.kind).to_lowercase();
        let _ = writeln!(
            text,
            "{number:>3} {kind:<9} {}{from}",
            [&[shape.title.clone()], &shape.lines[..]].concat().join("; ")
        );
    }
    text
}

impl Region {
    fn text(&self, number: usize, of: usize) -> String {
        let what = match of {
            1 => "the model".into(),
            _ => format!("region {number} of {of}, {} in the model", plural(self.times, "time")),
        };
        let mut text = heading(&format!(
            "{what}: {}, {}",
            plural(self.primitives, "primitive"),
            plural(self.kernels, "kernel")
        ));
        text += &list(&self.before);
        text += "\n-- how it was found\n";
        let _ = writeln!(text, "{}", self.effort());
        self.log.iter().for_each(|line| {
            let _ = writeln!(text, "{line}");
        });
        text += "\n-- rules that led to it\n";
        match &self.rules {
            Err(error) => {
                let _ = writeln!(text, "not known: {error}");
            }
            Ok(rules) if rules.rules.is_empty() => text += "none: this is the program as written\n",
            Ok(rules) => {
                for (rule, count) in &rules.rules {
                    let _ = writeln!(text, "{count:>4} {rule}");
                }
                for step in &rules.steps {
                    let _ = writeln!(text, "{}\n  {}\n  {}", step.rule, step.before, step.after);
                }
            }
        }
        if let Ok(rules) = &self.rules
            && rules.unexplained > 0
        {
            let _ =
                writeln!(text, "{} without a proof within the limits", plural(rules.unexplained, "result"));
        }
        let _ = writeln!(text, "\n-- program and kernels\n{}", self.program.trim_end());
        text
    }
}

impl Kernel {
    fn text(&self) -> String {
        let mut text = heading(&format!("{}: {}", self.name, self.title()));
        let _ = writeln!(text, "{}, {}", self.form, self.shape);
        let measured =
            self.measured.map_or("not measured".into(), |seconds| format!("{} measured", time(seconds)));
        let _ = writeln!(
            text,
            "{} predicted, {measured}, {} at least ({} of the roofline): {}, {}",
            time(self.predicted),
            time(self.bound),
            percent(self.share()),
            flops(self.flops),
            bytes(self.bytes)
        );
        let _ = writeln!(text, "{}", self.choice());
        for tensor in &self.tensors {
            let way = if tensor.written { "writes" } else { "reads " };
            let size = bytes(tensor.bytes as f64);
            let _ = writeln!(text, "  {way} {} {}, {size}, {}", tensor.name, tensor.shape, tensor.role);
        }
        for (number, attempt) in self.tried.iter().enumerate() {
            let _ = write!(text, "{}", if number == 0 { "\n-- schedules looked at\n" } else { "" });
            let mark = if self.winner == Some(number) { "*" } else { " " };
            let outcome = attempt.measured.map_or(attempt.outcome.clone(), time);
            let schedule = attempt.schedule.replace('\n', "; ");
            let _ = writeln!(
                text,
                "{mark}{:>3} {:>9} {outcome:>12}  {schedule}",
                number + 1,
                time(attempt.predicted)
            );
        }
        let _ = writeln!(text, "\n-- in index notation\n{}", self.notation.trim_end());
        let _ = writeln!(text, "\n-- schedule\n{}", self.schedule.trim_end());
        let _ = writeln!(text, "\n-- tile program\n{}", self.program.trim_end());
        for (name, code) in &self.code {
            let _ = writeln!(text, "\n-- {name}\n{code}");
        }
        text
    }
}
