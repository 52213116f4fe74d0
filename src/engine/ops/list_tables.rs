//! ListTables: names in the order of their bytes (docs/dynamodb.md 11.5).

use std::ops::ControlFlow;

use crate::engine::runtime::Engine;
use crate::model::Error;
use crate::model::api::{ListTablesRequest, ListTablesResponse};
use crate::model::limits::LIST_TABLES_MAX;

impl Engine {
    /// A page of table names.
    ///
    /// # Errors
    /// Those of the store.
    pub fn list_tables(&self, request: &ListTablesRequest) -> Result<ListTablesResponse, Error> {
        let limit = request.limit.unwrap_or(LIST_TABLES_MAX).clamp(1, LIST_TABLES_MAX) as usize;
        let mut names: Vec<String> = Vec::new();
        let mut has_more = false;
        self.view()?.table_names(request.exclusive_start_table_name.as_deref(), &mut |name| {
            if names.len() == limit {
                has_more = true;
                return ControlFlow::Break(());
            }
            names.push(name.to_owned());
            ControlFlow::Continue(())
        })?;
        let last_evaluated_table_name = if has_more { names.last().cloned() } else { None };
        Ok(ListTablesResponse { table_names: names, last_evaluated_table_name })
    }
}
