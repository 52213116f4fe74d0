//! GetShardIterator: a place in a shard as a token that is good for 15 minutes (docs/dynamodb.md 17).

use crate::engine::runtime::Engine;
use crate::engine::streams::iterator::ShardIterator;
use crate::engine::streams::{self, Definition, trim};
use crate::model::Error;
use crate::model::api::{GetShardIteratorRequest, GetShardIteratorResponse, SequenceNumber, ShardPosition, Version};
use crate::model::error::{StoreError, StreamError};
use crate::store::Read;

impl Engine {
    /// A place in a shard to read from.
    ///
    /// # Errors
    /// [`StreamError`]; those of the store.
    pub fn get_shard_iterator(&self, request: &GetShardIteratorRequest) -> Result<GetShardIteratorResponse, Error> {
        let view = self.view()?;
        let definition = streams::known(view.read(), &request.stream)?;
        streams::check_shard(&definition, &request.shard_id)?;
        let behind = streams::behind(view.read())?;
        let position = match request.position {
            ShardPosition::TrimHorizon => 0,
            ShardPosition::Latest => behind.max(definition.first),
            ShardPosition::AtSequenceNumber(at) => known(&definition, at, behind)?,
            ShardPosition::AfterSequenceNumber(after) => known(&definition, after, behind)? + 1,
            ShardPosition::AtTimestamp(ms) => first_since(view.read(), &definition, ms, behind)?,
        };
        let given_ms = self.shared.options.clock.now_ms();
        let iterator = ShardIterator { stream: request.stream.clone(), position, given_ms };
        Ok(GetShardIteratorResponse { shard_iterator: iterator.encode() })
    }
}

/// A sequence number that the shard still has, or could have had.
fn known(definition: &Definition, sequence: SequenceNumber, behind: Version) -> Result<Version, StreamError> {
    let version = sequence.version();
    if version >= behind {
        return Err(StreamError::SequenceNumber);
    }
    if version < definition.first || version <= definition.trimmed {
        return Err(StreamError::Trimmed);
    }
    Ok(version)
}

/// The sequence number of the first record of a time or later, found by halving; records are in the order of their time.
fn first_since(read: &dyn Read, definition: &Definition, ms: u64, behind: Version) -> Result<Version, StoreError> {
    let (mut low, mut high) = (definition.first.max(definition.trimmed + 1), behind);
    while low < high {
        let middle = low + (high - low) / 2;
        match trim::first_at(read, definition.id, middle)? {
            Some((version, created_ms)) if created_ms < ms => low = version + 1,
            _ => high = middle,
        }
    }
    Ok(low)
}
