//! The stream of a table.

use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::model::TableName;
use crate::model::api::StreamName;

/// The newest stream of a table.
///
/// # Errors
/// There is no table; it has no stream.
pub fn of_table(mount: &Mount, table: &TableName) -> Result<StreamName, FsError> {
    let description = mount.db.describe(table)?.ok_or(FsError::NotFound)?;
    match description.latest_stream_label {
        Some(label) => Ok(StreamName { table_name: table.clone(), label }),
        None => Err(FsError::Clause {
            message: format!("the table {table} has no stream: its changes are not recorded"),
            hint: format!(
                "enable one: echo '{{\"TableName\":\"{table}\",\"StreamSpecification\":{{\"StreamEnabled\":true,\"StreamViewType\":\"NEW_AND_OLD_IMAGES\"}}}}' > .ddb/api/UpdateTable"
            ),
        }),
    }
}
