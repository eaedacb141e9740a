//! Level 1: what a kernel computes, in index notation over named axes. No order, no tiles, no registers.
//!
//! A kernel is a list of definitions `dst[at] = epilogue(init (+) reduce over axes of expr)`, optionally inside a
//! [`Item::Fold`]. Broadcasting needs no node: the axes of a value are those of its loads.

use crate::dtype::Dtype;
use crate::graph::{Dim, Reduce, Unary};
use std::rc::Rc;

/// Position in [`Kernel::axes`].
pub type AxisId = usize;
/// Position in [`Kernel::buffers`].
pub type BufferId = usize;

/// A loop range that values are indexed by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    /// Unique within the kernel; letters, digits and underscores.
    pub name: String,
    /// Size, or the bound of a free size.
    pub max: usize,
    /// The free dimension (position in `Graph::free`) that gives the size at run time.
    pub free: Option<usize>,
}

impl Axis {
    /// An axis along a dimension of a graph.
    pub fn along(name: String, dim: Dim) -> Axis {
        let free = match dim {
            Dim::Fixed(_) => None,
            Dim::Free { index, .. } => Some(index),
        };
        Axis { name, max: dim.max(), free }
    }
}

/// Sum of coefficient times axis, plus a constant. Terms are sorted by axis, coefficients are not zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Affine {
    /// `(axis, coefficient)`
    pub terms: Vec<(AxisId, i64)>,
    /// The constant.
    pub offset: i64,
}

impl Affine {
    /// The axis itself.
    pub fn axis(axis: AxisId) -> Affine {
        Affine { terms: vec![(axis, 1)], offset: 0 }
    }

    /// A constant.
    pub fn constant(offset: i64) -> Affine {
        Affine { terms: vec![], offset }
    }

    /// `sum of coefficient * axis + offset`, in canonical form.
    pub fn new(terms: impl IntoIterator<Item = (AxisId, i64)>, offset: i64) -> Affine {
        let mut sum = std::collections::BTreeMap::new();
        for (axis, coefficient) in terms {
            *sum.entry(axis).or_insert(0) += coefficient;
        }
        Affine { terms: sum.into_iter().filter(|t| t.1 != 0).collect(), offset }
    }

    /// The axis, if the expression is just that axis.
    pub fn as_axis(&self) -> Option<AxisId> {
        match (&self.terms[..], self.offset) {
            ([(axis, 1)], 0) => Some(*axis),
            _ => None,
        }
    }

    /// The value where each axis has the given position.
    pub fn eval(&self, position: &[i64]) -> i64 {
        self.offset + self.terms.iter().map(|(axis, c)| c * position[*axis]).sum::<i64>()
    }
}

/// Where a tensor of the kernel lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// An argument of the kernel.
    Global,
    /// A value private to the kernel whose place the schedule decides.
    Local,
    /// Memory private to a block: a thread's cache lines on a CPU, shared memory on a GPU. Indexed relative to the
    /// block.
    Scratch,
    /// Named registers that cross nests; all nests that touch them give its axes one layout.
    Register,
}

/// How free the schedule is to order the elements of a [`Space::Global`] buffer in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Freedom {
    /// Inputs, outputs, and what an earlier kernel wrote: `digits` is given.
    Fixed,
    /// A weight: put into the chosen order once, when the model is loaded.
    Pack,
    /// An intermediate that this kernel writes: later readers follow the choice.
    Choose,
}

/// One digit of a dimension in memory: `position % size` (the last digit takes all the rest) times `stride`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digit {
    /// Positions of this digit; [`Digit::REST`] for the most significant one.
    pub size: usize,
    /// Distance in elements.
    pub stride: usize,
}

impl Digit {
    /// The size of a dimension's last digit.
    pub const REST: usize = usize::MAX;
}

/// For each dimension its digits, least significant first. One digit is a plain stride, two are panels:
/// `[N/16][K][16]` is `k: [rest:16], n: [16:1, rest:16 K]`.
pub type Storage = Vec<Vec<Digit>>;

/// A tensor that a kernel reads or writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// Unique within the kernel; letters, digits and underscores.
    pub name: String,
    /// Element type.
    pub dtype: Dtype,
    /// Sizes; the bound where a size is free.
    pub dims: Vec<usize>,
    /// Order in memory; decided by the schedule for `Local`, and where `freedom` allows.
    pub storage: Storage,
    /// Where it lives.
    pub space: Space,
    /// Who may choose `storage` of a `Global` buffer.
    pub freedom: Freedom,
}

impl Buffer {
    /// Row-major storage of these sizes.
    pub fn row_major(dims: &[usize]) -> Storage {
        let mut stride = 1;
        let mut storage: Storage = dims
            .iter()
            .rev()
            .map(|n| {
                let digit = Digit { size: Digit::REST, stride };
                stride *= n;
                vec![digit]
            })
            .collect();
        storage.reverse();
        storage
    }

    /// Elements in memory, with the padding that panels need.
    pub fn len(&self) -> usize {
        if self.dims.contains(&0) {
            return 0;
        }
        let last: usize = self
            .storage
            .iter()
            .zip(&self.dims)
            .map(|(digits, size)| {
                let mut left = *size;
                let mut sum = 0;
                for digit in digits {
                    let here = if digit.size == Digit::REST { left } else { digit.size };
                    left = left.div_ceil(here);
                    sum += (here - 1) * digit.stride;
                }
                sum
            })
            .sum();
        last + 1
    }

    /// True if some size is 0.
    pub fn is_empty(&self) -> bool {
        self.dims.contains(&0)
    }

    /// Offset in elements of a position.
    pub fn offset(&self, position: &[usize]) -> usize {
        let mut offset = 0;
        for (digits, position) in self.storage.iter().zip(position) {
            let mut left = *position;
            for digit in digits {
                if digit.size == Digit::REST {
                    offset += left * digit.stride;
                } else {
                    offset += left % digit.size * digit.stride;
                    left /= digit.size;
                }
            }
        }
        offset
    }
}

/// Pointwise functions of two values in kernels: those of graphs, and those that index arithmetic and folds need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Maximum; NaN when either is NaN.
    Max,
    /// Floor modulo.
    Mod,
    /// Floor division of integers by a positive constant.
    FloorDiv,
    /// `x < y`, a bool; false when either is NaN.
    LessThan,
    /// Logical and of two bools.
    And,
    /// Logical or of two bools.
    Or,
}

/// One index of a load.
#[derive(Clone, Debug, PartialEq)]
pub enum Index {
    /// Affine in the axes: strides, windows, slices.
    Affine(Affine),
    /// An integer value: a gather, or a division that no axis split resolves. Always in range.
    Value(E),
}

/// A load is skipped, and reads 0, unless `0 <= at < extent`, or the size of a free dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// What is tested.
    pub at: Affine,
    /// Exclusive upper bound.
    pub extent: usize,
    /// The free dimension whose size is the bound instead; it is at most `extent`. Memory behind it may not be there.
    pub free: Option<usize>,
}

impl Guard {
    /// Whether the access happens, by the value of the index and the free sizes.
    pub fn holds(&self, at: i64, sizes: &[usize]) -> bool {
        (0..self.free.map_or(self.extent, |free| sizes[free]) as i64).contains(&at)
    }
}

/// A shared expression. Sharing is by pointer: the expansion computes a shared node once for each register.
pub type E = Rc<Expr>;

/// A pointwise expression over axes. Its type is `f32`, `i32`, `i64` or `bool`: narrower types exist in memory only,
/// loads widen and stores narrow.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// An `f32` literal.
    Float(f32),
    /// An `i32` literal.
    Int(i32),
    /// An `i64` literal.
    Long(i64),
    /// A `bool` literal.
    Bool(bool),
    /// The size of a free dimension (position in `Graph::free`), an `i32`.
    Size(usize),
    /// The value of an index expression, an `i32`.
    Position(Affine),
    /// `affine >= 0`, a `bool`: masks that depend on positions only.
    NotNegative(Affine),
    /// An element of a buffer.
    Load {
        /// Which.
        buffer: BufferId,
        /// One index for each dimension.
        index: Vec<Index>,
        /// All must hold, else the value is 0 and memory is not touched.
        guards: Vec<Guard>,
    },
    /// The reduced value, in an epilogue.
    Acc,
    /// Function of one `f32`.
    Unary(Unary, E),
    /// Function of two values of one type.
    Binary(Binary, E, E),
    /// `condition ? then : otherwise`
    Select(E, E, E),
    /// Conversion, as Rust's `as`; to `bool`: non-zero. A conversion to a type that only stores numbers gives its wide
    /// type ([`Dtype::wide`]), with a value that the narrow type holds.
    Cast(Dtype, E),
}

/// A reduction of one definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduction {
    /// Sum or maximum.
    pub op: Reduce,
    /// Reduced axes.
    pub axes: Vec<AxisId>,
}

/// `dst[at] = epilogue(init (+) reduce of expr)`; without `reduce`: `dst[at] = expr`.
#[derive(Clone, Debug, PartialEq)]
pub struct Def {
    /// Buffer written.
    pub dst: BufferId,
    /// The axes that are looped: all those that occur in `at`.
    pub axes: Vec<AxisId>,
    /// One index for each dimension of `dst`.
    pub at: Vec<Affine>,
    /// None for a map.
    pub reduce: Option<Reduction>,
    /// What the reduction starts from instead of its identity: the repaired state of a fold.
    pub init: Option<E>,
    /// The value, or what is reduced.
    pub expr: E,
    /// Applied to the reduced value ([`Expr::Acc`]); only with `reduce`.
    pub epilogue: Option<E>,
    /// Maps computed inside the reduction loop: values that are both stored and reduced.
    pub pre: Vec<Def>,
}

/// Definitions run in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// One definition.
    Def(Def),
    /// Blocks of one axis: the definitions run once for each block, on that block.
    Fold {
        /// The streamed axis.
        axis: AxisId,
        /// The axis ends at the end of the block of this one (a causal limit).
        until: Option<AxisId>,
        /// Run for each block.
        defs: Vec<Def>,
    },
}

/// What partition and cascade hand over, and the schedule starts from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernel {
    /// All axes.
    pub axes: Vec<Axis>,
    /// Arguments first ([`Space::Global`]), then private values.
    pub buffers: Vec<Buffer>,
    /// Number of arguments.
    pub args: usize,
    /// The program.
    pub items: Vec<Item>,
}

impl Kernel {
    /// All definitions, folds flattened, in order.
    pub fn defs(&self) -> impl Iterator<Item = &Def> {
        self.items.iter().flat_map(|item| match item {
            Item::Def(def) => std::slice::from_ref(def).iter(),
            Item::Fold { defs, .. } => defs.iter(),
        })
    }
}
