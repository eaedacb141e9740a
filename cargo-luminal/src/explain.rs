//! `cargo luminal explain`: what was decided, and why.

use crate::Result;
use crate::args::Options;
use crate::{cargo, package};
use std::fs;

/// Prints the summaries of a package's models, or the whole text of one.
pub fn run(options: &Options, model: Option<&str>) -> Result<()> {
    let package = package::find(options)?;
    let folder = cargo::run_build_script(&package, options, &[], |_| ())?;
    let list = fs::read_to_string(folder.join("luminal.models"))?;
    let models: Vec<&str> = list.lines().collect();
    if let Some(name) = model {
        if !models.contains(&name) {
            let all = models.join(", ");
            return Err(format!("`{}` has no model `{name}`: it has {all}", package.name).into());
        }
        print!("{}", fs::read_to_string(folder.join(format!("{name}.report.txt")))?);
    }
    for name in models.iter().filter(|name| model.is_none_or(|model| model == **name)) {
        let report = package.target.join("luminal").join(&package.name).join(name);
        if model.is_none() {
            print!("{}", fs::read_to_string(folder.join(format!("{name}.summary.txt")))?);
        }
        println!("page: {}\n", report.join("index.html").display());
    }
    Ok(())
}
