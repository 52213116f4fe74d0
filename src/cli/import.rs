//! `ddbfs import FILE…`: creates the tables that templates, models and definitions declare, with
//! their time to live and their sample items. `codec::definitions` reads the forms.

use std::io::Read as _;

use super::exit::{print_line, warn};
use super::prelude::*;
use crate::codec::count::plural;
use crate::codec::definitions::{self, Definitions, Parameters, TIME_TO_LIVE, TableDefinition};
use crate::codec::{dynamodb_json, json::document::Document, wire};
use crate::database::local::LocalDatabase;
use crate::database::{Browse as _, Database as _, run_blocking};
use crate::inspect::expected;
use crate::model::TableName;
use crate::model::api::{
    Call, CallContext, CreateTableRequest, PutItemRequest, TimeToLiveSpecification,
    UpdateTimeToLiveRequest,
};

/// The most refused items of a table that are printed; the rest are counted.
const REPORTS_MAX: usize = 10;

/// Create the tables that files define, with the sample items that models have. The form of a file
/// is told by its content: a CreateTable request, the output of describe-table, a template of
/// CloudFormation, SAM, CDK or the Serverless framework (JSON or YAML), Terraform (a .tf file, the
/// output of `terraform show -json`, a state), a model of NoSQL Workbench, or a
/// dynamodb_data_model.json. All files are read before a table is created. A table that exists is
/// left as it is.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Files of definitions; - is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Give a value that the files leave open: a template's parameter, a variable of Terraform,
    /// `stage` of Serverless
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, String)>,
    /// Create only this table, by its name or its name in the file; may be given more than once
    #[arg(long = "table", value_name = "NAME")]
    only: Vec<String>,
    /// Print the CreateTable requests, one JSON object a line, and create nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    data: DataArgs,
}

/// A table as it will be created.
struct PlannedTable {
    definition: TableDefinition,
    request: CreateTableRequest,
    time_to_live: Option<TimeToLiveSpecification>,
}

pub fn run(args: ImportArgs) -> Result<CommandResult, CliError> {
    let parameters = Parameters::from_iter(args.parameters);
    let mut result = CommandResult::Done;
    let mut planned = Vec::new();
    for (name, text) in read_files(&args.files)? {
        let Definitions {
            form,
            tables,
            faults,
            skipped,
        } = definitions::read(&text, &parameters)
            .map_err(|error| CliError::Message(format!("{name}: {error}")))?;
        if tables.is_empty() && faults.is_empty() && skipped.is_empty() {
            return Err(CliError::Message(format!(
                "{name} is {} without a table",
                form.name()
            )));
        }
        for skipped in skipped {
            warn(format_args!("{name}: {skipped}"));
        }
        for fault in faults {
            warn(format_args!("{name}: {fault}"));
            result = CommandResult::Failed;
        }
        for table in tables {
            let is_wanted =
                |wanted: &String| *wanted == table.label || Some(wanted.as_str()) == table.name();
            if !args.only.is_empty() && !args.only.iter().any(is_wanted) {
                continue;
            }
            match plan(table) {
                Ok(table) => planned.push(table),
                Err(fault) => {
                    warn(format_args!("{name}: {fault}"));
                    result = CommandResult::Failed;
                }
            }
        }
    }
    if args.dry_run {
        for table in &planned {
            tell_notes(table);
            if table.time_to_live.is_some() {
                let name = &table.request.table_name;
                warn(format_args!("{name}: UpdateTimeToLive follows"));
            }
            print_line!("{}", table.definition.request)?;
        }
        return Ok(result);
    }
    let opened = data_dir::open_or_create(&args.data)?;
    for table in planned {
        if let CommandResult::Failed = create(&opened.database, table)? {
            result = CommandResult::Failed;
        }
    }
    Ok(result)
}

fn parameter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("takes NAME=VALUE".to_owned()),
    }
}

/// Reads the files with their names. The files of a Terraform configuration are one text, as one has the
/// variables of another.
fn read_files(paths: &[PathBuf]) -> Result<Vec<(String, Vec<u8>)>, CliError> {
    let (mut files, mut names, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for path in paths {
        let (name, text) = (path.display().to_string(), read_file(path)?);
        if path
            .extension()
            .is_some_and(|of| of == "tf" || of == "tfvars")
        {
            names.push(name);
            texts.push(text);
        } else {
            files.push((name, text));
        }
    }
    if !names.is_empty() {
        files.push((names.join(", "), texts.join(&b'\n')));
    }
    Ok(files)
}

/// Reads a file of at most as many bytes as definitions may have, and one more.
fn read_file(path: &Path) -> Result<Vec<u8>, CliError> {
    let mut text = Vec::new();
    let limit = definitions::TEXT_BYTES_MAX as u64 + 1;
    if path == Path::new("-") {
        let read = std::io::stdin().take(limit).read_to_end(&mut text);
        read.map_err(CliError::io("standard input"))?;
    } else {
        let file = std::fs::File::open(path).map_err(CliError::at(path))?;
        let read = file.take(limit).read_to_end(&mut text);
        read.map_err(CliError::at(path))?;
    }
    Ok(text)
}

/// Makes the requests of a definition; a fault is a sentence with the table's name.
fn plan(mut definition: TableDefinition) -> Result<PlannedTable, String> {
    let label = &definition.label;
    let members = definition.request.as_object_mut();
    let expiry = members.and_then(|members| members.remove(TIME_TO_LIVE));
    let expiry = expiry.filter(|expiry| expiry["Enabled"] != false);
    let time_to_live = expiry.map(|expiry| match expiry["AttributeName"].as_str() {
        Some(name) => Ok(TimeToLiveSpecification {
            enabled: true,
            attribute_name: name.to_owned(),
        }),
        None => Err(format!("{label}: {TIME_TO_LIVE} has no AttributeName")),
    });
    let time_to_live = time_to_live.transpose()?;
    if definition.name().is_none() {
        return Err(format!(
            "{label}: the definition has no TableName; write it to the schema.json of a directory of that name instead"
        ));
    }
    let request = wire::request(Document::from_value(&definition.request).root())
        .map_err(|error| format!("{label}: {error}"))?;
    Ok(PlannedTable {
        definition,
        request,
        time_to_live,
    })
}

fn tell_notes(table: &PlannedTable) {
    for note in &table.definition.notes {
        warn(format_args!("{}: {note}", table.request.table_name));
    }
}

fn create(database: &LocalDatabase, table: PlannedTable) -> Result<CommandResult, CliError> {
    let name = table.request.table_name.clone();
    if database.schema(&name)?.is_some() {
        print_line!("{name}: there already, left as it is")?;
        return Ok(CommandResult::Done);
    }
    tell_notes(&table);
    if let Err(error) = database.create_table(table.request) {
        warn(format_args!("{name}: {error}"));
        return Ok(CommandResult::Failed);
    }
    if let Some(specification) = table.time_to_live {
        database.update_time_to_live(UpdateTimeToLiveRequest {
            table_name: name.clone(),
            specification,
        })?;
    }
    keep_patterns(database, &name, &table.definition)?;
    put_items(database, &name, &table.definition.items)
}

/// Keeps the access patterns of a model as those that are expected of its table.
fn keep_patterns(
    database: &LocalDatabase,
    name: &TableName,
    definition: &TableDefinition,
) -> Result<(), CliError> {
    let schema = data_dir::existing_schema(database, name)?;
    let lines = expected::of_model(&definition.patterns, &schema);
    if !lines.is_empty()
        && let Err(why) = expected::keep(database, &schema, &lines)
    {
        warn(format_args!("{name}: its access patterns: {why}"));
    }
    Ok(())
}

fn put_items(
    database: &LocalDatabase,
    name: &TableName,
    items: &[serde_json::Value],
) -> Result<CommandResult, CliError> {
    let (mut stored, mut bad) = (0, 0);
    for (at, item) in items.iter().enumerate() {
        let item = dynamodb_json::parse(item.to_string().as_bytes());
        let put = item.map_err(|error| error.to_string()).and_then(|item| {
            let request = PutItemRequest::new(name.clone(), item);
            // Sample items are no traffic of the table.
            let put = run_blocking(CallContext::bulk(), |completion| {
                database.start(Call::PutItem(request, completion));
            });
            put.map_err(|error| error.to_string())
        });
        match put {
            Ok(_) => stored += 1,
            Err(why) => {
                bad += 1;
                if bad <= REPORTS_MAX {
                    warn(format_args!("{name}: item {}: {why}", at + 1));
                }
            }
        }
    }
    if bad == 0 {
        print_line!("{name}: created, {}", plural(stored, "item"))?;
        return Ok(CommandResult::Done);
    }
    print_line!("{name}: created, {}, {bad} refused", plural(stored, "item"))?;
    Ok(CommandResult::Failed)
}
