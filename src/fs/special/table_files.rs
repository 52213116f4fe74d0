//! Files of a table. `ctl` takes commands to it or to a draft, one write a command. `describe.json`
//! is DescribeTable's response, verbatim. `advice.md` is advice on keys and indexes from the data.
//! `ttl` shows time to live and the items that expire next; a write enables or disables it.

use super::schema;
use crate::codec::{calendar, wire};
use crate::fs::{
    mount::text_cache::pretty_json,
    open::prelude::*,
    source,
    write::{draft, index_draft},
};
use crate::inspect::{
    advice::{TableFacts, markdown, overview},
    sampling::SAMPLE_MEMORY_BYTES_MAX,
};
use crate::model::{
    ApiEnum,
    api::{
        DeleteTableRequest, DescribeTimeToLiveRequest, DescribeTimeToLiveResponse,
        TimeToLiveSpecification, UpdateTimeToLiveRequest,
    },
};
use crate::store::budget::{MEMORY_WAIT, Permit};

/// The text of `ctl`.
pub const CTL_USAGE: &str = "\
create pk:S [sk:N]              make this draft a table
drop                            delete this table with its items
gsi NAME key:S [sort:N] [keys | all | include=a,b]
                                make a global index; rmdir gsi/NAME drops it
gsi-propagation pause | resume  stop the global indexes where they are, and let them go on
count from here                 forget the counted load: metrics, heat and advice begin now
";

/// Carries out the command of one write, on a thread of its own: a table may take long to drop.
pub fn run_command(host: &Host, node: &Special, data: &[u8]) -> Result<(), FsError> {
    let (mount, table) = (&host.mount, node.try_table()?);
    let text = std::str::from_utf8(data).map_err(|_| FsError::Invalid("a command is text"))?;
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        [] => Ok(()),
        ["drop"] if mount.is_draft(table)? => {
            mount.drafts.lock().drop_draft(table);
            Ok(())
        }
        // The kernel holds the file's lock during a write.
        ["drop"] => host.drop_table(DeleteTableRequest::new(table.clone())),
        ["create", keys @ ..] if !keys.is_empty() => {
            let name = format!("{table}@{}", keys.join(","));
            let request = draft::one_step(&name).ok_or(FsError::NotFound)??;
            Ok(schema::create_table(host, request)?)
        }
        ["gsi", words @ ..] => {
            let request = index_draft::parse_words(&*mount.schema(table)?, words)?;
            Ok(super::index_draft::update(mount, request)?)
        }
        ["gsi-propagation", change @ ("pause" | "resume")] => Ok(mount
            .db
            .pause_index_propagation(table, *change == "pause")?),
        ["count", "from", "here"] => Ok(mount.db.count_from_now(table)?),
        _ => Err(FsError::Invalid(
            "the commands are: create pk:S [sk:N], drop, gsi NAME key:S [sort:N] [keys | all | include=a,b], gsi-propagation pause | resume, count from here",
        )),
    }
}

pub fn describe(mount: &Mount, node: &Special) -> Result<Vec<u8>> {
    let table = node.try_table()?;
    let description = mount.db.describe(table)?.ok_or(FsError::NotFound)?;
    Ok(pretty_json(&wire::table_description::describe_to_json(
        &description,
    )))
}

/// Returns the definition in the form of another tool.
pub fn exported(
    mount: &Mount,
    at: &Special,
    form: impl FnOnce(&Value) -> String,
) -> Result<Vec<u8>> {
    let definition = source::schema::definition(mount, at.try_table()?)?;
    Ok(form(&definition.ok_or(FsError::NotFound)?).into_bytes())
}

const NOT_COUNTED: &str = "advice is made of what item collections hold, which no service counts; `ddbfs pull` the table and read its advice.md there";

/// Returns `advice.md` of a table, or of an index.
pub fn advice(mount: &Mount, node: &Special) -> Result<Vec<u8>> {
    let source = node.try_source()?;
    mount.source_schema(source)?;
    let _memory = advice_memory(mount)?;
    let facts = TableFacts::read(&*mount.db, &source.table)?.ok_or(FsError::NotFound)?;
    let text = match &source.index {
        Some(index) => overview::index_markdown(&facts, index),
        None => markdown(&facts),
    };
    Ok(text.into_bytes())
}

/// Returns `.ddb/advice.md`, on all tables.
pub fn all_advice(mount: &Mount, _at: &Special) -> Result<Vec<u8>> {
    let _memory = advice_memory(mount)?;
    Ok(overview::all_markdown(&overview::read_all(&*mount.db)?).into_bytes())
}

/// Reserves the memory in which one table is judged.
fn advice_memory(mount: &Mount) -> Result<Permit> {
    if mount.db.charges_peeks() {
        return Err(Error::Unavailable(NOT_COUNTED).into());
    }
    let reserved = mount
        .memory
        .requests
        .wait_blocking(SAMPLE_MEMORY_BYTES_MAX, MEMORY_WAIT);
    Ok(reserved.map_err(|_| Error::TooManyValues)?)
}

/// The most items shown that expire next.
const EXPIRING_MAX: usize = 20;

/// Returns the text of `ttl`.
pub fn time_to_live(mount: &Mount, node: &Special) -> Result<Vec<u8>, FsError> {
    let table = node.try_table()?;
    let described = describe_ttl(mount, table)?;
    let shown = |(ms, key)| json!({"expires": calendar::iso(ms), "item": names::item_path(&key)});
    let next: Option<Vec<Value>> = match mount.db.expiring(table, EXPIRING_MAX) {
        Err(Error::Unavailable(_)) => None,
        next => Some(next?.into_iter().map(shown).collect()),
    };
    Ok(pretty_json(
        &json!({"status": described.status.as_str(), "attribute": described.attribute_name, "next": next}),
    ))
}

fn describe_ttl(mount: &Mount, table: &TableName) -> Result<DescribeTimeToLiveResponse> {
    Ok(mount.db.describe_time_to_live(DescribeTimeToLiveRequest {
        table_name: table.clone(),
    })?)
}

/// Carries out the command of one write to `ttl`.
pub fn set_time_to_live(host: &Host, node: &Special, data: &[u8]) -> Result<(), FsError> {
    const USAGE: FsError = FsError::Invalid(
        "write: enable ATTRIBUTE, the attribute that holds the time in seconds since 1970; or: disable",
    );
    let (mount, table) = (&host.mount, node.try_table()?);
    let text = std::str::from_utf8(data).map_err(|_| USAGE)?.trim();
    let (enabled, attribute_name) = match text.split_once(char::is_whitespace) {
        None if text.is_empty() => return Ok(()),
        Some(("enable", attribute)) => (true, attribute.trim().to_owned()),
        None if text == "disable" => {
            let current = describe_ttl(mount, table)?.attribute_name;
            (
                false,
                current.ok_or(FsError::Invalid("time to live is not enabled"))?,
            )
        }
        _ => return Err(USAGE),
    };
    let specification = TimeToLiveSpecification {
        enabled,
        attribute_name,
    };
    mount.db.update_time_to_live(UpdateTimeToLiveRequest {
        table_name: table.clone(),
        specification,
    })?;
    Ok(())
}
