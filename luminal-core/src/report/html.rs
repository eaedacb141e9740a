//! The report as one page that needs nothing else: styles and the few lines of script are in it.

use super::escape::escape;
use super::number::{bytes, flops, percent, plural, time};
use super::svg::svg;
use super::{Kernel, Region, Report};
use std::fmt::Write;

impl Report {
    /// A page of HTML.
    pub fn html(&self) -> String {
        let title = format!("{}::{}", self.package, self.model);
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <title>{0} - Luminal</title>\n<style>\n{1}</style>\n</head>\n<body>\n<header>\n\
             <p class=\"over\">Luminal build report</p>\n<h1><span>{2}::</span>{3}</h1>\n",
            escape(&title),
            include_str!("style.css"),
            escape(&self.package),
            escape(&self.model)
        );
        page += &self.tiles();
        let _ = writeln!(
            page,
            "<p class=\"quiet\">Times are of a run on {}.{}</p>",
            escape(&self.machine),
            self.sizes()
        );
        if let Some(remark) = &self.remark {
            let _ = writeln!(page, "<p class=\"quiet\">{}</p>", escape(remark));
        }
        page += "</header>\n<nav><a href=\"#time\">Time</a><a href=\"#graph\">Graph</a><a href=\"#kernels\">Kernels</a>\
                 <a href=\"#search\">Search</a><a href=\"#checks\">Checks</a><a href=\"#build\">Build</a></nav>\n<main>\n";
        page += &self.times();
        page += &self.graphs();
        page += "<section id=\"kernels\">\n<h2>Kernels</h2>\n<p class=\"buttons\"><button data-open=\"1\">Unfold all</button>\
                 <button data-open=\"\">Fold all</button></p>\n";
        self.kernels.iter().for_each(|kernel| page += &kernel.html());
        page += "</section>\n<section id=\"search\">\n<h2>How it was found</h2>\n";
        for (number, region) in self.regions.iter().enumerate() {
            page += &region.html(number + 1, self.regions.len());
        }
        page += "</section>\n";
        page += &self.checks_and_phases();
        let _ = write!(page, "</main>\n<script>\n{}</script>\n</body>\n</html>\n", include_str!("script.js"));
        page
    }

    fn sizes(&self) -> String {
        let sizes = self
            .free
            .iter()
            .map(|(name, max)| format!(" {} is at most {max}, for which times are.", escape(name)));
        sizes.collect()
    }

    fn tiles(&self) -> String {
        let taken = self.of_run(Kernel::seconds);
        let runs: usize = self.kernels.iter().map(|kernel| kernel.runs).sum();
        let in_runs: Vec<&Kernel> = self.by_time();
        let measured = in_runs.iter().filter(|kernel| kernel.measured.is_some()).count();
        let how = match measured {
            0 => "predicted, not measured".to_string(),
            n if n == in_runs.len() => {
                format!("measured; {} predicted", time(self.of_run(|kernel| kernel.predicted)))
            }
            n => format!("{n} of {} kernels measured", in_runs.len()),
        };
        let share = if taken > 0.0 { self.of_run(|kernel| kernel.bound) / taken } else { 0.0 };
        let schedules: usize = self.kernels.iter().map(|kernel| kernel.tried.len()).sum();
        let [weights, arena, state] = self.memory.map(|count| bytes(count as f64));
        let state = if self.memory[2] > 0 { format!(", {state} of state") } else { String::new() };
        let tiles = [
            ("A run on one core", time(taken), how),
            (
                "Of the roofline",
                percent(share),
                format!("{} at least", time(self.of_run(|kernel| kernel.bound))),
            ),
            (
                "Launches",
                runs.to_string(),
                format!(
                    "of {}, from {}",
                    plural(self.kernels.len(), "kernel"),
                    plural(self.primitives, "primitive")
                ),
            ),
            ("Weights", weights, format!("{arena} of intermediates{state}")),
            ("Schedules", schedules.to_string(), "looked at".to_string()),
        ];
        let mut text = String::from("<dl class=\"tiles\">\n");
        for (name, value, note) in tiles {
            let _ = writeln!(
                text,
                "<div><dt>{}</dt><dd>{}</dd><dd class=\"note\">{}</dd></div>",
                escape(name),
                escape(&value),
                escape(&note)
            );
        }
        text + "</dl>\n"
    }

    fn times(&self) -> String {
        let mut text = String::from(
            "<section id=\"time\">\n<h2>Where the time goes</h2>\n<p class=\"legend\"><i class=\"measured\"></i>measured \
             <i class=\"predicted\"></i>predicted <i class=\"bound\"></i>roofline, the least that the arithmetic and the \
             bytes take</p>\n<div class=\"scroll\"><table class=\"times\">\n<thead><tr><th>Kernel</th><th>Operations</th>\
             <th class=\"n\">Launches</th><th class=\"n\">Time</th><th class=\"n\">Of roofline</th><th class=\"wide\">All \
             launches of a run</th></tr></thead>\n<tbody>\n",
        );
        let kernels = self.by_time();
        let total = |kernel: &Kernel, seconds: f64| kernel.runs as f64 * seconds;
        let longest = kernels
            .iter()
            .map(|kernel| total(kernel, kernel.seconds().max(kernel.predicted).max(kernel.bound)))
            .fold(f64::MIN_POSITIVE, f64::max);
        let all = self.of_run(Kernel::seconds).max(f64::MIN_POSITIVE);
        for kernel in kernels {
            let bar = |class: &str, seconds: f64| {
                let width = (total(kernel, seconds) / longest * 100.0).min(100.0);
                format!("<i class=\"{class}\" style=\"width:{width:.2}%\"></i>")
            };
            let measured = kernel.measured.map_or(String::new(), |seconds| bar("measured", seconds));
            let tip = format!(
                "{} predicted, {} measured, {} at least",
                time(kernel.predicted),
                kernel.measured.map_or("not".into(), time),
                time(kernel.bound)
            );
            let _ = writeln!(
                text,
                "<tr><td><a href=\"#{0}\">{0}</a></td><td class=\"text\">{1}</td><td class=\"n\">{2}</td><td \
                 class=\"n\">{3}</td><td class=\"n\">{4}</td><td class=\"wide\"><div class=\"bars\" title=\"{5}\">{6}{measured}{7}\
                 <b>{8}</b></div></td></tr>",
                escape(&kernel.short()),
                escape(&kernel.title()),
                kernel.runs,
                time(kernel.seconds()),
                percent(kernel.share()),
                escape(&tip),
                bar("predicted", kernel.predicted),
                bar("bound", kernel.bound),
                percent(total(kernel, kernel.seconds()) / all)
            );
        }
        text + "</tbody>\n</table></div>\n</section>\n"
    }

    fn graphs(&self) -> String {
        let mut text = String::from(
            "<section id=\"graph\">\n<h2>Graph</h2>\n<div class=\"pair\">\n<figure>\n<figcaption><b>Before</b> the model's \
             operations; point at one for its primitives</figcaption>\n",
        );
        for (number, region) in self.regions.iter().enumerate() {
            if self.regions.len() > 1 {
                let open = if number == 0 { " open=\"open\"" } else { "" };
                let name = format!("Region {}, ×{}", number + 1, region.times);
                let _ = writeln!(text, "<details{open}><summary>{}</summary>", escape(&name));
            }
            let _ = write!(
                text,
                "<div class=\"scroll\">{}</div>\n",
                svg(&region.before, "The graph before the search")
            );
            if self.regions.len() > 1 {
                text += "</details>\n";
            }
        }
        let _ = write!(
            text,
            "</figure>\n<figure>\n<figcaption><b>After</b> kernels and the tensors between them; click one for its \
             code</figcaption>\n<div class=\"scroll\">{}</div>\n</figure>\n</div>\n</section>\n",
            svg(&self.after, "The kernels and the tensors between them")
        );
        text
    }

    fn checks_and_phases(&self) -> String {
        let mut text = String::from("<section id=\"checks\">\n<h2>Checks</h2>\n");
        for (version, result) in &self.checks {
            let _ = writeln!(text, "<h4>{}</h4>\n<pre>{}</pre>", escape(version), escape(result.trim_end()));
        }
        if self.checks.is_empty() {
            text += "<p>Nothing was run: the code is not for this machine.</p>\n";
        }
        text += "</section>\n<section id=\"build\">\n<h2>Time of the build</h2>\n<table class=\"phases\">\n<tbody>\n";
        let longest = self.phases.iter().map(|(_, seconds)| seconds).fold(f64::MIN_POSITIVE, f64::max);
        for (phase, seconds) in self.phases.iter() {
            let width = (seconds / longest * 100.0).clamp(0.0, 100.0);
            let _ = writeln!(
                text,
                "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"wide\"><div class=\"bars\"><i class=\"measured\" \
                 style=\"width:{width:.2}%\"></i></div></td></tr>",
                escape(phase),
                time(seconds)
            );
        }
        let _ = writeln!(
            text,
            "<tr class=\"sum\"><td>all</td><td class=\"n\">{}</td><td class=\"wide\"></td></tr>\n</tbody>\n</table>\n</section>",
            time(self.phases.total())
        );
        text
    }
}

/// A block that folds.
fn fold(name: &str, note: &str, inside: &str) -> String {
    let note = if note.is_empty() { String::new() } else { format!(" <small>{}</small>", escape(note)) };
    format!("<details class=\"fold\"><summary>{}{note}</summary>\n{inside}</details>\n", escape(name))
}

fn code(text: &str) -> String {
    format!("<pre class=\"code\">{}</pre>\n", escape(text.trim_end()))
}

impl Kernel {
    fn html(&self) -> String {
        let mut text = format!(
            "<article id=\"{0}\">\n<h3><a href=\"#{0}\">{0}</a> {1}</h3>\n<p class=\"quiet\"><code>{2}</code> {3} {4}</p>\n",
            escape(&self.short()),
            escape(&self.title()),
            escape(&self.name),
            escape(&self.form),
            escape(&self.shape)
        );
        let launches = match (self.runs, self.loads) {
            (runs, 0) => format!("{runs} a run"),
            (0, loads) => format!("{loads} at load"),
            (runs, loads) => format!("{runs} a run, {loads} at load"),
        };
        let figures = [
            ("Predicted", time(self.predicted)),
            ("Measured", self.measured.map_or("-".into(), time)),
            ("Roofline", time(self.bound)),
            ("Of roofline", percent(self.share())),
            ("Arithmetic", flops(self.flops)),
            ("Memory", bytes(self.bytes)),
            ("Launches", launches),
        ];
        text += "<dl class=\"figures\">";
        for (name, value) in figures {
            let _ = write!(text, "<div><dt>{}</dt><dd>{}</dd></div>", escape(name), escape(&value));
        }
        text += "</dl>\n<div class=\"scroll\"><table class=\"tensors\">\n<tbody>\n";
        for tensor in &self.tensors {
            let _ = writeln!(
                text,
                "<tr><td>{}</td><td class=\"name\">{}</td><td class=\"mono\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>",
                if tensor.written { "writes" } else { "reads" },
                escape(&tensor.name),
                escape(&tensor.shape),
                bytes(tensor.bytes as f64),
                escape(tensor.role)
            );
        }
        text += "</tbody>\n</table></div>\n";
        let choice = self.choice();
        match self.tried.is_empty() {
            true => {
                let _ = writeln!(text, "<p class=\"quiet\">{}</p>", escape(&choice));
            }
            false => text += &fold("Schedules", &choice, &self.attempts()),
        }
        text += &fold("Index notation", "what is computed", &code(&self.notation));
        let program = format!("{}\n\n{}", self.schedule.trim_end(), self.program);
        text += &fold("Tile program", "how it is computed", &code(&program));
        for (name, source) in &self.code {
            text += &fold(name, &plural(source.lines().count(), "line"), &code(source));
        }
        text + "</article>\n"
    }

    fn attempts(&self) -> String {
        let mut text = String::from(
            "<div class=\"scroll\"><table class=\"tried\">\n<thead><tr><th class=\"n\">Rank</th><th class=\"n\">Predicted</th>\
             <th class=\"n\">Measured</th><th class=\"bar\"></th><th>Schedule</th></tr></thead>\n<tbody>\n",
        );
        let times =
            self.tried.iter().flat_map(|attempt| [Some(attempt.predicted), attempt.measured]).flatten();
        let longest = times.fold(f64::MIN_POSITIVE, f64::max);
        for (number, attempt) in self.tried.iter().enumerate() {
            let class = if self.winner == Some(number) { " class=\"winner\"" } else { "" };
            let bar = |class: &str, seconds: f64| {
                format!("<i class=\"{class}\" style=\"width:{:.2}%\"></i>", seconds / longest * 100.0)
            };
            let _ = writeln!(
                text,
                "<tr{class}><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"bar\"><div \
                 class=\"bars\">{}{}</div></td><td class=\"mono\">{}</td></tr>",
                number + 1,
                time(attempt.predicted),
                escape(&attempt.measured.map_or(attempt.outcome.clone(), time)),
                bar("predicted", attempt.predicted),
                attempt.measured.map_or(String::new(), |seconds| bar("measured", seconds)),
                escape(&attempt.schedule)
            );
        }
        text + "</tbody>\n</table></div>\n"
    }
}

impl Region {
    fn html(&self, number: usize, of: usize) -> String {
        let mut text = String::from("<article>\n");
        if of > 1 {
            let _ = writeln!(text, "<h3>Region {number}, {} in the model</h3>", plural(self.times, "time"));
        }
        let _ = writeln!(
            text,
            "<p class=\"quiet\">{} became {}; variant {} of the program</p>",
            plural(self.primitives, "primitive"),
            plural(self.kernels, "kernel"),
            self.variant
        );
        let _ = writeln!(text, "<p class=\"quiet\">{}</p>", escape(&self.effort()));
        match &self.rules {
            Err(error) => {
                let _ = writeln!(text, "<p>The rules that led there are not known: {}</p>", escape(error));
            }
            Ok(rules) if rules.rules.is_empty() => {
                text += "<p>No rule was needed: this is the program as written.</p>\n"
            }
            Ok(rules) => {
                text += "<p class=\"rules\">";
                for (rule, count) in &rules.rules {
                    let _ = write!(text, "<span>{} <b>{count}</b></span>", escape(rule));
                }
                text += "</p>\n";
                let mut steps = String::from("<div class=\"scroll\"><table class=\"steps\">\n<tbody>\n");
                for step in &rules.steps {
                    let _ = writeln!(
                        steps,
                        "<tr><td>{}</td><td class=\"mono\">{}<br/><span>→</span> {}</td></tr>",
                        escape(&step.rule),
                        escape(&step.before),
                        escape(&step.after)
                    );
                }
                steps += "</tbody>\n</table></div>\n";
                text += &fold("Rewrites", "that lead from the program as written to this one", &steps);
            }
        }
        text += &fold("Search", "states, candidates and bounds", &code(&self.log.join("\n")));
        text += &fold(
            "Program",
            "terms in index notation, and the kernels that compute them",
            &code(&self.program),
        );
        text + "</article>\n"
    }
}
