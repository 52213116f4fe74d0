//! The `ddbfs` command: wires arguments and log, nothing else.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("warn")).init();
    ddbfs::cli::run(ddbfs::cli::Cli::parse())
}
