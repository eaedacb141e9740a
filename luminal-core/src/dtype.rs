//! Element types of tensors.

/// Element type of a tensor, a graph node or a kernel buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dtype {
    /// IEEE 754 binary32.
    F32,
    /// Two's complement 32-bit integer.
    I32,
    /// A truth value, one byte in memory: 0 or 1.
    Bool,
}

impl Dtype {
    /// Size of one element in memory, in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Dtype::F32 | Dtype::I32 => 4,
            Dtype::Bool => 1,
        }
    }

    /// The type in which its numbers are computed with: itself, or a wider one for types that only store numbers.
    pub const fn wide(self) -> Dtype {
        match self {
            Dtype::F32 | Dtype::I32 | Dtype::Bool => self,
        }
    }

    /// The name used in the text form of graphs and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::F32 => "f32",
            Dtype::I32 => "i32",
            Dtype::Bool => "bool",
        }
    }

    /// The inverse of [`Dtype::name`].
    pub fn from_name(name: &str) -> Option<Dtype> {
        [Dtype::F32, Dtype::I32, Dtype::Bool].into_iter().find(|d| d.name() == name)
    }
}

impl std::fmt::Display for Dtype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
