//! What partitions, the keys in them and their boundaries are called.

use crate::codec::digest::hex;
use crate::fs::open::prelude::*;
use crate::model::layout::SplitCandidate;

/// Bytes of a bound in readable keys.
const BOUND_BYTES_MAX: usize = 160;

/// Is it about to be split, and why?
#[must_use]
pub fn candidate_text(candidate: &SplitCandidate) -> &'static str {
    match candidate {
        SplitCandidate::Single => "no: one item at most",
        SplitCandidate::HeldByLocalIndex => "no: one collection, held together by a local index",
        SplitCandidate::Sequence => "no: its load follows sort keys in their order, a new partition would have all of it again",
        SplitCandidate::Enough => "no: split for load as often as is of use",
        SplitCandidate::NotNeeded => "no",
        SplitCandidate::Because(origin) => origin.name(),
    }
}

/// 32 digits of hash; behind them where in the collection the boundary is, at most as many.
#[must_use]
pub fn hex_bound(place: &[u8]) -> String {
    let mut digest = [0; 16];
    let bytes = place.len().min(16);
    digest[..bytes].copy_from_slice(&place[..bytes]);
    match place.get(16..) {
        Some(order) if !order.is_empty() => format!("{}/{}", hex(&digest), hex(&order[..order.len().min(16)])),
        _ => hex(&digest),
    }
}

/// A bound in readable keys, as below `items/`: `u3` where the collection begins, `u3/o5` inside it, `after u3` behind it; cut when long.
/// `None` where no key is at the bound.
pub fn key_bound(mount: &Mount, source: &Source, place: &[u8]) -> Result<Option<String>, FsError> {
    let Some(bound) = mount.layout()?.bound_key(source, place)? else { return Ok(None) };
    let after = if bound.is_after { "after " } else { "" };
    let mut text = format!("{after}{}", names::collection_name(&bound.partition));
    if !bound.sort.is_empty() {
        text.push('/');
        text.push_str(&names::collection_name(&bound.sort));
    }
    if text.len() > BOUND_BYTES_MAX {
        text.truncate((0..=BOUND_BYTES_MAX).rfind(|end| text.is_char_boundary(*end)).unwrap_or_default());
        text.push('…');
    }
    Ok(Some(text))
}

/// As below `items/`: a folder, or a file where the table has no sort key.
#[must_use]
pub fn key_name(is_flat: bool, key: &PartitionKey) -> String {
    let name = names::collection_name(key);
    if is_flat { format!("{name}.json") } else { name }
}

/// Has the table no sort key, so that each item is a collection?
pub fn is_flat(mount: &Mount, source: &Source) -> Result<bool, FsError> {
    Ok(source.index.is_none() && mount.schema(&source.table)?.key.sort.is_none())
}
