//! The `ddbfs` command: wires the log and the arguments, nothing else.

use std::io::Write as _;
use std::process::ExitCode;

use ddbfs::codec::shown::{self, TEXT_CHARS_MAX};

/// fuser warns when somebody else unmounted, which is an ordinary end here.
const LOG_FILTER: &str = "warn,fuser=error";

/// Says that an answer came too late whenever a signal ended the wait for it, which is nobody's error.
const SILENT: &str = "fuser::reply";

fn main() -> ExitCode {
    let mut log =
        env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(LOG_FILTER));
    log.format(|out, record| {
        // What a service or another user says stands in one line, and a terminal obeys nothing of it.
        let (time, text) = (
            out.timestamp(),
            shown::line(&record.args().to_string(), TEXT_CHARS_MAX),
        );
        writeln!(
            out,
            "[{time} {:<5} {}] {text}",
            record.level(),
            record.target()
        )
    });
    log.filter_module(SILENT, log::LevelFilter::Off).init();
    ddbfs::cli::main()
}
