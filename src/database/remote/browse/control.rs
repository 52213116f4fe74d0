//! The control plane, handed on. What changes a table ends what is held of definitions.

use super::RemoteDatabase;
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
use crate::model::api::{
    CreateTableRequest, IndexDefinition, TableDescription, TableStatus, UpdateTableRequest, UpdateTableResponse,
};
use crate::model::{Error, TableName};

impl RemoteDatabase {
    fn control(&self) -> Result<&dyn Administration, Error> {
        self.service.administration().ok_or(Error::Unavailable("this service has no control plane"))
    }
}

/// Methods that are handed on; those that write, where that is allowed.
macro_rules! handed_on {
    ($($kind:ident $name:ident($argument:ident: $type:ty) -> $answer:ty;)*) => {
        $(fn $name(&self, $argument: $type) -> Result<$answer, Error> { handed_on!(@$kind self, $name, $argument) })*
    };
    (@reads $self:ident, $name:ident, $argument:ident) => { $self.control()?.$name($argument) };
    (@writes $self:ident, $name:ident, $argument:ident) => {{
        $self.may_write()?;
        $self.changed($self.control()?.$name($argument))
    }};
}

impl Administration for RemoteDatabase {
    fn check_update_table(&self, requests: &[UpdateTableRequest]) -> Result<(), (usize, Error)> {
        self.may_write().and_then(|()| self.control()).map_err(|error| (0, error))?.check_update_table(requests)
    }

    fn update_table(&self, request: UpdateTableRequest) -> Result<UpdateTableResponse, Error> {
        self.may_write()?;
        let table = request.table_name.clone();
        let updated = self.control()?.update_table(request);
        // The next change is refused before.
        if updated.is_ok() {
            self.settle(&table, TableStatus::Updating);
        }
        self.changed(updated)
    }

    fn forecast_index(&self, request: &UpdateTableRequest, index: &IndexDefinition) -> Result<Option<IndexForecast>, Error> {
        self.control()?.forecast_index(request, index)
    }

    fn pause_index_propagation(&self, table: &TableName, is_paused: bool) -> Result<(), Error> {
        self.may_write()?;
        self.control()?.pause_index_propagation(table, is_paused)
    }

    fn describe_limits(&self) -> Result<Limits, Error> {
        self.control()?.describe_limits()
    }

    handed_on! {
        reads check_create_table(request: CreateTableRequest) -> ();
        writes tag_resource(request: TagResourceRequest) -> ();
        writes untag_resource(request: UntagResourceRequest) -> ();
        reads list_tags(request: &ListTagsRequest) -> Vec<(String, String)>;
        writes put_policy(request: PutPolicyRequest) -> String;
        reads get_policy(request: &PolicyRequest) -> ResourcePolicy;
        writes delete_policy(request: PolicyRequest) -> Option<String>;
        writes create_backup(request: CreateBackupRequest) -> Backup;
        reads describe_backup(arn: &str) -> Backup;
        reads list_backups(request: &ListBackupsRequest) -> ListBackupsResponse;
        writes delete_backup(arn: &str) -> Backup;
        writes restore_from_backup(request: RestoreFromBackupRequest) -> TableDescription;
        writes restore_to_point_in_time(request: RestoreToPointInTimeRequest) -> TableDescription;
        writes update_continuous_backups(request: UpdateContinuousBackupsRequest) -> Option<RecoveryWindow>;
        reads describe_continuous_backups(table: &TableName) -> Option<RecoveryWindow>;
        writes export_table(request: ExportRequest) -> Export;
        reads describe_export(arn: &str) -> Export;
        reads list_exports(request: &ListTransfersRequest) -> ListTransfersResponse<Export>;
        writes import_table(request: ImportRequest) -> Import;
        reads describe_import(arn: &str) -> Import;
        reads list_imports(request: &ListTransfersRequest) -> ListTransfersResponse<Import>;
        reads never_used(request: &NeverUsedRequest) -> ();
        writes update_insights(request: UpdateInsightsRequest) -> Insights;
        reads describe_insights(target: &InsightsTarget) -> Insights;
        reads list_insights(table: Option<&TableName>) -> Vec<Insights>;
    }
}
