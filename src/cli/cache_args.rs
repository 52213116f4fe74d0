//! Options of the cache before the HTTP API.

use std::sync::Arc;

use clap::Args;

use crate::database::cached::{CACHE_BYTES_DEFAULT, CacheOptions, CachedDatabase, TTL_MS_DEFAULT};
use crate::database::{Browse, Database};
use crate::engine::clock::SystemClock;

const MIB: usize = 1024 * 1024;

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
    /// What each of the two caches may hold
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
            bytes: self.cache_size.saturating_mul(MIB),
        };
        Arc::new(CachedDatabase::new(database, options, Arc::new(SystemClock)))
    }
}
