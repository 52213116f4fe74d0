//! The `ddbfs` command: wires the log and the arguments, nothing else.

use std::process::ExitCode;

/// fuser warns when somebody else unmounted, which is an ordinary end here.
const LOG_FILTER: &str = "warn,fuser=error";

fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(LOG_FILTER)).init();
    ddbfs::cli::main()
}
