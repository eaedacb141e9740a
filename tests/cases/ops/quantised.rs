//! Blocks of packed numbers.

use crate::numpy::{dims, error};
use crate::step::Step;
use luminal::graph::{NodeId, Op};
use luminal::reference::Data;
use luminal::rt::Dtype;
use luminal::{Error, Result};
use luminal_core::weights::{BLOCK_FORMATS, Plane, StoredDtype};

/// The numbers of blocks that are an input of bytes. As with weights, it is taken to planes before the graph runs, and
/// the graph computes the numbers from them.
pub fn dequantise(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let kind = step.text(&["kind", "format", "type", "dtype"]).unwrap_or_default().to_uppercase();
    let Some(format) = BLOCK_FORMATS.iter().find(|format| format.dtype.to_string() == kind) else {
        return error(format!("there is no format {kind:?}"));
    };
    let operand = step.operand(0)?;
    let Op::Input(name) = &step.graph.nodes[operand].op else { return error("blocks must be an input") };
    let (name, (elements, bytes)) = (name.clone(), format.dtype.block());
    let packed = step.feeds.get(&name).and_then(|tensor| tensor.as_u8()).map(<[u8]>::to_vec);
    let Some(packed) = packed else { return error("blocks must be bytes, u8") };
    if packed.len() % bytes != 0 {
        return error(format!(
            "{} bytes are no whole blocks of {kind}, {bytes} bytes for {elements} elements",
            packed.len()
        ));
    }
    let shape = [packed.len() / bytes * elements];
    let mut plane = |plane: &Plane| {
        let dtype = if plane.dtype == StoredDtype::F16 { Dtype::F16 } else { Dtype::U8 };
        let (name, sizes) = (format!("{name}.{kind}.{}", plane.name), format.plane_shape(&shape, plane));
        let data = Data::from_bytes(dtype, &format.plane_bytes(plane, &packed));
        let tensor =
            luminal::reference::DenseTensor::new(&sizes, data).map_err(|e| Error::new(e.to_string()))?;
        step.feeds.insert(name.clone(), tensor);
        Ok(step.graph.param(&name, &dims(&sizes), dtype))
    };
    let planes = format.planes.iter().map(&mut plane).collect::<Result<Vec<_>>>()?;
    Ok(vec![step.graph.dequantise(format, &planes)])
}
