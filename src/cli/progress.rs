//! Progress bars of long commands, on standard error if that is a terminal; silent otherwise.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::exit::warn;
use crate::model::api::{IndexDescription, TableStatus};

/// A progress bar of bytes read, or of items.
pub struct ProgressLine(ProgressBar);

impl ProgressLine {
    /// Makes a bar with the rate, and with the time left if the total is known; `None` for a pipe.
    pub fn of_bytes(total: Option<u64>) -> Self {
        let (bar, template) = match total {
            Some(total) => (
                ProgressBar::new(total),
                "{wide_bar} {percent:>3} %  {bytes}/{total_bytes}  {bytes_per_sec}  {msg} items  {eta} left",
            ),
            None => (
                ProgressBar::new_spinner(),
                "{spinner} {bytes}  {bytes_per_sec}  {msg} items  {elapsed}",
            ),
        };
        Self::with_style(bar, template)
    }

    /// Makes a bar of a copy or comparison. `total` may be hours old; `finished` were done before.
    pub fn of_items(total: u64, finished: u64) -> Self {
        let bar = ProgressBar::new(total.max(finished)).with_position(finished);
        bar.reset_eta();
        Self::with_style(
            bar,
            "{wide_bar} {percent:>3} %  {human_pos}/{human_len} items  {per_sec}  {msg}  {eta} left",
        )
    }

    fn with_style(bar: ProgressBar, template: &str) -> Self {
        bar.set_style(style(template));
        // `stderr()` draws nothing if standard error is not a terminal.
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        Self(bar)
    }

    /// Sets the position in bytes or items, and the message.
    pub fn update(&self, position: u64, message: String) {
        if self.0.length().is_some_and(|total| position > total) {
            self.0.set_length(position);
        }
        self.0.set_position(position);
        self.0.set_message(message);
    }

    /// Prints a line to standard error above the bar.
    pub fn line(&self, text: &str) {
        self.0.suspend(|| warn(text));
    }

    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

/// A progress bar of an index that is being created or deleted.
pub struct BackfillProgress(ProgressBar);

impl BackfillProgress {
    pub fn new(index: &str) -> Self {
        let bar = ProgressBar::new_spinner().with_message(index.to_owned());
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        Self(bar)
    }

    /// Shows the state of an index.
    pub fn show(&self, state: &IndexDescription) {
        let spin = |template| {
            self.0.set_style(style(template));
            self.0.tick();
        };
        match (state.status, state.progress) {
            (TableStatus::Active, _) => {}
            (TableStatus::Deleting, _) => spin("{spinner} {msg}  removing its entries  {elapsed}"),
            (TableStatus::Creating | TableStatus::Updating, Some(of))
                if state.backfilling == Some(true) =>
            {
                self.0.set_style(style("{msg}  {wide_bar} {percent:>3} %  {human_pos}/{human_len} items  {elapsed}, {eta} left"));
                self.0.set_length(of.total.max(of.done));
                self.0.set_position(of.done);
            }
            (TableStatus::Creating | TableStatus::Updating, _) => {
                spin("{spinner} {msg}  allocating resources  {elapsed}")
            }
        }
    }

    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
