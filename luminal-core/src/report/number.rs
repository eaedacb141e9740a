//! Numbers for people.

/// `8.10 µs`.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        s if s <= 0.0 => "0".into(),
        s if s < 0.9995e-6 => format!("{} ns", digits(s * 1e9)),
        s if s < 0.9995e-3 => format!("{} µs", digits(s * 1e6)),
        s if s < 0.9995 => format!("{} ms", digits(s * 1e3)),
        s => format!("{} s", digits(s)),
    }
}

/// `6.1 KB`: of 1000 bytes.
pub(super) fn bytes(count: f64) -> String {
    scaled(count, "B", "KB", "MB", "GB")
}

/// `18.4 kflop`.
pub(super) fn flops(count: f64) -> String {
    scaled(count, "flop", "kflop", "Mflop", "Gflop")
}

fn scaled(x: f64, one: &str, kilo: &str, mega: &str, giga: &str) -> String {
    match x {
        x if x < 999.5 => format!("{x:.0} {one}"),
        x if x < 999.5e3 => format!("{} {kilo}", digits(x / 1e3)),
        x if x < 999.5e6 => format!("{} {mega}", digits(x / 1e6)),
        x => format!("{} {giga}", digits(x / 1e9)),
    }
}

/// Three digits.
fn digits(x: f64) -> String {
    match x {
        x if x < 9.995 => format!("{x:.2}"),
        x if x < 99.95 => format!("{x:.1}"),
        x => format!("{x:.0}"),
    }
}

/// `45 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// `1 kernel`, `2 kernels`.
pub(super) fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
