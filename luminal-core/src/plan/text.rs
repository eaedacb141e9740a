//! A plan for people to read: what it takes and gives, each launch in one line, and the memory it needs.

use super::{Dim, Kernel, Launch, Place, Plan, Port};
use std::fmt;

impl Plan {
    /// Sizes with the names of free ones: `[Batch <= 64, 784]`.
    pub fn shape_text(&self, shape: &[Dim]) -> String {
        let size = |dim: &Dim| match *dim {
            Dim::Fixed(size) => size.to_string(),
            Dim::Free { index, max } => match self.free.get(index) {
                Some(free) => format!("{} <= {max}", free.name),
                None => format!("free {index} <= {max}"),
            },
        };
        let sizes: Vec<String> = shape.iter().map(size).collect();
        format!("[{}]", sizes.join(", "))
    }

    fn write_ports(&self, f: &mut fmt::Formatter<'_>, kind: &str, ports: &[Port]) -> fmt::Result {
        let width = ports.iter().map(|port| port.name.len()).max().unwrap_or(0);
        for port in ports {
            let shape = self.shape_text(&port.shape);
            writeln!(f, "  {kind:<6}  {:<width$}  {} {shape}", port.name, port.dtype)?;
        }
        Ok(())
    }

    fn write_launches(&self, f: &mut fmt::Formatter<'_>, title: &str, launches: &[Launch]) -> fmt::Result {
        if launches.is_empty() {
            return Ok(());
        }
        writeln!(f, "{title}")?;
        let rows: Vec<[String; 6]> = launches
            .iter()
            .enumerate()
            .map(|(number, launch)| match self.kernels.get(launch.kernel) {
                Some(kernel) => row(number, kernel),
                None => [number.to_string(), "?".into(), "".into(), "".into(), "".into(), "".into()],
            })
            .collect();
        let widths: [usize; 6] = std::array::from_fn(|column| {
            rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
        });
        for row in &rows {
            let mut line = format!("  {:>width$}", row[0], width = widths[0]);
            for column in 1..4 {
                line += &format!("  {:<width$}", row[column], width = widths[column]);
            }
            for column in 4..6 {
                line += &format!("  {:>width$}", row[column], width = widths[column]);
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Number, form, shape, what was fused, work, traffic.
fn row(number: usize, kernel: &Kernel) -> [String; 6] {
    let flops = if kernel.flops > 0.0 {
        scaled(kernel.flops, ["FLOP", "kFLOP", "MFLOP", "GFLOP"])
    } else {
        "".into()
    };
    [
        number.to_string(),
        kernel.form.to_string(),
        kernel.shape.to_string(),
        kernel.fused.join(" + "),
        flops,
        bytes_text(kernel.bytes),
    ]
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "plan of `{}`: {} kernels, {} launches in a run",
            self.model,
            self.kernels.len(),
            self.run.len()
        )?;
        self.write_ports(f, "input", &self.inputs)?;
        self.write_ports(f, "output", &self.outputs)?;
        self.write_ports(f, "state", &self.states)?;
        for relation in self.relations.iter() {
            let name =
                |free: usize| self.free.get(free).map_or("?".to_string(), |free| free.name.to_string());
            writeln!(f, "  size    {}", relation.text(name))?;
        }
        self.write_launches(f, "once, at load", &self.load)?;
        self.write_launches(f, "each run", &self.run)?;
        let intermediates: Vec<usize> =
            self.buffers.iter().filter(|b| matches!(b.place, Place::Arena(_))).map(|b| b.bytes).collect();
        writeln!(
            f,
            "memory: weights {}, states {}, intermediates {} (arena of {} buffers with {} together)",
            bytes_text(self.weights as f64),
            bytes_text(self.state as f64),
            bytes_text(self.arena as f64),
            intermediates.len(),
            bytes_text(intermediates.iter().sum::<usize>() as f64),
        )
    }
}

fn bytes_text(bytes: f64) -> String {
    scaled(bytes, ["B", "KB", "MB", "GB"])
}

/// A number with two digits, or as many as its whole part has: `1.2 MB`, `38 KB`.
fn scaled(value: f64, units: [&str; 4]) -> String {
    let mut value = value;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    // Below a thousand units nothing is rounded: it is a count.
    let digits = if unit > 0 && value < 9.95 { 1 } else { 0 };
    format!("{value:.digits$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0 B"),
            (7.0, "7 B"),
            (999.0, "999 B"),
            (1000.0, "1.0 KB"),
            (1234.0, "1.2 KB"),
            (38_400.0, "38 KB"),
            (999_600.0, "1.0 MB"),
            (5e12, "5000 GB"),
        ];
        for (value, text) in cases {
            assert_eq!(bytes_text(value), text);
        }
    }
}
