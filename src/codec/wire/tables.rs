//! ListTables, DescribeTable, DeleteTable: what they have beside their declarations.

use super::declared::*;
use super::{answer, table_answer, table_description};
use crate::model::api::tables::*;
use crate::model::limits::LIST_TABLES_MAX;

tables!(wire);

forms! {
    /// The name of a table; a service may tell its ARN.
    Named of String, Shape::String, &[], |json, sender| Ok(TableName::read(json, sender)?.map(Into::into));
}

impl Field for TableDescription {
    const SHAPE: Shape = Shape::Structure(&Structure { name: "TableDescription", members: &[] });

    fn read(json: Json<'_>, _: Sender) -> Result<Option<Self>, WireError> {
        Ok(Some(table_answer::read(answer::members(json)?)?))
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(table_description::to_json(self).to_string().into_bytes());
    }
}

/// A table that is going, whose keys and indexes are not told: [`table_answer::read_going`] reads it.
#[derive(Debug)]
pub struct Going;

impl Form<TableDescription> for Going {
    const SHAPE: Shape = TableDescription::SHAPE;

    fn read(_: Json<'_>, _: Sender) -> Result<Option<TableDescription>, WireError> {
        Ok(None)
    }

    fn write(value: &TableDescription, out: &mut Vec<u8>) {
        out.extend(table_description::deleted_to_json(value).to_string().into_bytes());
    }
}
