//! The access patterns of the last day: what answers them, and what would.

use crate::codec::metrics::access::request_text;
use crate::codec::sanitize::code;
use crate::database::Browse;
use crate::inspect::advice::format::units;
use crate::inspect::patterns::{Pattern, SourceKey, answer, serve, source_keys};
use crate::model::metrics::Period;
use crate::model::schema::IndexKind;
use crate::model::{Error, TableSchema};

/// The characters shown of a request, and of what answers it.
const CHARS_MAX: usize = 160;
/// The patterns shown.
const PATTERNS_MAX: usize = 20;

/// Returns rows of a request, its units, what answers it and what would with these keys of the table
/// and another index; none if they are as they were. Fails if the database fails.
pub fn read(
    database: &dyn Browse,
    schema: &TableSchema,
    keys: Vec<SourceKey>,
) -> Result<Vec<[String; 4]>, Error> {
    let now = source_keys(schema);
    let mut tried = now.clone();
    for key in keys {
        if key.index.is_some() {
            tried.push(key);
            continue;
        }
        for (source, index) in tried.iter_mut().skip(1).zip(&schema.indexes) {
            if index.kind == IndexKind::Local {
                source.partition.clone_from(&key.partition);
                source.suffixes = key.suffixes;
            }
        }
        tried[0] = key;
    }
    let Some(layout) = database.layout().filter(|_| now != tried) else {
        return Ok(Vec::new());
    };
    let mut observed = layout.access_patterns(&schema.name)?;
    // PutItem and batches name no key.
    observed.retain(|observed| {
        observed.form.key_condition.is_some() || observed.form.operation == "Scan"
    });
    let rows = observed.iter().filter_map(|observed| {
        let pattern = Pattern::of(&observed.form, schema)?;
        let [now, tried] =
            [&now, &tried].map(|keys| code(&answer(serve(&pattern, keys).as_ref()), CHARS_MAX));
        Some([
            code(&request_text(&schema.name, &observed.form), CHARS_MAX),
            units(observed.within(Period::Day).units()),
            now,
            tried,
        ])
    });
    Ok(rows.take(PATTERNS_MAX).collect())
}
