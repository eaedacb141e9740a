//! A model that is loaded: its plan, its memory, its prepared launches.

use super::area::ALIGNMENT;
use super::bind::Binding;
use super::device::Device;
use super::layout;
use super::pack::pack;
use super::regions::{Border, Piece, Region, Regions, pieces};
use super::table::Table;
use crate::error::{Error, Result};
use crate::plan::{Dim, Executable, Place, Plan, Port};
use crate::weights::Weights;

/// An input of one run: row-major elements in the machine's byte order, and one size for each axis.
#[derive(Clone, Copy, Debug)]
pub struct InputRef<'a> {
    /// Elements. Best aligned to their type: then they are used where they are, unless a free size inside makes the
    /// strides differ.
    pub data: &'a [u8],
    /// Sizes.
    pub sizes: &'a [usize],
}

/// An output of the last run: row-major elements in the machine's byte order, aligned to 64 bytes.
#[derive(Clone, Copy, Debug)]
pub struct OutputRef<'a> {
    /// Elements.
    pub data: &'a [u8],
    /// Sizes.
    pub sizes: &'a [usize],
}

/// A loaded model.
pub struct Session {
    pub(super) plan: &'static Plan,
    device: Device,
    pub(super) regions: Regions,
    pub(super) binding: Binding,
    pub(super) table: Table,
    inputs: Vec<InputSlot>,
    outputs: Vec<OutputSlot>,
    writes: Vec<StateWrite>,
}

/// An input's own memory, for when the caller's cannot be used.
struct InputSlot {
    copy: Piece,
    bounds: Vec<usize>,
    element: usize,
    /// In this run, is the input read from `copy`?
    copied: bool,
}

struct OutputSlot {
    /// Where the caller finds it.
    result: Piece,
    /// Where kernels leave it, if it has to be copied to `result` before the states are written.
    copied_from: Option<Origin>,
    bounds: Vec<usize>,
    element: usize,
    /// Sizes and bytes in the last run.
    sizes: Vec<usize>,
    bytes: usize,
}

#[derive(Clone, Copy)]
enum Origin {
    Piece(Piece),
    Input(usize),
}

struct StateWrite {
    from: Origin,
    to: Piece,
    /// A state whose old value another write still needs is set aside first: all writes happen at once.
    aside: Option<Piece>,
}

impl Session {
    /// Loads a model: checks the plan and the weights, allocates all memory, packs the weights, and computes what
    /// depends on weights alone.
    pub fn new(plan: &'static Executable, device: Device, weights: &Weights) -> Result<Session> {
        let plan: &'static Plan = plan;
        plan.check()?;
        weights.check(&plan.model, &plan.params)?;

        let mut border = Border::default();
        let input_bytes = number_bytes(plan, plan.inputs.len(), |place| match place {
            Place::Input(number) => Some(number),
            _ => None,
        });
        let output_bytes = number_bytes(plan, plan.outputs.len(), |place| match place {
            Place::Output(number) => Some(number),
            _ => None,
        });
        let input_copies = input_bytes.iter().map(|n| border.reserve(*n)).collect::<Result<Vec<_>>>()?;
        let output_places = output_bytes.iter().map(|n| border.reserve(*n)).collect::<Result<Vec<_>>>()?;
        let pieces = pieces(&plan.buffers, &input_copies, &output_places);
        let outputs = output_slots(plan, &pieces, &mut border)?;
        let writes = state_writes(plan, &pieces, &mut border)?;
        let inputs = plan.inputs.iter().zip(input_copies).map(|(port, copy)| InputSlot {
            copy,
            bounds: bounds(port),
            element: port.dtype.bytes(),
            copied: false,
        });
        let inputs = inputs.collect();

        let mut regions = Regions::new(plan, border)?;
        pack_weights(plan, weights, &pieces, &mut regions)?;
        let pointers: Vec<*mut u8> = pieces.iter().map(|piece| regions.pointer(*piece)).collect();
        let table = Table::new(plan, &plan.run, device, &pointers)?;
        let load = Table::new(plan, &plan.load, device, &pointers)?;
        let mut at_bounds = Binding::new(plan);
        at_bounds.set_to_bounds(plan);
        // SAFETY: the plan was checked, and is made together with its kernels; the areas are ours and not borrowed;
        // a launch at load takes no inputs.
        unsafe { load.run(at_bounds.sizes(), at_bounds.kernel_sizes()) };

        let binding = Binding::new(plan);
        let mut session = Session { plan, device, regions, binding, table, inputs, outputs, writes };
        session.size_outputs();
        Ok(session)
    }

    /// The plan that this session runs.
    pub fn plan(&self) -> &'static Plan {
        self.plan
    }

    /// The device it runs on.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Runs the model. Does not allocate. When it fails, states and outputs are as before.
    pub fn run(&mut self, inputs: &[InputRef<'_>]) -> Result<()> {
        self.begin(inputs)?;
        // SAFETY: `begin` checked the sizes and set all inputs to memory that `inputs` keeps alive; the rest as in
        // `new`.
        unsafe { self.table.run(self.binding.sizes(), self.binding.kernel_sizes()) };
        self.finish(inputs);
        Ok(())
    }

    /// An output of the last run, by its position in [`Plan::outputs`]. Before the first run it is zero, with free sizes
    /// 0.
    ///
    /// # Panics
    /// If there is no such output.
    pub fn output(&self, index: usize) -> OutputRef<'_> {
        let slot = &self.outputs[index];
        OutputRef { data: &self.regions.bytes(slot.result)[..slot.bytes], sizes: &slot.sizes }
    }

    /// Where a state lies.
    pub(super) fn state_piece(&self, port: &Port) -> Piece {
        let buffer = &self.plan.buffers[port.buffer];
        let Place::State(offset) = buffer.place else {
            unreachable!("a checked plan keeps states in their own memory")
        };
        Piece { region: Region::State, offset, bytes: buffer.bytes }
    }

    /// Checks the inputs and puts them where kernels find them.
    pub(super) fn begin(&mut self, inputs: &[InputRef<'_>]) -> Result<()> {
        self.binding.bind(self.plan, inputs)?;
        for (number, (slot, input)) in self.inputs.iter_mut().zip(inputs).enumerate() {
            let aligned = input.data.as_ptr().addr().is_multiple_of(slot.element);
            slot.copied = !aligned || !layout::is_compact(input.sizes, &slot.bounds);
            let pointer = if slot.copied {
                let copy = self.regions.bytes_mut(slot.copy);
                layout::spread(input.data, copy, input.sizes, &slot.bounds, slot.element);
                self.regions.pointer(slot.copy)
            } else {
                // Kernels get one kind of pointer; that none writes an input was checked with the plan.
                input.data.as_ptr().cast_mut()
            };
            self.table.set_input(number, pointer);
        }
        Ok(())
    }

    /// Brings outputs to the order of the caller and writes the states.
    pub(super) fn finish(&mut self, inputs: &[InputRef<'_>]) {
        self.size_outputs();
        for slot in &self.outputs {
            match slot.copied_from {
                Some(Origin::Piece(from)) => self.regions.copy(from, slot.result),
                // The caller's memory is in the caller's order already.
                Some(Origin::Input(number)) => {
                    self.regions.bytes_mut(slot.result)[..slot.bytes].copy_from_slice(inputs[number].data);
                }
                None => {}
            }
        }
        self.write_states(inputs);
        for slot in &self.outputs {
            if !matches!(slot.copied_from, Some(Origin::Input(_)))
                && !layout::is_compact(&slot.sizes, &slot.bounds)
            {
                let bytes = self.regions.bytes_mut(slot.result);
                layout::compact_in_place(bytes, &slot.sizes, &slot.bounds, slot.element);
            }
        }
    }

    fn size_outputs(&mut self) {
        for (slot, port) in self.outputs.iter_mut().zip(self.plan.outputs.iter()) {
            for (size, dim) in slot.sizes.iter_mut().zip(port.shape.iter()) {
                *size = dim.size(self.binding.sizes());
            }
            slot.bytes = slot.element * slot.sizes.iter().product::<usize>();
        }
    }

    fn write_states(&mut self, inputs: &[InputRef<'_>]) {
        for write in &self.writes {
            if let (Origin::Piece(from), Some(aside)) = (write.from, write.aside) {
                self.regions.copy(from, aside);
            }
        }
        for write in &self.writes {
            match write.from {
                Origin::Piece(from) => self.regions.copy(write.aside.unwrap_or(from), write.to),
                Origin::Input(number) if self.inputs[number].copied => {
                    self.regions.copy(self.inputs[number].copy, write.to);
                }
                Origin::Input(number) => {
                    let data = inputs[number].data;
                    self.regions.bytes_mut(write.to)[..data.len()].copy_from_slice(data);
                }
            }
        }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("model", &self.plan.model).field("device", &self.device).finish()
    }
}

/// For each input, or output, the bytes of its buffer; 0 where no buffer is placed there.
fn number_bytes(plan: &Plan, count: usize, number: impl Fn(Place) -> Option<usize>) -> Vec<usize> {
    let mut bytes = vec![0; count];
    for buffer in plan.buffers.iter() {
        if let Some(number) = number(buffer.place) {
            bytes[number] = buffer.bytes;
        }
    }
    bytes
}

fn bounds(port: &Port) -> Vec<usize> {
    port.shape.iter().copied().map(Dim::max).collect()
}

/// Can the caller see this tensor where kernels leave it, whatever its sizes?
fn always_compact(port: &Port) -> bool {
    let first = port.shape.iter().position(|dim| *dim != Dim::Fixed(1)).unwrap_or(port.shape.len());
    port.shape.iter().skip(first + 1).all(|dim| matches!(dim, Dim::Fixed(_)))
}

fn output_slots(plan: &Plan, pieces: &[Piece], border: &mut Border) -> Result<Vec<OutputSlot>> {
    let slot = |port: &Port| {
        let shared = plan.outputs.iter().filter(|other| other.buffer == port.buffer).count() > 1;
        let piece = pieces[port.buffer];
        let copied_from = match plan.buffers[port.buffer].place {
            // Put into order in place, once: only if it has one reader.
            Place::Output(_) if !shared || always_compact(port) => None,
            Place::Arena(_) | Place::Weights(_) if always_compact(port) => None,
            Place::Output(_) | Place::Arena(_) | Place::Weights(_) | Place::State(_) => {
                Some(Origin::Piece(piece))
            }
            Place::Input(number) => Some(Origin::Input(number)),
        };
        let result = if copied_from.is_some() { border.reserve(piece.bytes)? } else { piece };
        let sizes = vec![0; port.shape.len()];
        Ok(OutputSlot {
            result,
            copied_from,
            bounds: bounds(port),
            element: port.dtype.bytes(),
            sizes,
            bytes: 0,
        })
    };
    plan.outputs.iter().map(slot).collect()
}

fn state_writes(plan: &Plan, pieces: &[Piece], border: &mut Border) -> Result<Vec<StateWrite>> {
    let write = |(from, to): &(usize, usize)| {
        let origin = match plan.buffers[*from].place {
            Place::Input(number) => Origin::Input(number),
            _ => Origin::Piece(pieces[*from]),
        };
        let is_state = matches!(plan.buffers[*from].place, Place::State(_));
        let aside = if is_state { Some(border.reserve(pieces[*from].bytes)?) } else { None };
        Ok(StateWrite { from: origin, to: pieces[*to], aside })
    };
    plan.writes.iter().map(write).collect()
}

fn pack_weights(plan: &Plan, weights: &Weights, pieces: &[Piece], regions: &mut Regions) -> Result<()> {
    for param in plan.params.iter() {
        let Some(source) = weights.source(param) else {
            // Every parameter was found before.
            continue;
        };
        for packing in param.packings.iter() {
            let piece = pieces[packing.buffer];
            debug_assert!(piece.offset.is_multiple_of(ALIGNMENT));
            pack(source.tensor(), param.dtype, &packing.storage, regions.bytes_mut(piece)).map_err(
                |rule| {
                    let (file, name) = (weights.name(), &param.name);
                    Error::new(format!("weight file `{file}`: tensor `{name}`: {rule}"))
                },
            )?;
        }
    }
    Ok(())
}
