//! A picture as inline SVG. Its colours are those of the page's style sheet.

use super::escape::escape;
use super::layout::layout;
use super::picture::{Kind, Picture};
use std::fmt::Write;

/// Of a character of the title and of other lines; the type is one of fixed width.
const CHARACTER: (f64, f64) = (7.85, 6.65);
const LINE: f64 = 15.0;
/// Longer lines are cut.
const LONGEST: usize = 40;

pub(super) fn svg(picture: &Picture, label: &str) -> String {
    let sizes: Vec<(f64, f64)> = picture
        .shapes
        .iter()
        .map(|shape| {
            let line = |text: &String| cut(text).chars().count() as f64 * CHARACTER.1;
            let title = cut(&shape.title).chars().count() as f64 * CHARACTER.0;
            let width = shape.lines.iter().map(line).fold(title, f64::max);
            (width.max(28.0) + 24.0, 27.0 + LINE * shape.lines.len() as f64)
        })
        .collect();
    let layout = layout(picture, &sizes);
    let (width, height) = (layout.width.ceil(), layout.height.ceil());
    let mut text = format!(
        "<svg class=\"picture\" role=\"img\" aria-label=\"{}\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" xmlns=\"http://www.w3.org/2000/svg\">\n",
        escape(label)
    );
    for path in &layout.paths {
        let _ = writeln!(text, "<path class=\"edge\" d=\"{}\"/>", curve(path));
        if let Some((x, y)) = path.last() {
            let _ = writeln!(text, "<path class=\"tip\" d=\"M{x:.1} {y:.1}l-3.5 -6h7z\"/>");
        }
    }
    for (shape, place) in picture.shapes.iter().zip(&layout.places) {
        let class = class(shape.kind);
        let radius = if matches!(shape.kind, Kind::Kernel | Kind::Operation) { 7.0 } else { 13.0 };
        if let Some(link) = &shape.link {
            let _ = write!(text, "<a href=\"#{}\">", escape(link));
        }
        let _ = write!(
            text,
            "<g class=\"shape {class}\"><title>{}</title><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" \
             height=\"{:.1}\" rx=\"{radius}\"/>",
            escape(if shape.tip.is_empty() { &shape.title } else { &shape.tip }),
            place.x,
            place.y,
            place.width,
            place.height
        );
        let middle = place.x + place.width / 2.0;
        let mut y = place.y + 18.0;
        let _ = write!(
            text,
            "<text class=\"title\" x=\"{middle:.1}\" y=\"{y:.1}\">{}</text>",
            escape(&cut(&shape.title))
        );
        for line in &shape.lines {
            y += LINE;
            let _ = write!(text, "<text x=\"{middle:.1}\" y=\"{y:.1}\">{}</text>", escape(&cut(line)));
        }
        text += if shape.link.is_some() { "</g></a>\n" } else { "</g>\n" };
    }
    text + "</svg>\n"
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Input => "input",
        Kind::Output => "output",
        Kind::State => "state",
        Kind::Tensor => "tensor",
        Kind::Operation => "operation",
        Kind::Kernel => "kernel",
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.into();
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}

/// Through all points, vertical at each.
fn curve(points: &[(f64, f64)]) -> String {
    let mut text = String::new();
    for (number, (x, y)) in points.iter().enumerate() {
        if number == 0 {
            let _ = write!(text, "M{x:.1} {y:.1}");
            continue;
        }
        let (x0, y0) = points[number - 1];
        if (x - x0).abs() < 0.5 {
            let _ = write!(text, "L{x:.1} {y:.1}");
        } else {
            let middle = (y - y0) / 2.0;
            let _ = write!(text, "C{x0:.1} {:.1} {x:.1} {:.1} {x:.1} {y:.1}", y0 + middle, y - middle);
        }
    }
    text
}
