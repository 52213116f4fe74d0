//! Options of what is modelled beside the data: prices, and limits of the service.

use super::delays::DelayArgs;
use crate::cli::prelude::*;
use crate::codec::metrics::prices;
use crate::engine::EngineOptions;
use crate::engine::throttle::ThrottleOptions;
use crate::model::prices::PriceTable;
use crate::store::memory_limit::{LIMIT_BYTES_MIN, tell_memory_limit};

/// What is held of a mount or server.
#[derive(Debug, Clone, Args)]
pub struct ModelArgs {
    #[command(flatten)]
    sizes: SizeArgs,
    #[command(flatten)]
    delays: DelayArgs,
    /// Refuse what asks for more than DynamoDB would give: adaptive, or static (each partition has its even share)
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "adaptive", value_parser = throttle)]
    throttle: Option<ThrottleOptions>,
    /// Memory that this process may have, 256M at least; its control group's limit, if that is less, or all of the machine's unless given
    #[arg(long, value_name = "BYTES", value_parser = memory)]
    memory: Option<u64>,
}

fn memory(text: &str) -> Result<u64, String> {
    let enough = |bytes: &u64| *bytes >= LIMIT_BYTES_MIN;
    bytes(text)
        .and_then(|bytes| Some(bytes).filter(enough).ok_or_else(|| format!("{text} is less than 256M, with which no bounds hold")))
}

/// What units cost.
#[derive(Debug, Clone, Args)]
pub struct PriceArgs {
    /// Tell costs by the prices in this JSON file instead of the built-in ones
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

/// What counts for who only tells of a table, too.
#[derive(Debug, Clone, Args)]
pub struct SizeArgs {
    #[command(flatten)]
    prices: PriceArgs,
    /// Bytes of an item collection of a table with local indexes, with overhead; 10G unless given (K, M, G are powers of 1,024)
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    collection_limit: Option<u64>,
    /// Warn of item collections from this size on; four fifths of the limit unless given
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    collection_warning: Option<u64>,
    /// Bytes that a partition of the model takes before it splits; 10G unless given
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    partition_size: Option<u64>,
}

/// A number of bytes, with K, M or G behind it.
fn bytes(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.char_indices().next_back() {
        Some((at, 'K' | 'k')) => (&text[..at], 1 << 10),
        Some((at, 'M' | 'm')) => (&text[..at], 1 << 20),
        Some((at, 'G' | 'g')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let count = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(factor)).filter(|count| *count > 0);
    count.ok_or_else(|| format!("{text:?} is no number of bytes; write for instance 500M or 8G"))
}

fn throttle(text: &str) -> Result<ThrottleOptions, String> {
    match text {
        "adaptive" => Ok(ThrottleOptions::new(true)),
        "static" => Ok(ThrottleOptions::new(false)),
        _ => Err(format!("{text:?} is neither adaptive nor static")),
    }
}

impl ModelArgs {
    /// The engine's options with these.
    ///
    /// # Errors
    /// A file that cannot be read or has no prices.
    pub fn apply(&self, options: EngineOptions) -> Result<EngineOptions, CliError> {
        if let Some(bytes) = self.memory {
            tell_memory_limit(bytes);
        }
        let options = self.delays.apply(options);
        self.sizes.apply(EngineOptions { throttle: self.throttle, ..options })
    }
}

impl PriceArgs {
    /// The prices.
    ///
    /// # Errors
    /// A file that cannot be read or has no prices.
    pub fn table(&self) -> Result<PriceTable, CliError> {
        let Some(file) = &self.prices else { return Ok(prices::built_in()) };
        let doing = || format!("--prices {}", file.display());
        let text = std::fs::read_to_string(file).map_err(CliError::io(doing()))?;
        prices::parse(&text).map_err(|error| CliError::Message(format!("{}: {error}", doing())))
    }
}

impl SizeArgs {
    /// As [`ModelArgs::apply`].
    ///
    /// # Errors
    /// The same.
    pub fn apply(&self, mut options: EngineOptions) -> Result<EngineOptions, CliError> {
        options.prices = Arc::new(self.prices.table()?);
        if let Some(limit) = self.collection_limit {
            options.collection_bytes_max = limit;
        }
        options.collection_warning_bytes = self.collection_warning;
        if let Some(bytes) = self.partition_size {
            options.partition_limits.bytes_max = bytes;
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, expected) in [("1", Some(1)), ("8K", Some(8 << 10)), ("500m", Some(500 << 20)), ("10G", Some(10 << 30))] {
            assert_eq!(bytes(text).ok(), expected, "{text}");
        }
        for text in ["", "G", "0", "-1", "1T", "1.5G", "99999999999999999999", "18446744073709551615K"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
