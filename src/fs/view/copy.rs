//! copy_file_range of a whole item onto another name: the copy's key is rewritten here, so that its text need not agree with its name.

use super::View;
use crate::codec::dynamodb_json;
use crate::fs::open::prelude::*;
use crate::fs::open::text::Call;
use crate::fs::{
    open::text::run,
    write::{ItemTarget, KeyPart},
};

/// One side of a copy.
#[derive(Debug, Clone, Copy)]
pub struct RangeEnd {
    pub ino: u64,
    pub handle: u64,
    pub offset: u64,
}

impl View {
    /// COPY_FILE_RANGE: the bytes of the source that were copied. Answered after the commit.
    ///
    /// `NotSupported` of all but a whole item onto an empty one: the kernel then reads and writes.
    pub fn copy_file_range(self: &Arc<Self>, caller: Caller, from: RangeEnd, to: RangeEnd, length: u64, reply: Reply<u64>) {
        let Some(handle) = self.handles.get(to.handle) else { return reply(Err(FsError::BadHandle)) };
        let Handle::Item(open) = &*handle else { return reply(Err(FsError::NotSupported)) };
        let target = {
            let state = open.state.lock();
            // A text that is begun, or under way, is for the state machine: the kernel then copies by read and write.
            (state.writer.len() == 0 && !state.turns.is_taken()).then(|| state.writer.target().clone())
        };
        let (Some(target), 0, 0) = (target, from.offset, to.offset) else { return reply(Err(FsError::NotSupported)) };
        let copied = self.whole_item(from, length).map(|(item, bytes)| (text_for(&target, item), bytes));
        let (data, bytes) = match copied {
            Ok(copied) => copied,
            Err(error) => return reply(Err(error)),
        };
        run(self, caller, open, Call::Write { offset: 0, data }, Box::new(move |ended| reply(ended.map(|()| bytes))));
    }

    /// The item as the source's handle has it, and the length of its text.
    fn whole_item(&self, from: RangeEnd, length: u64) -> Result<(Item, u64), FsError> {
        let handle = self.handles.get(from.handle).ok_or(FsError::BadHandle)?;
        let (Handle::Text(text), Node::Entry(entry)) = (&*handle, &*self.node(from.ino)?) else {
            return Err(FsError::NotSupported);
        };
        if self.mount.options.keep_text {
            // The copy is the text, which may say another key.
            return Err(FsError::NotSupported);
        }
        let text = text.bytes.as_slice();
        let bytes = text.len() as u64;
        if length < bytes {
            return Err(FsError::NotSupported);
        }
        let item = match entry.form {
            TextForm::PlainJson => plain_json::parse(text),
            TextForm::DynamoDbJson => dynamodb_json::parse(text),
        };
        Ok((item.map_err(|_| FsError::NotSupported)?, bytes))
    }
}

/// The item's text with the key that the target's name says.
fn text_for(target: &ItemTarget, mut item: Item) -> Vec<u8> {
    let parts = std::iter::once(&target.key.partition).chain(&target.key.sort);
    for (attribute, part) in target.key_schema.attributes().zip(parts) {
        if let KeyPart::Value(value) = part {
            item.0.insert(attribute.name.clone(), value.clone());
        }
    }
    let mut text = Vec::new();
    match target.form {
        TextForm::PlainJson => plain_json::write_line(&item, &[], &mut text),
        TextForm::DynamoDbJson => dynamodb_json::write_item(&item, &mut text),
    }
    text
}
