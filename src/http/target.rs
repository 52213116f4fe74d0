//! `X-Amz-Target`: which operation a request asks for.

use crate::protocol::{self, Operation};

/// Reads the header's value; upper and lower case count. `None` is no operation's.
#[must_use]
pub fn parse(header: Option<&str>) -> Option<&'static Operation> {
    let (service, name) = header?.split_once('.')?;
    protocol::find(name).filter(|operation| operation.service.target() == service)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let check = |header: Option<&str>, expected: Option<&str>| {
            assert_eq!(parse(header).map(|operation| operation.name), expected, "{header:?}");
        };
        check(Some("DynamoDB_20120810.PutItem"), Some("PutItem"));
        check(Some("DynamoDB_20120810.UpdateTable"), Some("UpdateTable"));
        check(Some("DynamoDB_20120810.ListGlobalTables"), Some("ListGlobalTables"));
        check(Some("DynamoDBStreams_20120810.ListStreams"), Some("ListStreams"));
        check(Some("DynamoDB_20120810.ListStreams"), None);
        check(Some("DynamoDBStreams_20120810.PutItem"), None);
        check(Some("DynamoDB_20120810.putitem"), None);
        check(Some("DynamoDB_20111205.PutItem"), None);
        check(Some("PutItem"), None);
        check(None, None);
    }
}
