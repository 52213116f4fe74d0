//! Options that make what is immediate here take a while, as it does in the service.

use crate::cli::prelude::*;
use crate::engine::EngineOptions;

#[derive(Debug, Clone, Default, Args)]
pub struct DelayArgs {
    /// Global indexes show a write only after so long, as the service's do (50ms, 2s); local indexes never lag
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    gsi_delay: Option<u64>,
    /// How long the allocation of resources for a new global index takes, before its backfill
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    index_delay: Option<u64>,
    /// How long a table is CREATING and DELETING
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    table_delay: Option<u64>,
}

impl DelayArgs {
    /// The engine's options with these.
    pub fn apply(&self, options: EngineOptions) -> EngineOptions {
        EngineOptions {
            gsi_delay_ms: self.gsi_delay.unwrap_or(options.gsi_delay_ms),
            index_allocation_ms: self.index_delay.unwrap_or(options.index_allocation_ms),
            table_delay_ms: self.table_delay.unwrap_or(options.table_delay_ms),
            ..options
        }
    }
}

/// `50ms`, `2s`, `1m`; a bare number is milliseconds.
fn milliseconds(text: &str) -> Result<u64, String> {
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "" | "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60 * 1_000),
        _ => None,
    };
    let time = number.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    time.filter(|time| *time <= DAY_MS).ok_or_else(|| "a time is like 50ms, 2s or 1m, a day at most".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_times() {
        let check = |text: &str, expected: Option<u64>| assert_eq!(milliseconds(text).ok(), expected, "{text}");
        check("0", Some(0));
        check("50ms", Some(50));
        check("2s", Some(2_000));
        check("1m", Some(60_000));
        check("1440m", Some(86_400_000));
        for bad in ["", "ms", "1h", "-1s", "1.5s", "1 s", "1441m", "99999999999999999999s"] {
            check(bad, None);
        }
    }
}
