//! Short ways to write kernels.

use crate::dtype::Dtype;
use crate::graph::{Reduce, Unary};
use crate::kernel::ir::{
    Affine, Axis, AxisId, Binary, Buffer, BufferId, Def, E, Expr, Freedom, Guard, Index, Item, Kernel,
    Reduction, Space,
};
use std::rc::Rc;

/// A kernel in the making.
#[derive(Default)]
pub struct Builder {
    /// So far.
    pub kernel: Kernel,
}

impl Builder {
    /// An axis of fixed size.
    pub fn axis(&mut self, name: &str, max: usize) -> AxisId {
        self.kernel.axes.push(Axis { name: name.into(), max, free: None });
        self.kernel.axes.len() - 1
    }

    /// An axis whose size is free dimension number `free`.
    pub fn free(&mut self, name: &str, max: usize, free: usize) -> AxisId {
        self.kernel.axes.push(Axis { name: name.into(), max, free: Some(free) });
        self.kernel.axes.len() - 1
    }

    fn buffer(
        &mut self,
        name: &str,
        dtype: Dtype,
        dims: &[usize],
        space: Space,
        freedom: Freedom,
    ) -> BufferId {
        let (dims, storage) = (dims.to_vec(), Buffer::row_major(dims));
        self.kernel.buffers.push(Buffer { name: name.into(), dtype, dims, storage, space, freedom });
        self.kernel.buffers.len() - 1
    }

    fn argument(&mut self, name: &str, dtype: Dtype, dims: &[usize], freedom: Freedom) -> BufferId {
        assert_eq!(self.kernel.args, self.kernel.buffers.len(), "arguments come first");
        self.kernel.args += 1;
        self.buffer(name, dtype, dims, Space::Global, freedom)
    }

    /// An argument whose storage is given.
    pub fn input(&mut self, name: &str, dtype: Dtype, dims: &[usize]) -> BufferId {
        self.argument(name, dtype, dims, Freedom::Fixed)
    }

    /// A weight.
    pub fn weight(&mut self, name: &str, dims: &[usize]) -> BufferId {
        self.argument(name, Dtype::F32, dims, Freedom::Pack)
    }

    /// A result whose storage the schedule may choose.
    pub fn output(&mut self, name: &str, dtype: Dtype, dims: &[usize]) -> BufferId {
        self.argument(name, dtype, dims, Freedom::Choose)
    }

    /// A private value.
    pub fn local(&mut self, name: &str, dtype: Dtype, dims: &[usize]) -> BufferId {
        self.buffer(name, dtype, dims, Space::Local, Freedom::Choose)
    }

    /// `dst[axes] = expr`
    pub fn map(&mut self, dst: BufferId, axes: &[AxisId], expr: E) -> &mut Def {
        self.define(map(dst, axes, expr))
    }

    /// `dst[axes] = reduce over `over` of expr`
    pub fn reduce(
        &mut self,
        dst: BufferId,
        axes: &[AxisId],
        op: Reduce,
        over: &[AxisId],
        expr: E,
    ) -> &mut Def {
        self.define(reduce(dst, axes, op, over, expr))
    }

    /// Adds a definition, which may be changed.
    pub fn define(&mut self, def: Def) -> &mut Def {
        self.kernel.items.push(Item::Def(def));
        match self.kernel.items.last_mut() {
            Some(Item::Def(def)) => def,
            _ => unreachable!("it was pushed just now"),
        }
    }
}

/// `dst[axes] = expr`
pub fn map(dst: BufferId, axes: &[AxisId], expr: E) -> Def {
    let at = axes.iter().map(|axis| Affine::axis(*axis)).collect();
    Def { dst, axes: axes.to_vec(), at, reduce: None, init: None, expr, epilogue: None, pre: vec![] }
}

/// `dst[axes] = reduce over `over` of expr`
pub fn reduce(dst: BufferId, axes: &[AxisId], op: Reduce, over: &[AxisId], expr: E) -> Def {
    Def { reduce: Some(Reduction { op, axes: over.to_vec() }), ..map(dst, axes, expr) }
}

/// An element at these axes.
pub fn load(buffer: BufferId, axes: &[AxisId]) -> E {
    let index: Vec<Affine> = axes.iter().map(|axis| Affine::axis(*axis)).collect();
    load_at(buffer, &index, &[])
}

/// An element at affine indices, 0 unless the guards hold.
pub fn load_at(buffer: BufferId, index: &[Affine], guards: &[(Affine, usize)]) -> E {
    let index = index.iter().cloned().map(Index::Affine).collect();
    let guards =
        guards.iter().map(|(at, extent)| Guard { at: at.clone(), extent: *extent, free: None }).collect();
    Rc::new(Expr::Load { buffer, index, guards })
}

/// A float.
pub fn number(x: f32) -> E {
    Rc::new(Expr::Float(x))
}

/// The reduced value.
pub fn acc() -> E {
    Rc::new(Expr::Acc)
}

/// A function of one value.
pub fn unary(op: Unary, x: &E) -> E {
    Rc::new(Expr::Unary(op, x.clone()))
}

/// A function of two values.
pub fn binary(op: Binary, x: &E, y: &E) -> E {
    Rc::new(Expr::Binary(op, x.clone(), y.clone()))
}

/// `x + y`
pub fn add(x: &E, y: &E) -> E {
    binary(Binary::Add, x, y)
}

/// `x - y`
pub fn sub(x: &E, y: &E) -> E {
    binary(Binary::Sub, x, y)
}

/// `x * y`
pub fn mul(x: &E, y: &E) -> E {
    binary(Binary::Mul, x, y)
}

/// The greater one.
pub fn max(x: &E, y: &E) -> E {
    binary(Binary::Max, x, y)
}

/// `c ? x : y`
pub fn select(c: &E, x: &E, y: &E) -> E {
    Rc::new(Expr::Select(c.clone(), x.clone(), y.clone()))
}
