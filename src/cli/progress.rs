//! Progress bars on standard error when that is a terminal; silent otherwise.

use std::ops::ControlFlow;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::outcome::warn;
use crate::model::api::{IndexDescription, TableStatus};

/// Progress over bytes that are read, or items.
pub struct Progress(ProgressBar);

impl Progress {
    /// With the rate, and the time left when the total is known; `None` for a pipe.
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
        Self::drawn(bar, template)
    }

    /// Of a copy or comparison. `total` may be hours old; `done` were done before.
    pub fn of_items(total: u64, done: u64) -> Self {
        let bar = ProgressBar::new(total.max(done)).with_position(done);
        bar.reset_eta();
        Self::drawn(
            bar,
            "{wide_bar} {percent:>3} %  {human_pos}/{human_len} items  {per_sec}  {msg}  {eta} left",
        )
    }

    fn drawn(bar: ProgressBar, template: &str) -> Self {
        bar.set_style(style(template));
        // stderr() draws nothing when standard error is no terminal.
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        Self(bar)
    }

    /// So many bytes or items, and what else is shown.
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

/// What an index that is being made or removed is at.
pub struct BackfillProgress(ProgressBar);

impl BackfillProgress {
    pub fn new(index: &str) -> Self {
        let bar = ProgressBar::new_spinner().with_message(index.to_owned());
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        Self(bar)
    }

    /// Shows the state of an index; `Break` when it is made.
    pub fn show(&self, state: &IndexDescription) -> ControlFlow<()> {
        let spin = |template| {
            self.0.set_style(style(template));
            self.0.tick();
        };
        match (state.status, state.progress) {
            (TableStatus::Active, _) => return ControlFlow::Break(()),
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
        ControlFlow::Continue(())
    }

    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
