//! PTX of tile programs: text that a driver compiles for any GPU from compute capability 8.0 on.
//!
//! A register of a tile is one register of every thread of a block, and a lane of a layout is bits of the thread's
//! number. Loops are the same for all threads of a block, so branches are uniform and masks are predicates.
//!
//! # Arithmetic
//! Sums and products round to nearest (`.rn`), so that no assembler fuses them on its own; the expansion says where
//! `fma` is meant. Square roots, reciprocals and quotients are correctly rounded. Maxima propagate NaN. Conversions
//! to integers saturate and take NaN to 0, as Rust's `as`.
//!
//! | function | instruction | error |
//! |---|---|---|
//! | `2^x` | `ex2.approx` | 2 units in the last place; subnormal results, 0, infinity and NaN as they should be |
//! | `log2(x)` | `lg2.approx` | 2^-22, absolute between 0.5 and 2, relative elsewhere; special values as they should be |
//! | `sin(x)` | reduction by multiples of pi/2 in three steps, polynomials | 2 units in the last place up to 10^5; beyond that only the range is kept |

mod access;
mod address;
mod describe;
mod lint;
mod math;
mod render;
mod sine;
mod target;
mod writer;

pub use lint::lint;

use luminal_core::error::{Error, Result};
use luminal_core::kernel::expand::Expansion;
use luminal_core::kernel::tile::Program;
use std::collections::HashSet;
use std::fmt::Write;

/// What the text needs of the driver: `max.NaN` and the rest came with this version and this architecture.
const HEADER: &str = ".version 7.0\n.target sm_80\n.address_size 64\n";

/// Shared memory that a block can have without asking for more at launch.
pub const MAX_SHARED_BYTES: usize = 48 << 10;

/// One module with an entry for each program.
///
/// An entry takes the addresses of the kernel's arguments (`p0`, `p1`, ..) and then free sizes (`dim0`, ..) up to the
/// last one that it needs; blocks are numbered row-major along x.
pub fn render_module(programs: &[&Program]) -> Result<String> {
    let mut text = HEADER.to_string();
    let mut names = HashSet::new();
    for program in programs {
        if !names.insert(&program.name) {
            return Err(Error::new(format!("two kernels are named `{}`", program.name)));
        }
        text.push('\n');
        text += &render_entry(program)?;
    }
    lint(&text)?;
    Ok(text)
}

/// One entry, without the header of a module.
fn render_entry(program: &Program) -> Result<String> {
    check(program)?;
    let target = Expansion::new(program, render::Renderer::new(program)).run();
    let rendered = target.finish()?;
    if rendered.shared_bytes > MAX_SHARED_BYTES {
        return Err(Error::new(format!(
            "kernel `{}` needs {} bytes of shared memory in a block, the limit is {MAX_SHARED_BYTES}",
            program.name, rendered.shared_bytes
        )));
    }
    let addresses = (0..program.kernel.args).map(|number| format!(".param .u64 p{number}"));
    let sizes = (0..rendered.sizes).map(|number| format!(".param .u32 dim{number}"));
    let parameters: Vec<String> = addresses.chain(sizes).collect();
    let mut text = describe::describe(program);
    let _ = writeln!(text, ".visible .entry {}(\n    {}\n)", program.name, parameters.join(",\n    "));
    let _ = writeln!(text, ".maxntid {}, 1, 1\n{{", program.lanes);
    text += &rendered.declarations;
    if rendered.shared_bytes > 0 {
        let _ = writeln!(text, "    .shared .align 16 .b8 {}[{}];", writer::SHARED, rendered.shared_bytes);
    }
    text += &rendered.body;
    text += "    ret;\n}\n";
    Ok(text)
}

fn check(program: &Program) -> Result<()> {
    let problem = |what: String| Err(Error::new(format!("kernel `{}`: {what}", program.name)));
    let mut letters = program.name.chars();
    let starts = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !starts || !letters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return problem("its name is not an identifier".into());
    }
    if !program.lanes.is_power_of_two() || program.lanes > 1024 {
        return problem(format!("{} threads in a block; must be a power of two up to 1024", program.lanes));
    }
    // positions are 32-bit numbers
    match program.kernel.buffers.iter().find(|buffer| buffer.len() > i32::MAX as usize) {
        Some(buffer) => problem(format!("buffer `{}` has more than 2^31 elements", buffer.name)),
        None => Ok(()),
    }
}
