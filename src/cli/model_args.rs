//! Options of what is modelled beside the data: prices, and limits of the service.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::CliError;
use super::delays::DelayArgs;
use crate::codec::metrics::prices;
use crate::engine::EngineOptions;

#[derive(Debug, Clone, Args)]
pub struct ModelArgs {
    /// Tell costs by the prices in this JSON file instead of the built-in ones
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    #[command(flatten)]
    delays: DelayArgs,
}

impl ModelArgs {
    /// The engine's options with these.
    ///
    /// # Errors
    /// A file that cannot be read or has no prices.
    pub fn apply(&self, options: EngineOptions) -> Result<EngineOptions, CliError> {
        let mut options = self.delays.apply(options);
        if let Some(file) = &self.prices {
            let doing = || format!("--prices {}", file.display());
            let text = std::fs::read_to_string(file).map_err(CliError::io(doing()))?;
            options.prices = Arc::new(prices::parse(&text).map_err(|error| CliError::Message(format!("{}: {error}", doing())))?);
        }
        Ok(options)
    }
}
