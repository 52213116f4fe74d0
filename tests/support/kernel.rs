//! The calls that the kernel makes for a process, on a database in memory and without a mount.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use ddbfs::database::Browse;
use ddbfs::fs::node::ROOT_INO;
use ddbfs::fs::node::attr::Attr;
use ddbfs::fs::view::{Caller, NewAttr, OpenFlags, RenameFlags, Reply, ViewOptions};
use ddbfs::fs::{FsError, View};

use crate::support::mounted::{create_table, memory};

pub const READ: OpenFlags = OpenFlags {
    write: false,
    truncate: false,
    exclusive: false,
    append: false,
};
pub const TRUNCATE: OpenFlags = OpenFlags {
    write: true,
    truncate: true,
    exclusive: false,
    append: false,
};
pub const EDIT: OpenFlags = OpenFlags {
    write: true,
    truncate: false,
    exclusive: false,
    append: false,
};
pub const EXCLUSIVE: OpenFlags = OpenFlags {
    write: true,
    truncate: false,
    exclusive: true,
    append: false,
};

/// A process and its paths: the kernel's part.
pub struct Process {
    pub view: View,
    caller: Caller,
    pub db: Arc<dyn Browse>,
}

/// Errno names, as tests state them.
pub type Ended<T> = Result<T, &'static str>;

pub fn name<T>(result: Result<T, FsError>) -> Ended<T> {
    result.map_err(|error| &*error.errno_name().leak())
}

/// Waits for a call's reply.
pub fn wait<T: Send + 'static>(call: impl FnOnce(Reply<T>)) -> Ended<T> {
    let (sender, receiver) = sync_channel(1);
    call(Box::new(move |ended| sender.send(ended).unwrap()));
    name(receiver.recv().unwrap())
}

impl Process {
    pub fn new(tables: &[&str]) -> Self {
        let db = memory();
        for table in tables {
            create_table(&*db, table);
        }
        let db: Arc<dyn Browse> = db;
        let caller = Caller {
            pid: std::process::id(),
            ..Caller::default()
        };
        Self {
            view: View::new(Arc::clone(&db), ViewOptions::default()).with_caller(caller),
            caller,
            db,
        }
    }

    /// Returns the same mount as another process sees it.
    pub fn of_process(&self, pid: u32) -> Self {
        let caller = Caller {
            pid,
            ..Caller::default()
        };
        Self {
            view: self.view.with_caller(caller),
            caller,
            db: Arc::clone(&self.db),
        }
    }

    pub fn stat(&self, path: &str) -> Ended<Attr> {
        let mut attr = name(self.view.getattr(ROOT_INO, None))?;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            attr = name(self.view.lookup(attr.ino, part.as_bytes()))?;
        }
        Ok(attr)
    }

    /// Returns the parent's inode number and the last name.
    pub fn parent<'a>(&self, path: &'a str) -> Ended<(u64, &'a [u8])> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok((self.stat(parent)?.ino, name.as_bytes()))
    }

    pub fn open(&self, path: &str, flags: OpenFlags) -> Ended<u64> {
        match self.stat(path) {
            Ok(_) if flags.exclusive => Err("EEXIST"),
            Ok(attr) => name(self.view.open(attr.ino, flags).map(|opened| opened.handle)),
            Err("ENOENT") if flags.write => {
                let (parent, last) = self.parent(path)?;
                name(self.view.create(parent, last, 0o644, flags)).map(|created| created.handle)
            }
            Err(error) => Err(error),
        }
    }

    /// Makes a call as the kernel's requests are served, which keeps its failure.
    fn serve<T: Send + 'static>(
        &self,
        operation: &'static str,
        call: impl FnOnce(Reply<T>),
    ) -> Ended<T> {
        let served = self.view.begin(self.caller, operation, ROOT_INO, None);
        wait(|reply| call(Box::new(move |outcome| reply(served.end(outcome)))))
    }

    pub fn write_to(&self, handle: u64, offset: u64, data: &str) -> Ended<()> {
        self.serve("write", |reply| {
            self.view.write(handle, offset, data.as_bytes(), reply)
        })
    }

    pub fn close(&self, handle: u64) -> Ended<()> {
        let flushed = self.serve("flush", |reply| self.view.flush(handle, reply));
        wait(|reply| self.view.release(handle, reply)).ok();
        flushed
    }

    pub fn write(&self, path: &str, data: &str) -> Ended<()> {
        let handle = self.open(path, TRUNCATE)?;
        let written = self.write_to(handle, 0, data);
        let closed = self.close(handle);
        written.and(closed)
    }

    pub fn read_from(&self, handle: u64) -> String {
        let bytes = wait(|reply| self.view.read(handle, 0, 1 << 20, reply)).unwrap();
        String::from_utf8(bytes.as_ref().to_vec()).unwrap()
    }

    pub fn read(&self, path: &str) -> Ended<String> {
        let handle = self.open(path, READ)?;
        let text = self.read_from(handle);
        self.close(handle).map(|()| text)
    }

    pub fn list(&self, path: &str) -> Ended<Vec<String>> {
        let ino = self.stat(path)?.ino;
        let handle = name(self.view.opendir(ino, false))?;
        let (mut names, mut last) = (Vec::new(), 0);
        loop {
            let before = last;
            let mut room = 7;
            let mut emit = |listed: ddbfs::fs::open::dirent::Dirent<'_>, offset| {
                room -= 1;
                if room == 0 {
                    return true;
                }
                if !matches!(listed.name, "." | "..") {
                    names.push((listed.name.to_owned(), listed.ino));
                }
                last = offset;
                false
            };
            name(self.view.readdir(handle, before, &mut emit))?;
            if last == before {
                break;
            }
        }
        self.view.releasedir(handle);
        for (name, ino) in &names {
            let found = self.stat(&format!("{path}/{name}"));
            assert_eq!(
                found.map(|attr| attr.ino),
                Ok(*ino),
                "d_ino of {path}/{name}"
            );
        }
        Ok(names.into_iter().map(|(name, _)| name).collect())
    }

    pub fn mkdir(&self, path: &str) -> Ended<()> {
        let (parent, last) = self.parent(path)?;
        name(self.view.mkdir(parent, last)).map(|_| ())
    }

    pub fn rmdir(&self, path: &str) -> Ended<()> {
        let (parent, last) = self.parent(path)?;
        name(self.view.rmdir(parent, last))
    }

    pub fn unlink(&self, path: &str) -> Ended<()> {
        let (parent, last) = self.parent(path)?;
        wait(|reply| self.view.unlink(parent, last, reply))
    }

    pub fn rename(&self, from: &str, to: &str) -> Ended<()> {
        self.rename_with(from, to, RenameFlags::default())
    }

    pub fn rename_with(&self, from: &str, to: &str, flags: RenameFlags) -> Ended<()> {
        let (old_parent, old_name) = self.parent(from)?;
        let (new_parent, new_name) = self.parent(to)?;
        wait(|reply| {
            self.view
                .rename(old_parent, old_name, new_parent, new_name, flags, reply)
        })
    }

    pub fn touch(&self, path: &str) -> Ended<()> {
        let handle = self.open(path, EDIT)?;
        let ino = self.stat(path)?.ino;
        let new = NewAttr {
            touched: true,
            ..NewAttr::default()
        };
        wait(|reply| self.view.setattr(ino, None, new, reply))?;
        self.close(handle)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.view.shut_down();
    }
}
