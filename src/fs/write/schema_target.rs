//! The text of a `schema.json` or `schema.plan` to what it asks for: a CreateTable request, or the steps of a change.

use super::schema_change::{self, SchemaChange};
use super::{Commit, Target, name_by_directory};
use crate::codec::{json::document::Document, wire};
use crate::fs::prelude::*;
use crate::model::api::CreateTableRequest;
use crate::model::arn;

/// What a definition asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum SchemaRequest {
    Create {
        request: Box<CreateTableRequest>,
        /// The same as it was written.
        json: Value,
        /// The attribute of the time to live to be enabled.
        expiry: Option<String>,
    },
    Change(SchemaChange),
}

/// Whose `schema.json` a text is.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaTarget {
    pub table: TableName,
    /// The definition that the table has, as its `schema.json` shows it; `None` of a draft.
    pub stored: Option<Value>,
}

impl SchemaTarget {
    /// What this text asks for, with sentences for `.ddb/warnings.ndjson`.
    ///
    /// # Errors
    /// It is no definition.
    pub fn read(&self, text: &[u8]) -> Result<Commit<SchemaRequest>, FsError> {
        let mut json: Value = Document::read_value(text).map_err(|error| FsError::Body(error.to_string()))?;
        let mut warnings = Vec::new();
        if let Some(members) = json.as_object_mut() {
            // The directory is the name, as with items: `tar -x` of one table's files into another's directory clones it.
            warnings.extend(name_by_directory(members, "TableName", self.table.as_str()));
            if let Some(stored) = &self.stored {
                schema_change::complete(stored, members);
            }
        }
        let request = wire::request(Document::of(&json).root())?;
        let request = match &self.stored {
            None => {
                let expiry = schema_change::expiry(&json);
                json.as_object_mut().map(|members| members.remove(schema_change::TIME_TO_LIVE));
                SchemaRequest::Create { request: Box::new(request), json, expiry }
            }
            Some(stored) => SchemaRequest::Change(schema_change::change(stored, &json, &arn::table(&self.table))),
        };
        Ok(Commit { request, warnings })
    }
}

impl Target for SchemaTarget {
    type Request = SchemaRequest;

    fn request(&self, text: &[u8], _precondition: Option<Precondition>) -> Result<Commit<SchemaRequest>, FsError> {
        let commit = self.read(text)?;
        match &commit.request {
            SchemaRequest::Change(SchemaChange { refusals, .. }) if !refusals.is_empty() => {
                let lines: Vec<String> = refusals.iter().map(ToString::to_string).collect();
                Err(FsError::Body(lines.join(". ")))
            }
            _ => Ok(commit),
        }
    }

    fn unchanged(&self) -> &'static str {
        if self.stored.is_some() { "The table is unchanged." } else { "No table was created." }
    }
}

/// Whose `schema.plan` a text is: what is refused is part of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanTarget(pub SchemaTarget);

impl Target for PlanTarget {
    type Request = SchemaRequest;

    fn request(&self, text: &[u8], _precondition: Option<Precondition>) -> Result<Commit<SchemaRequest>, FsError> {
        Ok(Commit { warnings: Vec::new(), ..self.0.read(text)? })
    }

    fn unchanged(&self) -> &'static str {
        "Nothing is planned; nothing is ever done here."
    }
}
