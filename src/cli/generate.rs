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
    /// The page of this command instead of ddbfs itself
    command: Option<String>,
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
    // The subcommand `help` shows the pages and has none.
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let shown = program.get_subcommands();
    let shown = shown.filter(|command| !command.is_hide_set());
    let pages: Vec<&clap::Command> = std::iter::once(&program).chain(shown).collect();
    if let Some(directory) = &args.out {
        return write_all(&pages, directory);
    }
    let wanted = args.command.as_deref().unwrap_or(program.get_name());
    match pages.iter().find(|command| command.get_name() == wanted) {
        Some(command) => {
            print_bytes(&page(command)?)?;
            Ok(CommandResult::Done)
        }
        None => {
            let names: Vec<&str> = pages.iter().map(|command| command.get_name()).collect();
            Err(CliError::Usage(format!(
                "no command {wanted:?}; there are {}",
                names.join(", ")
            )))
        }
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

fn write_all(pages: &[&clap::Command], directory: &Path) -> Result<CommandResult, CliError> {
    let doing = || format!("cannot write the manual pages to {}", directory.display());
    std::fs::create_dir_all(directory).map_err(CliError::io(doing()))?;
    for command in pages {
        let name = command.get_display_name().unwrap_or(command.get_name());
        std::fs::write(directory.join(format!("{name}.{SECTION}")), page(command)?)
            .map_err(CliError::io(doing()))?;
    }
    Ok(CommandResult::Done)
}
