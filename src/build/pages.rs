//! Where reports go: `OUT_DIR`, and below `target` for those who look.

use super::files::Folder;
use super::tune;
use luminal_core::error::Result;
use luminal_core::report::Report;
use std::fs;

/// Writes a model's report, and tells the five lines of its summary to those who build with `-vv`.
///
/// # Errors
/// `OUT_DIR` cannot be written. Whether there is a page below `target` is no matter for a build.
pub(super) fn write(folder: &Folder, report: &Report) -> Result<()> {
    let (summary, text) = (report.summary(), report.text());
    eprint!("{summary}");
    folder.write(&report.model, "summary.txt", &summary)?;
    folder.write(&report.model, "report.txt", &text)?;
    if let Some(target) = tune::target_folder(folder.path()) {
        let place = target.join("luminal").join(&report.package).join(&report.model);
        let _ = fs::create_dir_all(&place)
            .and_then(|()| fs::write(place.join("report.txt"), &text))
            .and_then(|()| fs::write(place.join("index.html"), report.html()));
    }
    Ok(())
}
