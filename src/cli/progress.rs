//! Progress bars on standard error when that is a terminal; silent otherwise.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::outcome::warn;

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
            None => (ProgressBar::new_spinner(), "{spinner} {bytes}  {bytes_per_sec}  {msg} items  {elapsed}"),
        };
        Self::drawn(bar, template)
    }

    /// Of a copy or comparison. `total` may be hours old; `done` were done before.
    pub fn of_items(total: u64, done: u64) -> Self {
        let bar = ProgressBar::new(total.max(done)).with_position(done);
        bar.reset_eta();
        Self::drawn(bar, "{wide_bar} {percent:>3} %  {human_pos}/{human_len} items  {per_sec}  {msg}  {eta} left")
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
pub struct BackfillProgress {
    bar: ProgressBar,
    index: String,
}

impl BackfillProgress {
    pub fn new(index: &str) -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        Self { bar, index: index.to_owned() }
    }

    /// Resources are allocated.
    pub fn allocating(&self) {
        self.spin("{spinner} {msg}  allocating resources  {elapsed}");
    }

    /// `done` of `total` items were looked at.
    pub fn backfilling(&self, done: u64, total: u64) {
        self.bar.set_style(style("{msg}  {wide_bar} {percent:>3} %  {human_pos}/{human_len} items  {elapsed}, {eta} left"));
        self.bar.set_message(self.index.clone());
        self.bar.set_length(total.max(done));
        self.bar.set_position(done);
    }

    /// Its entries are removed.
    pub fn removing(&self) {
        self.spin("{spinner} {msg}  removing its entries  {elapsed}");
    }

    fn spin(&self, template: &str) {
        self.bar.set_style(style(template));
        self.bar.set_message(self.index.clone());
        self.bar.tick();
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
