//! Options of the view: `ddbfs mount -o …`, without those of the kernel.

/// The options of a mount. The default is the contract, docs/filesystem.md; each option is one
/// exception from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ViewOptions {
    /// True if a key in a body that differs from the path's key is an error instead of a warning.
    pub strict_keys: bool,
    /// True if items and index entries are indented; sizes stay exact, at the price of rendering at
    /// every stat.
    pub pretty: bool,
    /// True if `rm -r` of a table deletes it, and `rmdir` of a table with items too.
    pub allow_drop: bool,
    /// True if finite files that otherwise exist for lookup only are listed.
    pub show_all: bool,
    /// True if a rewrite of an item that changed since it was opened wins instead of failing with
    /// ESTALE.
    pub last_writer_wins: bool,
    /// True if writes to derived files are accepted and discarded.
    pub restore: bool,
    /// True if an item is shown as the text that was written, as long as that text is cached.
    pub keep_text: bool,
    /// True if writes end after their call, in batches; of a remote service only.
    pub writeback: bool,
    /// True if other users may access the mount: the open files of one user must leave memory for
    /// the others.
    pub allow_other: bool,
}
