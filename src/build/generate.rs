//! From graphs to kernels and plans.

use super::Traced;
use super::files::Folder;
use luminal_core::error::Result;

/// Compiles models: writes `<model>.rs`, the plan as Rust source.
///
/// No code is generated yet, so the plan is empty and `load` reports it.
pub(super) fn compile(folder: &Folder, models: &[Traced]) -> Result<()> {
    for model in models {
        folder.write(&model.name, "rs", "")?;
    }
    Ok(())
}
