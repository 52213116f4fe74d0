//! `X.json` and `X.ddbjson`: an item as a text file.

use crate::codec::digest::Digest;
use crate::database::TextForm;
use crate::fs::FsError;
use crate::model::api::{Precondition, PutItemRequest};
use crate::model::{AttributeValue, KeySchema, TableName};

use super::text_writer::TextWriter;
use super::{Commit, Target, body};

/// The write state machine of an item file.
pub type ItemWriter = TextWriter<ItemTarget>;

/// Which item a text becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemTarget {
    pub table: TableName,
    pub key_schema: KeySchema,
    pub key: TargetKey,
    pub form: TextForm,
    /// `-o keys=strict`: a body key that differs from the name's is an error, not a warning.
    pub strict_keys: bool,
}

/// The key that the filesystem path says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TargetKey {
    pub partition: KeyPart,
    /// Of a composite table.
    pub sort: Option<KeyPart>,
}

/// A key attribute as the path says it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeyPart {
    Value(AttributeValue),
    /// The alias of a long key that is not stored yet (`%~` and the digest): the body must hold the value. The digest is that of
    /// the value's ordered encoding.
    Digest(Digest),
}

impl Target for ItemTarget {
    type Request = PutItemRequest;

    fn request(&self, text: &[u8], precondition: Option<Precondition>) -> Result<Commit<PutItemRequest>, FsError> {
        body::put_request(self, text, precondition)
    }

    fn unchanged(&self) -> &'static str {
        "The item is unchanged."
    }
}
