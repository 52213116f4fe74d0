//! `ddbfs check`: the pages of the data file, the log, and every index entry, collection and counter against the items.

use super::outcome::tell;
use crate::cli::prelude::*;
use crate::engine::check::check;
use crate::model::Error;

#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    data: DataArgs,
}

pub fn run(args: &CheckArgs) -> Result<Outcome, CliError> {
    let opened = data_dir::open_in_place(&args.data)?;
    let report = opened.store.check().map_err(Error::from).and_then(|()| check(opened.database.engine()));
    opened.close();
    let report = report?;
    let mut text: String = report.differences.iter().map(|difference| format!("{difference}\n")).collect();
    text += &format!(
        "{} tables, {} items, {} index entries: {} differences\n",
        report.tables, report.items, report.index_entries, report.total
    );
    tell(&text)?;
    Ok(if report.is_clean() { Outcome::Done } else { Outcome::Failed })
}
