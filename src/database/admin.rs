//! The control plane beside tables and items: what [`super::Database`] does not need to work with data.

use crate::model::api::backup::{
    Backup, CreateBackupRequest, ListBackupsRequest, ListBackupsResponse, RecoveryWindow, RestoreFromBackupRequest,
    RestoreToPointInTimeRequest, UpdateContinuousBackupsRequest,
};
use crate::model::api::insights::{Insights, InsightsTarget, UpdateInsightsRequest};
use crate::model::api::never_used::NeverUsedRequest;
use crate::model::api::resource::{
    Limits, ListTagsRequest, PolicyRequest, PutPolicyRequest, ResourcePolicy, TagResourceRequest, UntagResourceRequest,
};
use crate::model::api::transfer::{Export, ExportRequest, Import, ImportRequest, ListTransfersRequest, ListTransfersResponse};
use crate::model::api::update_table::IndexForecast;
use crate::model::api::{CreateTableRequest, IndexDefinition, TableDescription, UpdateTableRequest, UpdateTableResponse};
use crate::model::{Error, TableName};

/// Settings of tables, tags, policies, limits, backups, recovery, exports and imports.
pub trait Administration: Send + Sync {
    fn update_table(&self, request: UpdateTableRequest) -> Result<UpdateTableResponse, Error>;
    /// Would these requests of one table succeed now, one after the other? Nothing is changed. The place of the first that would not,
    /// and why. Where that cannot be told beforehand, the answer is yes.
    fn check_update_table(&self, _requests: &[UpdateTableRequest]) -> Result<(), (usize, Error)> {
        Ok(())
    }
    /// Would this request succeed now? The same for CreateTable.
    fn check_create_table(&self, _request: CreateTableRequest) -> Result<(), Error> {
        Ok(())
    }
    /// What making this index of the request would come to, told from the items; `None` where that cannot be told. It consumes nothing.
    fn forecast_index(&self, _request: &UpdateTableRequest, _index: &IndexDefinition) -> Result<Option<IndexForecast>, Error> {
        Ok(None)
    }
    /// Stops the propagation of writes to a table's global indexes, or lets it go on. No operation of the service.
    fn pause_index_propagation(&self, table: &TableName, is_paused: bool) -> Result<(), Error>;

    fn tag_resource(&self, request: TagResourceRequest) -> Result<(), Error>;
    fn untag_resource(&self, request: UntagResourceRequest) -> Result<(), Error>;
    /// Key and value.
    fn list_tags(&self, request: &ListTagsRequest) -> Result<Vec<(String, String)>, Error>;

    /// The revision id.
    fn put_policy(&self, request: PutPolicyRequest) -> Result<String, Error>;
    fn get_policy(&self, request: &PolicyRequest) -> Result<ResourcePolicy, Error>;
    /// The revision id that it had, if there was a policy.
    fn delete_policy(&self, request: PolicyRequest) -> Result<Option<String>, Error>;

    fn create_backup(&self, request: CreateBackupRequest) -> Result<Backup, Error>;
    fn describe_backup(&self, arn: &str) -> Result<Backup, Error>;
    fn list_backups(&self, request: &ListBackupsRequest) -> Result<ListBackupsResponse, Error>;
    fn delete_backup(&self, arn: &str) -> Result<Backup, Error>;
    fn restore_from_backup(&self, request: RestoreFromBackupRequest) -> Result<TableDescription, Error>;
    fn restore_to_point_in_time(&self, request: RestoreToPointInTimeRequest) -> Result<TableDescription, Error>;
    /// The window of recovery, if it is on.
    fn update_continuous_backups(&self, request: UpdateContinuousBackupsRequest) -> Result<Option<RecoveryWindow>, Error>;
    /// The window of recovery, if it is on.
    fn describe_continuous_backups(&self, table: &TableName) -> Result<Option<RecoveryWindow>, Error>;

    fn export_table(&self, request: ExportRequest) -> Result<Export, Error>;
    fn describe_export(&self, arn: &str) -> Result<Export, Error>;
    fn list_exports(&self, request: &ListTransfersRequest) -> Result<ListTransfersResponse<Export>, Error>;
    fn import_table(&self, request: ImportRequest) -> Result<Import, Error>;
    fn describe_import(&self, arn: &str) -> Result<Import, Error>;
    fn list_imports(&self, request: &ListTransfersRequest) -> Result<ListTransfersResponse<Import>, Error>;

    /// Of features that there are none of: what a request names must exist, the answer is empty.
    fn never_used(&self, request: &NeverUsedRequest) -> Result<(), Error>;

    /// As it is then.
    fn update_insights(&self, request: UpdateInsightsRequest) -> Result<Insights, Error>;
    fn describe_insights(&self, target: &InsightsTarget) -> Result<Insights, Error>;
    /// Those that are enabled, of one table or of all.
    fn list_insights(&self, table: Option<&TableName>) -> Result<Vec<Insights>, Error>;

    fn describe_limits(&self) -> Result<Limits, Error>;
}
