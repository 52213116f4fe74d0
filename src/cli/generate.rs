//! `ddbfs completions` and `ddbfs man`: made from the definition of the commands, so that they cannot be out of date.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::{Cli, CliError, Outcome};

/// The section of manual pages for commands.
const SECTION: &str = "1";

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// For which shell
    shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// The page of this command instead of the one of ddbfs itself
    command: Option<String>,
    /// Write every page into this directory: ddbfs.1, ddbfs-mount.1, …
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

pub fn completions(args: &CompletionsArgs) -> Result<Outcome, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ddbfs", &mut script);
    print(&script)
}

pub fn man(args: &ManArgs) -> Result<Outcome, CliError> {
    let pages = pages();
    if let Some(directory) = &args.out {
        return write_all(&pages, directory);
    }
    let wanted = args.command.as_ref().map_or("ddbfs".to_owned(), |command| format!("ddbfs-{command}"));
    match pages.iter().find(|(name, _)| *name == wanted) {
        Some((_, command)) => print(&page(command)?),
        None => {
            let names: Vec<&str> = pages.iter().filter_map(|(name, _)| name.strip_prefix("ddbfs-")).collect();
            Err(CliError::Usage(format!("no command {:?}; there are {}", wanted.trim_start_matches("ddbfs-"), names.join(", "))))
        }
    }
}

/// Every page with its name: the program's, then its commands'.
fn pages() -> Vec<(String, clap::Command)> {
    let mut program = Cli::command();
    program.build();
    let commands: Vec<clap::Command> = program.get_subcommands().filter(|command| command.get_name() != "help").cloned().collect();
    let mut pages = vec![("ddbfs".to_owned(), program)];
    for command in commands {
        let name = format!("ddbfs-{}", command.get_name());
        pages.push((name.clone(), command.display_name(name)));
    }
    pages
}

fn page(command: &clap::Command) -> Result<Vec<u8>, CliError> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone())
        .section(SECTION)
        .render(&mut text)
        .map_err(CliError::io("cannot make the manual page"))?;
    Ok(text)
}

fn write_all(pages: &[(String, clap::Command)], directory: &Path) -> Result<Outcome, CliError> {
    let doing = || format!("cannot write the manual pages to {}", directory.display());
    std::fs::create_dir_all(directory).map_err(CliError::io(doing()))?;
    for (name, command) in pages {
        std::fs::write(directory.join(format!("{name}.{SECTION}")), page(command)?).map_err(CliError::io(doing()))?;
    }
    Ok(Outcome::Done)
}

fn print(text: &[u8]) -> Result<Outcome, CliError> {
    std::io::stdout().write_all(text).map_err(CliError::io("cannot write to standard output"))?;
    Ok(Outcome::Done)
}
