//! DescribeStream (docs/dynamodb.md 17). A stream has one shard from its beginning to its end.

use crate::engine::runtime::Engine;
use crate::engine::streams::{self, Definition};
use crate::model::Error;
use crate::model::api::{DescribeStreamRequest, DescribeStreamResponse, KeySchemaElement, SequenceNumber, Shard, StreamStatus};
use crate::model::schema::KeyType;

impl Engine {
    /// A stream's state and shards.
    ///
    /// # Errors
    /// [`StreamError`](crate::model::error::StreamError) for an unknown stream or shard; those of the store.
    pub fn describe_stream(&self, request: &DescribeStreamRequest) -> Result<DescribeStreamResponse, Error> {
        let definition = streams::known(self.view()?.read(), &request.stream)?;
        if let Some(shard) = &request.children_of {
            streams::check_shard(&definition, shard)?;
        }
        // After the only shard there is none, nor after one that is not there; and it has no children.
        let is_behind = request.exclusive_start_shard_id.is_some() || request.children_of.is_some();
        Ok(DescribeStreamResponse {
            stream: request.stream.clone(),
            status: if definition.closed.is_some() { StreamStatus::Disabled } else { StreamStatus::Enabled },
            view_type: definition.view_type,
            created_ms: definition.created_ms,
            key_schema: key_schema(&definition),
            shards: if is_behind { Vec::new() } else { vec![shard(&definition)] },
            last_evaluated_shard_id: None,
        })
    }
}

fn key_schema(definition: &Definition) -> Vec<KeySchemaElement> {
    let element = |name: &String, key_type| KeySchemaElement { attribute_name: name.clone(), key_type };
    let sort = definition.sort.iter().map(|name| element(name, KeyType::Range));
    std::iter::once(element(&definition.partition, KeyType::Hash)).chain(sort).collect()
}

fn shard(definition: &Definition) -> Shard {
    Shard {
        shard_id: streams::shard_id(definition),
        parent_shard_id: None,
        starting: SequenceNumber::of(definition.first),
        ending: definition.closed.map(|(last, _)| SequenceNumber::of(last)),
    }
}
