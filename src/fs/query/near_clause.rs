//! The clauses with which a search of a vector index begins: an item of the table (`near/<folder>,<name>/`) or numbers
//! (`near/@vector=1,0.5/`); and the check that all clauses make a search.

use super::{
    clause_fault::ClauseFault,
    context::QueryContext,
    query_path::{Clauses, NearStart, PartitionClause},
};
use crate::fs::{path::names, prelude::*};
use crate::model::Number;

/// Adds the item `name`; returns false if there was a start before.
pub(super) fn add_item(
    all: &mut Clauses,
    name: &str,
    context: QueryContext<'_>,
) -> Result<bool, ClauseFault> {
    let key = &context.schema.key;
    let types: Vec<_> = key.attributes().map(|key| key.attribute_type).collect();
    let values = match names::parse(name, &types) {
        Ok(names::ParsedStem::Values(values)) => values,
        Ok(names::ParsedStem::Alias(_)) => {
            return Err(ClauseFault::new(
                format!("'{name}' is a shortened name, at which no search begins"),
                "give the item's vector: near/@vector=…/",
            ));
        }
        Err(_) => {
            let form = if key.sort.is_some() {
                "<folder>,<name>"
            } else {
                "<name>"
            };
            return Err(ClauseFault::new(
                format!("'{name}' is no item's name"),
                format!(
                    "near/{form}/ of a file items/{}.json, or near/@vector=…/",
                    form.replace(',', "/")
                ),
            ));
        }
    };
    let mut values = values.into_iter();
    let Some(partition) = values.next() else {
        return Ok(false);
    };
    let start = NearStart::Item(Key {
        partition,
        sort: values.next(),
    });
    Ok(all.near.replace(start).is_none())
}

/// Adds numbers to the vector: a file name holds at most 255 bytes, so that a vector may be several clauses.
pub(super) fn add_vector(
    all: &mut Clauses,
    text: &str,
    _: QueryContext<'_>,
) -> Result<bool, ClauseFault> {
    let parse = |number: &str| {
        let number = number.parse::<Number>();
        let fault = |_| {
            ClauseFault::new(
                format!("@vector takes numbers, not '{text}'"),
                "for example @vector=0.12,-0.5,1; a second @vector=… goes on with the first",
            )
        };
        number.map(AttributeValue::N).map_err(fault)
    };
    // Also a list of JSON, as `jq -c .v` prints it.
    let numbers = text
        .trim_start_matches('[')
        .trim_end_matches(']')
        .split(',');
    let numbers: Vec<_> = numbers
        .map(|number| parse(number.trim()))
        .collect::<Result<_, _>>()?;
    match all
        .near
        .get_or_insert_with(|| NearStart::Vector(Vec::new()))
    {
        NearStart::Item(_) => Ok(false),
        NearStart::Vector(vector) => {
            vector.extend(numbers);
            Ok(true)
        }
    }
}

/// Checks that the clauses make a search: they say from where, and in which partition.
pub(super) fn check_complete(
    clauses: &Clauses,
    context: QueryContext<'_>,
) -> Result<(), ClauseFault> {
    let keys = context.keys();
    match (&clauses.near, &clauses.partition) {
        (None, _) => Err(ClauseFault::new(
            "a search needs a vector",
            "near/KEY/items.ndjson has the neighbours of an item, near/@vector=…/items.ndjson those of numbers",
        )),
        (_, PartitionClause::Alias(_) | PartitionClause::Shards(_)) => Err(ClauseFault::new(
            "a search is of one whole value of the partition key",
            "give it by its name: @pk=<value>",
        )),
        (Some(NearStart::Vector(_)), PartitionClause::Values(values))
            if values.len() < keys.partition.len() =>
        {
            Err(no_hash(context))
        }
        _ => Ok(()),
    }
}

/// Returns the fault of a search without a value of the index's HASH.
pub(super) fn no_hash(context: QueryContext<'_>) -> ClauseFault {
    let name = context.keys().partition.first();
    let name = name.map_or("", |key| key.name.as_str());
    ClauseFault::new(
        format!("a search of this index needs {name}, the HASH of its SearchSchema"),
        format!("add {name}=…"),
    )
}
