//! Digits as text, shaded by ink.

use crate::digit::{Digit, FULL_INK, SIDE};

/// From paper to full ink.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
/// Characters for one pixel: a character is about twice as high as it is wide.
const PIXEL_WIDTH: usize = 2;
/// Characters in a row of a digit.
const WIDTH: usize = SIDE * PIXEL_WIDTH;
/// Between two digits.
const GAP: &str = "   ";

/// The digits side by side, each with its caption below.
pub fn side_by_side(digits: &[(&Digit, String)]) -> String {
    let mut text = String::new();
    for row in 0..SIDE {
        let pictures: Vec<String> = digits.iter().map(|(digit, _)| shade_row(&digit.rows()[row])).collect();
        push_line(&mut text, &pictures);
    }
    let captions: Vec<String> = digits.iter().map(|(_, caption)| format!("{caption:^WIDTH$}")).collect();
    push_line(&mut text, &captions);
    text
}

fn push_line(text: &mut String, cells: &[String]) {
    text.push_str(cells.join(GAP).trim_end());
    text.push('\n');
}

fn shade_row(pixels: &[u8; SIDE]) -> String {
    pixels.iter().map(|&pixel| shade(pixel).to_string().repeat(PIXEL_WIDTH)).collect()
}

/// The nearest of the shades.
fn shade(pixel: u8) -> char {
    let steps = SHADES.len() - 1;
    let full = usize::from(FULL_INK);
    SHADES[(usize::from(pixel) * steps + full / 2) / full]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_cover_the_whole_range() {
        assert_eq!(shade(0), ' ');
        assert_eq!(shade(1), ' ');
        assert_eq!(shade(2), '░');
        assert_eq!(shade(8), '▒');
        assert_eq!(shade(13), '▓');
        assert_eq!(shade(14), '█');
        assert_eq!(shade(FULL_INK), '█');
    }

    #[test]
    fn digits_stand_side_by_side_over_their_captions() {
        let mut pixels = [0; SIDE * SIDE];
        pixels[..SIDE].fill(FULL_INK);
        pixels[SIDE] = 8;
        let digit = Digit::new(pixels).unwrap();
        let text = side_by_side(&[(&digit, "left".into()), (&digit, "right".into())]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), SIDE + 1);
        assert_eq!(lines[0], "████████████████   ████████████████");
        assert_eq!(lines[1], "▒▒                 ▒▒");
        assert_eq!(lines[2], "");
        assert_eq!(lines[SIDE], "      left              right");
    }
}
