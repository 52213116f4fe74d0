//! Options of what is modelled beside the data: prices, and limits of the service.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::CliError;
use crate::codec::metrics::prices;
use crate::engine::EngineOptions;

#[derive(Debug, Clone, Args)]
pub struct ModelArgs {
    /// Tell costs by the prices in this JSON file instead of the built-in ones
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

impl ModelArgs {
    /// The engine's options with these.
    ///
    /// # Errors
    /// A file that cannot be read or has no prices.
    pub fn apply(&self, mut options: EngineOptions) -> Result<EngineOptions, CliError> {
        if let Some(file) = &self.prices {
            let doing = || format!("--prices {}", file.display());
            let text = std::fs::read_to_string(file).map_err(CliError::io(doing()))?;
            options.prices = Arc::new(prices::parse(&text).map_err(|error| CliError::Message(format!("{}: {error}", doing())))?);
        }
        Ok(options)
    }
}
