//! A PTX interpreter: runs the text of a kernel on the CPU and reports what a GPU would silently get wrong.
//!
//! It is a test instrument. `ptxas` accepts a kernel with a missing barrier, a read of a register that was never
//! written or an access beyond a buffer; here each of these is an error that names the line, the block and the thread.
//!
//! * Registers and memory know which lanes and bytes were written; reading anything else is an error.
//! * Global memory is an arena of buffers with gaps between them; bounds and alignment are checked at each access.
//! * Shared memory has a shadow that finds two threads meeting without a barrier between them.
//! * Warps run one after the other, from barrier to barrier, in a chosen [`WarpOrder`]; results must not depend on it.
//! * Lanes that diverge run at the smallest program counter, which joins structured code again by itself.
//!
//! Instructions outside the subset are errors when the text is parsed, with their line.
//!
//! ```
//! use luminal_cuda::interpreter::{Launch, Memory, Module};
//!
//! let module = Module::parse(
//!     ".version 7.0 .target sm_80 .address_size 64
//!      .visible .entry twice(.param .u64 data) {
//!          .reg .b32 %r<2>; .reg .b64 %d<4>; .reg .f32 %f<2>;
//!          ld.param.u64 %d0, [data];
//!          cvta.to.global.u64 %d1, %d0;
//!          mov.u32 %r0, %tid.x;
//!          mul.wide.u32 %d2, %r0, 4;
//!          add.s64 %d3, %d1, %d2;
//!          ld.global.f32 %f0, [%d3];
//!          add.rn.f32 %f1, %f0, %f0;
//!          st.global.f32 [%d3], %f1;
//!          ret;
//!      }",
//! )?;
//! let mut memory = Memory::new();
//! let data = memory.upload_f32(&[1.0, 2.0, 3.0]);
//! Launch::new(module.kernel("twice")?, 3).run(&mut memory, &[data])?;
//! assert_eq!(memory.download_f32(data, 3)?, [2.0, 4.0, 6.0]);
//! # Ok::<(), luminal_core::error::Error>(())
//! ```

mod arithmetic;
mod bitmap;
mod decode;
mod execute;
mod forms;
mod instruction;
mod launch;
mod memory;
mod module;
mod operands;
mod shadow;
mod shared;
mod token;
mod warp;

pub use launch::{Launch, Statistics, WarpOrder};
pub use memory::Memory;
pub use module::{Kernel, Module, Parameter};
