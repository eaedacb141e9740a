//! A stable hash: the same on every platform, in every process and with every version of the standard library, so
//! that it may be written into files and compared years later.
//!
//! The algorithm is FNV-1a with 128 bits over the bytes of the text form: start with [`OFFSET_BASIS`]; for each byte,
//! xor it into the hash, then multiply by [`PRIME`] modulo 2^128. It finds equal things; it does not resist an
//! attacker who constructs collisions.

use super::Graph;
use std::fmt::{self, Write};

/// What an FNV-1a hash of 128 bits starts from.
pub const OFFSET_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;

/// What an FNV-1a hash of 128 bits is multiplied by.
pub const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// An FNV-1a hash in progress. Text may be written to it with `write!`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StableHasher(u128);

impl StableHasher {
    /// The hash of nothing.
    pub const fn new() -> StableHasher {
        StableHasher(OFFSET_BASIS)
    }

    /// Continues with these bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
    }

    /// The hash of everything so far.
    pub const fn finish(self) -> u128 {
        self.0
    }
}

impl Default for StableHasher {
    fn default() -> StableHasher {
        StableHasher::new()
    }
}

impl Write for StableHasher {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes());
        Ok(())
    }
}

/// The stable hash of these bytes.
pub fn stable_hash(bytes: &[u8]) -> u128 {
    let mut hasher = StableHasher::new();
    hasher.bytes(bytes);
    hasher.finish()
}

impl Graph {
    /// The stable hash of the text form. Origins are not part of it: moving a line of the model changes nothing.
    pub fn stable_hash(&self) -> u128 {
        let mut hasher = StableHasher::new();
        write!(hasher, "{self}").expect("a hasher accepts all text");
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Origin;
    use crate::graph::samples::every_op;

    #[test]
    fn agrees_with_the_published_test_vectors() {
        assert_eq!(stable_hash(b""), 0x6c62272e07bb014262b821756295c58d);
        assert_eq!(stable_hash(b"a"), 0xd228cb696f1a8caf78912b704e4a8964);
        assert_eq!(stable_hash(b"abc"), 0xa68d622cec8b5822836dbc7977af7f3b);
    }

    #[test]
    fn is_pinned() {
        // A change of this value, unless the graph is another one, makes every lock file and every cache entry stale:
        // change the version in the first line of the text form with it.
        assert_eq!(every_op().stable_hash(), 0xeb5005acbf3f79136a993f420e84231c);
    }

    #[test]
    fn is_the_hash_of_the_text() {
        let graph = every_op();
        assert_eq!(graph.stable_hash(), stable_hash(graph.to_string().as_bytes()));
    }

    #[test]
    fn ignores_origins_and_nothing_else() {
        let graph = every_op();
        let mut moved = graph.clone();
        let origin = Origin { op: "relu".into(), file: "src/model.rs".into(), line: 3, column: 9 };
        moved.nodes[4].origin = Some(origin);
        assert_eq!(graph.stable_hash(), moved.stable_hash());
        let mut renamed = graph.clone();
        renamed.outputs[0].0.push('x');
        assert_ne!(graph.stable_hash(), renamed.stable_hash());
        let mut bounded = graph.clone();
        bounded.free[0].max += 1;
        assert_ne!(graph.stable_hash(), bounded.stable_hash());
    }
}
