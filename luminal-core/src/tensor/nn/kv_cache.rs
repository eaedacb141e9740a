//! Keys and values of earlier tokens, kept between runs.

use crate::error::Error;
use crate::graph::NodeId;
use crate::tensor::trace::{op, record, report};
use crate::tensor::{Attention, Dim, DimInfo, Element, Float, Module, Scope, Shape, Tensor};
use std::fmt;

/// The keys and values of up to `C` tokens, `[batch, heads, C, width]`: state of a model, as an argument `&mut`. All sizes
/// are fixed.
///
/// A run writes its tokens at a position that is an input, and attends to what is in front of them. What does not fit in
/// is not written, and nothing else is changed, whatever the position: so a program asks [`CachePositions`] before each run,
/// which refuses a prompt that is too long before anything is written.
///
/// ```
/// use luminal_core::tensor::nn::KvCache;
/// use luminal_core::tensor::{D, Module, Tensor, attention, input, output, state_scope, trace};
///
/// let traced = trace(|| {
///     let mut cache: KvCache<D<1>, D<2>, D<64>, D<16>> = Module::build(&state_scope("cache"));
///     let position: Tensor<(), i32> = input("position");
///     let query: Tensor<(D<1>, D<8>, D<5>, D<16>)> = input("query");
///     let [key, value]: [Tensor<(D<1>, D<2>, D<5>, D<16>)>; 2] = ["key", "value"].map(input);
///     output(&cache.attend(query, key, value, position, attention()));
/// });
/// assert!(traced.mistakes.is_empty());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct KvCache<B: Dim, H: Dim, C: Dim, W: Dim, E: Element = f32> {
    /// `[batch, heads, C, width]`
    pub keys: Tensor<(B, H, C, W), E>,
    /// `[batch, heads, C, width]`
    pub values: Tensor<(B, H, C, W), E>,
}

impl<B: Dim, H: Dim, C: Dim, W: Dim, E: Element> KvCache<B, H, C, W, E> {
    /// How many tokens have room.
    pub const CAPACITY: usize = C::INFO.max();

    /// Writes the keys and values of tokens at `position` and behind it. What falls outside of the cache is not written.
    #[track_caller]
    pub fn update<T: Dim>(
        &mut self,
        position: Tensor<(), i32>,
        key: Tensor<(B, H, T, W), E>,
        value: Tensor<(B, H, T, W), E>,
    ) {
        let _scope = op("kv_cache");
        if T::INFO.fixed().is_some_and(|tokens| tokens > Self::CAPACITY) {
            let (tokens, capacity) = (T::INFO, Self::CAPACITY);
            return report(format!("{tokens} tokens do not fit into a cache of {capacity}"));
        }
        self.keys = write(self.keys, position, key);
        self.values = write(self.values, position, value);
    }

    /// Writes the keys and values of tokens at `position`, and attends from each token to all tokens up to itself.
    #[track_caller]
    pub fn attend<Heads: Dim, T: Dim>(
        &mut self,
        query: Tensor<(B, Heads, T, W), E>,
        key: Tensor<(B, H, T, W), E>,
        value: Tensor<(B, H, T, W), E>,
        position: Tensor<(), i32>,
        how: Attention,
    ) -> Tensor<(B, Heads, T, W), E>
    where
        E: Float,
    {
        let _scope = op("kv_cache");
        self.update(position, key, value);
        query.attention(self.keys, self.values, how.position(position))
    }
}

fn write<B: Dim, H: Dim, C: Dim, T: Dim, W: Dim, E: Element>(
    old: Tensor<(B, H, C, W), E>,
    position: Tensor<(), i32>,
    new: Tensor<(B, H, T, W), E>,
) -> Tensor<(B, H, C, W), E> {
    Tensor::of(record(|recorder| {
        let nodes = [(old.node, <(B, H, C, W)>::DIMS), (new.node, <(B, H, T, W)>::DIMS)];
        let [old, new] = nodes.map(|(node, dims)| recorder.full(node, dims));
        let mut written = recorder.graph.write_at(old, 2, position.node, new);
        let dims = <(B, H, C, W)>::DIMS;
        for axis in (0..dims.len()).rev().filter(|axis| dims[*axis] == DimInfo::One) {
            written = recorder.squeeze(written, axis);
        }
        written
    }))
}

impl<B: Dim, H: Dim, C: Dim, W: Dim, E: Element> Module for KvCache<B, H, C, W, E> {
    fn build(scope: &Scope) -> Self {
        KvCache {
            keys: Module::build(&scope.field("keys", "keys")),
            values: Module::build(&scope.field("values", "values")),
        }
    }

    fn visit(&self, f: &mut dyn FnMut(NodeId)) {
        self.keys.visit(f);
        self.values.visit(f);
    }
}

/// Where the next tokens go in the [`KvCache`]s of a program: counts them, and refuses those that have no room.
///
/// ```
/// use luminal_core::tensor::nn::CachePositions;
///
/// let mut positions = CachePositions::new(16);
/// assert_eq!(positions.take(10)?, 0); // the position to run the model at
/// let full = positions.take(7).unwrap_err();
/// assert_eq!((full.needs, full.has), (17, 16));
/// assert_eq!(positions.take(6)?, 10);
/// # Ok::<(), luminal_core::tensor::nn::CacheFull>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachePositions {
    used: usize,
    capacity: usize,
}

impl CachePositions {
    /// Of an empty cache of so many tokens.
    pub const fn new(capacity: usize) -> CachePositions {
        CachePositions { used: 0, capacity }
    }

    /// The position for so many more tokens, which are counted as used from now on.
    ///
    /// # Errors
    /// If they have no room. Then nothing is changed, and fewer may be asked for.
    pub fn take(&mut self, tokens: usize) -> Result<i32, CacheFull> {
        let needs = self.used.saturating_add(tokens);
        match i32::try_from(self.used) {
            Ok(position) if needs <= self.capacity => {
                self.used = needs;
                Ok(position)
            }
            _ => Err(CacheFull { needs, has: self.capacity }),
        }
    }

    /// How many tokens are in the cache.
    pub const fn used(&self) -> usize {
        self.used
    }

    /// How many tokens have room.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Goes back to the first tokens, so many at most: after a run that failed, or to try another continuation. What lies
    /// behind them in the cache is not seen any more, and overwritten by the next tokens. 0 starts again.
    pub fn truncate(&mut self, tokens: usize) {
        self.used = self.used.min(tokens);
    }
}

/// More tokens than a cache has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheFull {
    /// Tokens that were to be in the cache.
    pub needs: usize,
    /// Tokens that have room.
    pub has: usize,
}

impl fmt::Display for CacheFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CacheFull { needs, has } = self;
        write!(
            f,
            "the cache needs room for {needs} tokens, has {has}: pass fewer tokens, go back with `truncate`, or build the \
             model with a larger cache"
        )
    }
}

impl std::error::Error for CacheFull {}

impl From<CacheFull> for Error {
    fn from(full: CacheFull) -> Error {
        Error::new(full.to_string())
    }
}
