//! Requests and responses of operations on a table as a resource: tags, resource policies, limits,
//! contributor insights (docs/dynamodb.md 18, 23.2). `codec/wire/resource.rs` completes their JSON
//! form; `engine/ops/resource.rs` and `insights.rs` carry them out.

use super::StreamName;
use super::declare::{declare, operation_rows};
use crate::model::api_enum::api_enums;
use crate::model::{IndexName, TableName};

operation_rows! { $ resource_operations
    // The answers of these two have no body.
    Control LocalOnly TagResource tag_resource(TagResourceRequest) -> ();
    Control LocalOnly UntagResource untag_resource(UntagResourceRequest) -> ();
    Read LocalOnly ListTagsOfResource list_tags(ListTagsRequest) -> ListTagsResponse;
    Control LocalOnly PutResourcePolicy put_policy(PutPolicyRequest) -> PutPolicyResponse;
    Read LocalOnly GetResourcePolicy get_policy(PolicyRequest) -> ResourcePolicy;
    Control LocalOnly DeleteResourcePolicy delete_policy(DeletePolicyRequest) -> DeletePolicyResponse;
    Read LocalOnly DescribeLimits describe_limits(DescribeLimitsRequest) -> Limits;

    Control LocalOnly UpdateContributorInsights update_insights(UpdateInsightsRequest) -> ToldInsights;
    Read LocalOnly DescribeContributorInsights describe_insights(InsightsTarget) -> ToldInsights;
    Read LocalOnly ListContributorInsights list_insights(ListInsightsRequest) -> ListInsightsResponse;
}

/// A resource given by its ARN. The ARN is kept because errors repeat it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableResource {
    pub arn: String,
    pub table_name: TableName,
    /// The stream, if the ARN is that of a stream of the table.
    pub stream: Option<StreamName>,
}

declare! { $ resource
    /// Keys are distinct and legal.
    #[derive(Eq)]
    TagResourceRequest = "TagResourceInput" by check_tag {
        required resource: TableResource = "ResourceArn",
        /// Key and value.
        required tags: Vec<(String, String)>,
    }

    /// Keys without a tag are skipped.
    #[derive(Eq)]
    UntagResourceRequest = "UntagResourceInput" by check_untag {
        required resource: TableResource = "ResourceArn",
        required tag_keys: Vec<String> as List<TagKey>,
    }

    #[derive(Eq)]
    ListTagsRequest = "ListTagsOfResourceInput" by check_list {
        required resource: TableResource = "ResourceArn",
        ..&[Member::new("NextToken", Shape::String)],
    }

    #[derive(Eq)]
    ListTagsResponse {
        /// All tags, key and value, in the order in which they were added.
        always tags: Vec<(String, String)>,
    }

    #[derive(Eq)]
    PutPolicyRequest = "PutResourcePolicyInput" by check_put {
        required resource: TableResource = "ResourceArn",
        /// JSON text, within its limit.
        required policy: String,
        /// The revision to be replaced; `NO_POLICY` if there must be none.
        optional expected_revision_id: String [LengthMin(1), LengthMax(255)],
        ..&[Member::new("ConfirmRemoveSelfResourceAccess", Shape::Boolean)],
    }

    #[derive(Eq)]
    PutPolicyResponse {
        required revision_id: String,
    }

    #[derive(Eq)]
    PolicyRequest = "GetResourcePolicyInput" by check {
        required resource: TableResource = "ResourceArn",
        ..&[EXPECTED_REVISION_ID],
    }

    #[derive(Eq)]
    DeletePolicyRequest = "DeleteResourcePolicyInput" by check {
        required resource: TableResource = "ResourceArn",
        optional expected_revision_id: String [LengthMin(1), LengthMax(255)],
    }

    #[derive(Eq)]
    DeletePolicyResponse {
        /// The revision of the removed policy, if there was one.
        optional revision_id: String,
    }

    /// A resource-based policy: kept, not enforced.
    #[derive(Eq)]
    ResourcePolicy {
        required text: String = "Policy",
        required revision_id: String,
    }

    /// DescribeEndpoints has no members either.
    #[derive(Eq, Copy)]
    DescribeLimitsRequest = "DescribeLimitsInput" {}

    #[derive(Eq, Copy)]
    Limits {
        required account_units: u64 = "AccountMaxReadCapacityUnits",
        + "AccountMaxWriteCapacityUnits" = |it| Some(it.account_units),
        required table_units: u64 = "TableMaxReadCapacityUnits",
        + "TableMaxWriteCapacityUnits" = |it| Some(it.table_units),
    }
}

api_enums! {
    /// ACCESSED_AND_THROTTLED_KEYS or THROTTLED_KEYS.
    InsightsMode {
        AccessedAndThrottledKeys = "ACCESSED_AND_THROTTLED_KEYS",
        ThrottledKeys = "THROTTLED_KEYS",
    }

    InsightsStatus {
        Enabling = "ENABLING",
        Enabled = "ENABLED",
        Disabling = "DISABLING",
        Disabled = "DISABLED",
    }
}

declare! { $ insights
    /// A table or one of its indexes.
    #[derive(Eq)]
    InsightsTarget = "DescribeContributorInsightsInput" {
        control table: TableName = "TableName",
        optional index: IndexName = "IndexName",
    }

    #[derive(Eq)]
    UpdateInsightsRequest = "UpdateContributorInsightsInput" by check_update {
        group target: InsightsTarget as Flat,
        /// True for ENABLE.
        required enable: bool as Enable = "ContributorInsightsAction",
        /// Unchanged if absent; at first ACCESSED_AND_THROTTLED_KEYS.
        optional mode: InsightsMode = "ContributorInsightsMode",
    }

    /// The request of ListContributorInsights. The response is one page: its token is ignored.
    #[derive(Eq)]
    ListInsightsRequest = "ListContributorInsightsInput" {
        /// The only table to list.
        early table: TableName = "TableName",
        ..&[Member::new("NextToken", Shape::String), Member::new("MaxResults", Shape::Integer).rules(&[Rule::ValueMax(100)])],
    }

    #[derive(Eq)]
    ListInsightsResponse {
        /// Enabled ones, without their rules.
        always summaries: Vec<ToldInsights> = "ContributorInsightsSummaries",
    }

    /// The insights of one table or index in a response; members that a response does not have are
    /// absent.
    #[derive(Eq)]
    ToldInsights {
        group target: InsightsTarget as Flat,
        optional rules: Vec<String> = "ContributorInsightsRuleList",
        required status: InsightsStatus = "ContributorInsightsStatus",
        /// The last time they were enabled or disabled, milliseconds since the epoch.
        optional changed_ms: u64 as Seconds = "LastUpdateDateTime",
        optional mode: InsightsMode = "ContributorInsightsMode",
    }
}

/// The state of the insights of one table or index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insights {
    pub target: InsightsTarget,
    /// True if there are rules for single items.
    pub has_sort_key: bool,
    pub is_enabled: bool,
    /// `None` if they never were enabled.
    pub mode: Option<InsightsMode>,
    /// The last time they were enabled or disabled, milliseconds since the epoch.
    pub changed_ms: Option<u64>,
}
