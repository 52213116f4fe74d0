//! `ddbfs violations TABLE INDEX`: finds, deletes or corrects items that an index cannot hold,
//! through a CSV table. `inspect::violations` finds them. The configuration file is that of the
//! service's Violation Detector: `name = value` lines, `#` begins a comment.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};

use clap::ValueEnum;

use super::exit::warn;
use super::prelude::*;
use crate::inspect::violations::correction::{
    self, CorrectionAction, DetectBounds, correct, detect,
};
use crate::inspect::violations::{IndexKey, IndexViolation, TableWriter};
use crate::model::schema::{IndexKind, KeyAttributeType};
use crate::model::{KeyAttribute, KeySchema, KeyType, TableName};

const AFTER_HELP: &str = "\
Examples:
  # list the items that an index cannot hold
  ddbfs violations GameScores GameTitleIndex
  # the same for a planned index
  ddbfs violations ProductCatalog --hash-key Price:N
  # then fill in violation_detection.csv, the column 'Update Value(FOR USER)',
  # or Y in the last column to remove the attribute; and write the new values
  ddbfs violations ProductCatalog --hash-key Price:N --correct update

Exit code 1: violations were found and kept, or corrections failed.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ViolationsArgs {
    #[command(flatten)]
    settings: Settings,
    /// File with settings of the service's Violation Detector: `tableName = …`, `gsiHashKeyName =
    /// …`
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    data: DataArgs,
}

/// The settings of a run, from the command line or the configuration file.
#[derive(Debug, Default, PartialEq, Eq, Args)]
struct Settings {
    /// The table; may be given in --config instead
    #[arg(required_unless_present = "config")]
    table: Option<String>,
    /// A global index of the table; for a planned index, omit it and give --hash-key
    index: Option<String>,
    /// Partition key of a planned index, with its type S, N or B
    #[arg(long, value_name = "NAME:TYPE", conflicts_with = "index")]
    hash_key: Option<String>,
    /// Sort key of a planned index
    #[arg(long, value_name = "NAME:TYPE", requires = "hash_key")]
    range_key: Option<String>,
    /// Find violations; keep or delete their items [default: keep]
    #[arg(long, value_name = "WHAT", conflicts_with = "correct")]
    detect: Option<DetectMode>,
    /// Read the filled-in table; update or delete the items it lists
    #[arg(long, value_name = "WHAT")]
    correct: Option<CorrectMode>,
    /// File to write the table of violations to [default: violation_detection.csv; - is standard
    /// output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The filled-in table to correct by [default: violation_detection.csv]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// File to write rows to that could not be corrected [default: violation_update_errors.csv]
    #[arg(long, value_name = "FILE")]
    errors: Option<PathBuf>,
    /// Stop after this many violations
    #[arg(long, value_name = "N")]
    max_violations: Option<u64>,
    /// Stop after this many items
    #[arg(long, value_name = "N")]
    max_records: Option<u64>,
    /// Count only, write no table
    #[arg(long)]
    no_details: bool,
    /// Omit the values found from the table
    #[arg(long)]
    no_values: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DetectMode {
    Keep,
    Delete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CorrectMode {
    Update,
    Delete,
}

const DETECTION_FILE: &str = "violation_detection.csv";
const ERRORS_FILE: &str = "violation_update_errors.csv";

pub fn run(args: ViolationsArgs) -> Result<CommandResult, CliError> {
    let settings = match &args.config {
        Some(path) => args.settings.or(read_config(path)?),
        None => args.settings,
    };
    let (correct, detect) = (
        settings.correct,
        settings.detect.unwrap_or(DetectMode::Keep),
    );
    let opened = match (correct, detect) {
        (None, DetectMode::Keep) => data_dir::open_passive(&args.data)?,
        _ => data_dir::open(&args.data)?,
    };
    let run = ViolationRun::new(&*opened.database, settings)?;
    correct.map_or_else(|| run.detect(detect), |mode| run.correct(mode))
}

impl Settings {
    /// Merges these settings with those of a configuration file; these take precedence.
    fn or(self, file: Self) -> Self {
        // Both attributes of a key come from the same source.
        let is_named = self.index.is_some() || self.hash_key.is_some();
        let (hash_key, range_key) = if is_named {
            (self.hash_key, self.range_key)
        } else {
            (file.hash_key, file.range_key)
        };
        Self {
            table: self.table.or(file.table),
            hash_key,
            range_key,
            output: self.output.or(file.output),
            input: self.input.or(file.input),
            errors: self.errors.or(file.errors),
            max_violations: self.max_violations.or(file.max_violations),
            max_records: self.max_records.or(file.max_records),
            no_details: self.no_details || file.no_details,
            no_values: self.no_values || file.no_values,
            ..self
        }
    }
}

/// A run on an open database.
struct ViolationRun<'a> {
    database: &'a dyn Browse,
    settings: Settings,
    table: TableName,
    schema: KeySchema,
    index: IndexKey,
}

impl<'a> ViolationRun<'a> {
    fn new(database: &'a dyn Browse, settings: Settings) -> Result<Self, CliError> {
        let name = settings.table.as_deref();
        let name = name.ok_or_else(|| {
            CliError::Message("name the table, here or as tableName in the configuration".into())
        })?;
        let table = data_dir::existing_table(database, name)?;
        let schema = data_dir::existing_schema(database, &table)?;
        let index = match (&settings.index, &settings.hash_key) {
            (Some(name), _) => {
                let found = schema
                    .index(name)
                    .filter(|index| index.kind == IndexKind::Global);
                let index = found.ok_or_else(|| CliError::Message(no_index(&schema, name)))?;
                IndexKey::from(index)
            }
            (None, Some(hash)) => planned(hash, settings.range_key.as_deref())?,
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
            settings,
            table,
            schema,
            index,
        })
    }

    fn detect(&self, mode: DetectMode) -> Result<CommandResult, CliError> {
        let path = self
            .settings
            .output
            .as_deref()
            .unwrap_or(Path::new(DETECTION_FILE));
        let begin =
            |out| TableWriter::new(out, &self.schema, &self.index, !self.settings.no_values);
        let mut table = None;
        if !self.settings.no_details {
            table = Some(begin(create(path)?).map_err(|error| cannot_write(path, &error))?);
        }
        let bounds = DetectBounds {
            violations_max: self.settings.max_violations,
            items_max: self.settings.max_records,
        };
        let mut deleted = 0_u64;
        let mut found = |violation: &IndexViolation| -> Result<(), CliError> {
            if let Some(table) = &mut table {
                table
                    .row(violation)
                    .map_err(|error| cannot_write(path, &error))?;
            }
            if mode == DetectMode::Delete
                && correction::delete(
                    self.database,
                    &self.table,
                    &self.schema,
                    &self.index,
                    violation,
                )?
            {
                deleted += 1;
            }
            Ok(())
        };
        let tally = detect(
            self.database,
            &self.table,
            &self.schema,
            &self.index,
            bounds,
            &mut found,
        )?;
        if let Some(table) = table {
            table.finish().map_err(CliError::at(path))?;
        }
        let listed = if !self.settings.no_details && path != Path::new("-") {
            format!(", listed in {}", path.display())
        } else {
            String::new()
        };
        let removed = if mode == DetectMode::Delete {
            format!(", {} deleted", plural(deleted, "item"))
        } else {
            String::new()
        };
        // To standard error, as the table may be on standard output.
        warn(format_args!(
            "{} read, {}{listed}{removed}",
            plural(tally.items, "item"),
            plural(tally.violations, "violation")
        ));
        Ok(if tally.violations == deleted {
            CommandResult::Done
        } else {
            CommandResult::Failed
        })
    }

    fn correct(&self, mode: CorrectMode) -> Result<CommandResult, CliError> {
        let input_path = self
            .settings
            .input
            .as_deref()
            .unwrap_or(Path::new(DETECTION_FILE));
        let errors_path = self
            .settings
            .errors
            .as_deref()
            .unwrap_or(Path::new(ERRORS_FILE));
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
        Ok(if tally.failed == 0 {
            CommandResult::Done
        } else {
            CommandResult::Failed
        })
    }
}

fn no_index(schema: &crate::model::TableSchema, name: &str) -> String {
    let names: Vec<&str> = schema
        .indexes_of(IndexKind::Global)
        .map(|index| index.name.as_str())
        .collect();
    let table = &schema.name;
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
        let attribute_type = match letter {
            "S" => KeyAttributeType::S,
            "N" => KeyAttributeType::N,
            "B" => KeyAttributeType::B,
            _ => return None,
        };
        (!name.is_empty()).then(|| KeyAttribute {
            name: name.to_owned(),
            attribute_type,
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

/// Reads a configuration file.
fn read_config(path: &Path) -> Result<Settings, CliError> {
    let text = std::fs::read_to_string(path).map_err(CliError::at(path))?;
    parse(&text).map_err(|error| CliError::Message(format!("{}: {error}", path.display())))
}

fn parse(text: &str) -> Result<Settings, String> {
    let mut config = Settings::default();
    let (mut hash, mut range) = ((None, None), (None, None));
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        // As in a Java properties file, where `!` begins a comment too, and `:` may stand for `=`.
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let (name, value) = line
            .split_once(['=', ':'])
            .map(|(name, value)| (name.trim(), value.trim()))
            .ok_or(format!("line {number} is not name = value"))?;
        let given = (!value.is_empty()).then(|| value.to_owned());
        let wrong = |what: &str| format!("line {number}: {name} is {value:?}; it takes {what}");
        match name {
            "tableName" => config.table = given,
            "gsiHashKeyName" => hash.0 = given,
            "gsiHashKeyType" => hash.1 = given,
            "gsiRangeKeyName" => range.0 = given,
            "gsiRangeKeyType" => range.1 = given,
            "recordDetails" => {
                config.no_details = !value.parse::<bool>().map_err(|_| wrong("true or false"))?
            }
            "recordGsiValueInViolationRecord" => {
                config.no_values = !value.parse::<bool>().map_err(|_| wrong("true or false"))?
            }
            "detectionOutputPath" => config.output = given.map(PathBuf::from),
            "correctionInputPath" => config.input = given.map(PathBuf::from),
            "correctionOutputPath" => config.errors = given.map(PathBuf::from),
            "numOfViolations" => {
                config.max_violations =
                    count(value).ok_or_else(|| wrong("a count, or -1 for all"))?
            }
            "numOfRecords" => {
                config.max_records = count(value).ok_or_else(|| wrong("a count, or -1 for all"))?
            }
            "numOfSegments" => check_range(value, 1..=4096).ok_or_else(|| wrong("1 to 4096"))?,
            "readWriteIOPSPercent" => {
                check_range(value, 1..=100).ok_or_else(|| wrong("1 to 100"))?
            }
            // Settings of the service's account: there is none here.
            "awsCredentialsFile" | "dynamoDBRegion" => {}
            _ => return Err(format!("line {number}: there is no setting {name:?}")),
        }
    }
    config.hash_key = key("gsiHashKey", hash.0, hash.1)?;
    config.range_key = key("gsiRangeKey", range.0, range.1)?;
    Ok(config)
}

/// Joins a name and a type, which are given together.
fn key(
    member_prefix: &str,
    name: Option<String>,
    attribute_type: Option<String>,
) -> Result<Option<String>, String> {
    match (name, attribute_type) {
        (Some(name), Some(attribute_type)) => Ok(Some(format!("{name}:{attribute_type}"))),
        (None, None) => Ok(None),
        _ => Err(format!(
            "{member_prefix}Name and {member_prefix}Type are given together"
        )),
    }
}

/// Parses a count; -1 is all.
fn count(value: &str) -> Option<Option<u64>> {
    if value == "-1" {
        Some(None)
    } else {
        value.parse().ok().map(Some)
    }
}

/// Checks a setting that has no effect here, for users that move the file to the service: one
/// process reads the whole table here, at its own pace.
fn check_range(value: &str, range: std::ops::RangeInclusive<u32>) -> Option<()> {
    value
        .parse()
        .ok()
        .filter(|number| range.contains(number))
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings() {
        let check = |text: &str, expected: Result<Settings, &str>| {
            assert_eq!(parse(text), expected.map_err(str::to_owned), "{text}");
        };
        check("", Ok(Settings::default()));
        check(
            "# PriceIndex\nawsCredentialsFile = x\n tableName=ProductCatalog\ngsiHashKeyName = Price\ngsiHashKeyType = N\nrecordDetails=false\nnumOfRecords = -1\nnumOfViolations = 5\nnumOfSegments = 4096\n",
            Ok(Settings {
                table: Some("ProductCatalog".into()),
                hash_key: Some("Price:N".into()),
                no_details: true,
                max_violations: Some(5),
                ..Settings::default()
            }),
        );
        check(
            "gsiHashKeyName = Price",
            Err("gsiHashKeyName and gsiHashKeyType are given together"),
        );
        check("\ntable = x", Err("line 2: there is no setting \"table\""));
        check(
            "numOfSegments = 0",
            Err("line 1: numOfSegments is \"0\"; it takes 1 to 4096"),
        );
        check(
            "recordDetails = maybe",
            Err("line 1: recordDetails is \"maybe\"; it takes true or false"),
        );
        check("tableName", Err("line 1 is not name = value"));
    }
}
