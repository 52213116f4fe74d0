//! The `ddbfs` command: wires the log and the arguments, nothing else.

use std::process::ExitCode;

/// fuser warns when somebody else unmounted, which is an ordinary end here.
const LOG_FILTER: &str = "warn,fuser=error";

/// Says that an answer came too late whenever a signal ended the wait for it, which is nobody's error.
const SILENT: &str = "fuser::reply";

fn main() -> ExitCode {
    let mut log = env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(LOG_FILTER));
    log.filter_module(SILENT, log::LevelFilter::Off).init();
    ddbfs::cli::main()
}
