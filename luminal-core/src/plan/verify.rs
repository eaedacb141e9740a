//! Is a plan whole? What the runtime relies on is checked here: by the build when it makes a plan, and at load.

use super::{Access, Buffer, Digit, Dim, GridAxis, Launch, List, Param, Place, Plan, Port};
use crate::error::{Error, Result};
use crate::graph::determined;
use std::collections::BTreeSet;

/// Every buffer starts at a multiple of this.
const ALIGNMENT: usize = 64;

impl Plan {
    /// Checks that every index is in range, every buffer inside its area and large enough for what is kept there, that
    /// nothing is read before it is written, and that no two intermediates share memory while both are needed.
    ///
    /// What cannot be checked is whether the kernels do what [`super::Kernel::args`] says.
    pub fn check(&self) -> Result<()> {
        let checked = self
            .check_buffers()
            .and_then(|()| self.check_border())
            .and_then(|()| self.check_params())
            .and_then(|()| self.check_kernels())
            .and_then(|()| self.check_order());
        checked.map_err(|rule| Error::new(format!("the plan of `{}` is broken: {rule}", self.model)))
    }

    fn check_buffers(&self) -> Result<(), String> {
        let mut numbers = BTreeSet::new();
        let mut kept: Vec<(Area, usize, usize, usize)> = vec![];
        for (id, buffer) in self.buffers.iter().enumerate() {
            let (area, offset, size) = match buffer.place {
                Place::Input(number) | Place::Output(number) => {
                    let input = matches!(buffer.place, Place::Input(_));
                    let count = if input { self.inputs.len() } else { self.outputs.len() };
                    require(number < count, || format!("buffer {id} is at {:?} of {count}", buffer.place))?;
                    require(numbers.insert((input, number)), || {
                        format!("buffer {id} is the second one at {:?}", buffer.place)
                    })?;
                    continue;
                }
                Place::Weights(offset) => (Area::Weights, offset, self.weights),
                Place::State(offset) => (Area::State, offset, self.state),
                Place::Arena(offset) => (Area::Arena, offset, self.arena),
            };
            require(offset % ALIGNMENT == 0, || {
                format!("buffer {id} is not at a multiple of {ALIGNMENT} bytes")
            })?;
            let end = offset.checked_add(buffer.bytes);
            require(end.is_some_and(|end| end <= size), || {
                format!(
                    "buffer {id}, {} bytes at {offset}, is not inside its area of {size} bytes",
                    buffer.bytes
                )
            })?;
            if area != Area::Arena && buffer.bytes > 0 {
                kept.push((area, offset, offset + buffer.bytes, id));
            }
        }
        kept.sort();
        for pair in kept.windows(2) {
            let (area, _, end, first) = pair[0];
            let (next_area, start, _, second) = pair[1];
            require(area != next_area || end <= start, || format!("buffers {first} and {second} overlap"))?;
        }
        Ok(())
    }

    fn check_border(&self) -> Result<(), String> {
        for (number, port) in self.inputs.iter().enumerate() {
            let buffer = self.check_port("input", port)?;
            let right = buffer.place == Place::Input(number);
            require(right, || {
                format!("input `{}` is number {number}, but at {:?}", port.name, buffer.place)
            })?;
        }
        for (number, port) in self.outputs.iter().enumerate() {
            let buffer = self.check_port("output", port)?;
            if let Place::Input(input) = buffer.place {
                let same = self.inputs[input].shape == port.shape && self.inputs[input].dtype == port.dtype;
                require(same, || format!("output `{}` is an input of another type or shape", port.name))?;
            }
            if let Place::Output(other) = buffer.place {
                // Several outputs may share one buffer, which then belongs to one of them.
                let shared = self.outputs.get(other).is_some_and(|owner| owner.buffer == port.buffer);
                require(shared, || {
                    format!("output {number}, `{}`, is in memory of output {other}", port.name)
                })?;
            }
        }
        for port in self.states.iter() {
            let buffer = self.check_port("state", port)?;
            let right = matches!(buffer.place, Place::State(_));
            require(right, || format!("state `{}` is at {:?}", port.name, buffer.place))?;
        }
        self.check_relations()?;
        let mut known = vec![false; self.free.len()];
        for dim in self.inputs.iter().flat_map(|port| port.shape.iter()) {
            if let Dim::Free { index, .. } = dim {
                known[*index] = true;
            }
        }
        determined(&self.relations, &mut known, |_, _| {});
        for (free, known) in self.free.iter().zip(known) {
            require(known, || format!("no input determines the size `{}`", free.name))?;
        }
        Ok(())
    }

    fn check_relations(&self) -> Result<(), String> {
        let count = self.free.len();
        for relation in self.relations.iter() {
            self.check_dim(relation.left)?;
            let known = relation.terms.iter().all(|term| term.free < count && term.factor > 0);
            let whole = known && !relation.terms.is_empty() && relation.over > 0;
            require(whole, || format!("the relation `{relation}` between {count} free sizes is not one"))?;
        }
        Ok(())
    }

    fn check_port(&self, kind: &str, port: &Port) -> Result<&Buffer, String> {
        let name = &port.name;
        let Some(buffer) = self.buffers.get(port.buffer) else {
            return Err(format!("{kind} `{name}` is in buffer {}, which does not exist", port.buffer));
        };
        for dim in port.shape.iter() {
            self.check_dim(*dim).map_err(|rule| format!("{kind} `{name}`: {rule}"))?;
        }
        let bounds = port.shape.iter().copied().map(Dim::max);
        let needed = product(bounds).and_then(|n| n.checked_mul(port.dtype.bytes()));
        require(needed.is_some_and(|needed| needed <= buffer.bytes), || {
            format!("{kind} `{name}` does not fit in buffer {} of {} bytes", port.buffer, buffer.bytes)
        })?;
        Ok(buffer)
    }

    fn check_dim(&self, dim: Dim) -> Result<(), String> {
        let Dim::Free { index, max } = dim else { return Ok(()) };
        let bound = self.free.get(index).map(|free| free.max);
        require(bound == Some(max), || format!("free size {index} has the bound {bound:?}, not {max}"))
    }

    fn check_params(&self) -> Result<(), String> {
        let mut names = BTreeSet::new();
        for param in self.params.iter() {
            let name = &param.name;
            require(names.insert(name), || format!("there are two weights named `{name}`"))?;
            for packing in param.packings.iter() {
                let buffer = self.buffers.get(packing.buffer);
                let fits = buffer.is_some_and(|buffer| {
                    let needed = packed_bytes(param, &packing.storage);
                    matches!(buffer.place, Place::Weights(_)) && needed.is_some_and(|n| n <= buffer.bytes)
                });
                require(fits, || format!("weight `{name}` does not fit in buffer {}", packing.buffer))?;
            }
        }
        Ok(())
    }

    fn check_kernels(&self) -> Result<(), String> {
        let mut names = BTreeSet::new();
        for kernel in self.kernels.iter() {
            let name = &kernel.name;
            require(names.insert(name), || format!("there are two kernels named `{name}`"))?;
            self.check_grid(&kernel.grid).map_err(|rule| format!("kernel `{name}`: {rule}"))?;
            if let Some(cuda) = &kernel.cuda {
                self.check_grid(&cuda.grid).map_err(|rule| format!("kernel `{name}` on CUDA: {rule}"))?;
            }
        }
        Ok(())
    }

    fn check_grid(&self, grid: &[GridAxis]) -> Result<(), String> {
        let mut blocks = 1usize;
        for axis in grid {
            self.check_dim(axis.size)?;
            require(axis.block > 0, || "a block of the grid has no positions".to_string())?;
            // Not the plain product: one axis of size 0 must not hide an overflow at other sizes.
            let along = axis.size.max().div_ceil(axis.block).max(1);
            blocks = blocks.checked_mul(along).ok_or("its grid overflows")?;
        }
        require(i64::try_from(blocks).is_ok(), || "its grid overflows".to_string())
    }

    /// Follows both launch lists and the state writes, and notes what is written and alive.
    fn check_order(&self) -> Result<(), String> {
        let mut written: Vec<bool> =
            self.buffers.iter().map(|b| matches!(b.place, Place::Input(_) | Place::State(_))).collect();
        for packing in self.params.iter().flat_map(|param| param.packings.iter()) {
            written[packing.buffer] = true;
        }
        self.check_launches(&self.load, Phase::Load, &mut written)?;
        for (buffer, written) in self.buffers.iter().zip(&mut written) {
            // Intermediates of loading are gone when a run starts.
            *written &= !matches!(buffer.place, Place::Arena(_));
        }
        self.check_launches(&self.run, Phase::Run, &mut written)?;
        for port in self.outputs.iter() {
            require(written[port.buffer], || format!("output `{}` is never written", port.name))?;
        }
        let mut targets = BTreeSet::new();
        for (from, to) in self.writes.iter() {
            let (Some(source), Some(target)) = (self.buffers.get(*from), self.buffers.get(*to)) else {
                return Err(format!("the write of buffer {from} to {to} names a buffer that does not exist"));
            };
            let right = matches!(target.place, Place::State(_)) && source.bytes == target.bytes;
            require(right, || {
                format!("buffer {from} cannot be written to {to}: not a state of the same size")
            })?;
            require(written[*from], || format!("buffer {from} is written to a state, but never computed"))?;
            require(targets.insert(to), || format!("buffer {to} is written twice at the end of a run"))?;
        }
        self.check_lifetimes(&self.load, Phase::Load)?;
        self.check_lifetimes(&self.run, Phase::Run)
    }

    fn check_launches(&self, launches: &[Launch], phase: Phase, written: &mut [bool]) -> Result<(), String> {
        for (number, launch) in launches.iter().enumerate() {
            let Some(kernel) = self.kernels.get(launch.kernel) else {
                return Err(format!("{phase} {number} names kernel {}, which does not exist", launch.kernel));
            };
            let place = format!("{phase} {number} (`{}`)", kernel.name);
            let (given, takes) = (launch.args.len(), kernel.args.len());
            require(given == takes, || {
                format!("{place} has {given} arguments, but its kernel takes {takes}")
            })?;
            for (&id, access) in launch.args.iter().zip(kernel.args.iter()) {
                let Some(buffer) = self.buffers.get(id) else {
                    return Err(format!("{place} names buffer {id}, which does not exist"));
                };
                require(phase.allows(buffer.place, *access), || {
                    format!("{place} must not {} buffer {id} at {:?}", access.verb(), buffer.place)
                })?;
                let valid = *access != Access::Read || written[id];
                require(valid, || format!("{place} reads buffer {id} before it is written"))?;
                let uses = launch.args.iter().filter(|other| **other == id).count();
                let alone = *access == Access::Read || uses == 1;
                require(alone, || {
                    format!("{place} writes buffer {id}, which is another of its arguments too")
                })?;
            }
            for (&id, access) in launch.args.iter().zip(kernel.args.iter()) {
                match access {
                    Access::Read => {}
                    Access::Write => written[id] = true,
                    Access::Scratch => written[id] = false,
                }
            }
        }
        Ok(())
    }

    /// No two intermediates share memory while both are needed.
    fn check_lifetimes(&self, launches: &[Launch], phase: Phase) -> Result<(), String> {
        let mut lives: Vec<Option<(usize, usize)>> = vec![None; self.buffers.len()];
        let mut touch = |id: usize, at: usize| {
            let (first, _) = lives[id].unwrap_or((at, at));
            lives[id] = Some((first, at));
        };
        for (number, launch) in launches.iter().enumerate() {
            launch.args.iter().for_each(|id| touch(*id, number));
        }
        if phase == Phase::Run {
            // Outputs and new states are taken at the very end.
            self.outputs.iter().for_each(|port| touch(port.buffer, launches.len()));
            self.writes.iter().for_each(|(from, _)| touch(*from, launches.len()));
        }
        let mut alive: Vec<(usize, usize, usize, usize)> = vec![];
        let mut starting: Vec<(usize, usize, usize, usize, usize)> = vec![];
        for (id, (buffer, life)) in self.buffers.iter().zip(&lives).enumerate() {
            if let (Place::Arena(offset), Some((first, last))) = (buffer.place, *life)
                && buffer.bytes > 0
            {
                starting.push((first, last, offset, offset + buffer.bytes, id));
            }
        }
        starting.sort();
        for (first, last, start, end, id) in starting {
            alive.retain(|(other_last, ..)| *other_last >= first);
            if let Some((.., other)) = alive.iter().find(|(_, from, to, _)| *from < end && start < *to) {
                return Err(format!(
                    "buffers {other} and {id} share memory, but both are needed at {phase} {first}"
                ));
            }
            alive.push((last, start, end, id));
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Area {
    Weights,
    State,
    Arena,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Load,
    Run,
}

impl Phase {
    fn allows(self, place: Place, access: Access) -> bool {
        let read = access == Access::Read;
        match (self, place) {
            (_, Place::Arena(_)) => true,
            (Phase::Load, Place::Weights(_)) => true,
            (Phase::Load, _) => false,
            (Phase::Run, Place::Output(_) | Place::State(_)) => true,
            (Phase::Run, Place::Input(_) | Place::Weights(_)) => read,
        }
    }
}

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if *self == Phase::Load { "launch at load" } else { "launch" })
    }
}

impl Access {
    fn verb(self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::Write | Access::Scratch => "write",
        }
    }
}

fn require(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}

/// The product, none if it overflows; sizes of 0 do not hide an overflow of the others.
fn product(mut sizes: impl Iterator<Item = usize>) -> Option<usize> {
    let mut empty = false;
    let others = sizes.try_fold(1usize, |product, size| {
        empty |= size == 0;
        product.checked_mul(size.max(1))
    })?;
    Some(if empty { 0 } else { others })
}

/// Bytes up to the last element of a packed weight; none if the storage is not one of the weight's shape, or puts two
/// elements in one place.
fn packed_bytes(param: &Param, storage: &[List<Digit>]) -> Option<usize> {
    if storage.len() != param.shape.len() {
        return None;
    }
    if product(param.shape.iter().copied())? == 0 {
        return Some(0);
    }
    // Of all digits with a second position: stride, and the last position.
    let mut steps: Vec<(usize, usize)> = vec![];
    for (digits, size) in storage.iter().zip(param.shape.iter()) {
        let (rest, lower) = digits.split_last()?;
        if rest.size != usize::MAX {
            return None;
        }
        let mut left = *size;
        for digit in lower {
            if digit.size == 0 || digit.size == usize::MAX {
                return None;
            }
            // All positions of a lower digit occur only if the size reaches them.
            steps.push((digit.stride, digit.size.min(left) - 1));
            left = left.div_ceil(digit.size);
        }
        steps.push((rest.stride, left - 1));
    }
    steps.retain(|(_, last)| *last > 0);
    steps.sort();
    let mut last_element = 0usize;
    for (stride, last) in steps {
        // A step goes over all that the smaller ones can reach, else two positions could meet.
        if stride <= last_element {
            return None;
        }
        last_element = last_element.checked_add(last.checked_mul(stride)?)?;
    }
    last_element.checked_add(1)?.checked_mul(param.dtype.bytes())
}
