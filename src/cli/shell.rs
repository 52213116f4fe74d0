//! `ddbfs shell`: what an interactive shell takes in with `eval`: failures told after each command, completions of commands, tables
//! and query paths. The scripts are in `shell/`; they ask this command for what is to be told and completed, and never touch a mount
//! in the shell's own process, which could not be ended while it waits for one.

mod complete;
mod tell;
mod typed;

use std::io::ErrorKind;

use clap::ValueEnum;
use clap_complete::Shell;

use super::outcome::print;
use crate::cli::prelude::*;

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Interactive {
    Bash,
    Zsh,
    Fish,
}

#[derive(Debug, Args)]
#[command(after_help = "\
In ~/.bashrc, ~/.zshrc, or ~/.config/fish/config.fish:
  eval \"$(ddbfs shell bash)\"
  eval \"$(ddbfs shell zsh)\"
  ddbfs shell fish | source
It reads .ddb/errors/last of each mount after each command, tells what is new there, and completes names in a mount that ls does not
show: query/, clauses, key values, results; and tables for ddbfs dump and its like.")]
pub struct ShellArgs {
    /// For which shell
    #[arg(required_unless_present_any = ["complete", "line", "told", "tables"])]
    shell: Option<Interactive>,
    /// What a word may become that names a file in a mount
    #[arg(long, value_name = "WORD", hide = true, allow_hyphen_values = true)]
    complete: Option<String>,
    /// What the last word of a bash's line may become, from where readline completes it
    #[arg(long, value_name = "LINE", hide = true, allow_hyphen_values = true)]
    line: Option<String>,
    /// Where readline begins words
    #[arg(long, value_name = "CHARACTERS", hide = true, allow_hyphen_values = true, default_value = "")]
    breaks: String,
    /// Tell what failed since this was printed
    #[arg(long, value_name = "TOLD", hide = true)]
    told: Option<String>,
    /// The status of the command that has ended
    #[arg(long, value_name = "STATUS", hide = true)]
    status: Option<i32>,
    /// Tell nothing
    #[arg(long, hide = true, conflicts_with = "status")]
    quiet: bool,
    /// The names of the tables
    #[arg(long, hide = true)]
    tables: bool,
    #[command(flatten)]
    data: DataArgs,
}

/// `program`: the definition of the commands, for what completes them.
pub fn run(args: &ShellArgs, program: clap::Command) -> Result<Outcome, CliError> {
    if let Some(told) = &args.told {
        return tell::run(told, args.status.filter(|_| !args.quiet));
    } else if let Some(word) = &args.complete {
        let end = word.rfind('/').map_or(0, |slash| slash + 1);
        return offer(word, word.get(..end).unwrap_or_default(), 0);
    } else if let Some(line) = &args.line {
        let word = typed::last_word(line, &args.breaks);
        return offer(&word.text, &word.directory, word.kept);
    } else if args.tables {
        print(table_names(&args.data)?.as_bytes())?;
    } else if let Some(shell) = args.shell {
        print(script(shell, program).as_bytes())?;
    }
    Ok(Outcome::Done)
}

fn script(shell: Interactive, mut program: clap::Command) -> String {
    let (generator, hook) = match shell {
        Interactive::Bash => (Shell::Bash, include_str!("shell/hook.bash")),
        Interactive::Zsh => (Shell::Zsh, include_str!("shell/hook.zsh")),
        Interactive::Fish => (Shell::Fish, include_str!("shell/hook.fish")),
    };
    let mut commands = Vec::new();
    clap_complete::generate(generator, &mut program, "ddbfs", &mut commands);
    let commands = String::from_utf8_lossy(&commands);
    match shell {
        Interactive::Zsh => {
            // The generator knows no completions but its own.
            let commands = commands.replace(":table -- The table:_default", ":table -- The table:__ddbfs_tables");
            format!("(( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit -D }}\n{commands}{hook}")
        }
        Interactive::Bash | Interactive::Fish => format!("{commands}{hook}"),
    }
}

/// Prints what a word may become, a line each: `directory`, and of the names behind it what comes after the bytes that are kept. Fails when
/// the mount does not answer.
fn offer(word: &str, directory: &str, kept: usize) -> Result<Outcome, CliError> {
    let names = match complete::names(word) {
        Err(error) if error.kind() == ErrorKind::TimedOut => return Ok(Outcome::Failed),
        names => names.unwrap_or_default(),
    };
    let lines = names.iter().filter_map(|name| Some(format!("{directory}{}\n", name.get(kept..)?)));
    print(lines.collect::<String>().as_bytes())?;
    Ok(Outcome::Done)
}

/// A line for each.
fn table_names(data: &DataArgs) -> Result<String, CliError> {
    let opened = data_dir::open(data)?;
    let names = opened.database.table_names();
    opened.close();
    Ok(names?.iter().map(|name| format!("{name}\n")).collect())
}
