//! What packed numbers are: compositions of primitives on the bytes of blocks.
//!
//! Bytes are computed with as `i32`, exactly. A field of bits is brought to the top of its byte by a product with a power
//! of two, cut off above by `mod 256` and below by subtracting what is left of it, and then is a float, again exactly: all
//! divisors are constants, whatever the position. Positions are given names by axes of two: see [`Blocks::shifted`].

use crate::dtype::Dtype;
use crate::graph::{Binary, Dim, Graph, NodeId};
use crate::weights::{BlockFormat, StoredDtype};

impl Graph {
    /// The numbers, `f32[.., n]`, of the planes of a packed format: for each of its
    /// [`planes`](BlockFormat::planes) a tensor `[.., blocks]` or `[.., blocks, count]`.
    ///
    /// ```
    /// use luminal_core::dtype::Dtype;
    /// use luminal_core::graph::{Dim, Graph};
    /// use luminal_core::weights::{BlockFormat, StoredDtype};
    ///
    /// let mut graph = Graph::default();
    /// let d = graph.param("w@Q8_0.d", &[Dim::Fixed(2)], Dtype::F16);
    /// let qs = graph.param("w@Q8_0.qs", &[Dim::Fixed(2), Dim::Fixed(32)], Dtype::U8);
    /// let values = graph.dequantise(BlockFormat::of(StoredDtype::Q8_0).unwrap(), &[d, qs]);
    /// assert_eq!(graph.nodes[values].shape, [Dim::Fixed(64)]);
    /// ```
    ///
    /// # Panics
    /// If these are not planes of the format.
    pub fn dequantise(&mut self, format: &BlockFormat, planes: &[NodeId]) -> NodeId {
        assert_eq!(planes.len(), format.planes.len(), "planes of {}", format.dtype);
        let single =
            format.planes.iter().position(|plane| plane.count == 1).expect("every format has a scale");
        let lead = self.nodes[planes[single]].shape.clone();
        let mut blocks = Blocks { graph: self, lead };
        let y = match (format.dtype, planes) {
            (StoredDtype::Q4_0, &[d, qs]) => {
                let q = blocks.low_then_high(qs);
                let q = blocks.graph.add_number(q, -8.0);
                blocks.scaled(d, q)
            }
            (StoredDtype::Q4_1, &[d, m, qs]) => {
                let q = blocks.low_then_high(qs);
                let y = blocks.scaled(d, q);
                let m = blocks.scale(m, y);
                blocks.graph.add(y, m)
            }
            (StoredDtype::Q5_0, &[d, qh, qs]) => {
                let q = blocks.low_then_high(qs);
                let q = blocks.with_fifth_bit(q, qh);
                let q = blocks.graph.add_number(q, -16.0);
                blocks.scaled(d, q)
            }
            (StoredDtype::Q5_1, &[d, m, qh, qs]) => {
                let q = blocks.low_then_high(qs);
                let q = blocks.with_fifth_bit(q, qh);
                let y = blocks.scaled(d, q);
                let m = blocks.scale(m, y);
                blocks.graph.add(y, m)
            }
            (StoredDtype::Q8_0, &[d, qs]) => {
                let q = blocks.signed(qs);
                blocks.scaled(d, q)
            }
            (StoredDtype::Q4_K, &[d, dmin, scales, qs]) => blocks.super_block(d, dmin, scales, None, qs),
            (StoredDtype::Q5_K, &[d, dmin, scales, qh, qs]) => {
                blocks.super_block(d, dmin, scales, Some(qh), qs)
            }
            (StoredDtype::Q6_K, &[ql, qh, scales, d]) => blocks.six_bits(ql, qh, scales, d),
            (dtype, _) => panic!("{dtype} has no composition"),
        };
        blocks.flattened(y)
    }
}

/// Work on tensors `[lead.., inner..]`: for every block the same. Axes are counted from the first inner one.
struct Blocks<'g> {
    graph: &'g mut Graph,
    /// All axes up to that of the blocks.
    lead: Vec<Dim>,
}

impl Blocks<'_> {
    fn axis(&self, inner: usize) -> usize {
        self.lead.len() + inner
    }

    /// Bytes as integers.
    fn bytes(&mut self, plane: NodeId) -> NodeId {
        self.graph.cast(plane, Dtype::I32)
    }

    /// Bytes as integers with a sign.
    fn signed(&mut self, plane: NodeId) -> NodeId {
        let x = self.bytes(plane);
        let x = self.graph.add_number(x, 128.0);
        let x = self.modulo(x, 256.0);
        let x = self.graph.add_number(x, -128.0);
        self.graph.cast(x, Dtype::F32)
    }

    /// A number of each block, or of each part of it, repeated for the axes that `like` has behind.
    fn scale(&mut self, x: NodeId, like: NodeId) -> NodeId {
        let mut x = if self.graph.nodes[x].dtype == Dtype::F32 { x } else { self.graph.cast(x, Dtype::F32) };
        for axis in self.graph.nodes[x].shape.len()..self.graph.nodes[like].shape.len() {
            let size = self.graph.nodes[like].shape[axis];
            x = self.graph.expand(x, axis, size);
        }
        x
    }

    /// Numbers times the scale of their block, or of their part of it.
    fn scaled(&mut self, scale: NodeId, q: NodeId) -> NodeId {
        let scale = self.scale(scale, q);
        self.graph.mul(scale, q)
    }

    fn modulo(&mut self, x: NodeId, divisor: f64) -> NodeId {
        let divisor = self.graph.full_like(divisor, x);
        self.graph.binary(Binary::Mod, x, divisor)
    }

    /// Integers without what is left by a divisor.
    fn floored(&mut self, x: NodeId, divisor: f64) -> NodeId {
        let rest = self.modulo(x, divisor);
        self.graph.sub(x, rest)
    }

    /// A new axis of two: integers moved up by some bits, and as they are. What lies higher in a byte comes last.
    fn shifted(&mut self, x: NodeId, axis: usize, bits: u32) -> NodeId {
        let axis = self.axis(axis);
        let power = f64::from(1u32 << bits);
        let x = self.graph.expand(x, axis, Dim::Fixed(2));
        let shape = self.graph.nodes[x].shape.clone();
        let position = self.graph.iota(Dim::Fixed(2));
        let factor = self.graph.mul_number(position, 1.0 - power);
        let factor = self.graph.add_number(factor, power);
        let factor = self.graph.spread(factor, &[axis], &shape);
        self.graph.mul(x, factor)
    }

    /// The highest bits of the lowest byte, as a number.
    fn top(&mut self, x: NodeId, bits: u32) -> NodeId {
        let x = self.modulo(x, 256.0);
        let step = f64::from(1u32 << (8 - bits));
        let x = self.floored(x, step);
        let x = self.graph.cast(x, Dtype::F32);
        self.graph.mul_number(x, 1.0 / step)
    }

    /// Two axes of a block become one.
    fn merge(&mut self, x: NodeId, axis: usize) -> NodeId {
        let axis = self.axis(axis);
        self.graph.merge(x, axis)
    }

    /// One axis of a block becomes two.
    fn split(&mut self, x: NodeId, axis: usize, inner: usize) -> NodeId {
        let axis = self.axis(axis);
        self.graph.split(x, axis, inner)
    }

    /// The low nibbles of 16 bytes, then the high ones: `[16]` to `[32]`.
    fn low_then_high(&mut self, qs: NodeId) -> NodeId {
        let x = self.bytes(qs);
        let x = self.shifted(x, 0, 4);
        let x = self.top(x, 4);
        self.merge(x, 0)
    }

    /// The bits of each byte, the lowest first, on a new axis.
    fn bits(&mut self, x: NodeId, axis: usize) -> NodeId {
        let x = self.shifted(x, axis, 4);
        let x = self.shifted(x, axis + 1, 2);
        let x = self.shifted(x, axis + 2, 1);
        let x = self.top(x, 1);
        let x = self.merge(x, axis + 1);
        self.merge(x, axis)
    }

    /// Nibbles `[32]` and a bit above each: the bits of 4 bytes.
    fn with_fifth_bit(&mut self, q: NodeId, qh: NodeId) -> NodeId {
        let x = self.bytes(qh);
        let x = self.bits(x, 1);
        let high = self.merge(x, 0);
        self.above(q, high)
    }

    /// Nibbles and what lies above them.
    fn above(&mut self, nibbles: NodeId, high: NodeId) -> NodeId {
        let high = self.graph.mul_number(high, 16.0);
        self.graph.add(nibbles, high)
    }

    /// Q4_K and Q5_K: eight parts of 32. Bytes hold the numbers of two parts, low nibbles for the first one; of the fifth
    /// bits, byte `i` holds those of position `i` in every part.
    fn super_block(
        &mut self,
        d: NodeId,
        dmin: NodeId,
        scales: NodeId,
        qh: Option<NodeId>,
        qs: NodeId,
    ) -> NodeId {
        let x = self.split(qs, 0, 32);
        let x = self.bytes(x);
        let x = self.shifted(x, 1, 4);
        let x = self.top(x, 4);
        let mut q = self.merge(x, 0);
        if let Some(qh) = qh {
            let x = self.bytes(qh);
            let high = self.bits(x, 0);
            q = self.above(q, high);
        }
        let (scale, minimum) = self.six_bit_scales(scales);
        let scale = self.scaled(d, scale);
        let minimum = self.scaled(dmin, minimum);
        let y = self.scaled(scale, q);
        let minimum = self.scale(minimum, y);
        self.graph.sub(y, minimum)
    }

    /// Scales and minima of eight parts from 12 bytes, each `[8]`. Those of the first four parts are the low six bits of
    /// bytes 0 to 3 and 4 to 7; those of the others are nibbles of bytes 8 to 11, with the two bits that are left above.
    fn six_bit_scales(&mut self, packed: NodeId) -> (NodeId, NodeId) {
        let x = self.bytes(packed);
        let axis = self.axis(0);
        let [first, second, third] =
            [0, 4, 8].map(|start| self.graph.slice(x, axis, start, 1, Dim::Fixed(4)));
        let low_nibble = self.modulo(third, 16.0);
        let high_nibble = self.top(third, 4);
        let low_nibble = self.graph.cast(low_nibble, Dtype::F32);
        let scale = self.six_bits_of_four_and_two(first, low_nibble);
        let minimum = self.six_bits_of_four_and_two(second, high_nibble);
        (scale, minimum)
    }

    /// The low six bits of four bytes, then nibbles with the two high bits of these bytes above them.
    fn six_bits_of_four_and_two(&mut self, x: NodeId, nibbles: NodeId) -> NodeId {
        let low = self.modulo(x, 64.0);
        let low = self.graph.cast(low, Dtype::F32);
        let two = self.top(x, 2);
        let high = self.above(nibbles, two);
        let (low, high) = (self.twice(low), self.twice(high));
        let axis = self.axis(0);
        let shape = self.graph.nodes[low].shape.clone();
        let position = self.graph.iota(Dim::Fixed(2));
        let one = self.graph.full_like(1.0, position);
        let first = self.graph.less(position, one);
        let first = self.graph.spread(first, &[axis], &shape);
        let both = self.graph.select(first, low, high);
        self.merge(both, 0)
    }

    fn twice(&mut self, x: NodeId) -> NodeId {
        let axis = self.axis(0);
        self.graph.expand(x, axis, Dim::Fixed(2))
    }

    /// Q6_K: two halves of four parts of 32. In a half, 64 bytes hold the nibbles, low ones for the first two parts, and 32
    /// bytes hold two bits for each part; each 16 numbers have a scale.
    fn six_bits(&mut self, ql: NodeId, qh: NodeId, scales: NodeId, d: NodeId) -> NodeId {
        let x = self.split(ql, 0, 64);
        let x = self.split(x, 1, 32);
        let x = self.bytes(x);
        let x = self.shifted(x, 1, 4);
        let x = self.top(x, 4);
        let nibbles = self.merge(x, 1);
        let x = self.split(qh, 0, 32);
        let x = self.bytes(x);
        let x = self.shifted(x, 1, 4);
        let x = self.shifted(x, 2, 2);
        let x = self.top(x, 2);
        let two = self.merge(x, 1);
        let q = self.above(nibbles, two);
        let q = self.graph.add_number(q, -32.0);
        let scale = self.signed(scales);
        let scale = self.scaled(d, scale);
        // One for each 16 numbers: a half has 8 of them, a part 2.
        let x = self.split(scale, 0, 8);
        let x = self.split(x, 1, 2);
        let axis = self.axis(3);
        let x = self.graph.expand(x, axis, Dim::Fixed(16));
        let scale = self.merge(x, 2);
        self.graph.mul(scale, q)
    }

    /// The axes of a block, and that of the blocks, as one.
    fn flattened(&mut self, mut x: NodeId) -> NodeId {
        while self.graph.nodes[x].shape.len() > self.lead.len() {
            x = self.graph.merge(x, self.lead.len() - 1);
        }
        x
    }
}
