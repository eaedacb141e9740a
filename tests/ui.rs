//! What rustc says about models whose types are wrong.
//!
//! Each file of `tests/ui/types` is a model file with a `main`; its messages are compared with the `.stderr` beside it.
//! `TRYBUILD=overwrite cargo test --test ui` accepts them.

use std::env;
use std::process::Command;

/// The cases have no build script, so the macro is told to expand to the half for one. It sees the environment of the
/// compiler, which is that of this process: so the cases run in a child of it.
#[test]
fn messages_are_as_expected() {
    let status = Command::new(env::current_exe().unwrap())
        .args(["--exact", "cases", "--ignored", "--nocapture"])
        .env("LUMINAL_EXPAND", "trace")
        .status()
        .unwrap();
    assert!(status.success(), "the messages differ, see above");
}

#[test]
#[ignore = "runs as a child of the other test"]
fn cases() {
    trybuild::TestCases::new().compile_fail("tests/ui/types/*.rs");
}
