//! The configuration file of the service's Violation Detector: `name = value` lines, `#` begins a comment.

use crate::cli::prelude::*;

/// What the file says; `None` is not said.
#[derive(Debug, PartialEq, Eq)]
pub struct Config {
    pub table: Option<String>,
    /// `NAME:TYPE`
    pub hash_key: Option<String>,
    pub range_key: Option<String>,
    /// `recordDetails`
    pub details: bool,
    /// `recordGsiValueInViolationRecord`
    pub values: bool,
    pub output: Option<PathBuf>,
    pub input: Option<PathBuf>,
    pub errors: Option<PathBuf>,
    pub violations_max: Option<u64>,
    pub items_max: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            table: None,
            hash_key: None,
            range_key: None,
            details: true,
            values: true,
            output: None,
            input: None,
            errors: None,
            violations_max: None,
            items_max: None,
        }
    }
}

pub fn read(path: &Path) -> Result<Config, CliError> {
    let text = std::fs::read_to_string(path).map_err(CliError::io(path.display().to_string()))?;
    parse(&text).map_err(|error| CliError::Message(format!("{}: {error}", path.display())))
}

fn parse(text: &str) -> Result<Config, String> {
    let mut config = Config::default();
    let (mut hash, mut range) = ((None, None), (None, None));
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        // As a Java properties file has it: `!` begins a comment too, and `:` may stand for `=`.
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let (name, value) = line
            .split_once(['=', ':'])
            .map(|(name, value)| (name.trim(), value.trim()))
            .ok_or(format!("line {number} is not name = value"))?;
        let said = (!value.is_empty()).then(|| value.to_owned());
        let wrong = |what: &str| format!("line {number}: {name} is {value:?}; it takes {what}");
        match name {
            "tableName" => config.table = said,
            "gsiHashKeyName" => hash.0 = said,
            "gsiHashKeyType" => hash.1 = said,
            "gsiRangeKeyName" => range.0 = said,
            "gsiRangeKeyType" => range.1 = said,
            "recordDetails" => config.details = value.parse().map_err(|_| wrong("true or false"))?,
            "recordGsiValueInViolationRecord" => config.values = value.parse().map_err(|_| wrong("true or false"))?,
            "detectionOutputPath" => config.output = said.map(PathBuf::from),
            "correctionInputPath" => config.input = said.map(PathBuf::from),
            "correctionOutputPath" => config.errors = said.map(PathBuf::from),
            "numOfViolations" => config.violations_max = count(value).ok_or_else(|| wrong("a count, or -1 for all"))?,
            "numOfRecords" => config.items_max = count(value).ok_or_else(|| wrong("a count, or -1 for all"))?,
            "numOfSegments" => within(value, 1..=4096).ok_or_else(|| wrong("1 to 4096"))?,
            "readWriteIOPSPercent" => within(value, 1..=100).ok_or_else(|| wrong("1 to 100"))?,
            // Of the service's account: there is none here.
            "awsCredentialsFile" | "dynamoDBRegion" => {}
            _ => return Err(format!("line {number}: there is no setting {name:?}")),
        }
    }
    config.hash_key = key("gsiHashKey", hash)?;
    config.range_key = key("gsiRangeKey", range)?;
    Ok(config)
}

/// Name and type belong together.
fn key(what: &str, said: (Option<String>, Option<String>)) -> Result<Option<String>, String> {
    match said {
        (Some(name), Some(attribute_type)) => Ok(Some(format!("{name}:{attribute_type}"))),
        (None, None) => Ok(None),
        _ => Err(format!("{what}Name and {what}Type are given together")),
    }
}

/// A count; -1 is all.
fn count(value: &str) -> Option<Option<u64>> {
    if value == "-1" { Some(None) } else { value.parse().ok().map(Some) }
}

/// Checked for whoever moves the file to the service; one process reads the whole table here, at its own pace.
fn within(value: &str, range: std::ops::RangeInclusive<u32>) -> Option<()> {
    value.parse().ok().filter(|number| range.contains(number)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings() {
        let check = |text: &str, expected: Result<Config, &str>| {
            assert_eq!(parse(text), expected.map_err(str::to_owned), "{text}");
        };
        check("", Ok(Config::default()));
        check(
            "# PriceIndex\nawsCredentialsFile = x\n tableName=ProductCatalog\ngsiHashKeyName = Price\ngsiHashKeyType = N\nrecordDetails=false\nnumOfRecords = -1\nnumOfViolations = 5\nnumOfSegments = 4096\n",
            Ok(Config {
                table: Some("ProductCatalog".into()),
                hash_key: Some("Price:N".into()),
                details: false,
                violations_max: Some(5),
                ..Config::default()
            }),
        );
        check("gsiHashKeyName = Price", Err("gsiHashKeyName and gsiHashKeyType are given together"));
        check("\ntable = x", Err("line 2: there is no setting \"table\""));
        check("numOfSegments = 0", Err("line 1: numOfSegments is \"0\"; it takes 1 to 4096"));
        check("recordDetails = maybe", Err("line 1: recordDetails is \"maybe\"; it takes true or false"));
        check("tableName", Err("line 1 is not name = value"));
    }
}
