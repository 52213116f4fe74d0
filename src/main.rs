//! The `ddbfs` command: sets up the log and calls [`ddbfs::cli::main`].

use std::io::Write as _;
use std::process::ExitCode;

use ddbfs::codec::sanitize::{self, TEXT_CHARS_MAX};

/// The default log filter. fuser warns when another program unmounted, which is an ordinary end
/// here.
const LOG_FILTER: &str = "warn,fuser=error";

/// A module that warns about late answers whenever a signal ended the wait for one, which is no
/// error.
const SILENT: &str = "fuser::reply";

fn main() -> ExitCode {
    let mut log =
        env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(LOG_FILTER));
    log.format(|out, record| {
        // Texts of a service or another user are kept on one line, without characters that control
        // a terminal.
        let (time, text) = (
            out.timestamp(),
            sanitize::line(&record.args().to_string(), TEXT_CHARS_MAX),
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
