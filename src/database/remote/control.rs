//! What a client has of the control plane: changes of a table's definition. The rest of it is asked for in its own words, through
//! [`Client::raw`].

use super::client::Client;
use crate::codec::wire::update_table;
use crate::database::admin::Administration;
use crate::model::api::backup::*;
use crate::model::api::insights::{Insights, InsightsTarget, UpdateInsightsRequest};
use crate::model::api::never_used::NeverUsedRequest;
use crate::model::api::resource::*;
use crate::model::api::transfer::*;
use crate::model::api::{TableDescription, UpdateTableRequest, UpdateTableResponse};
use crate::model::{Error, TableName};

/// Operations that no answer is made of here.
macro_rules! unavailable {
    ($($name:ident($($argument:ty),*) -> $answer:ty, $operation:literal;)*) => {
        $(fn $name(&self, $(_: $argument),*) -> Result<$answer, Error> {
            Err(Error::Unavailable(concat!($operation, " is not made through a remote mount; use the service's own tools for it")))
        })*
    };
}

impl Administration for Client {
    fn update_table(&self, request: UpdateTableRequest) -> Result<UpdateTableResponse, Error> {
        if request.has_replicas {
            return Err(Error::Unavailable(
                "replicas are not changed through a remote mount; use the service's own tools for them",
            ));
        }
        self.call(
            "UpdateTable",
            |out| update_table::write_request(&request, out),
            |json| self.read_table(&request.table_name, (json, "TableDescription"), update_table::read_response),
        )
    }

    unavailable! {
        pause_index_propagation(&TableName, bool) -> (), "a pause of indexes";
        tag_resource(TagResourceRequest) -> (), "TagResource";
        untag_resource(UntagResourceRequest) -> (), "UntagResource";
        list_tags(&ListTagsRequest) -> Vec<(String, String)>, "ListTagsOfResource";
        put_policy(PutPolicyRequest) -> String, "PutResourcePolicy";
        get_policy(&PolicyRequest) -> ResourcePolicy, "GetResourcePolicy";
        delete_policy(PolicyRequest) -> Option<String>, "DeleteResourcePolicy";
        create_backup(CreateBackupRequest) -> Backup, "CreateBackup";
        describe_backup(&str) -> Backup, "DescribeBackup";
        list_backups(&ListBackupsRequest) -> ListBackupsResponse, "ListBackups";
        delete_backup(&str) -> Backup, "DeleteBackup";
        restore_from_backup(RestoreFromBackupRequest) -> TableDescription, "RestoreTableFromBackup";
        restore_to_point_in_time(RestoreToPointInTimeRequest) -> TableDescription, "RestoreTableToPointInTime";
        update_continuous_backups(UpdateContinuousBackupsRequest) -> Option<RecoveryWindow>, "UpdateContinuousBackups";
        describe_continuous_backups(&TableName) -> Option<RecoveryWindow>, "DescribeContinuousBackups";
        export_table(ExportRequest) -> Export, "ExportTableToPointInTime";
        describe_export(&str) -> Export, "DescribeExport";
        list_exports(&ListTransfersRequest) -> ListTransfersResponse<Export>, "ListExports";
        import_table(ImportRequest) -> Import, "ImportTable";
        describe_import(&str) -> Import, "DescribeImport";
        list_imports(&ListTransfersRequest) -> ListTransfersResponse<Import>, "ListImports";
        never_used(&NeverUsedRequest) -> (), "this operation";
        update_insights(UpdateInsightsRequest) -> Insights, "UpdateContributorInsights";
        describe_insights(&InsightsTarget) -> Insights, "DescribeContributorInsights";
        list_insights(Option<&TableName>) -> Vec<Insights>, "ListContributorInsights";
        describe_limits() -> Limits, "DescribeLimits";
    }
}
