//! What NumPy, PyTorch and ONNX do before an operation begins: axes counted from behind, operands broadcast to each other,
//! several axes at once, sizes left open. Broken rules are errors here, so that compositions are only called with operands
//! that fit.

use luminal::graph::{Dim, Graph, NodeId};
use luminal::rt::Dtype;
use luminal::{Error, Result};

/// A function along axes, which disappear.
pub type Reduction = fn(&mut Graph, NodeId, &[usize]) -> NodeId;

pub fn error<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::new(message.into()))
}

/// An axis of a tensor of this rank; negative ones count from behind.
pub fn axis(axis: i64, rank: usize) -> Result<usize> {
    let from_front = if axis < 0 { axis + rank as i64 } else { axis };
    match usize::try_from(from_front) {
        Ok(position) if position < rank => Ok(position),
        _ => error(format!("axis {axis} of a tensor of rank {rank}")),
    }
}

/// Axes in rising order, each once. None: all.
pub fn axes(axes: Option<&[i64]>, rank: usize) -> Result<Vec<usize>> {
    let Some(given) = axes else { return Ok((0..rank).collect()) };
    let mut positions = given.iter().map(|a| axis(*a, rank)).collect::<Result<Vec<_>>>()?;
    positions.sort_unstable();
    match positions.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(twice) => error(format!("axis {} is given twice", twice[0])),
        None => Ok(positions),
    }
}

/// The shape that operands of these shapes have together: sizes from behind are equal, or one of them is 1.
pub fn common_shape(shapes: &[&[usize]]) -> Result<Vec<usize>> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut result = vec![1; rank];
    for shape in shapes {
        for (size, mine) in result[rank - shape.len()..].iter_mut().zip(*shape) {
            match (*size, *mine) {
                (1, n) => *size = n,
                (_, 1) => {}
                (n, m) if n == m => {}
                _ => return error(format!("shapes {shapes:?} do not broadcast")),
            }
        }
    }
    Ok(result)
}

/// Positions of a slice with NumPy's rules: first position and count. Open ends are None; ends beyond the axis are cut.
pub fn slice(size: usize, start: Option<i64>, end: Option<i64>, step: i64) -> Result<(usize, usize)> {
    if step == 0 {
        return error("the step of a slice is 0");
    }
    let size = size as i64;
    let from_front = |position: i64| if position < 0 { position.saturating_add(size) } else { position };
    let (start, end) = if step > 0 {
        (
            start.map_or(0, |s| from_front(s).clamp(0, size)),
            end.map_or(size, |e| from_front(e).clamp(0, size)),
        )
    } else {
        let bound = |p: i64| from_front(p).clamp(-1, size - 1);
        (start.map_or(size - 1, bound), end.map_or(-1, bound))
    };
    let distance = if step > 0 { end - start } else { start - end };
    let count = if distance <= 0 { 0 } else { (distance - 1) / step.abs() + 1 };
    Ok((if count == 0 { 0 } else { start as usize }, count as usize))
}

/// Whether an integer fits an axis, and a count of elements memory.
fn elements(shape: &[usize]) -> Result<usize> {
    let product = shape.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
    product.ok_or_else(|| Error::new(format!("shape {shape:?} is too large")))
}

pub fn dims(shape: &[usize]) -> Vec<Dim> {
    shape.iter().map(|size| Dim::Fixed(*size)).collect()
}

/// Operations with those rules, on graphs without free sizes.
pub trait Numpy {
    fn sizes_of(&self, x: NodeId) -> Vec<usize>;
    fn dtype_of(&self, x: NodeId) -> Dtype;
    fn rank_of(&self, x: NodeId) -> usize {
        self.sizes_of(x).len()
    }
    /// Both operands in their common shape.
    fn broadcast(&mut self, x: NodeId, y: NodeId) -> Result<(NodeId, NodeId)>;
    fn broadcast_all<const N: usize>(&mut self, operands: [NodeId; N]) -> Result<[NodeId; N]>;
    /// Repeated along missing axes and those of size 1.
    fn stretch(&mut self, x: NodeId, shape: &[usize]) -> Result<NodeId>;
    /// The same elements in another shape; one size may be -1.
    fn shaped(&mut self, x: NodeId, shape: &[i64]) -> Result<NodeId>;
    /// Reduces over several axes, which stay as size 1 if `keep`.
    fn reduced(&mut self, x: NodeId, axes: Option<&[i64]>, keep: bool, function: Reduction)
    -> Result<NodeId>;
    /// A slice of one axis.
    fn sliced(
        &mut self,
        x: NodeId,
        axis: i64,
        start: Option<i64>,
        end: Option<i64>,
        step: i64,
    ) -> Result<NodeId>;
    /// One after the other along an axis.
    fn joined(&mut self, operands: &[NodeId], axis: i64) -> Result<NodeId>;
    /// Matrix product with NumPy's rules: operands of rank 1, broadcast batches.
    fn product(&mut self, x: NodeId, y: NodeId) -> Result<NodeId>;
}

impl Numpy for Graph {
    fn sizes_of(&self, x: NodeId) -> Vec<usize> {
        self.sizes(x, &[])
    }

    fn dtype_of(&self, x: NodeId) -> Dtype {
        self.nodes[x].dtype
    }

    fn broadcast(&mut self, x: NodeId, y: NodeId) -> Result<(NodeId, NodeId)> {
        let [x, y] = self.broadcast_all([x, y])?;
        match (self.dtype_of(x), self.dtype_of(y)) {
            (a, b) if a == b => Ok((x, y)),
            (a, b) => error(format!("element types {a} and {b}")),
        }
    }

    fn broadcast_all<const N: usize>(&mut self, operands: [NodeId; N]) -> Result<[NodeId; N]> {
        let shapes = operands.map(|x| self.sizes_of(x));
        let shapes: Vec<&[usize]> = shapes.iter().map(|shape| &shape[..]).collect();
        let shape = common_shape(&shapes)?;
        let mut stretched = operands;
        for x in &mut stretched {
            *x = self.stretch(*x, &shape)?;
        }
        Ok(stretched)
    }

    fn stretch(&mut self, x: NodeId, shape: &[usize]) -> Result<NodeId> {
        let mine = self.sizes_of(x);
        if common_shape(&[&mine, shape])? != shape {
            return error(format!("shape {mine:?} does not broadcast to {shape:?}"));
        }
        Ok(self.broadcast_to(x, &dims(shape)))
    }

    fn shaped(&mut self, x: NodeId, shape: &[i64]) -> Result<NodeId> {
        let count = elements(&self.sizes_of(x))?;
        let mine = self.sizes_of(x);
        let failed = || Error::new(format!("{count} elements, shape {mine:?}, as {shape:?}"));
        let open: Vec<usize> = (0..shape.len()).filter(|i| shape[*i] == -1).collect();
        let mut sizes = vec![];
        for size in shape.iter().filter(|size| **size != -1) {
            sizes.push(usize::try_from(*size).map_err(|_| failed())?);
        }
        let known = elements(&sizes)?;
        match open[..] {
            [] => {}
            [position] if known > 0 && count.is_multiple_of(known) => sizes.insert(position, count / known),
            _ => return Err(failed()),
        }
        if elements(&sizes)? != count {
            return Err(failed());
        }
        Ok(self.reshape(x, &dims(&sizes)))
    }

    fn reduced(
        &mut self,
        x: NodeId,
        given: Option<&[i64]>,
        keep: bool,
        function: Reduction,
    ) -> Result<NodeId> {
        let axes = axes(given, self.rank_of(x))?;
        let mut result = function(self, x, &axes);
        for axis in axes.iter().filter(|_| keep) {
            result = self.unsqueeze(result, *axis);
        }
        Ok(result)
    }

    fn sliced(
        &mut self,
        x: NodeId,
        at: i64,
        start: Option<i64>,
        end: Option<i64>,
        step: i64,
    ) -> Result<NodeId> {
        let at = axis(at, self.rank_of(x))?;
        let size = self.sizes_of(x)[at];
        let (first, count) = slice(size, start, end, step)?;
        if step > 0 {
            return Ok(self.slice(x, at, first, step as usize, Dim::Fixed(count)));
        }
        let flipped = self.flip(x, at);
        let first = if count == 0 { 0 } else { size - 1 - first };
        Ok(self.slice(flipped, at, first, step.unsigned_abs() as usize, Dim::Fixed(count)))
    }

    fn joined(&mut self, operands: &[NodeId], at: i64) -> Result<NodeId> {
        let [first, rest @ ..] = operands else { return error("nothing to concatenate") };
        let at = axis(at, self.rank_of(*first))?;
        for other in rest {
            let (mine, theirs) = (self.sizes_of(*first), self.sizes_of(*other));
            let fit = mine.len() == theirs.len() && (0..mine.len()).all(|i| i == at || mine[i] == theirs[i]);
            if !fit || self.dtype_of(*first) != self.dtype_of(*other) {
                return error(format!("concatenation of {mine:?} and {theirs:?} along axis {at}"));
            }
        }
        Ok(self.concat(operands, at))
    }

    fn product(&mut self, x: NodeId, y: NodeId) -> Result<NodeId> {
        let (mine, theirs) = (self.sizes_of(x), self.sizes_of(y));
        let failed = || Error::new(format!("matrix product of {mine:?} and {theirs:?}"));
        let (Some(inner), Some(columns)) = (mine.last(), theirs.last()) else { return Err(failed()) };
        let (batch, other) =
            (&mine[..mine.len().saturating_sub(2)], &theirs[..theirs.len().saturating_sub(2)]);
        let rows = if theirs.len() == 1 { columns } else { &theirs[theirs.len() - 2] };
        if inner != rows || self.dtype_of(x) != self.dtype_of(y) || common_shape(&[batch, other]).is_err() {
            return Err(failed());
        }
        Ok(self.matmul(x, y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_have_numpys_positions() {
        assert_eq!(slice(5, Some(0), Some(5), -1).unwrap(), (0, 0));
        assert_eq!(slice(5, None, None, -1).unwrap(), (4, 5));
        assert_eq!(slice(5, Some(-1), Some(-4), -2).unwrap(), (4, 2));
        assert_eq!(slice(5, Some(1), Some(5), 2).unwrap(), (1, 2));
        assert_eq!(slice(5, Some(-100), Some(i64::MAX), 3).unwrap(), (0, 2));
        assert_eq!(slice(5, Some(100), Some(i64::MIN), -3).unwrap(), (4, 2));
        assert_eq!(slice(0, None, None, -1).unwrap(), (0, 0));
        assert!(slice(5, None, None, 0).is_err());
    }

    #[test]
    fn sizes_of_one_stretch_and_zero_is_a_size() {
        assert_eq!(common_shape(&[&[2, 1], &[3]]).unwrap(), [2, 3]);
        assert_eq!(common_shape(&[&[0], &[1]]).unwrap(), [0]);
        assert!(common_shape(&[&[2], &[3]]).is_err());
        assert!(common_shape(&[&[0], &[2]]).is_err());
    }
}
