//! Options of the cache before the HTTP API.

use crate::cli::prelude::*;
use crate::database::Database;
use crate::database::cached::{CACHE_BYTES_DEFAULT, CacheOptions, CachedDatabase, TTL_MS_DEFAULT};
use crate::model::clock::SystemClock;
use crate::store::memory_limit::memory_limit;

const MIB: usize = 1024 * 1024;
/// What is counted elsewhere leaves a quarter of the memory: both caches together have a fourth of that.
const MEMORY_PARTS: u64 = 32;

#[derive(Debug, Clone, Args)]
pub struct CacheArgs {
    /// Answer the HTTP API through an item cache and a query cache, as stale as DAX: to test an application that reads through one.
    /// The mount shows the tables as they are; GET /metrics counts hits and misses
    #[arg(long)]
    cache: bool,
    /// How long a cached item is good; 0: until it is pushed out
    #[arg(long, value_name = "MS", default_value_t = TTL_MS_DEFAULT, requires = "cache")]
    cache_item_ttl: u64,
    /// How long a cached Query or Scan is good; 0: they are not cached
    #[arg(long, value_name = "MS", default_value_t = TTL_MS_DEFAULT, requires = "cache")]
    cache_query_ttl: u64,
    /// What each of the two caches may hold; at most a 32nd of the memory of the process
    #[arg(long, value_name = "MIB", default_value_t = CACHE_BYTES_DEFAULT / MIB, requires = "cache")]
    cache_size: usize,
}

impl CacheArgs {
    /// The database as the HTTP API sees it.
    pub fn before(&self, database: Arc<dyn Browse>) -> Arc<dyn Database> {
        if !self.cache {
            return database;
        }
        let options = CacheOptions {
            item_ttl_ms: self.cache_item_ttl,
            query_ttl_ms: self.cache_query_ttl,
            bytes: self.cache_size.saturating_mul(MIB).min(usize::try_from(memory_limit() / MEMORY_PARTS).unwrap_or(usize::MAX)),
        };
        Arc::new(CachedDatabase::new(database, options, Arc::new(SystemClock)))
    }
}
