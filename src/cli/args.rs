//! Command-line options that several commands have: prices and limits of the service, simulated
//! latency, the durability of an acknowledged write, and the cache of the HTTP API. `data_dir` has
//! `--data`, `remote` the options for a service.

use super::prelude::*;
use crate::codec::metrics::prices;
use crate::database::Database;
use crate::database::cached::{CACHE_BYTES_DEFAULT, CacheOptions, CachedDatabase, TTL_MS_DEFAULT};
use crate::engine::EngineOptions;
use crate::engine::throttle::ThrottleOptions;
use crate::model::clock::SystemClock;
use crate::model::prices::PriceTable;
use crate::store::Durability;
use crate::store::memory_limit::{LIMIT_BYTES_MIN, memory_limit, set_memory_limit};

/// The options of the engine for a mount or server.
#[derive(Debug, Clone, Args)]
pub struct EngineArgs {
    #[command(flatten)]
    sizes: SizeArgs,
    #[command(flatten)]
    latency: LatencyArgs,
    /// Refuse requests that exceed the capacity that DynamoDB would give: adaptive, or static (each
    /// partition has its even share)
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "adaptive", value_parser = throttle)]
    throttle: Option<ThrottleOptions>,
    /// Memory that this process may use, at least 256M; by default all of the machine's, or the
    /// limit of its control group if that is less
    #[arg(long, value_name = "BYTES", value_parser = memory)]
    memory: Option<u64>,
}

fn memory(text: &str) -> Result<u64, String> {
    let enough = |bytes: &u64| *bytes >= LIMIT_BYTES_MIN;
    bytes(text).and_then(|bytes| {
        Some(bytes).filter(enough).ok_or_else(|| {
            format!("{text} is too little: ddbfs keeps its bounds on memory with 256M or more")
        })
    })
}

/// The prices of capacity units.
#[derive(Debug, Clone, Args)]
pub struct PriceArgs {
    /// Use the prices in this JSON file instead of the built-in ones
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

/// The limits that matter to commands that only report on a table, too.
#[derive(Debug, Clone, Args)]
pub struct SizeArgs {
    #[command(flatten)]
    prices: PriceArgs,
    /// Largest item collection of a table with local indexes, in bytes with overhead; 10G by
    /// default (K, M, G are powers of 1,024)
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    collection_limit: Option<u64>,
    /// Warn about item collections from this size on; four fifths of the limit by default
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    collection_warning: Option<u64>,
    /// Bytes at which a partition of the model splits; 10G by default
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    partition_size: Option<u64>,
}

/// Parses a number of bytes with an optional suffix K, M or G.
fn bytes(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.char_indices().next_back() {
        Some((at, 'K' | 'k')) => (&text[..at], 1 << 10),
        Some((at, 'M' | 'm')) => (&text[..at], 1 << 20),
        Some((at, 'G' | 'g')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let count = digits
        .parse::<u64>()
        .ok()
        .and_then(|count| count.checked_mul(factor))
        .filter(|count| *count > 0);
    count.ok_or_else(|| format!("{text:?} is no number of bytes; write for instance 500M or 8G"))
}

fn throttle(text: &str) -> Result<ThrottleOptions, String> {
    match text {
        "adaptive" => Ok(ThrottleOptions::new(true)),
        "static" => Ok(ThrottleOptions::new(false)),
        _ => Err(format!("{text:?} is neither adaptive nor static")),
    }
}

impl EngineArgs {
    /// Returns the engine's options with these applied.
    ///
    /// # Errors
    /// A file cannot be read or has no prices.
    pub fn apply(&self, options: EngineOptions) -> Result<EngineOptions, CliError> {
        if let Some(bytes) = self.memory {
            set_memory_limit(bytes);
        }
        let options = self.latency.apply(options);
        self.sizes.apply(EngineOptions {
            throttle: self.throttle,
            ..options
        })
    }
}

impl PriceArgs {
    /// Returns the price table.
    ///
    /// # Errors
    /// A file cannot be read or has no prices.
    pub fn table(&self) -> Result<PriceTable, CliError> {
        let Some(file) = &self.prices else {
            return Ok(prices::built_in());
        };
        let doing = || format!("--prices {}", file.display());
        let text = std::fs::read_to_string(file).map_err(CliError::io(doing()))?;
        prices::parse(&text).map_err(|error| CliError::Message(format!("{}: {error}", doing())))
    }
}

impl SizeArgs {
    /// Returns the engine's options with these applied.
    ///
    /// # Errors
    /// As for [`EngineArgs::apply`].
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

#[derive(Debug, Clone, Default, Args)]
pub struct LatencyArgs {
    /// Delay writes to global indexes by this time, as in the service (50ms, 2s); local indexes
    /// never lag
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    gsi_delay: Option<u64>,
    /// Time to allocate the resources of a new global index, before its backfill
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    index_delay: Option<u64>,
    /// Time for which a table is CREATING and DELETING
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    table_delay: Option<u64>,
}

impl LatencyArgs {
    /// Returns the engine's options with these applied.
    pub fn apply(&self, options: EngineOptions) -> EngineOptions {
        EngineOptions {
            gsi_delay_ms: self.gsi_delay.unwrap_or(options.gsi_delay_ms),
            index_allocation_ms: self.index_delay.unwrap_or(options.index_allocation_ms),
            table_delay_ms: self.table_delay.unwrap_or(options.table_delay_ms),
            ..options
        }
    }
}

/// Parses `50ms`, `2s`, `1m`; a bare number is milliseconds.
fn milliseconds(text: &str) -> Result<u64, String> {
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "" | "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60 * 1_000),
        _ => None,
    };
    let time = number
        .parse::<u64>()
        .ok()
        .zip(factor)
        .and_then(|(number, factor)| number.checked_mul(factor));
    time.filter(|time| *time <= DAY_MS)
        .ok_or_else(|| "a time is like 50ms, 2s or 1m, a day at most".to_owned())
}

/// The durability option of commands that write much.
#[derive(Debug, Clone, Args)]
pub struct DurabilityArgs {
    /// power: a write that returned survives kill -9 and a power cut
    /// kill: it survives kill -9; a power cut may lose the last half second, whole writes only. Faster
    #[arg(long, value_name = "power|kill", default_value = "power", value_parser = durability, verbatim_doc_comment)]
    pub durability: Durability,
}

/// Parses a durability.
///
/// # Errors
/// A sentence if the word is neither.
pub fn durability(text: &str) -> Result<Durability, String> {
    [Durability::Power, Durability::Kill]
        .into_iter()
        .find(|durability| durability_word(*durability) == text)
        .ok_or_else(|| format!("takes power or kill, not {text:?}"))
}

/// Returns the word of a durability.
#[must_use]
pub fn durability_word(durability: Durability) -> &'static str {
    match durability {
        Durability::Power => "power",
        Durability::Kill => "kill",
    }
}

const MIB: usize = 1024 * 1024;
/// The parts of the memory limit. The budgets leave a quarter of it: both caches together get a
/// fourth of that.
const MEMORY_PARTS: u64 = 32;

#[derive(Debug, Clone, Args)]
pub struct CacheArgs {
    /// Answer the HTTP API through an item cache and a query cache, as stale as DAX, to test an
    /// application that reads through one. The mount still shows the tables as they are; GET
    /// /metrics counts hits and misses
    #[arg(long)]
    cache: bool,
    /// Time for which a cached item is valid; 0: until it is evicted
    #[arg(long, value_name = "MS", default_value_t = TTL_MS_DEFAULT, requires = "cache")]
    cache_item_ttl: u64,
    /// Time for which a cached Query or Scan is valid; 0: they are not cached
    #[arg(long, value_name = "MS", default_value_t = TTL_MS_DEFAULT, requires = "cache")]
    cache_query_ttl: u64,
    /// Largest size of each of the two caches; at most a 32nd of the memory of the process
    #[arg(long, value_name = "MIB", default_value_t = CACHE_BYTES_DEFAULT / MIB, requires = "cache")]
    cache_size: usize,
}

impl CacheArgs {
    /// Returns the database as the HTTP API sees it.
    pub fn wrap(&self, database: Arc<dyn Browse>) -> Arc<dyn Database> {
        if !self.cache {
            return database;
        }
        let options = CacheOptions {
            item_ttl_ms: self.cache_item_ttl,
            query_ttl_ms: self.cache_query_ttl,
            bytes: self
                .cache_size
                .saturating_mul(MIB)
                .min(usize::try_from(memory_limit() / MEMORY_PARTS).unwrap_or(usize::MAX)),
        };
        Arc::new(CachedDatabase::new(
            database,
            options,
            Arc::new(SystemClock),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, expected) in [
            ("1", Some(1)),
            ("8K", Some(8 << 10)),
            ("500m", Some(500 << 20)),
            ("10G", Some(10 << 30)),
        ] {
            assert_eq!(bytes(text).ok(), expected, "{text}");
        }
        for text in [
            "",
            "G",
            "0",
            "-1",
            "1T",
            "1.5G",
            "99999999999999999999",
            "18446744073709551615K",
        ] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn table_of_times() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(milliseconds(text).ok(), expected, "{text}")
        };
        check("0", Some(0));
        check("50ms", Some(50));
        check("2s", Some(2_000));
        check("1m", Some(60_000));
        check("1440m", Some(86_400_000));
        for bad in [
            "",
            "ms",
            "1h",
            "-1s",
            "1.5s",
            "1 s",
            "1441m",
            "99999999999999999999s",
        ] {
            check(bad, None);
        }
    }
}
