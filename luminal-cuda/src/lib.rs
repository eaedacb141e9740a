//! GPU kernels of Luminal as PTX text.
//!
//! * [`schedule`](mod@schedule) cuts a kernel into blocks and threads, [`ptx`] renders the tile programs of a model as
//!   one module (feature `build`: the build script's half).
//! * [`interpreter`] runs PTX on the CPU and finds what an assembler does not (feature `interpreter`: for tests).
//!
//! There is no runtime for GPUs yet. What a kernel is, and the expansion that C and PTX share, is in `luminal-core`: start
//! there, with `kernel::expand`.

#[cfg(feature = "interpreter")]
pub mod interpreter;
#[cfg(feature = "build")]
pub mod ptx;
#[cfg(feature = "build")]
pub mod schedule;
