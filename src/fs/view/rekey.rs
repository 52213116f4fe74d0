//! RENAME of stored items, each in one transaction: an item onto another name, two items for each
//! other, a whole collection.
//!
//! The key in the item is rewritten from the new name. The transaction checks each item against the
//! version that was read; if one was changed in between, everything is read again.

use super::rename::{RenameReply, rename_failure};
use super::{RenameFlags, View};
use crate::database::EntryRange;
use crate::fs::{open::prelude::*, source::entry, write::WriteFailure};
use crate::model::api::{
    Call, TransactAction, TransactWrite, TransactWriteItemsRequest, TransactWriteItemsResponse,
};
use crate::model::api::{Completion, ReturnConsumedCapacity};
use std::ops::ControlFlow;

use crate::model::error::{CancellationReason, RemoteCause, TransactionError};

/// The number of items of a folder that are renamed at once (docs/filesystem.md 4).
const FOLDER_ITEMS_MAX: usize = 100;
/// The number of times that items may be changed between reading and committing.
const TRIES_MAX: usize = 100;

const UNCHANGED: &str = "Nothing is changed.";

/// A change of keys.
#[derive(Debug, Clone)]
enum Rekey {
    Item {
        from: Key,
        to: Key,
        no_replace: bool,
    },
    Exchange {
        one: Key,
        other: Key,
    },
    Folder {
        from: AttributeValue,
        to: AttributeValue,
    },
}

/// The actions of a transaction, and the keys that have items after it.
#[derive(Debug, Default)]
struct RekeyPlan {
    actions: Vec<TransactWrite>,
    stored: Vec<Key>,
}

impl RekeyPlan {
    fn put(
        &mut self,
        schema: &TableSchema,
        mut item: Item,
        key: Key,
        precondition: Option<Precondition>,
    ) {
        item.0.append(&mut key.to_item(&schema.key).0);
        let action = TransactWrite::new(schema.name.clone(), TransactAction::Put { item });
        self.actions.push(TransactWrite {
            precondition,
            ..action
        });
        self.stored.push(key);
    }

    fn delete(&mut self, schema: &TableSchema, key: &Key, version: Version) {
        let action = TransactWrite::new(
            schema.name.clone(),
            TransactAction::Delete {
                key: key.to_item(&schema.key),
            },
        );
        self.actions.push(TransactWrite {
            precondition: Some(Precondition::Version(version)),
            ..action
        });
    }
}

/// A rename under way.
struct RekeyAttempt {
    source: SourceName,
    rekey: Rekey,
    tries: usize,
    reply: RenameReply,
}

impl View {
    /// Moves an item onto the name of another, or exchanges the two.
    pub(super) fn rekey_item(
        &self,
        old: &EntryNode,
        new: &EntryNode,
        flags: RenameFlags,
        reply: RenameReply,
    ) {
        if old.source != new.source {
            return reply(Err(FsError::CrossDevice.into()));
        }
        let (from, to) = (old.key.base.clone(), new.key.base.clone());
        if from == to {
            // Two names of one file.
            return reply(Ok(()));
        }
        let rekey = match flags.exchange {
            true => Rekey::Exchange {
                one: from,
                other: to,
            },
            false => Rekey::Item {
                from,
                to,
                no_replace: flags.no_replace,
            },
        };
        self.attempt(RekeyAttempt {
            source: old.source.clone(),
            rekey,
            tries: TRIES_MAX,
            reply,
        });
    }

    /// Moves a collection onto the name of one that has no items.
    pub(super) fn rekey_folder(&self, old: &Node, new: &Node, reply: RenameReply) {
        let (Node::Collection(source, from), Node::Collection(target, to)) = (old, new) else {
            return reply(Err(FsError::CrossDevice.into()));
        };
        let (true, Some(from), Some(to)) = (source == target, from.first(), to.first()) else {
            return reply(Err(FsError::CrossDevice.into()));
        };
        if from == to {
            return reply(Ok(()));
        }
        // The kernel may have cached its name although it is gone.
        or_reply!(reply, self.quick_attr(old));
        let rekey = Rekey::Folder {
            from: from.clone(),
            to: to.clone(),
        };
        self.attempt(RekeyAttempt {
            source: source.clone(),
            rekey,
            tries: TRIES_MAX,
            reply,
        });
    }

    fn attempt(&self, attempt: RekeyAttempt) {
        let plan = match self.plan_rekey(&attempt) {
            Ok(plan) => plan,
            Err(error) => return (attempt.reply)(Err(error.into())),
        };
        // An empty folder: nothing of it is stored, so nothing is committed.
        if plan.actions.is_empty() {
            self.after_rekey(&attempt, &plan);
            return (attempt.reply)(Ok(()));
        }
        let request = TransactWriteItemsRequest {
            transact_items: plan.actions.clone(),
            fault: None,
            client_request_token: None,
            return_consumed_capacity: ReturnConsumedCapacity::None,
            return_item_collection_metrics: false,
        };
        let view = self.clone();
        let context = self.host.context();
        let done = Completion::new(
            context,
            move |outcome: Result<TransactWriteItemsResponse, Error>| match outcome {
                Ok(_) => {
                    view.after_rekey(&attempt, &plan);
                    (attempt.reply)(Ok(()));
                }
                Err(error) => match rekey_failure(&plan, error) {
                    // An item was changed between reading and committing: all are read again, on
                    // another thread than the committer.
                    None if attempt.tries > 1 => {
                        let next = view.clone();
                        view.host.run_short(move || {
                            next.attempt(RekeyAttempt {
                                tries: attempt.tries - 1,
                                ..attempt
                            })
                        });
                    }
                    None => (attempt.reply)(Err(FsError::Stale.into())),
                    Some(failure) => (attempt.reply)(Err(failure)),
                },
            },
        );
        self.mount()
            .db
            .start(Call::TransactWriteItems(request, done));
    }

    fn plan_rekey(&self, attempt: &RekeyAttempt) -> Result<RekeyPlan> {
        let (schema, mut plan) = (
            self.mount().schema(&attempt.source.table)?,
            RekeyPlan::default(),
        );
        let load = |key: &Key| {
            let node = EntryNode {
                source: attempt.source.clone(),
                key: key.clone().into(),
                form: TextForm::DynamoDbJson,
            };
            entry::load(self.mount(), &node)
        };
        match &attempt.rekey {
            Rekey::Item {
                from,
                to,
                no_replace,
            } => {
                let (item, stat) = load(from)?;
                // A hidden item counts as absent for a program, but is stored: its version is the
                // condition.
                let hidden = self.mount().with_deferred(|deferred| {
                    deferred.hidden_version(&(schema.name.clone(), to.clone()))
                });
                let absent = hidden.map_or(Precondition::Absent, Precondition::Version);
                let precondition = no_replace.then_some(absent);
                plan.put(&schema, item, to.clone(), precondition);
                plan.delete(&schema, from, stat.version);
            }
            Rekey::Exchange { one, other } => {
                let ((first, first_stat), (second, second_stat)) = (load(one)?, load(other)?);
                plan.put(
                    &schema,
                    second,
                    one.clone(),
                    Some(Precondition::Version(first_stat.version)),
                );
                plan.put(
                    &schema,
                    first,
                    other.clone(),
                    Some(Precondition::Version(second_stat.version)),
                );
            }
            // Checked before the transaction, in which only the new keys themselves must be absent.
            Rekey::Folder { from, to } => {
                if self
                    .mount()
                    .db
                    .collection(&attempt.source, &vec![to.clone()])?
                    .is_some()
                {
                    return Err(FsError::NotEmpty);
                }
                for key in self.keys_of(&attempt.source, from)? {
                    let (item, stat) = match load(&key) {
                        // Deleted since its key was listed; the transaction has the items that
                        // exist now.
                        Err(FsError::NotFound) => continue,
                        loaded => loaded?,
                    };
                    let new = Key {
                        partition: to.clone(),
                        sort: key.sort.clone(),
                    };
                    plan.put(&schema, item, new, Some(Precondition::Absent));
                    plan.delete(&schema, &key, stat.version);
                }
            }
        }
        Ok(plan)
    }

    /// Returns the keys of a collection.
    fn keys_of(&self, source: &SourceName, partition: &AttributeValue) -> Result<Vec<Key>> {
        let range = EntryRange::Collection {
            partition: vec![partition.clone()],
            sort_prefix: None,
        };
        let mut keys = Vec::new();
        self.mount()
            .db
            .entries(source, &range, None, &mut |entry, _, _| {
                keys.push(entry.base.clone());
                if keys.len() > FOLDER_ITEMS_MAX {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
        // More items than a transaction takes: `mv` copies and deletes them one by one.
        if keys.len() > FOLDER_ITEMS_MAX {
            Err(FsError::CrossDevice)
        } else {
            Ok(keys)
        }
    }

    /// Moves folders, notes and files in memory after the items have their new names.
    fn after_rekey(&self, attempt: &RekeyAttempt, plan: &RekeyPlan) {
        let table = &attempt.source.table;
        // Before the reply: a hidden item that is overwritten must not be deleted later.
        for key in &plan.stored {
            self.host.revive_item(table, key);
            self.host.after_put(table, key);
        }
        // The folder that lost its last item stays until it is removed: the store knows no empty
        // collections.
        match &attempt.rekey {
            Rekey::Item {
                from,
                to: _,
                no_replace: _,
            } if from.sort.is_some() => {
                self.mount()
                    .folders
                    .lock()
                    .keep_emptied(table, &from.partition, now_ms());
            }
            Rekey::Folder { from, to } => {
                self.after_folder_rekey(table, from, to, plan.stored.is_empty())
            }
            Rekey::Item { .. } | Rekey::Exchange { .. } => {}
        }
    }

    fn after_folder_rekey(
        &self,
        table: &TableName,
        from: &AttributeValue,
        to: &AttributeValue,
        is_empty: bool,
    ) {
        let folder =
            |value: &AttributeValue| Node::Collection(SourceName::from(table), vec![value.clone()]);
        let (old, new) = (folder(from), folder(to));
        let mut folders = self.mount().folders.lock();
        folders.remove(table, from);
        if is_empty {
            folders.add(table, to.clone(), now_ms());
        }
        drop(folders);
        self.mount().scratch.lock().move_directory(&old, &new);
        self.inodes.rename_dir(&old, new);
    }
}

/// Returns the failure of a transaction; `None` if items were changed since they were read, so that
/// it can be tried again.
fn rekey_failure(plan: &RekeyPlan, error: Error) -> Option<WriteFailure> {
    let Error::TransactionCanceled(cancellation) = error else {
        return Some(match error {
            Error::Transaction(TransactionError::TooLarge) => FsError::CrossDevice.into(),
            // A service without transactions: `mv` then copies and removes.
            Error::Remote(error) if error.cause() == RemoteCause::Unsupported => {
                FsError::CrossDevice.into()
            }
            error => rename_failure(error.into(), &[], UNCHANGED),
        });
    };
    for (reason, action) in cancellation.0.into_iter().zip(&plan.actions) {
        match reason {
            CancellationReason::ConditionalCheckFailed { .. }
                if action.precondition == Some(Precondition::Absent) =>
            {
                return Some(FsError::Exists.into());
            }
            CancellationReason::ValidationError(error) => {
                return Some(rename_failure((*error).into(), &[], UNCHANGED));
            }
            CancellationReason::ItemCollectionSizeLimitExceeded => {
                return Some(FsError::from(Error::ItemCollectionSizeLimitExceeded).into());
            }
            CancellationReason::Throttled(throttled) => {
                return Some(FsError::from(Error::Throttled(throttled)).into());
            }
            CancellationReason::Remote(error) => {
                return Some(FsError::from(Error::Remote(error)).into());
            }
            CancellationReason::None
            | CancellationReason::ConditionalCheckFailed { .. }
            | CancellationReason::DuplicateItem => {}
        }
    }
    None
}
