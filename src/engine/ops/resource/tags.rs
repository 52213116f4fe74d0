//! TagResource, UntagResource, ListTagsOfResource: kept with the table (docs/dynamodb.md 18.1).

use std::sync::Arc;

use super::found;
use crate::engine::runtime::{Engine, Transaction};
use crate::model::Error;
use crate::model::api::resource::{ListTagsRequest, TableResource, TagResourceRequest, UntagResourceRequest};
use crate::model::error::SchemaError;
use crate::model::limits::TAGS_MAX;

/// Key and value.
type Tags = Vec<(String, String)>;

impl Engine {
    /// Adds tags; those of the same keys get new values.
    ///
    /// # Errors
    /// `NotFound`; `Schema` for too many; those of the store.
    pub fn tag_resource(&self, request: TagResourceRequest) -> Result<(), Error> {
        self.shared.submit_and_wait(move |transaction| {
            change(transaction, &request.resource, |tags| {
                for (key, value) in &request.tags {
                    match tags.iter_mut().find(|(old, _)| old == key) {
                        Some(tag) => tag.1.clone_from(value),
                        None => tags.push((key.clone(), value.clone())),
                    }
                }
            })
        })
    }

    /// Removes tags.
    ///
    /// # Errors
    /// `NotFound`; those of the store.
    pub fn untag_resource(&self, request: UntagResourceRequest) -> Result<(), Error> {
        self.shared.submit_and_wait(move |transaction| {
            change(transaction, &request.resource, |tags| tags.retain(|(key, _)| !request.tag_keys.contains(key)))
        })
    }

    /// All tags, in the order in which they came.
    ///
    /// # Errors
    /// `NotFound`; those of the store.
    pub fn list_tags(&self, request: &ListTagsRequest) -> Result<Tags, Error> {
        let entry = self.table(&request.resource.table_name)?;
        Ok(found(entry, &request.resource)?.schema.settings.tags.clone())
    }
}

fn change(transaction: &mut Transaction<'_>, resource: &TableResource, change: impl Fn(&mut Tags)) -> Result<(), Error> {
    let old = found(transaction.table(&resource.table_name)?, resource)?;
    let mut new = (*old).clone();
    let tags = &mut Arc::make_mut(&mut new.schema).settings.tags;
    change(tags);
    if tags.len() > TAGS_MAX {
        return Err(SchemaError::TooManyTags.into());
    }
    new.control.changed_ms = Some(transaction.now_ms());
    Ok(transaction.replace_table(&new)?)
}
