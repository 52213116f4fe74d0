//! Round trips of requests and responses of tables as resources, of backups and of imports.

use super::super::{encode_request, request};
use super::{check_request, check_response, document, index_name, table};
use crate::model::api::backup::*;
use crate::model::api::resource::*;
use crate::model::api::transfer::*;
use crate::model::api::*;
use crate::model::schema::KeyType;

const ARN: &str =
    "arn:aws:dynamodb:us-east-1:000000000000:table/Orders/backup/01700000000000-01234567";

#[test]
fn tags_and_policies() {
    for tags in [
        Vec::new(),
        vec![
            ("a".to_owned(), "1".to_owned()),
            ("b".to_owned(), String::new()),
        ],
    ] {
        check_response(&ListTagsResponse { tags });
    }
    check_response(&PutPolicyResponse {
        revision_id: "1".to_owned(),
    });
    for revision_id in [None, Some("1".to_owned())] {
        check_response(&DeletePolicyResponse { revision_id });
    }
    check_request(&DescribeLimitsRequest {});
    check_response(&Limits {
        account_units: 80_000,
        table_units: 40_000,
    });
}

#[test]
fn insights() {
    let target = InsightsTarget {
        table: table("Orders"),
        index: Some(index_name()),
    };
    check_request(&target);
    let told = ToldInsights {
        target,
        rules: Some(vec!["PKC".to_owned()]),
        status: InsightsStatus::Enabled,
        changed_ms: Some(1_700_000_000_125),
        mode: Some(InsightsMode::ThrottledKeys),
    };
    check_response(&told);
    let summary = ToldInsights {
        rules: None,
        changed_ms: None,
        mode: None,
        ..told
    };
    check_response(&ListInsightsResponse {
        summaries: vec![summary],
    });
}

#[test]
fn backups() {
    let request = CreateBackupRequest {
        table_name: table("Orders"),
        backup_name: "daily".to_owned(),
    };
    check_request(&request);
    let details = BackupDetails {
        arn: ARN.to_owned(),
        name: "daily".to_owned(),
        size_bytes: 250,
        status: BackupStatus::Available,
        backup_type: BackupType::User,
        created_ms: 1_700_000_000_125,
        failure: None,
    };
    check_response(&CreateBackupResponse {
        details: details.clone(),
    });
    let failure = Some(JobFailure {
        code: "Internal".to_owned(),
        message: "a disk".to_owned(),
    });
    let failed = BackupDetails {
        status: BackupStatus::Failed,
        backup_type: BackupType::System,
        failure,
        ..details.clone()
    };
    let summary = |details| BackupSummary {
        details,
        table_name: table("Orders"),
        table_id: "id".to_owned(),
    };
    check_response(&ListBackupsResponse {
        backups: vec![summary(details), summary(failed)],
        last_evaluated_arn: Some(ARN.to_owned()),
    });
}

#[test]
fn windows_of_recovery() {
    let window = RecoveryWindow {
        period_days: 35,
        earliest_ms: 1_700_000_000_000,
        latest_ms: 1_700_000_001_000,
    };
    for window in [None, Some(window)] {
        check_response(&ContinuousBackups { window });
    }
}

#[test]
fn imports() {
    let body =
        br#"{"TableCreationParameters":{"TableName":"Orders","AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"p","KeyType":"HASH"}]},"S3BucketSource":{"S3Bucket":"in"},"InputFormat":"CSV"}"#;
    let plain: ImportRequest = request(document(|out| out.extend_from_slice(body)).root()).unwrap();
    assert_eq!(
        (plain.table.key_schema[0].key_type, plain.compression),
        (KeyType::Hash, Compression::None)
    );
    let csv = CsvOptions {
        delimiter: Some(b'\t'),
        header: Some(vec!["p".to_owned()]),
    };
    let whole = ImportRequest {
        options: FormatOptions { csv },
        compression: Compression::Zstd,
        ..plain.clone()
    };
    for made in [plain, whole] {
        let read: ImportRequest =
            request(document(|out| encode_request(&made, out)).root()).unwrap();
        assert_eq!(
            ImportRequest {
                echo: made.echo.clone(),
                ..read
            },
            made
        );
    }
}
