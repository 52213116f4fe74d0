//! What a mount decides about the view: `ddbfs mount -o …`, the options that are not the kernel's.

/// The default is the contract, docs/filesystem.md; each option is one exception from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ViewOptions {
    /// A key in a body that differs from the path's is an error instead of a warning.
    pub strict_keys: bool,
    /// Items and index entries are indented; sizes stay exact, at the price of rendering at every stat.
    pub pretty: bool,
    /// `rm -r` of a table deletes it, and so does `rmdir` of a table with items.
    pub allow_drop: bool,
    /// The finite files that are otherwise for lookup only are listed.
    pub show_all: bool,
    /// A rewrite of an item that changed since it was opened wins instead of ESTALE.
    pub last_writer_wins: bool,
    /// What is written to derived files is taken and dropped.
    pub restore: bool,
    /// An item is shown as the text that was written, as long as that is remembered.
    pub keep_text: bool,
    /// Other users may come in: none holds more memory by open files than is left for the others.
    pub allow_other: bool,
}
