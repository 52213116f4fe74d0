//! ListTables.

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListTablesRequest {
    /// Names after this one; it need not exist.
    pub exclusive_start_table_name: Option<String>,
    /// 1 to 100; default 100.
    pub limit: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListTablesResponse {
    /// In byte order.
    pub table_names: Vec<String>,
    /// Present exactly when more remain.
    pub last_evaluated_table_name: Option<String>,
}
