//! GetItem: one record of one view, projected (docs/dynamodb.md 12.1).

use crate::engine::base::capacity::read_units;
use crate::engine::base::item_key;
use crate::engine::base::keys::EntryAddress;
use crate::engine::read::projected::{self, KeyRoles, RequestedProjection};
use crate::engine::runtime::Engine;
use crate::expr::{PlaceholderUse, ProjectionPaths, placeholders};
use crate::model::api::{ConsumedCapacity, GetItemRequest, GetItemResponse, Placeholders};
use crate::model::error::expression::ExpressionParameter;
use crate::model::{AttributeValue, Error};

impl Engine {
    /// Reads one item.
    ///
    /// # Errors
    /// `Expression`, `ResourceNotFound`, `Key`, `Query` for a path into a key; those of the store.
    pub fn get_item(&self, request: &GetItemRequest) -> Result<GetItemResponse, Error> {
        request.key.0.values().try_for_each(AttributeValue::check_nesting)?;
        let projection = {
            let asked = RequestedProjection::new(request.projection_expression.as_ref(), request.attributes_to_get.as_ref())?;
            parse_projection(asked, &request.placeholders)?
        };
        let view = self.view()?;
        let table = view.active_table(&request.table_name)?;
        let key = item_key::key_of_parameter(&table.schema.key, &request.key)?;
        if let Some(paths) = &projection {
            projected::check_no_path_into_keys(paths, KeyRoles::of_table(&table.schema))?;
        }
        let address = EntryAddress::of_item(table.source, &key);
        view.admit_item(&table, &address)?;
        let record = view.entry(&address)?;
        let bytes = record.map_or(0, |record| record.item_bytes() as usize);
        let item = record.map(|record| record.to_item()).transpose()?;
        let item = match &projection {
            Some(paths) => item.map(|item| paths.apply(&item)),
            None => item,
        };
        let units = read_units(bytes, request.consistent_read);
        view.charge_item(&table, &address, units)?;
        Ok(GetItemResponse { item, consumed_capacity: ConsumedCapacity { table: units, ..ConsumedCapacity::default() } })
    }
}

/// The projection of a read by key.
///
/// # Errors
/// `Expression`, `Legacy`.
pub(super) fn parse_projection(asked: RequestedProjection<'_>, given: &Placeholders) -> Result<Option<ProjectionPaths>, Error> {
    // No expression of a read by key can use values; the wire form has no member for them.
    placeholders::check(given, asked.has_expression(), Some(&[ExpressionParameter::Projection]))?;
    let mut used = PlaceholderUse::default();
    let paths = asked.paths(given, &mut used)?;
    used.finish(given)?;
    Ok(paths)
}
