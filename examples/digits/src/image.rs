//! Any picture of one digit, made into what the data set would have.
//!
//! The data set was made from scans in this way: the digit was cut out, scaled to a fixed height and its ink averaged
//! over the cells of an 8x8 grid. So the steps here are: tell ink from paper, cut out the ink, average it over 8x8 cells
//! and scale the darkest cell to full ink.

use crate::Result;
use crate::digit::{Digit, FULL_INK, SIDE};
use ::image::{DynamicImage, ImageReader};
use std::path::Path;

/// Ink below this part of the strongest is taken for noise of the paper when the digit is cut out.
const NOISE: f32 = 0.2;
/// Less difference than this between ink and paper, of the range from black to white, is no drawing.
const LEAST_CONTRAST: f32 = 0.1;
/// A picture with more pixels than this is refused before it is decoded.
const MOST_PIXELS: u64 = 50_000_000;

/// What to do about a file that is no picture of a digit.
const HELP: &str = "help: give a PNG or PGM file that shows one digit, dark on light or light on dark";

/// Reads a PNG or PGM file that shows one digit, dark on light or light on dark, of any size.
pub fn read(path: &Path) -> Result<Digit> {
    let name = path.display();
    let refused = |why: String| format!("image `{name}`: {why}\n{HELP}");
    let reader = ImageReader::open(path)
        .map_err(|e| format!("image `{name}`: cannot open it: {e}\nhelp: check the path"))?;
    let reader = reader.with_guessed_format().map_err(|e| refused(format!("cannot read it: {e}")))?;
    if reader.format().is_none() {
        return Err(refused("it is not a picture of a known kind".into()).into());
    }
    let picture = decode(reader).map_err(|e| refused(format!("cannot read it: {e}")))?;
    let digit = to_digit(&Grey::new(picture)).map_err(|e| refused(e.to_string()))?;
    Ok(digit)
}

fn decode(reader: ImageReader<std::io::BufReader<std::fs::File>>) -> Result<DynamicImage> {
    use ::image::ImageDecoder;
    let decoder = reader.into_decoder()?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(format!("it has {width}x{height} pixels, more than {MOST_PIXELS} in all").into());
    }
    Ok(DynamicImage::from_decoder(decoder)?)
}

/// A grey picture: 0 is black, 1 is white.
struct Grey {
    width: usize,
    height: usize,
    pixels: Vec<f32>,
}

impl Grey {
    /// Colours become grey; what is transparent shows paper that the drawing stands out from.
    fn new(picture: DynamicImage) -> Grey {
        let picture = picture.to_luma_alpha32f();
        let (brightness, opacity) =
            picture.pixels().fold((0.0f64, 0.0f64), |(brightness, opacity), pixel| {
                let [light, alpha] = pixel.0.map(f64::from);
                (brightness + light * alpha, opacity + alpha)
            });
        let paper = if brightness > 0.5 * opacity { 0.0 } else { 1.0 };
        let pixels = picture.pixels().map(|pixel| {
            let [light, alpha] = pixel.0;
            light * alpha + paper * (1.0 - alpha)
        });
        Grey { width: picture.width() as usize, height: picture.height() as usize, pixels: pixels.collect() }
    }

    /// The typical brightness of the rim, which a digit touches in few places.
    fn paper(&self) -> f32 {
        let rows = self.pixels.chunks_exact(self.width).enumerate();
        let mut rim: Vec<f32> = rows
            .flat_map(|(y, row)| {
                let whole = y == 0 || y + 1 == self.height;
                let ends = [row[0], row[self.width - 1]];
                if whole { row.to_vec() } else { ends.to_vec() }
            })
            .collect();
        rim.sort_by(f32::total_cmp);
        rim[rim.len() / 2]
    }
}

/// Ink of a picture, 0 to 1.
struct Ink {
    width: usize,
    height: usize,
    pixels: Vec<f32>,
}

impl Ink {
    /// What differs most from the paper is ink, be it darker or lighter.
    fn new(picture: &Grey) -> Result<Ink> {
        let paper = picture.paper();
        let darkest = picture.pixels.iter().copied().fold(paper, f32::min);
        let lightest = picture.pixels.iter().copied().fold(paper, f32::max);
        let full = if paper - darkest >= lightest - paper { darkest - paper } else { lightest - paper };
        if full.abs() < LEAST_CONTRAST {
            return Err("there is no drawing on it, only paper".into());
        }
        let pixels = picture.pixels.iter().map(|&pixel| ((pixel - paper) / full).clamp(0.0, 1.0)).collect();
        Ok(Ink { width: picture.width, height: picture.height, pixels })
    }

    fn row(&self, y: usize) -> &[f32] {
        &self.pixels[y * self.width..][..self.width]
    }

    /// First and last row, first and last column that hold more than noise.
    fn bounds(&self) -> Bounds {
        let inked = |pixel: &f32| *pixel > NOISE;
        let mut bounds = Bounds { top: self.height, bottom: 0, left: self.width, right: 0 };
        for y in 0..self.height {
            let row = self.row(y);
            let (Some(first), Some(last)) = (row.iter().position(inked), row.iter().rposition(inked)) else {
                continue;
            };
            bounds.top = bounds.top.min(y);
            bounds.bottom = y;
            bounds.left = bounds.left.min(first);
            bounds.right = bounds.right.max(last);
        }
        bounds
    }
}

/// The rows and columns of the drawing, all inclusive.
struct Bounds {
    top: usize,
    bottom: usize,
    left: usize,
    right: usize,
}

fn to_digit(picture: &Grey) -> Result<Digit> {
    let ink = Ink::new(picture)?;
    // A picture that has the size of the data set's images already is taken as it is.
    let cells = if (ink.width, ink.height) == (SIDE, SIDE) { ink.pixels } else { average_cells(&ink) };
    let strongest = cells.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    let mut pixels = [0; SIDE * SIDE];
    for (pixel, cell) in pixels.iter_mut().zip(cells) {
        *pixel = (cell / strongest * f32::from(FULL_INK)).round() as u8;
    }
    Digit::new(pixels).ok_or_else(|| "a cell is above full ink".into())
}

/// The mean ink of each cell of an 8x8 grid over the smallest square around the drawing.
fn average_cells(ink: &Ink) -> Vec<f32> {
    let bounds = ink.bounds();
    let height = (bounds.bottom - bounds.top + 1) as f32;
    let width = (bounds.right - bounds.left + 1) as f32;
    let side = height.max(width);
    let top = bounds.top as f32 - (side - height) / 2.0;
    let left = bounds.left as f32 - (side - width) / 2.0;

    let rows = overlaps(top, side, ink.height);
    let columns = overlaps(left, side, ink.width);
    let mut cells = Vec::with_capacity(SIDE * SIDE);
    for row_parts in &rows {
        for column_parts in &columns {
            let mut sum = 0.0;
            for &(y, row_part) in row_parts {
                let row = ink.row(y);
                sum += row_part * column_parts.iter().map(|&(x, part)| part * row[x]).sum::<f32>();
            }
            cells.push(sum);
        }
    }
    cells
}

/// For each of the 8 cells of `start..start + length`: the pixels that it touches, each with its share of the cell.
fn overlaps(start: f32, length: f32, pixels: usize) -> Vec<Vec<(usize, f32)>> {
    let cell = length / SIDE as f32;
    (0..SIDE)
        .map(|index| {
            let from = start + cell * index as f32;
            let to = from + cell;
            let first = from.floor().max(0.0) as usize;
            let last = (to.ceil().max(0.0) as usize).min(pixels);
            (first..last)
                .map(|pixel| {
                    let covered = to.min(pixel as f32 + 1.0) - from.max(pixel as f32);
                    (pixel, covered.max(0.0) / cell)
                })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::image::{GrayAlphaImage, GrayImage, Luma, LumaA};

    fn convert(picture: impl Into<DynamicImage>) -> Digit {
        to_digit(&Grey::new(picture.into())).unwrap()
    }

    /// A vertical bar, 40 high and 10 wide, off the middle of a larger sheet.
    fn bar(ink: u8, paper: u8) -> GrayImage {
        GrayImage::from_fn(100, 80, |x, y| {
            let inside = (60..70).contains(&x) && (10..50).contains(&y);
            Luma([if inside { ink } else { paper }])
        })
    }

    #[test]
    fn the_drawing_fills_the_height_and_stands_in_the_middle() {
        for row in convert(bar(0, 255)).rows() {
            assert_eq!(*row, [0, 0, 0, 16, 16, 0, 0, 0]);
        }
    }

    #[test]
    fn dark_on_light_and_light_on_dark_are_the_same() {
        let expected = convert(bar(0, 255));
        assert_eq!(convert(bar(255, 0)), expected);
        assert_eq!(convert(bar(90, 130)), expected);
        assert_eq!(convert(bar(200, 60)), expected);
    }

    #[test]
    fn transparent_pictures_show_the_drawing() {
        for ink in [0, 255] {
            let picture = GrayAlphaImage::from_fn(40, 40, |x, _| {
                let inside = (15..25).contains(&x);
                LumaA([if inside { ink } else { 0 }, if inside { 255 } else { 0 }])
            });
            for row in convert(picture).rows() {
                assert_eq!(*row, [0, 0, 0, 16, 16, 0, 0, 0], "ink {ink}");
            }
        }
    }

    #[test]
    fn a_wide_drawing_keeps_its_proportions() {
        let picture = ::image::imageops::rotate90(&bar(0, 255));
        let digit = convert(picture);
        for (y, row) in digit.rows().iter().enumerate() {
            assert_eq!(*row, [if (3..5).contains(&y) { 16 } else { 0 }; SIDE]);
        }
    }

    #[test]
    fn cells_hold_the_mean_ink() {
        // 12 pixels for 8 cells: a cell covers one and a half. Columns of ink: 0, 1 and 11.
        let picture = GrayImage::from_fn(14, 14, |x, y| {
            let inside = (1..13).contains(&y) && [1, 2, 12].contains(&x);
            Luma([if inside { 0 } else { 255 }])
        });
        for row in convert(picture).rows() {
            assert_eq!(*row, [16, 5, 0, 0, 0, 0, 0, 11]);
        }
    }

    #[test]
    fn small_pictures_are_enlarged() {
        let picture = GrayImage::from_fn(4, 4, |x, y| Luma([if x == 1 && y < 2 { 0 } else { 255 }]));
        for row in convert(picture).rows() {
            assert_eq!(*row, [0, 0, 16, 16, 16, 16, 0, 0]);
        }
    }

    #[test]
    fn sizes_of_one_do_not_panic() {
        for (width, height) in [(1, 1), (1, 9), (9, 1)] {
            let blank = Grey::new(GrayImage::new(width, height).into());
            assert!(to_digit(&blank).is_err());
        }
        let dots = GrayImage::from_fn(1, 9, |_, y| Luma([if y == 4 { 255 } else { 0 }]));
        assert_eq!(convert(dots).rows()[0], [16; SIDE]);
    }

    #[test]
    fn paper_alone_is_an_error() {
        let blank = Grey::new(GrayImage::from_pixel(30, 30, Luma([200])).into());
        assert!(to_digit(&blank).unwrap_err().to_string().contains("only paper"));
    }

    #[test]
    fn the_data_sets_own_pictures_come_back_unchanged() {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/data/three.pgm"));
        let digit = read(path).unwrap();
        let held_out = crate::dataset::held_out().unwrap();
        assert!(held_out.iter().any(|(other, label)| label == 3 && *other == digit), "{digit:?}");
    }

    #[test]
    fn a_large_drawing_of_a_held_out_digit_comes_back() {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/data/seven.png"));
        let digit = read(path).unwrap();
        let held_out = crate::dataset::held_out().unwrap();
        let (seven, _) = held_out.iter().find(|(_, label)| *label == 7).unwrap();
        let far = |(a, b): (&[u8; SIDE], &[u8; SIDE])| a.iter().zip(b).any(|(a, b)| a.abs_diff(*b) > 1);
        assert!(!digit.rows().iter().zip(seven.rows()).any(far), "{digit:?}\n{seven:?}");
    }

    #[test]
    fn files_that_are_no_pictures_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("notes.txt");
        std::fs::write(&text, "no picture").unwrap();
        let cut = folder.path().join("cut.png");
        std::fs::write(&cut, &include_bytes!("../data/seven.png")[..60]).unwrap();
        let missing = folder.path().join("missing.png");
        for path in [text, cut, missing] {
            let message = read(&path).unwrap_err().to_string();
            assert!(
                message.contains(&path.display().to_string()) && message.contains("\nhelp: "),
                "{message}"
            );
        }
    }
}
