//! The held-out images, in the IDX format that MNIST made common.
//!
//! An IDX file has two zero bytes, a type (8: unsigned bytes), the number of dimensions, each size as a big-endian
//! `u32`, and then the elements, last dimension fastest.

use crate::Result;
use crate::digit::{Digit, SIDE};

/// Images that the training never saw, and what they show.
pub struct Dataset {
    /// The images.
    pub digits: Vec<Digit>,
    /// For each image the digit that it shows.
    pub labels: Vec<u8>,
}

/// The files that the training script wrote; part of the program, so that it can check itself anywhere.
pub fn held_out() -> Result<Dataset> {
    Dataset::parse(
        include_bytes!("../data/test-images.idx3-ubyte"),
        include_bytes!("../data/test-labels.idx1-ubyte"),
    )
}

impl Dataset {
    /// Reads a pair of IDX files.
    fn parse(images: &[u8], labels: &[u8]) -> Result<Dataset> {
        let ([count, height, width], pixels) = parse_idx(images).map_err(|e| format!("test images: {e}"))?;
        let ([label_count], labels) = parse_idx(labels).map_err(|e| format!("test labels: {e}"))?;
        if (height, width) != (SIDE, SIDE) {
            return Err(format!("test images: {height}x{width} pixels, the model takes {SIDE}x{SIDE}").into());
        }
        if count != label_count {
            return Err(format!("{count} test images, but {label_count} labels").into());
        }
        if let Some(label) = labels.iter().find(|&&label| label > 9) {
            return Err(format!("test labels: {label} is not a digit").into());
        }
        let digits: Option<Vec<Digit>> =
            pixels.as_chunks().0.iter().map(|pixels| Digit::new(*pixels)).collect();
        let digits = digits.ok_or("test images: a pixel is above 16")?;
        Ok(Dataset { digits, labels: labels.to_vec() })
    }

    /// Image and label, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = (&Digit, u8)> {
        self.digits.iter().zip(self.labels.iter().copied())
    }
}

/// Sizes and elements of an IDX file of unsigned bytes with `RANK` dimensions.
fn parse_idx<const RANK: usize>(file: &[u8]) -> Result<([usize; RANK], &[u8])> {
    const UNSIGNED_BYTES: u8 = 8;
    let (magic, rest) = file.split_first_chunk::<4>().ok_or("the file ends in its header")?;
    if magic[..3] != [0, 0, UNSIGNED_BYTES] || usize::from(magic[3]) != RANK {
        return Err(format!("not an IDX file of unsigned bytes with {RANK} dimensions").into());
    }
    let (sizes, elements) = rest.split_at_checked(4 * RANK).ok_or("the file ends in its header")?;
    let mut shape = [0; RANK];
    for (size, bytes) in shape.iter_mut().zip(sizes.as_chunks().0) {
        *size = u32::from_be_bytes(*bytes) as usize;
    }
    let expected = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    if expected != Some(elements.len()) {
        return Err(format!("sizes {shape:?}, but {} elements", elements.len()).into());
    }
    Ok((shape, elements))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IDX file of one blank image.
    fn one_image() -> Vec<u8> {
        let mut file = vec![0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 8];
        file.extend([0; 64]);
        file
    }

    fn message(images: &[u8], labels: &[u8]) -> String {
        Dataset::parse(images, labels).err().expect("the files are wrong").to_string()
    }

    #[test]
    fn held_out_images_hold_every_digit() {
        let dataset = held_out().unwrap();
        assert_eq!(dataset.digits.len(), 360);
        for digit in 0..10 {
            let count = dataset.labels.iter().filter(|&&label| label == digit).count();
            assert!((35..=37).contains(&count), "{count} images of {digit}");
        }
    }

    #[test]
    fn reads_one_image() {
        let dataset = Dataset::parse(&one_image(), &[0, 0, 8, 1, 0, 0, 0, 1, 7]).unwrap();
        assert_eq!(dataset.iter().map(|(_, label)| label).collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn damaged_files_are_refused() {
        let label = [0, 0, 8, 1, 0, 0, 0, 1, 7];
        assert_eq!(message(&[], &label), "test images: the file ends in its header");
        assert_eq!(message(&one_image()[..12], &label), "test images: the file ends in its header");
        assert_eq!(message(&one_image()[..79], &label), "test images: sizes [1, 8, 8], but 63 elements");
        assert_eq!(
            message(&one_image(), &one_image()),
            "test labels: not an IDX file of unsigned bytes with 1 dimensions"
        );
        assert_eq!(message(&one_image(), &[0, 0, 8, 1, 0, 0, 0, 1, 10]), "test labels: 10 is not a digit");
        assert_eq!(message(&one_image(), &[0, 0, 8, 1, 0, 0, 0, 0]), "1 test images, but 0 labels");
    }

    #[test]
    fn sizes_that_overflow_are_refused() {
        let mut file = one_image();
        file[4..16].fill(0xff);
        assert!(message(&file, &[0, 0, 8, 1, 0, 0, 0, 1, 7]).contains("but 64 elements"));
    }
}
