//! The memory of a session: four areas, allocated at load, and where in them each buffer lies.

use super::area::{ALIGNMENT, Area};
use crate::error::{Error, Result};
use crate::plan::{Buffer, Place, Plan};

/// A piece of one area.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Piece {
    pub region: Region,
    pub offset: usize,
    pub bytes: usize,
}

/// The areas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Region {
    Weights,
    State,
    Arena,
    /// What crosses the border: copies of inputs, and outputs.
    Border,
}

/// Lays out the border area before it is allocated.
#[derive(Default)]
pub(crate) struct Border {
    bytes: usize,
}

impl Border {
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<Piece> {
        let too_much = || Error::new("inputs and outputs are larger than the address space");
        let offset = self.bytes;
        let end = offset.checked_add(bytes).ok_or_else(too_much)?;
        self.bytes = end.checked_next_multiple_of(ALIGNMENT).ok_or_else(too_much)?;
        Ok(Piece { region: Region::Border, offset, bytes })
    }
}

pub(crate) struct Regions {
    weights: Area,
    state: Area,
    arena: Area,
    border: Area,
}

impl Regions {
    pub(crate) fn new(plan: &Plan, border: Border) -> Result<Regions> {
        let model = &plan.model;
        Ok(Regions {
            weights: Area::new(plan.weights, &format!("the weights of `{model}`"))?,
            state: Area::new(plan.state, &format!("the state of `{model}`"))?,
            arena: Area::new(plan.arena, &format!("the intermediates of `{model}`"))?,
            border: Area::new(border.bytes, &format!("the inputs and outputs of `{model}`"))?,
        })
    }

    fn area(&self, region: Region) -> &Area {
        match region {
            Region::Weights => &self.weights,
            Region::State => &self.state,
            Region::Arena => &self.arena,
            Region::Border => &self.border,
        }
    }

    fn area_mut(&mut self, region: Region) -> &mut Area {
        match region {
            Region::Weights => &mut self.weights,
            Region::State => &mut self.state,
            Region::Arena => &mut self.arena,
            Region::Border => &mut self.border,
        }
    }

    pub(crate) fn bytes(&self, piece: Piece) -> &[u8] {
        &self.area(piece.region).bytes()[piece.offset..][..piece.bytes]
    }

    pub(crate) fn bytes_mut(&mut self, piece: Piece) -> &mut [u8] {
        &mut self.area_mut(piece.region).bytes_mut()[piece.offset..][..piece.bytes]
    }

    pub(crate) fn pointer(&self, piece: Piece) -> *mut u8 {
        let area = self.area(piece.region);
        assert!(piece.offset + piece.bytes <= area.len());
        area.pointer(piece.offset)
    }

    /// Copies the shorter length of the two.
    pub(crate) fn copy(&mut self, from: Piece, to: Piece) {
        let bytes = from.bytes.min(to.bytes);
        let (from, to) = (Piece { bytes, ..from }, Piece { bytes, ..to });
        if from.region == to.region {
            let area = self.area_mut(from.region).bytes_mut();
            area.copy_within(from.offset..from.offset + bytes, to.offset);
            return;
        }
        let Regions { weights, state, arena, border } = self;
        let (from_area, to_area): (&Area, &mut Area) = match (from.region, to.region) {
            (Region::Weights, Region::State) => (weights, state),
            (Region::Weights, Region::Border) => (weights, border),
            (Region::State, Region::Border) => (state, border),
            (Region::Arena, Region::State) => (arena, state),
            (Region::Arena, Region::Border) => (arena, border),
            (Region::Border, Region::State) => (border, state),
            (from, to) => unreachable!("nothing is copied from {from:?} to {to:?}"),
        };
        let from_bytes = &from_area.bytes()[from.offset..][..bytes];
        to_area.bytes_mut()[to.offset..][..bytes].copy_from_slice(from_bytes);
    }

    pub(crate) fn clear_state(&mut self) {
        self.state.bytes_mut().fill(0);
    }

    pub(crate) fn state(&self) -> &[u8] {
        self.state.bytes()
    }

    pub(crate) fn set_state(&mut self, bytes: &[u8]) {
        self.state.bytes_mut().copy_from_slice(bytes);
    }
}

/// Where each buffer of the plan lies; inputs where their copies lie.
pub(crate) fn pieces(buffers: &[Buffer], inputs: &[Piece], outputs: &[Piece]) -> Vec<Piece> {
    let piece = |buffer: &Buffer| {
        let bytes = buffer.bytes;
        match buffer.place {
            Place::Input(number) => inputs[number],
            Place::Output(number) => outputs[number],
            Place::Weights(offset) => Piece { region: Region::Weights, offset, bytes },
            Place::State(offset) => Piece { region: Region::State, offset, bytes },
            Place::Arena(offset) => Piece { region: Region::Arena, offset, bytes },
        }
    };
    buffers.iter().map(piece).collect()
}
