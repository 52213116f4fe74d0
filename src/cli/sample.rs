//! `ddbfs sample`: the example tables with their data.

use super::outcome::say;
use crate::cli::prelude::*;
use crate::database::Database;
use crate::database::samples::sample_tables;
use crate::model::api::PutItemRequest;

#[derive(Debug, Args)]
pub struct SampleArgs {
    #[command(flatten)]
    data: DataArgs,
}

pub fn run(args: SampleArgs) -> Result<Outcome, CliError> {
    let opened = data_dir::open(&args.data)?;
    for (request, items) in sample_tables() {
        let name = request.table_name.clone();
        // By the table alone: whatever it holds by now is somebody's.
        if opened.database.schema(&name)?.is_some() {
            say!("{name}: there already, left as it is")?;
            continue;
        }
        opened.database.create_table(request)?;
        let count = items.len();
        for item in items {
            opened.database.put_item(PutItemRequest::new(name.clone(), item))?;
        }
        say!("{name}: {count} items")?;
    }
    opened.close();
    Ok(Outcome::Done)
}
