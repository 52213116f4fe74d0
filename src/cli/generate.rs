//! `ddbfs completions` and `ddbfs man`: generated from the definition of the commands, so that they
//! are never out of date.

use clap::builder::Resettable;
use clap_complete::Shell;

use super::exit::print_bytes;

use crate::cli::prelude::*;

/// The section of manual pages for commands.
const SECTION: &str = "1";

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// The page of this command instead of ddbfs itself: mount, or index create
    command: Vec<String>,
    /// Write every page into this directory: ddbfs.1, ddbfs-mount.1, …
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

pub fn completions(
    args: &CompletionsArgs,
    mut program: clap::Command,
) -> Result<CommandResult, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "ddbfs", &mut script);
    print_bytes(&script)?;
    Ok(CommandResult::Done)
}

pub fn man(args: &ManArgs, program: clap::Command) -> Result<CommandResult, CliError> {
    let pages = pages(program);
    if let Some(directory) = &args.out {
        return write_all(&pages, directory);
    }
    let wanted = ["ddbfs"]
        .into_iter()
        .chain(args.command.iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join("-");
    match pages.iter().find(|(name, _)| *name == wanted) {
        Some((_, command)) => {
            print_bytes(&page(command)?)?;
            Ok(CommandResult::Done)
        }
        None => {
            let names: Vec<String> = pages
                .iter()
                .filter_map(|(name, _)| Some(name.strip_prefix("ddbfs-")?.replace('-', " ")))
                .collect();
            Err(CliError::Usage(format!(
                "no command {:?}; there are {}",
                args.command.join(" "),
                names.join(", ")
            )))
        }
    }
}

/// Returns every page with its name: the program's, then those of its commands and their
/// subcommands.
fn pages(program: clap::Command) -> Vec<(String, clap::Command)> {
    let mut program = without_help(program);
    program.build();
    let mut pages = Vec::new();
    add_pages("ddbfs", &program, &mut pages);
    pages
}

/// Removes the `help` subcommands, which show the pages and have none.
fn without_help(command: clap::Command) -> clap::Command {
    command
        .disable_help_subcommand(true)
        .mut_subcommands(without_help)
}

fn add_pages(name: &str, command: &clap::Command, pages: &mut Vec<(String, clap::Command)>) {
    pages.push((name.to_owned(), command.clone().display_name(name)));
    for command in command.get_subcommands() {
        add_pages(&format!("{name}-{}", command.get_name()), command, pages);
    }
}

fn page(command: &clap::Command) -> Result<Vec<u8>, CliError> {
    // Removed for the rendering and added unchanged: rendered, its tables and examples would be
    // filled like prose.
    let after = command.get_after_help().map(ToString::to_string);
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone().after_help(Resettable::Reset))
        .section(SECTION)
        .source(concat!("ddbfs ", env!("CARGO_PKG_VERSION")))
        .render(&mut text)
        .map_err(CliError::io("cannot make the manual page"))?;
    text.extend(
        after
            .map(|after| verbatim(&after))
            .unwrap_or_default()
            .into_bytes(),
    );
    Ok(text)
}

/// Formats the text below the options with its own lines and columns (groff_man(7)).
fn verbatim(text: &str) -> String {
    // A period or an apostrophe at the beginning would make the line a request to groff.
    let line = |line: &str| {
        format!(
            "\\&{}\n",
            line.replace('\\', "\\e")
                .replace('-', "\\-")
                .replace('\'', "\\(aq")
        )
    };
    format!(
        ".SH EXTRA\n.nf\n{}.fi\n",
        text.lines().map(line).collect::<String>()
    )
}

fn write_all(
    pages: &[(String, clap::Command)],
    directory: &Path,
) -> Result<CommandResult, CliError> {
    let doing = || format!("cannot write the manual pages to {}", directory.display());
    std::fs::create_dir_all(directory).map_err(CliError::io(doing()))?;
    for (name, command) in pages {
        std::fs::write(directory.join(format!("{name}.{SECTION}")), page(command)?)
            .map_err(CliError::io(doing()))?;
    }
    Ok(CommandResult::Done)
}
