//! Dimensions that are computed from others, as weights of some layers have them.

use crate::tensor::{Dim, DimInfo, Fits, One};

/// A dimension of `K * N` elements: the first one of a weight that holds `K` matrices of `N` rows.
#[derive(Clone, Copy, Debug)]
pub struct Times<const K: usize, const N: usize>;

/// A dimension of `N / K` elements: channels in each of `K` groups. Layers report a remainder.
#[derive(Clone, Copy, Debug)]
pub struct Over<const N: usize, const K: usize>;

#[diagnostic::do_not_recommend]
impl<const K: usize, const N: usize> Dim for Times<K, N> {
    const INFO: DimInfo = DimInfo::Fixed(K * N);
}
#[diagnostic::do_not_recommend]
impl<const K: usize, const N: usize> Fits<Times<K, N>> for Times<K, N> {}
#[diagnostic::do_not_recommend]
impl<const K: usize, const N: usize> Fits<One> for Times<K, N> {}

#[diagnostic::do_not_recommend]
impl<const N: usize, const K: usize> Dim for Over<N, K> {
    const INFO: DimInfo = DimInfo::Fixed(match N.checked_div(K) {
        Some(size) => size,
        None => 0,
    });
}
#[diagnostic::do_not_recommend]
impl<const N: usize, const K: usize> Fits<Over<N, K>> for Over<N, K> {}
#[diagnostic::do_not_recommend]
impl<const N: usize, const K: usize> Fits<One> for Over<N, K> {}
