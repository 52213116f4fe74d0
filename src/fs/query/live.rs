//! `live`: a filter by the table's time to live, which is asked for when the query runs.

use super::fault::ClauseFault;
use super::filter::{Filter, Piece};
use super::path::QueryPath;
use crate::fs::prelude::*;
use crate::model::api::TimeToLiveStatus;
use crate::model::clock::{Clock, SystemClock};
use crate::model::{AttributeType, Number, api::DescribeTimeToLiveRequest};

/// Keeps items whose time is not over: those without the attribute, with one that is no number, or a later one.
pub(super) fn filter(path: &QueryPath, db: &dyn Browse) -> Result<Option<Filter>, FsError> {
    let described = db.describe_time_to_live(DescribeTimeToLiveRequest { table_name: path.schema.name.clone() })?;
    let attribute = match described.status {
        TimeToLiveStatus::Disabled | TimeToLiveStatus::Disabling => return Ok(None),
        TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling => described.attribute_name,
    };
    let Some(attribute) = attribute else { return Ok(None) };
    let name = || Piece::Path(DocumentPath::top_level(attribute.clone()));
    let number = Piece::Value(AttributeValue::S(AttributeType::N.tag().to_owned()));
    let now = Piece::Value(AttributeValue::N(Number::from_u64(SystemClock.now_ms() / 1000)));
    let is_number = [Piece::text("attribute_type("), name(), Piece::text(","), number, Piece::text(")")];
    let pieces = [Piece::text("NOT")].into_iter().chain(is_number).chain([Piece::text("OR"), name(), Piece::text(">="), now]);
    let filter = Filter::unplaced(pieces.collect())?;
    filter.check_place(path.context()).map_err(|fault| ClauseFault::Live { attribute, fault: Box::new(fault) })?;
    Ok(Some(filter))
}
