//! `ddbfs dump TABLE`: every item, one JSON object a line, in the table's key order.

use std::io::{BufWriter, ErrorKind, Write};

use super::outcome::warn;
use crate::cli::prelude::*;
use crate::model::api::ScanRequest;
use crate::model::{Error, TableName};

#[derive(Debug, Args)]
pub struct DumpArgs {
    /// The table
    table: String,
    /// Write DynamoDB JSON ({"a":{"S":"x"}}) instead of plain JSON
    #[arg(long)]
    typed: bool,
    #[command(flatten)]
    data: DataArgs,
}

pub fn run(args: DumpArgs) -> Result<Outcome, CliError> {
    let opened = data_dir::open_to_look(&args.data)?;
    let table = existing_table(&*opened.database, &args.table)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let written =
        dump(&*opened.database, table, args.typed, &mut out).and_then(|()| out.flush().map_err(CliError::io("standard output")));
    drop(out);
    opened.close();
    match written {
        // `ddbfs dump T | head` is no failure.
        Err(CliError::Io { source, .. }) if source.kind() == ErrorKind::BrokenPipe => Ok(Outcome::Done),
        Err(error) => Err(error),
        Ok(()) => Ok(Outcome::Done),
    }
}

fn dump(database: &dyn Browse, table: TableName, typed: bool, out: &mut dyn Write) -> Result<(), CliError> {
    let schema = database.schema(&table)?.ok_or_else(|| Error::TableNotFound(table.to_string()))?;
    let first: Vec<&str> = schema.key.attributes().map(|attribute| attribute.name.as_str()).collect();
    let mut request = ScanRequest::new(table);
    loop {
        let mut text = Vec::new();
        let mut rendered = Ok(());
        let page = database.scan_rows(&request, &mut |row| {
            let line = if typed {
                row.write_dynamodb_json(&mut text).map(|()| text.push(b'\n'))
            } else {
                row.write_plain_json(&first, &mut text)
            };
            if rendered.is_ok() {
                rendered = line;
            }
        })?;
        rendered.map_err(Error::from)?;
        out.write_all(&text).map_err(CliError::io("standard output"))?;
        match page.last_evaluated_key {
            Some(key) => request.exclusive_start_key = Some(key),
            None => return Ok(()),
        }
    }
}

/// The same as [`table_of`], and says so if the table is not whole.
pub fn existing_table(database: &dyn Browse, name: &str) -> Result<TableName, CliError> {
    let table = table_of(database, name)?;
    warn_unfinished(database, &table)?;
    Ok(table)
}

/// Says so if a table is not whole.
pub fn warn_unfinished(database: &dyn Browse, table: &TableName) -> Result<(), CliError> {
    database.unfinished(table)?.into_iter().for_each(warn);
    Ok(())
}

/// The table of that name, or a sentence that lists the ones there are.
pub fn table_of(database: &dyn Browse, name: &str) -> Result<TableName, CliError> {
    if let Ok(table) = TableName::new(name)
        && database.schema(&table)?.is_some()
    {
        return Ok(table);
    }
    let names: Vec<String> = database.table_names()?.iter().map(ToString::to_string).collect();
    let there = if names.is_empty() { "there are no tables".to_owned() } else { format!("the tables are {}", names.join(", ")) };
    Err(CliError::Message(format!("no table {name:?}; {there}")))
}
