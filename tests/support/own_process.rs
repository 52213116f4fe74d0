//! Ignored tests as processes of their own: started by name with a directory in the environment, they do nothing without it.

use std::path::Path;
use std::process::Command;

/// A test's name as its binary knows it: `module` is `module_path!()`, which begins with the binary's own name.
pub fn test_name(module: &str, test: &str) -> String {
    let (_, inside) = module.split_once("::").unwrap();
    format!("{inside}::{test}")
}

/// The command that runs an ignored test of this binary with `dir` in the variable `key`.
pub fn own_process(module: &str, test: &str, (key, dir): (&str, &Path)) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", &test_name(module, test), "--nocapture"]).env(key, dir);
    command
}
