//! `ddbfs violations TABLE INDEX`: finds and corrects items that an index cannot hold,
//! through a CSV table. `inspect::violations` finds them. It only lists those of a vector index.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::ops::ControlFlow;

use clap::ValueEnum;

use super::exit::warn;
use super::prelude::*;
use crate::database::SourceName;
use crate::fs::special::absence::absence_line;
use crate::inspect::violations::correction::{CorrectionAction, correct, detect};
use crate::inspect::violations::{IndexKey, IndexViolation, TableWriter};
use crate::model::schema::{IndexKind, KeyAttributeType};
use crate::model::{ApiEnum as _, KeyAttribute, KeySchema, KeyType, TableName};

const AFTER_HELP: &str = "\
Examples:
  # list the items that an index cannot hold
  ddbfs violations GameScores GameTitleIndex
  # the same for a planned index
  ddbfs violations ProductCatalog --hash-key Price:N
  # then fill in violation_detection.csv, the column 'Update Value(FOR USER)',
  # or Y in the last column to remove the attribute; and write the new values
  ddbfs violations ProductCatalog --hash-key Price:N --correct update

Exit code 1: violations were found, or corrections failed.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ViolationsArgs {
    /// The table
    table: String,
    /// A global or vector index of the table; for a planned index, omit it and give --hash-key
    index: Option<String>,
    /// Partition key of a planned index, with its type S, N or B
    #[arg(long, value_name = "NAME:TYPE", conflicts_with = "index")]
    hash_key: Option<String>,
    /// Sort key of a planned index
    #[arg(long, value_name = "NAME:TYPE", requires = "hash_key")]
    range_key: Option<String>,
    /// Read the filled-in table; update or delete the items it lists
    #[arg(long, value_name = "WHAT")]
    correct: Option<CorrectMode>,
    /// File to write the table of violations to, violation_detection.csv if not said; - is standard
    /// output, to which those of a vector index go as lines of JSON
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The filled-in table to correct by
    #[arg(long, value_name = "FILE", default_value = "violation_detection.csv")]
    input: PathBuf,
    /// File to write rows to that could not be corrected
    #[arg(
        long,
        value_name = "FILE",
        default_value = "violation_update_errors.csv"
    )]
    errors: PathBuf,
    #[command(flatten)]
    data: DataArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CorrectMode {
    Update,
    Delete,
}

pub fn run(args: ViolationsArgs) -> Result<CommandResult, CliError> {
    let correct = args.correct;
    let opened = match correct {
        None => data_dir::open_passive(&args.data)?,
        Some(_) => data_dir::open(&args.data)?,
    };
    if let (None, Some(source)) = (correct, vector_source(&*opened.database, &args)?) {
        return list_of_vectors(&*opened.database, &source, args.output.as_deref());
    }
    let run = ViolationRun::new(&*opened.database, args)?;
    correct.map_or_else(|| run.detect(), |mode| run.correct(mode))
}

/// A run on an open database.
struct ViolationRun<'a> {
    database: &'a dyn Browse,
    args: ViolationsArgs,
    table: TableName,
    schema: KeySchema,
    index: IndexKey,
}

impl<'a> ViolationRun<'a> {
    fn new(database: &'a dyn Browse, args: ViolationsArgs) -> Result<Self, CliError> {
        let table = data_dir::existing_table(database, &args.table)?;
        let schema = data_dir::existing_schema(database, &table)?;
        let index = match (&args.index, &args.hash_key) {
            (Some(name), _) => {
                let found = schema
                    .index(name)
                    .filter(|index| index.kind == IndexKind::Global);
                let index = found.ok_or_else(|| CliError::Message(no_index(&schema, name)))?;
                IndexKey::from(index)
            }
            (None, Some(hash)) => planned(hash, args.range_key.as_deref())?,
            (None, None) => {
                return Err(CliError::Message(
                    "name an index of the table, or the key of a planned one: --hash-key NAME:TYPE"
                        .into(),
                ));
            }
        };
        let schema = schema.key.clone();
        Ok(Self {
            database,
            args,
            table,
            schema,
            index,
        })
    }

    fn detect(&self) -> Result<CommandResult, CliError> {
        let path = self.args.output.as_deref();
        let path = path.unwrap_or(Path::new("violation_detection.csv"));
        let failed = |error| cannot_write(path, &error);
        let table = TableWriter::new(create(path)?, &self.schema, &self.index);
        let mut table = table.map_err(failed)?;
        let mut found = |violation: &IndexViolation| table.row(violation).map_err(failed);
        let tally = detect(
            self.database,
            &self.table,
            &self.schema,
            &self.index,
            &mut found,
        )?;
        table.finish().map_err(CliError::at(path))?;
        let read = format!("{} read, ", plural(tally.items, "item"));
        Ok(told(&read, tally.violations, path))
    }

    fn correct(&self, mode: CorrectMode) -> Result<CommandResult, CliError> {
        let (input_path, errors_path) = (&*self.args.input, &*self.args.errors);
        let input = File::open(input_path).map_err(CliError::at(input_path))?;
        let errors = create(errors_path)?;
        let action = match mode {
            CorrectMode::Update => CorrectionAction::Update,
            CorrectMode::Delete => CorrectionAction::Delete,
        };
        let tally = correct(
            self.database,
            &self.table,
            &self.schema,
            &self.index,
            action,
            BufReader::new(input),
            errors,
        )
        .map_err(|error| CliError::Message(format!("{}: {error}", input_path.display())))?;
        let listed = if tally.failed > 0 {
            format!(", listed in {}", errors_path.display())
        } else {
            String::new()
        };
        warn(format_args!(
            "{} corrected, {} left unchanged, {} failed{listed}",
            plural(tally.corrected, "item"),
            plural(tally.left, "row"),
            tally.failed
        ));
        Ok(CommandResult::done_if(tally.failed == 0))
    }
}

/// Tells how many violations there are. To standard error, as they may be on standard output.
fn told(before: &str, violations: u64, path: &Path) -> CommandResult {
    let listed = if path == Path::new("-") {
        String::new()
    } else {
        format!(", listed in {}", path.display())
    };
    let violated = plural(violations, "violation");
    warn(format_args!("{before}{violated}{listed}"));
    CommandResult::done_if(violations == 0)
}

/// Returns the vector index that the arguments name, if it is one.
fn vector_source(
    database: &dyn Browse,
    args: &ViolationsArgs,
) -> Result<Option<SourceName>, CliError> {
    let table = data_dir::existing_table(database, &args.table)?;
    let schema = data_dir::existing_schema(database, &table)?;
    let index = args.index.as_ref().and_then(|name| schema.index(name));
    let index = index.filter(|index| index.vector.is_some());
    Ok(index.map(|index| SourceName {
        table,
        index: Some(index.name.clone()),
    }))
}

/// Lists the items that a vector index cannot hold, as its `violations.ndjson` in a mount does.
fn list_of_vectors(
    database: &dyn Browse,
    index: &SourceName,
    output: Option<&Path>,
) -> Result<CommandResult, CliError> {
    let path = output.unwrap_or(Path::new("-"));
    let mut out = create(path)?;
    let (mut violations, mut written) = (0, Ok(()));
    database.absences(index, true, &mut |absence| {
        violations += 1;
        written = writeln!(out, "{}", absence_line(absence));
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    })?;
    let flushed = written.and_then(|()| out.flush());
    flushed.map_err(CliError::at(path))?;
    Ok(told("", violations, path))
}

fn no_index(schema: &crate::model::TableSchema, name: &str) -> String {
    let names: Vec<&str> = schema
        .indexes_of(IndexKind::Global)
        .map(|index| index.name.as_str())
        .collect();
    let table = &schema.name;
    if schema
        .index(name)
        .is_some_and(|index| index.vector.is_some())
    {
        return format!(
            "{name} is a vector index: its violations are listed without --correct, and corrected in the items of {table}"
        );
    }
    let there = if names.is_empty() {
        format!("table {table} has no global indexes")
    } else {
        format!(
            "table {table} has no global index {name:?}; it has {}",
            names.join(", ")
        )
    };
    format!("{there}. For a planned one give --hash-key NAME:TYPE")
}

fn planned(hash: &str, range: Option<&str>) -> Result<IndexKey, CliError> {
    let mut attributes = vec![(KeyType::Hash, attribute(hash)?)];
    if let Some(range) = range {
        attributes.push((KeyType::Range, attribute(range)?));
    }
    Ok(IndexKey { attributes })
}

/// Parses `Price:N`.
fn attribute(text: &str) -> Result<KeyAttribute, CliError> {
    // The last colon: an attribute's name may have colons too.
    let parsed = text.rsplit_once(':').and_then(|(name, letter)| {
        Some(KeyAttribute {
            name: Some(name).filter(|name| !name.is_empty())?.to_owned(),
            attribute_type: KeyAttributeType::parse(letter)?,
        })
    });
    parsed.ok_or_else(|| {
        CliError::Message(format!(
            "{text:?} is no key attribute: write its name and type, as in Price:N (S, N or B)"
        ))
    })
}

fn create(path: &Path) -> Result<Box<dyn Write>, CliError> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdout().lock()));
    }
    let file = File::create(path).map_err(CliError::at(path))?;
    Ok(Box::new(BufWriter::new(file)))
}

fn cannot_write(path: &Path, error: &csv::Error) -> CliError {
    CliError::Message(format!("{}: {error}", path.display()))
}
