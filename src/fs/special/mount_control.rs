//! `.ddb/ctl`: commands to the mount. One write is one command.

use std::sync::Arc;

use super::{OpenSpecial, Special, SpecialNode, service};
use crate::fs::FsError;
use crate::fs::handle::Handle;
use crate::fs::node::Node;
use crate::fs::tree::{Caller, Tree};
use crate::fs::view::{OpenFlags, Reply, View};

/// The name in `.ddb/`.
pub const NAME: &str = "ctl";

const USAGE: &str = "\
flush      perform at once what waits: items renamed away by an editor are deleted, and their texts parked, after 2 seconds
release    end every read that waits (stream/follow, .ddb/accesslog) as at the end of a file, so that the mount can be unmounted
clear      forget .ddb/errors.ndjson, warnings.ndjson and slowlog.ndjson
";

#[derive(Debug, Clone)]
struct Control;

/// `.ddb/ctl`
#[must_use]
pub fn node() -> Node {
    SpecialNode::node(Control)
}

impl Special for Control {
    fn path(&self) -> &str {
        ".ddb/ctl"
    }

    fn parent(&self) -> Node {
        service::node()
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn text(&self, _tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        Ok(USAGE.as_bytes().to_vec())
    }

    fn open_for_writing(&self, _view: &Arc<View>, _caller: Caller, _ino: u64, _flags: OpenFlags) -> Result<Handle, FsError> {
        Ok(Handle::Special(Arc::new(self.clone())))
    }
}

impl OpenSpecial for Control {
    fn write(self: Arc<Self>, view: &Arc<View>, caller: Caller, _offset: u64, data: &[u8], reply: Reply<()>) {
        reply(view.noted_at(caller, "write", || self.path().to_owned(), command(view, data)));
    }
}

fn command(view: &Arc<View>, data: &[u8]) -> Result<(), FsError> {
    match data.trim_ascii() {
        b"" => {}
        b"flush" => view.flush_deletes(),
        b"release" => view.release_waiting(),
        b"clear" => {
            view.tree().journal.clear();
            view.tree().service.calls.clear();
        }
        _ => return Err(FsError::Invalid("the commands are: flush, release, clear; cat .ddb/ctl says what they do")),
    }
    Ok(())
}
