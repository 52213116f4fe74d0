//! The FUSE shell: converts requests, calls the view, replies.
//!
//! ```text
//! shell.rs       fuser's callbacks, a few lines each
//! notify.rs      tells the kernel what is over of what it keeps
//! convert.rs     attributes, flags and errors to fuser's types
//! mountpoint.rs  how to mount; what is mounted where; ending dead mounts
//! ```
//! What the kernel may keep of the answers is decided in `fs::view::kernel_cache`, and ended there before a change is
//! acknowledged, so that a write through any front end or process is seen by the next system call.

mod convert;
mod mountpoint;
mod notify;
mod shell;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fuser::{Config, MountOption, Session, SessionACL, SessionUnmounter};
use parking_lot::Mutex;

use crate::fs::View;
use notify::Notifier;
use shell::Shell;

pub use mountpoint::{
    Connection, EVENT_THREADS_REMOTE, Listed, MountCopy, MountOptions, MountState, UMASK, all as mounts, connection, detach, place,
    state, unmount,
};

/// How often [`Mounted::end`] looks whether the kernel has let go.
const POLL: Duration = Duration::from_millis(20);

/// A mounted view. Dropping it unmounts.
#[derive(Debug)]
pub struct Mounted {
    view: View,
    mountpoint: PathBuf,
    unmounter: Mutex<SessionUnmounter>,
    session: Option<JoinHandle<io::Result<()>>>,
    when_finished: Arc<WhenFinished>,
}

/// What to call when the session has ended, however.
#[derive(Default)]
struct WhenFinished(Mutex<Ending>);

#[derive(Default)]
enum Ending {
    #[default]
    Open,
    Awaited(Box<dyn FnOnce() + Send>),
    Finished,
}

impl std::fmt::Debug for WhenFinished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WhenFinished")
    }
}

impl WhenFinished {
    fn finish(&self) {
        let before = std::mem::replace(&mut *self.0.lock(), Ending::Finished);
        if let Ending::Awaited(call) = before {
            call();
        }
    }

    fn set(&self, call: Box<dyn FnOnce() + Send>) {
        let mut ending = self.0.lock();
        if matches!(*ending, Ending::Finished) {
            // Called without the lock, as `finish` calls it: it may set another.
            drop(ending);
            return call();
        }
        *ending = Ending::Awaited(call);
    }
}

/// Mounts a view. A dead mount of ours at that place is cleared away first.
///
/// # Errors
/// No such directory, something is mounted there, files are in it, the data is below it, or the kernel refuses.
pub fn mount(options: &MountOptions, view: View) -> io::Result<Mounted> {
    let mountpoint = mountpoint::prepare(&options.mountpoint, options.data.as_deref(), options.nonempty)?;
    // Mounted from here on; requests wait in the kernel until the session runs.
    let mut session = Session::new(Shell::new(view.clone(), options), &mountpoint, &config(options))?;
    let device = File::from(session.as_fd().try_clone_to_owned()?);
    let notifier = Notifier::new(device, options.notify_timeout)?;
    let tell = move |invalidations, wait, ended, then| notifier.invalidate(invalidations, wait, ended, then);
    view.kernel_cache().mounted(Arc::new(tell), mountpoint::remains(&mountpoint));
    let unmounter = Mutex::new(session.unmount_callable());
    let when_finished = Arc::<WhenFinished>::default();
    let of_session = Arc::clone(&when_finished);
    let session = std::thread::Builder::new().name("ddbfs-fuse".to_owned()).spawn(move || {
        let ended = session.run();
        of_session.finish();
        of_unmount(ended)
    })?;
    if !options.no_keep
        && let Err(error) = view.kernel_cache().keep_while_alone()
    {
        log::warn!("the kernel keeps nothing: {error}");
    }
    Ok(Mounted { view, mountpoint, unmounter, session: Some(session), when_finished })
}

/// An event thread that had just taken a request when the mount ended reads ECONNABORTED instead of ENODEV (`fuse_dev_do_read` in
/// Linux): the same end, which fuser gives as an error.
fn of_unmount(ended: io::Result<()>) -> io::Result<()> {
    match ended {
        Err(error) if error.raw_os_error() == Some(libc::ECONNABORTED) => Ok(()),
        ended => ended,
    }
}

/// Owner only (the kernel's default), and no `default_permissions`: it costs a request at every create and unlink, and answers EACCES
/// for derived files where the view says EROFS and why. With `allow_other` it is what keeps the others from writing.
fn config(options: &MountOptions) -> Config {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(mountpoint::source_name(options.data.as_deref())),
        MountOption::Subtype("ddbfs".to_owned()),
        MountOption::NoSuid,
        MountOption::NoDev,
        MountOption::NoExec,
        MountOption::NoAtime,
    ];
    if options.read_only {
        config.mount_options.push(MountOption::RO);
    }
    if options.allow_other {
        config.mount_options.push(MountOption::DefaultPermissions);
        config.acl = SessionACL::All;
    }
    config.n_threads = Some(options.event_threads);
    config.clone_fd = true;
    config
}

impl Mounted {
    /// Where it is mounted, absolute.
    #[must_use]
    pub fn mountpoint(&self) -> &Path {
        &self.mountpoint
    }

    /// The mounted view.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Calls back once when the mount has ended by whatever means (`umount`, `fusermount3 -u`), at once if it has already. Replaces
    /// an earlier call.
    pub fn when_finished(&self, call: Box<dyn FnOnce() + Send>) {
        self.when_finished.set(call);
    }

    /// Unmounts, waits up to `patience` for the programs that still use it, and ends the view. Open files of programs that do not
    /// let go give errors from then on.
    ///
    /// # Errors
    /// The kernel refused; the mount stays.
    pub fn end(mut self, patience: Duration) -> io::Result<()> {
        self.finish(patience)
    }

    fn finish(&mut self, patience: Duration) -> io::Result<()> {
        let Some(session) = self.session.take() else { return Ok(()) };
        // Else their programs would hold the mount for ever.
        self.view.end_waiting();
        self.view.kernel_cache().stop();
        if !session.is_finished()
            && let Err(error) = self.unmounter.lock().unmount()
        {
            log::info!("{}: {error}; detaching it", self.mountpoint.display());
            mountpoint::detach(&self.mountpoint)?;
        }
        let deadline = Instant::now() + patience;
        while !session.is_finished() && Instant::now() < deadline {
            std::thread::sleep(POLL);
        }
        let ended = if session.is_finished() {
            session.join().unwrap_or_else(|_| Err(io::Error::other("the FUSE session failed")))
        } else {
            log::warn!("{}: programs still use it", self.mountpoint.display());
            Ok(())
        };
        self.view.kernel_cache().unmounted();
        // Last: it carries out the deletes that were put off, and a request still on its way could put off another.
        self.view.shut_down();
        ended
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(error) = self.finish(Duration::from_secs(1)) {
            log::error!("{}: cannot unmount: {error}", self.mountpoint.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_cut_off_by_the_unmount_is_its_end_and_other_errors_stay() {
        let ended = |errno| of_unmount(Err(io::Error::from_raw_os_error(errno))).map_err(|error| error.raw_os_error());
        assert_eq!(ended(libc::ECONNABORTED), Ok(()));
        assert_eq!(ended(libc::EIO), Err(Some(libc::EIO)));
    }
}
