//! The package that a command is about, as `cargo metadata` knows it.

use crate::Result;
use crate::args::Options;
use crate::cargo;
use serde_json::Value;
use std::path::PathBuf;

/// A package of the workspace.
#[derive(Clone, Debug, PartialEq)]
pub struct Package {
    /// As cargo's messages name it.
    pub id: String,
    pub name: String,
    /// The folder of its `Cargo.toml`.
    pub folder: PathBuf,
    /// The folder of what cargo builds.
    pub target: PathBuf,
}

/// The package that the options or the current folder choose.
pub fn find(options: &Options) -> Result<Package> {
    let mut command = cargo::command(options, "metadata");
    command.args(["--format-version=1", "--no-deps"]);
    let output = command.output().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().trim_start_matches("error: ").into());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let current = std::env::current_dir()?;
    choose(&metadata, options, &current)
}

fn choose(metadata: &Value, options: &Options, current: &std::path::Path) -> Result<Package> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let target = PathBuf::from(text(&metadata["target_directory"]));
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let all: Vec<Package> = packages
        .filter_map(|package| {
            let manifest = PathBuf::from(text(&package["manifest_path"]));
            let (id, name) = (text(&package["id"]), text(&package["name"]));
            Some(Package { id, name, folder: manifest.parent()?.to_path_buf(), target: target.clone() })
        })
        .collect();
    let names = || all.iter().map(|package| package.name.as_str()).collect::<Vec<_>>().join(", ");
    if let Some(name) = &options.package {
        let found = all.iter().find(|package| package.name == *name);
        return found
            .cloned()
            .ok_or_else(|| format!("there is no package `{name}`: there are {}", names()).into());
    }
    if let [only] = &all[..] {
        return Ok(only.clone());
    }
    let folder = match &options.manifest_path {
        Some(path) => current.join(path).parent().map(PathBuf::from).unwrap_or_default(),
        None => current.to_path_buf(),
    };
    let around = all.iter().filter(|package| folder.starts_with(&package.folder));
    around
        .max_by_key(|package| package.folder.as_os_str().len())
        .cloned()
        .ok_or_else(|| format!("choose one of the packages {} with `-p`", names()).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::Path;

    fn metadata() -> Value {
        let package = |name: &str, folder: &str| json!({"id": format!("path+file://{folder}#{name}"), "name": name, "manifest_path": format!("{folder}/Cargo.toml")});
        json!({"target_directory": "/w/target", "packages": [package("root", "/w"), package("net", "/w/net")]})
    }

    #[test]
    fn the_innermost_package_around_the_folder_is_meant() {
        let name = |options: &Options, folder: &str| {
            choose(&metadata(), options, Path::new(folder)).map(|package| package.name)
        };
        let none = Options::default();
        assert_eq!(name(&none, "/w/net/src").unwrap(), "net");
        assert_eq!(name(&none, "/w/docs").unwrap(), "root");
        let named = |package: &str| Options { package: Some(package.into()), ..Options::default() };
        assert_eq!(name(&named("root"), "/w/net").unwrap(), "root");
        let error = name(&named("nut"), "/w").unwrap_err().to_string();
        assert_eq!(error, "there is no package `nut`: there are root, net");
        assert!(name(&none, "/elsewhere").unwrap_err().to_string().contains("with `-p`"));
        let path = Options { manifest_path: Some("net/Cargo.toml".into()), ..Options::default() };
        assert_eq!(name(&path, "/w").unwrap(), "net");
    }
}
