//! The control plane: the engine has it.

use super::LocalDatabase;
use crate::database::admin::Administration;
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

impl Administration for LocalDatabase {
    fn update_table(&self, request: UpdateTableRequest) -> Result<UpdateTableResponse, Error> {
        self.engine.update_table(request)
    }

    fn forecast_index(&self, request: &UpdateTableRequest, index: &IndexDefinition) -> Result<Option<IndexForecast>, Error> {
        self.engine.forecast_index(request, index).map(Some)
    }

    fn check_update_table(&self, requests: &[UpdateTableRequest]) -> Result<(), (usize, Error)> {
        self.engine.check_update_table(requests)
    }

    fn check_create_table(&self, request: CreateTableRequest) -> Result<(), Error> {
        self.engine.check_create_table(request)
    }

    fn pause_index_propagation(&self, table: &TableName, is_paused: bool) -> Result<(), Error> {
        self.engine.pause_index_propagation(table, is_paused)
    }

    fn tag_resource(&self, request: TagResourceRequest) -> Result<(), Error> {
        self.engine.tag_resource(request)
    }

    fn untag_resource(&self, request: UntagResourceRequest) -> Result<(), Error> {
        self.engine.untag_resource(request)
    }

    fn list_tags(&self, request: &ListTagsRequest) -> Result<Vec<(String, String)>, Error> {
        self.engine.list_tags(request)
    }

    fn put_policy(&self, request: PutPolicyRequest) -> Result<String, Error> {
        self.engine.put_policy(request)
    }

    fn get_policy(&self, request: &PolicyRequest) -> Result<ResourcePolicy, Error> {
        self.engine.get_policy(request)
    }

    fn delete_policy(&self, request: PolicyRequest) -> Result<Option<String>, Error> {
        self.engine.delete_policy(request)
    }

    fn create_backup(&self, request: CreateBackupRequest) -> Result<Backup, Error> {
        self.engine.create_backup(request)
    }

    fn describe_backup(&self, arn: &str) -> Result<Backup, Error> {
        self.engine.describe_backup(arn)
    }

    fn list_backups(&self, request: &ListBackupsRequest) -> Result<ListBackupsResponse, Error> {
        self.engine.list_backups(request)
    }

    fn delete_backup(&self, arn: &str) -> Result<Backup, Error> {
        self.engine.delete_backup(arn)
    }

    fn restore_from_backup(&self, request: RestoreFromBackupRequest) -> Result<TableDescription, Error> {
        self.engine.restore_from_backup(request)
    }

    fn restore_to_point_in_time(&self, request: RestoreToPointInTimeRequest) -> Result<TableDescription, Error> {
        self.engine.restore_to_point_in_time(request)
    }

    fn update_continuous_backups(&self, request: UpdateContinuousBackupsRequest) -> Result<Option<RecoveryWindow>, Error> {
        self.engine.update_continuous_backups(request)
    }

    fn describe_continuous_backups(&self, table: &TableName) -> Result<Option<RecoveryWindow>, Error> {
        self.engine.describe_continuous_backups(table)
    }

    fn export_table(&self, request: ExportRequest) -> Result<Export, Error> {
        self.engine.export_table(request)
    }

    fn describe_export(&self, arn: &str) -> Result<Export, Error> {
        self.engine.describe_export(arn)
    }

    fn list_exports(&self, request: &ListTransfersRequest) -> Result<ListTransfersResponse<Export>, Error> {
        self.engine.list_exports(request)
    }

    fn import_table(&self, request: ImportRequest) -> Result<Import, Error> {
        self.engine.import_table(request)
    }

    fn describe_import(&self, arn: &str) -> Result<Import, Error> {
        self.engine.describe_import(arn)
    }

    fn list_imports(&self, request: &ListTransfersRequest) -> Result<ListTransfersResponse<Import>, Error> {
        self.engine.list_imports(request)
    }

    fn never_used(&self, request: &NeverUsedRequest) -> Result<(), Error> {
        self.engine.never_used(request)
    }

    fn update_insights(&self, request: UpdateInsightsRequest) -> Result<Insights, Error> {
        self.engine.update_insights(request)
    }

    fn describe_insights(&self, target: &InsightsTarget) -> Result<Insights, Error> {
        self.engine.describe_insights(target)
    }

    fn list_insights(&self, table: Option<&TableName>) -> Result<Vec<Insights>, Error> {
        self.engine.list_insights(table)
    }

    fn describe_limits(&self) -> Result<Limits, Error> {
        Ok(self.engine.describe_limits())
    }
}
