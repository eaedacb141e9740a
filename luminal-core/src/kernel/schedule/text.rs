//! Schedules as lines of text, for lock files and reports: written by `Display`, read by [`Schedule::parse`].
//!
//! ```text
//! lanes 8
//! grid 0/32 1/4                          axis / positions of a block
//! fold 64                                positions of a block of each fold
//! nest 0 1 2; tile 0:4 1:16; lane 1      loops; register tile; the axis of the lanes
//! store 32:1 *:8192, 32                  digits `size:stride` of each dimension of an argument; `*` takes the rest
//! keep registers                         where a buffer that is no argument lives
//! keep scratch 1 0
//! ```

use super::{Nest, Place, Schedule};
use crate::error::{Error, Result};
use crate::kernel::ir::{Digit, Freedom, Kernel, Storage};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// The largest block, tile, lane count or stride that a schedule may have: products of two of them are no overflow.
const MOST: usize = 1 << 31;

fn list<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(" ")
}

fn pairs(items: &[(usize, usize)], separator: char) -> String {
    list(items.iter().map(|(x, y)| format!("{x}{separator}{y}")))
}

fn digit(digit: &Digit) -> String {
    match digit.size {
        Digit::REST => digit.stride.to_string(),
        size => format!("{size}:{}", digit.stride),
    }
}

/// The last digit takes the rest, so its size is not written; `*:8192` behind another digit says so.
fn storage(storage: &Storage) -> String {
    let dimension = |digits: &Vec<Digit>| match &digits[..] {
        [only] => digit(only),
        all => list(all.iter().map(|d| match d.size {
            Digit::REST => format!("*:{}", d.stride),
            _ => digit(d),
        })),
    };
    storage.iter().map(dimension).collect::<Vec<_>>().join(", ")
}

impl Display for Nest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "nest {}", list(&self.order))?;
        if !self.tile.is_empty() {
            write!(f, "; tile {}", pairs(&self.tile, ':'))?;
        }
        if let Some(lane) = self.lane {
            write!(f, "; lane {lane}")?;
        }
        if self.wide != 1 {
            write!(f, "; wide {}", self.wide)?;
        }
        if let Some((axis, count)) = self.rows {
            write!(f, "; rows {axis}:{count}")?;
        }
        Ok(())
    }
}

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "lanes {}", self.lanes)?;
        if !self.grid.is_empty() {
            write!(f, "\ngrid {}", pairs(&self.grid, '/'))?;
        }
        if !self.folds.is_empty() {
            write!(f, "\nfold {}", list(&self.folds))?;
        }
        for nest in &self.nests {
            write!(f, "\n{}", nest.to_string().trim_end())?;
        }
        for order in &self.storage {
            write!(f, "\n{}", format!("store {}", storage(order)).trim_end())?;
        }
        for place in &self.places {
            match place {
                Place::Register => write!(f, "\nkeep registers")?,
                Place::Scratch(order) => {
                    write!(f, "\n{}", format!("keep scratch {}", list(order)).trim_end())?;
                }
            }
        }
        Ok(())
    }
}

fn number(text: &str) -> Result<usize> {
    let number = usize::from_str(text).map_err(|_| Error::new(format!("`{text}` is no number")))?;
    match number <= MOST {
        true => Ok(number),
        false => Err(Error::new(format!("{number} is too large"))),
    }
}

fn numbers(text: &str) -> Result<Vec<usize>> {
    text.split_whitespace().map(number).collect()
}

fn pair(text: &str, separator: char) -> Result<(usize, usize)> {
    let (x, y) =
        text.split_once(separator).ok_or_else(|| Error::new(format!("`{text}` has no `{separator}`")))?;
    Ok((number(x)?, number(y)?))
}

fn read_pairs(text: &str, separator: char) -> Result<Vec<(usize, usize)>> {
    text.split_whitespace().map(|text| pair(text, separator)).collect()
}

fn read_digit(text: &str) -> Result<Digit> {
    Ok(match text.split_once(':') {
        None => Digit { size: Digit::REST, stride: number(text)? },
        Some(("*", stride)) => Digit { size: Digit::REST, stride: number(stride)? },
        Some((size, stride)) => Digit { size: number(size)?, stride: number(stride)? },
    })
}

fn read_storage(text: &str) -> Result<Storage> {
    if text.is_empty() {
        return Ok(vec![]);
    }
    text.split(',').map(|dimension| dimension.split_whitespace().map(read_digit).collect()).collect()
}

fn read_nest(text: &str) -> Result<Nest> {
    let mut parts = text.split(';').map(str::trim);
    let order = numbers(parts.next().unwrap_or_default())?;
    let mut nest = Nest { order, wide: 1, ..Nest::default() };
    for part in parts {
        let (word, rest) = part.split_once(' ').unwrap_or((part, ""));
        match word {
            "tile" => nest.tile = read_pairs(rest, ':')?,
            "lane" => nest.lane = Some(number(rest)?),
            "wide" => nest.wide = number(rest)?,
            "rows" => nest.rows = Some(pair(rest, ':')?),
            _ => return Err(Error::new(format!("`{word}` is no part of a nest"))),
        }
    }
    Ok(nest)
}

impl Schedule {
    /// Reads what `Display` writes, one item a line.
    ///
    /// # Errors
    /// The line that is none, and what is wrong with it. Whether the schedule suits a kernel is another question:
    /// [`Schedule::suits`].
    pub fn parse<'a>(lines: impl IntoIterator<Item = &'a str>) -> Result<Schedule> {
        let mut schedule = Schedule {
            grid: vec![],
            folds: vec![],
            nests: vec![],
            lanes: 1,
            storage: vec![],
            places: vec![],
        };
        for line in lines {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let read = |schedule: &mut Schedule| -> Result<()> {
                match word {
                    "lanes" => schedule.lanes = number(rest)?,
                    "grid" => schedule.grid = read_pairs(rest, '/')?,
                    "fold" => schedule.folds = numbers(rest)?,
                    "nest" => schedule.nests.push(read_nest(rest)?),
                    "store" => schedule.storage.push(read_storage(rest)?),
                    "keep" => schedule.places.push(match rest.split_once(' ').unwrap_or((rest, "")) {
                        ("registers", "") => Place::Register,
                        ("scratch", order) => Place::Scratch(numbers(order)?),
                        _ => return Err(Error::new("buffers are kept in `registers` or in `scratch ..`")),
                    }),
                    _ => return Err(Error::new(format!("`{word}` is no item of a schedule"))),
                }
                Ok(())
            };
            read(&mut schedule).map_err(|error| Error::new(format!("schedule line `{line}`: {error}")))?;
        }
        Ok(schedule)
    }

    /// Checks that the schedule is one of this kernel: as many parts as it has, names that exist, sizes that are not 0,
    /// and orders in memory only where the kernel leaves them open. Whether blocks and nests are legal, lowering decides.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn suits(&self, kernel: &Kernel) -> Result<()> {
        let fail = |what: &str| Err(Error::new(format!("the schedule does not fit the kernel: {what}")));
        let axes = kernel.axes.len();
        if !self.lanes.is_power_of_two() || self.lanes > 64 {
            return fail("lanes are a power of two up to 64");
        }
        if self.nests.len() != kernel.defs().count() {
            return fail("it needs one nest for each definition");
        }
        for nest in &self.nests {
            let named = nest.order.iter().chain(nest.tile.iter().map(|t| &t.0)).chain(&nest.lane);
            if named.chain(nest.rows.iter().map(|r| &r.0)).any(|axis| *axis >= axes) {
                return fail("a nest names an axis that the kernel does not have");
            }
            let sizes = nest.tile.iter().map(|t| t.1).chain(nest.rows.map(|r| r.1)).chain([nest.wide]);
            if sizes.into_iter().any(|size| size == 0 || size > 4096) {
                return fail("the sizes of a register tile are 1 to 4096");
            }
            let twice = |axes: &[usize]| (1..axes.len()).any(|i| axes[..i].contains(&axes[i]));
            if twice(&nest.order) || twice(&nest.tile.iter().map(|t| t.0).collect::<Vec<_>>()) {
                return fail("a nest names an axis twice");
            }
        }
        if self.grid.iter().any(|(axis, size)| *axis >= axes || *size == 0) || self.folds.contains(&0) {
            return fail("a block has no positions, or is of an axis that the kernel does not have");
        }
        if self.storage.len() != kernel.args || self.places.len() != kernel.buffers.len() - kernel.args {
            return fail("it needs a storage for each argument and a place for each other buffer");
        }
        for (buffer, storage) in kernel.buffers.iter().zip(&self.storage) {
            if buffer.freedom == Freedom::Fixed && *storage != buffer.storage {
                return fail(&format!("the order of `{}` in memory is not open", buffer.name));
            }
            if storage.len() != buffer.dims.len() || !is_order(storage, &buffer.dims) {
                return fail(&format!("the storage of `{}` is no order of its elements", buffer.name));
            }
        }
        for (buffer, place) in kernel.buffers[kernel.args..].iter().zip(&self.places) {
            let Place::Scratch(order) = place else { continue };
            let mut sorted = order.clone();
            sorted.sort_unstable();
            if !sorted.iter().copied().eq(0..buffer.dims.len()) {
                return fail(&format!("the places of `{}` in scratch memory", buffer.name));
            }
        }
        Ok(())
    }
}

/// True if every element has a place of its own: digits in the order of their strides, each stride at least as large as
/// what lies inside it.
fn is_order(storage: &Storage, dims: &[usize]) -> bool {
    let mut digits: Vec<(usize, usize)> = vec![];
    for (all, dim) in storage.iter().zip(dims) {
        let Some((last, inner)) = all.split_last() else { return false };
        if last.size != Digit::REST || inner.iter().any(|d| d.size == 0 || d.size == Digit::REST) {
            return false;
        }
        let mut left = *dim;
        for digit in all {
            let here = if digit.size == Digit::REST { left } else { digit.size };
            left = left.div_ceil(here.max(1));
            digits.push((digit.stride, here));
        }
    }
    digits.retain(|(_, size)| *size > 1);
    // Of no elements, any order will do.
    if dims.contains(&0) {
        return true;
    }
    digits.sort_unstable();
    let mut inside = 1usize;
    digits.iter().all(|(stride, size)| {
        let fits = *stride >= inside;
        inside = stride.saturating_mul(*size);
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::lower::lower;
    use crate::kernel::schedule::{Machine, candidates};
    use crate::kernel::testing;

    #[test]
    fn schedules_are_read_as_written() {
        let mut count = 0;
        for (name, kernel, _) in testing::all() {
            for schedule in
                candidates(&kernel, &Machine::x86_64_v3()).iter().chain([&Schedule::plain(&kernel)])
            {
                let text = schedule.to_string();
                let read = Schedule::parse(text.lines()).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
                assert_eq!(read, *schedule, "{name}\n{text}");
                read.suits(&kernel).unwrap_or_else(|e| panic!("{name}: {e}\n{text}\n{kernel}"));
                count += 1;
            }
        }
        assert!(count > 100, "{count}");
    }

    #[test]
    fn lines_that_are_none_are_named() {
        for (line, message) in [
            ("lanes many", "`many` is no number"),
            ("grid 0:32", "`0:32` has no `/`"),
            ("nest 0; tiles 1:2", "`tiles` is no part of a nest"),
            ("store 99999999999999", "is too large"),
            ("keep heap", "`registers` or in `scratch ..`"),
            ("swirl 3", "`swirl` is no item of a schedule"),
        ] {
            let error = Schedule::parse([line]).unwrap_err().to_string();
            assert!(error.contains(line) && error.contains(message), "{error}");
        }
    }

    /// Whatever is written over a number of a schedule: it is refused, or can be lowered without a panic.
    #[test]
    fn edited_schedules_are_refused_or_legal() {
        let (mut refused, mut legal) = (0, 0);
        for (_, kernel, _) in testing::all().into_iter().step_by(3) {
            let schedule = candidates(&kernel, &Machine::x86_64_v3()).swap_remove(0);
            let text = schedule.to_string();
            let digits: Vec<usize> =
                text.char_indices().filter(|c| c.1.is_ascii_digit()).map(|c| c.0).collect();
            for (place, new) in digits.iter().zip(["0", "1", "3", "7", "16", "250"].iter().cycle()) {
                let mut edited = text.clone();
                edited.replace_range(*place..place + 1, new);
                let lowered = Schedule::parse(edited.lines()).and_then(|schedule| {
                    schedule.suits(&kernel)?;
                    lower("edited", &kernel, &schedule)
                });
                match lowered {
                    Ok(_) => legal += 1,
                    Err(_) => refused += 1,
                }
            }
        }
        assert!(refused > 100 && legal > 100, "{refused} refused, {legal} legal");
    }
}
