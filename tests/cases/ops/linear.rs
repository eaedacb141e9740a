//! Products.

use crate::numpy::Numpy;
use crate::step::Step;
use luminal::graph::NodeId;
use luminal::rt::Dtype;
use luminal::{Error, Result};

pub fn matmul(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let (x, y) = (step.wide(0)?, step.wide(1)?);
    let result = step.graph.product(x, y)?;
    Ok(vec![step.rounded(result)?])
}

pub fn einsum(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let equation = step.text(&["equation", "eq", "formula"]).unwrap_or_default().to_string();
    let operands =
        (0..step.operands.len()).map(|position| step.wide(position)).collect::<Result<Vec<_>>>()?;
    let result = step.graph.einsum(&equation, &operands).map_err(Error::new)?;
    Ok(vec![step.rounded(result)?])
}

/// The product of bytes and signed bytes, summed up in `i32` along the last axis; of vectors, one number.
pub fn int_dot(step: &mut Step<'_>) -> Result<Vec<NodeId>> {
    let graph = &mut *step.graph;
    let operands = [step.operands[0], step.operands[1]].map(|x| graph.cast(x, Dtype::I32));
    let [x, y] = graph.broadcast_all(operands)?;
    let products = graph.mul(x, y);
    let vectors = graph.rank_of(products) == 1;
    Ok(vec![graph.reduced(products, Some(&[-1]), vectors, |graph, x, axes| graph.sum(x, axes))?])
}
