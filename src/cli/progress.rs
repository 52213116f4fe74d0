//! Progress bars on standard error when that is a terminal; silent otherwise.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Progress over bytes read, with rate and time left when the total is known.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// `total_bytes` is `None` for a pipe.
    pub fn new(total_bytes: Option<u64>) -> Self {
        let bar = match total_bytes {
            Some(total) => ProgressBar::new(total)
                .with_style(style("{wide_bar} {percent:>3} %  {bytes}/{total_bytes}  {bytes_per_sec}  {msg} items  {eta} left")),
            None => ProgressBar::new_spinner().with_style(style("{spinner} {bytes}  {bytes_per_sec}  {msg} items  {elapsed}")),
        };
        // stderr() draws nothing when standard error is no terminal.
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        Self { bar }
    }

    /// `bytes` read so far, `items` stored so far.
    pub fn update(&self, bytes: u64, items: u64) {
        self.bar.set_position(bytes);
        self.bar.set_message(items.to_string());
    }

    /// Prints a line to standard error above the bar.
    pub fn line(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Progress of a copy or comparison over items, with units, what they cost, and the time left.
pub struct ItemProgress(ProgressBar);

impl ItemProgress {
    /// `total` may be hours old; `done` were done before.
    pub fn new(total: u64, done: u64) -> Self {
        let bar = ProgressBar::new(total.max(done)).with_position(done);
        bar.set_style(style("{wide_bar} {percent:>3} %  {human_pos}/{human_len} items  {per_sec}  {msg}  {eta} left"));
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        bar.reset_eta();
        Self(bar)
    }

    pub fn update(&self, items: u64, spent: String) {
        if self.0.length().is_some_and(|total| items > total) {
            self.0.set_length(items);
        }
        self.0.set_position(items);
        self.0.set_message(spent);
    }

    /// Prints a line to standard error above the bar.
    pub fn line(&self, text: &str) {
        self.0.suspend(|| eprintln!("{text}"));
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
