//! How memory is reached along each axis.

use luminal_core::kernel::expr;
use luminal_core::kernel::ir::{Affine, AxisId, BufferId, Def, Index, Kernel, Space};

/// One load or store of a definition.
#[derive(Clone, Debug)]
pub(super) struct Access {
    /// Distance in elements of neighbouring positions, for each axis of the kernel.
    pub strides: Vec<i64>,
    /// In shared memory or registers.
    pub local: bool,
    /// Some index is computed, or a guard may forbid the access: no wide access.
    pub scattered: bool,
}

/// What a definition reads and writes.
#[derive(Clone, Debug)]
pub(super) struct Accesses {
    /// Once for each position of all axes.
    pub inner: Vec<Access>,
    /// Once for each position of the axes that stay.
    pub outer: Vec<Access>,
}

/// The distance that a computed index is taken for.
const FAR: i64 = 1 << 20;

impl Access {
    fn new(kernel: &Kernel, buffer: BufferId) -> Access {
        let local = kernel.buffers[buffer].space != Space::Global;
        Access { strides: vec![0; kernel.axes.len()], local, scattered: false }
    }

    fn add(&mut self, kernel: &Kernel, buffer: BufferId, dimension: usize, at: &Affine) {
        let stride = kernel.buffers[buffer].storage[dimension].first().map_or(0, |digit| digit.stride as i64);
        for (axis, coefficient) in &at.terms {
            self.strides[*axis] += coefficient * stride;
        }
    }

    fn load(kernel: &Kernel, buffer: BufferId, index: &[Index], guarded: bool) -> Access {
        let mut access = Access::new(kernel, buffer);
        access.scattered = guarded;
        for (dimension, index) in index.iter().enumerate() {
            match index {
                Index::Affine(at) => access.add(kernel, buffer, dimension, at),
                Index::Value(value) => {
                    access.scattered = true;
                    for axis in expr::axes(value, &[]) {
                        access.strides[axis] = FAR;
                    }
                }
            }
        }
        access
    }

    fn store(kernel: &Kernel, buffer: BufferId, at: &[Affine]) -> Access {
        let mut access = Access::new(kernel, buffer);
        for (dimension, at) in at.iter().enumerate() {
            access.add(kernel, buffer, dimension, at);
        }
        access
    }

    pub fn stride(&self, axis: AxisId) -> i64 {
        self.strides[axis].abs()
    }

    pub fn depends_on(&self, axis: AxisId) -> bool {
        self.strides[axis] != 0
    }
}

impl Accesses {
    pub fn of(kernel: &Kernel, def: &Def) -> Accesses {
        let loads = |value| {
            let mut found = vec![];
            expr::for_each_load(value, &mut |buffer, index, guards| {
                found.push(Access::load(kernel, buffer, index, !guards.is_empty()));
            });
            found
        };
        let mut inner = loads(&def.expr);
        for pre in &def.pre {
            inner.extend(loads(&pre.expr));
            inner.push(Access::store(kernel, pre.dst, &pre.at));
        }
        let mut outer = vec![Access::store(kernel, def.dst, &def.at)];
        outer.extend(def.init.iter().chain(&def.epilogue).flat_map(loads));
        Accesses { inner, outer }
    }
}
