//! Base items and index entries as files: `X.json`, `X.ddbjson`, and `X.base` beside an index
//! entry.

use crate::codec::json::edit::indent;
use crate::database::EntryStat;
use crate::fs::{
    mount::{call_log, text_cache::FileText},
    node::item_ino,
    open::prelude::*,
    process::tgid_of,
    write::{ItemTarget, ItemTextWriter, KeyPart, Opener, TargetKey},
};
use crate::model::api::{Call, Completion, DeleteItemRequest, DeleteItemResponse};

/// Returns the node of an entry.
pub fn node(source: &SourceName, key: EntryKey, form: TextForm) -> Node {
    Node::Entry(Box::new(EntryNode {
        source: source.clone(),
        key,
        form,
    }))
}

/// Returns the metadata of the stored entry, if no pending delete hides it.
pub fn stat(mount: &Mount, source: &SourceName, key: &EntryKey) -> Result<EntryStat, FsError> {
    let stat = mount.db.stat(source, key)?.ok_or(FsError::NotFound)?;
    if mount.is_hidden(source, key, stat.version) {
        Err(FsError::NotFound)
    } else {
        Ok(stat)
    }
}

pub fn attr(mount: &Mount, entry: &EntryNode) -> Result<Attr> {
    let writable = entry.source.index.is_none();
    match entry.form {
        // The record's header has the length: a stat of the usual form renders nothing.
        TextForm::PlainJson if !mount.options.pretty && !mount.options.keep_text => Ok(
            Attr::entry(&stat(mount, &entry.source, &entry.key)?, writable),
        ),
        TextForm::PlainJson | TextForm::DynamoDbJson => {
            let (text, stat) = text(mount, entry)?;
            let size = text.len() as u64;
            Ok(Attr {
                size,
                ..Attr::entry(&stat, writable)
            })
        }
    }
}

/// Returns the text of an entry for a reader of the file. It consumes the capacity of a GetItem.
pub fn metered_text(mount: &Mount, entry: &EntryNode) -> Result<(Vec<u8>, EntryStat), FsError> {
    // An item that a delete hides consumes nothing.
    if mount.has_hidden() {
        stat(mount, &entry.source, &entry.key)?;
    }
    let read = mount
        .db
        .metered_text(&entry.source, &entry.key, entry.form)?;
    shown_text(mount, entry, read)
}

/// Returns the text of an entry and the version it is of.
pub fn text(mount: &Mount, entry: &EntryNode) -> Result<(Vec<u8>, EntryStat), FsError> {
    let read = mount.db.text(&entry.source, &entry.key, entry.form)?;
    shown_text(mount, entry, read)
}

/// Returns a text that was read as the file shows it, if no pending delete hides the item.
fn shown_text(
    mount: &Mount,
    entry: &EntryNode,
    read: Option<(Vec<u8>, EntryStat)>,
) -> Result<(Vec<u8>, EntryStat), FsError> {
    let (text, stat) = read.ok_or(FsError::NotFound)?;
    if mount.is_hidden(&entry.source, &entry.key, stat.version) {
        return Err(FsError::NotFound);
    }
    if let Some(written) = written_text(mount, entry, stat.version) {
        return Ok((written.to_vec(), stat));
    }
    let text = if mount.options.pretty {
        indent(&text)
    } else {
        text
    };
    Ok((text, stat))
}

/// Returns the text that wrote this version of an item, if it is cached.
fn written_text(mount: &Mount, entry: &EntryNode, version: Version) -> Option<Arc<Vec<u8>>> {
    let is_kept = mount.options.keep_text
        && entry.form == TextForm::PlainJson
        && entry.source.index.is_none();
    mount.written_texts.get((
        is_kept.then(|| item_ino(&entry.source.table, &entry.key.base))?,
        version,
    ))
}

/// Returns the attributes of an entry and the version they are of.
pub fn load(mount: &Mount, entry: &EntryNode) -> Result<(Item, EntryStat), FsError> {
    let found = mount.db.item(&entry.source, &entry.key)?;
    found
        .filter(|(_, stat)| !mount.is_hidden(&entry.source, &entry.key, stat.version))
        .ok_or(FsError::NotFound)
}

/// Returns the item of a base table, as a target for its text.
///
/// # Errors
/// [`FsError::Derived`] for a node that is no item of a base table.
pub fn target(mount: &Mount, node: &Node) -> Result<ItemTarget, FsError> {
    let (table, key, form) = match node {
        Node::Entry(entry) if entry.source.index.is_none() => {
            let sort = entry.key.base.sort.clone().map(KeyPart::Value);
            let key = TargetKey {
                partition: KeyPart::Value(entry.key.base.partition.clone()),
                sort,
            };
            (entry.source.table.clone(), key, entry.form)
        }
        Node::Alias(alias) => (alias.table.clone(), alias.key.clone(), alias.form),
        _ => return Err(FsError::Derived),
    };
    let key_schema = mount.schema(&table)?.key.clone();
    Ok(ItemTarget {
        table,
        key_schema,
        key,
        form,
        strict_keys: mount.options.strict_keys,
    })
}

/// Returns the target of `X.base`: from `<Table>/gsi/<index>/items/K(ixpk)/`, or an `items/`
/// without folders, up to the table and down to the item.
fn base_target(key: &EntryKey) -> String {
    let has_folder = (key.index.as_ref()).is_some_and(|(partition, _)| !partition.is_empty());
    let up = if has_folder { "../" } else { "" };
    format!("../../../{up}{}", names::item_path(&key.base))
}

/// The symlink `X.base`, which exists as long as its entry.
#[derive(Debug)]
pub struct Base<'n>(pub &'n SourceName, pub &'n EntryKey);

impl NodeOps<Node> for Base<'_> {
    fn modified_ms(&self, at: At<'_, Node>) -> Result<u64> {
        Ok(stat(&at, self.0, self.1)?.modified_ms)
    }

    fn link_target(&self, _at: At<'_, Node>) -> Result<String> {
        Ok(base_target(self.1))
    }
}

impl NodeOps<Node> for EntryNode {
    fn attr(&self, at: At<'_, Node>) -> Result<Attr> {
        attr(&at, self)
    }

    fn text(&self, at: At<'_, Node>) -> Result<Vec<u8>> {
        Ok(metered_text(&at, self)?.0)
    }

    fn open_reader(&self, at: HostAt<'_, Node>) -> Result<Handle> {
        let mount = &at.mount;
        let (text, stat) = metered_text(mount, self)?;
        let text = FileText::new(text, &mount.memory.open_files)?;
        if at.node.is_writable() && !mount.options.last_writer_wins {
            at.read_versions
                .record_read(mount.caller.pid, self, stat.version, &text);
        }
        let attr = Attr {
            size: text.bytes.len() as u64,
            ..Attr::entry(&stat, at.node.is_writable()).with_ino(at.node.ino())
        };
        Ok(Handle::Text(text, Some(attr)))
    }

    /// Opens an item that is stored, or is being created.
    fn open_writer(&self, at: HostAt<'_, Node>, flags: OpenFlags) -> Result<Handle> {
        let mount = &at.mount;
        let stored = if !at.node.is_writable() {
            return Err(FsError::Derived);
        } else if flags.truncate {
            stat(mount, &self.source, &self.key).map(|_| None)
        } else {
            text(mount, self).map(Some)
        };
        match stored {
            Ok(None) => item_handle(&at, at.node, flags, ItemTextWriter::stream).map(Handle::Item),
            Ok(Some((_, stat))) if at.creations.is_empty(at.node.ino(), stat.version) => {
                open_made(&at, at.node, flags, stat.version)
            }
            Ok(Some((text, stat))) => {
                let unchanged = (!mount.options.last_writer_wins)
                    .then_some(Precondition::Version(stat.version));
                if unchanged.is_some() {
                    at.read_versions
                        .try_cache_text(mount, stat.version, self.form, &text);
                }
                let edit = |target, opener| ItemTextWriter::edit(target, text, unchanged, opener);
                item_handle(&at, at.node, flags, edit).map(Handle::Item)
            }
            // An item that is being created is opened again. One that is gone since the name was
            // looked up is not: a program that wants a new one then creates it.
            Err(FsError::NotFound) => {
                at.creations.get(at.node.ino()).ok_or(FsError::Stale)?;
                create(&at, at.node, flags)
            }
            Err(error) => Err(error),
        }
    }

    /// Opens an item that is not stored. With O_EXCL it is stored from now on. It is stored later,
    /// with its text, if the name does not give the key, if an item that was renamed away still has
    /// that key, and where a program restores or copies a table (`Mount::discards_writes`), since
    /// no other program writes to it then. A program that copies files to a service elsewhere would
    /// wait twice for each: there the text itself must find no item.
    fn create(&self, at: HostAt<'_, Node>, flags: OpenFlags) -> Result<Handle> {
        if !flags.exclusive || !at.node.is_writable() {
            return create(&at, at.node, flags);
        }
        let mount = &at.mount;
        let target = target(mount, at.node)?;
        let is_copying = mount.db.is_remote() && at.creations.begin_copy(tgid_of(mount.caller.pid));
        let is_hidden = |key| {
            mount.with_deferred(|deferred| {
                deferred
                    .hidden_version(&(target.table.clone(), key))
                    .is_some()
            })
        };
        if target.known_key().is_none_or(|key| {
            is_copying
                || mount.discards_writes(&target.table)
                || (mount.has_hidden() && is_hidden(key))
        }) {
            return create(&at, at.node, flags);
        }
        let (request, key) = target.key_request()?;
        let made = run_blocking(at.context(), |done| {
            at.put_item(request, Some(key), mount.caller.pid, done)
        });
        let version = made.map_err(|error| match error {
            Error::ConditionalCheckFailed { .. } => FsError::Exists,
            error => error.into(),
        })?;
        at.creations.mark_empty(at.node.ino(), version);
        open_made(&at, at.node, flags, version)
    }

    /// Deletes the item, and replies after the commit.
    fn unlink(&self, at: HostAt<'_, Node>, reply: Reply<()>) {
        let request = or_reply!(reply, delete_request(self, at.node, &at));
        let (ino, key) = (at.node.ino(), self.key.base.clone());
        let (host_clone, table) = (at.context.clone(), self.source.table.clone());
        let session = at.mount.last_responses.session(at.mount.caller.pid);
        let done = Completion::new(
            at.context(),
            move |outcome: Result<DeleteItemResponse, Error>| {
                let mount = &host_clone.mount;
                let answer = outcome
                    .as_ref()
                    .map(|response| call_log::write_response(&table, response));
                mount
                    .last_responses
                    .record_write(session, "DeleteItem", answer);
                reply(match outcome {
                    Ok(response) if response.existed => {
                        // The folder is kept in memory from here on: the store has no empty
                        // collections, and `rm u1/*; rmdir u1` is two calls.
                        if key.sort.is_some() {
                            mount
                                .folders
                                .lock()
                                .keep_emptied(&table, &key.partition, now_ms());
                        }
                        Ok(())
                    }
                    // It was created without a text, and becomes no item without one.
                    Ok(_) if host_clone.creations.remove_unlinked(ino) => Ok(()),
                    Ok(_) => Err(FsError::NotFound),
                    Err(error) => Err(error.into()),
                });
            },
        );
        at.mount.db.start(Call::DeleteItem(request, done));
    }
}

/// Makes the request that deletes an item.
fn delete_request(entry: &EntryNode, node: &Node, host: &Host) -> Result<DeleteItemRequest> {
    let (mount, table) = (&host.mount, &entry.source.table);
    if !node.is_writable() {
        return Err(FsError::Derived);
    }
    host.rm_guard.check_delete(table, mount)?;
    let schema = mount.schema(table)?;
    // An item that was renamed away is hidden: its name is gone already.
    if mount.has_hidden() {
        stat(mount, &entry.source, &entry.key)?;
    }
    Ok(DeleteItemRequest::new(
        table.clone(),
        entry.key.base.to_item(&schema.key),
    ))
}

/// Opens an item that was made with its key alone.
fn open_made(host: &Host, node: &Node, flags: OpenFlags, version: Version) -> Result<Handle> {
    let made = |target, opener| ItemTextWriter::stream_placeholder(target, opener, version);
    item_handle(host, node, flags, made).map(Handle::Item)
}

/// Opens an item that is not stored.
///
/// # Errors
/// [`FsError::Derived`] for an index entry.
pub fn create(host: &Host, node: &Node, flags: OpenFlags) -> Result<Handle> {
    let writer = if flags.exclusive {
        ItemTextWriter::stream_exclusive
    } else {
        ItemTextWriter::stream
    };
    let open = item_handle(host, node, flags, writer)?;
    // By the inode number, not by the handle: a second open of the name finds the file that is
    // being created.
    host.creations.add(Arc::clone(&open));
    Ok(Handle::Item(open))
}

fn item_handle(
    host: &Host,
    node: &Node,
    flags: OpenFlags,
    writer: impl FnOnce(ItemTarget, Opener) -> ItemTextWriter,
) -> Result<Arc<OpenText<ItemTarget>>> {
    let pid = host.mount.caller.pid;
    let opener = Opener {
        pid,
        append: flags.append,
    };
    let writer = writer(target(&host.mount, node)?, opener);
    Ok(Arc::new(OpenText::new(
        node.ino(),
        host.mount.display_path(node),
        pid,
        writer,
    )))
}
