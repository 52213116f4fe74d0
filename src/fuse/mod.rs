//! The FUSE shell, an adapter between fuser (requests of the kernel) and the view (`crate::fs`):
//! converts requests, calls the view, replies.
//!
//! ```text
//! shell.rs       fuser's callbacks, a few lines each
//! notify.rs      invalidation of the kernel's cache
//! direntplus.rs  the reply to READDIRPLUS, of names with and without attributes
//! convert.rs     attributes, flags and errors to fuser's types
//! mountpoint.rs  mount options; the list of mounts; unmounting dead mounts
//! ```
//! `fs::view::kernel_cache` decides which answers the kernel may cache, and invalidates them before
//! a change is acknowledged, so that the next system call sees a write through any front end or
//! process.
//!
//! # A call that waits for a commit has no thread
//!
//! It leaves a `Reply` (`fs::open`) behind, and the committer answers the kernel. Three prototypes
//! ran each such call to its end on a thread, which waits for the commit and then answers:
//!
//! - pool: the two event threads hand writes, unlinks and renames to a pool of at most 256 threads;
//! - threads: 258 event threads, each of which waits itself;
//! - turns: the same, but two of them at a time read requests; one that waits wakes another in its place.
//!
//! Writers put 1 KB items over the mount, each into a folder of its own (open, write, close),
//! durably. The figures are medians of seven alternating rounds of a second, on two cores that
//! compilers used too; for the prototypes, puts per second and the daemon's CPU time per put are
//! ratios to those of the committer:
//!
//! | writers | puts a second | p50, p99 in ms | CPU µs a put | pool: puts, CPU | threads | turns |
//! |---|---|---|---|---|---|---|
//! | 1, new items | 1,415 | 0.3, 4.5 | 266 | 0.61, 1.61 | 0.78, 1.48 | 1.25, 1.02 |
//! | 4 | 3,608 | 0.8, 4.4 | 185 | 0.90, 1.33 | 1.09, 1.47 | 1.11, 1.15 |
//! | 16 | 7,668 | 1.8, 4.3 | 126 | 1.10, 1.31 | 0.81, 1.67 | 0.89, 1.29 |
//! | 64 | 9,509 | 5.5, 31 | 110 | 0.86, 1.43 | 0.73, 1.70 | 0.73, 1.51 |
//! | 256 | 8,403 | 25, 153 | 110 | 0.87, 1.34 | 1.05, 1.42 | 0.83, 1.52 |
//! | 1, written again | 2,302 | 0.3, 2.3 | 246 | 0.78, 1.43 | 0.67, 1.51 | 1.06, 1.11 |
//! | 4 | 4,243 | 0.7, 2.8 | 167 | 0.84, 1.45 | 1.07, 1.58 | 0.88, 1.26 |
//! | 16 | 8,448 | 1.6, 7.9 | 106 | 0.92, 1.41 | 0.82, 1.58 | 0.89, 1.39 |
//! | 64 | 9,347 | 4.8, 67 | 83 | 0.76, 1.61 | 0.76, 1.92 | 0.82, 1.56 |
//! | 256 | 5,320 | 31, 164 | 121 | 1.43, 1.38 | 1.43, 1.34 | 1.11, 1.38 |
//!
//! With `--durability kill`, CPU time is 1.3 to 1.6 times as much by the pool, 1.3 to 1.8 times by
//! threads, and 0.9 to 1.2 times by turns, which then put 0.6 to 1.1 times as many. Answers by the
//! committer are consecutive writes, while each waiting thread must be woken: waiting for and
//! waking threads is 2 % of the daemon's time as it is and 17 % with the pool, at 16 writers. And a
//! pool that is full of writers has no thread for the lookups and creates that a notification waits
//! for (`notify.rs`): a write that waits for that notification would be answered only after
//! `MountOptions::notify_timeout`.

mod convert;
mod direntplus;
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
use crate::fs::view::KernelConnection;
use notify::Notifier;
use shell::Shell;

pub use notify::end_all_names;

pub use mountpoint::{
    EVENT_THREADS_REMOTE, FuseConnection, MountEntry, MountOptions, MountpointState, OtherMount,
    UMASK, all as mounts, connection, detach, find_mount, state, unmount,
};

/// The interval at which [`Mounted::unmount`] checks if the session has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A mounted view. Dropping it unmounts.
#[derive(Debug)]
pub struct Mounted {
    view: View,
    device: File,
    mountpoint: PathBuf,
    unmounter: Mutex<SessionUnmounter>,
    session: Option<JoinHandle<io::Result<()>>>,
}

/// Mounts a view. A dead ddbfs mount at that place is cleared first. Calls `on_end` once the session
/// has ended, by a signal or by another program that unmounts.
///
/// # Errors
/// The directory does not exist, has a mount or files, or contains the data; the kernel refuses.
pub fn mount(
    options: &MountOptions,
    view: View,
    on_end: impl FnOnce() + Send + 'static,
) -> io::Result<Mounted> {
    let mountpoint = mountpoint::prepare(
        &options.mountpoint,
        options.data.as_deref(),
        options.nonempty,
    )?;
    // Mounted from here on; requests wait in the kernel until the session runs.
    let shell = Shell::new(view.clone(), options);
    let replies = Arc::clone(&shell.device);
    let mut session = Session::new(shell, &mountpoint, &config(options))?;
    let device = File::from(session.as_fd().try_clone_to_owned()?);
    let _ = replies.set(device.try_clone()?);
    let notifier = Arc::new(Notifier::new(device.try_clone()?, options.notify_timeout)?);
    let of_store = Arc::clone(&notifier);
    let kernel = KernelConnection {
        ttl: notifier.ttl(),
        notify: Arc::new(move |invalidations, wait, result, then| {
            notifier.invalidate(invalidations, wait, result, then)
        }),
        store: Arc::new(move |ino, bytes: &[u8]| of_store.store(ino, bytes)),
    };
    view.kernel_cache()
        .set_mounted(kernel, mountpoint::bdi_path(&mountpoint));
    let unmounter = Mutex::new(session.unmount_callable());
    let session = std::thread::Builder::new()
        .name("ddbfs-fuse".to_owned())
        .spawn(move || {
            let result = session.run();
            on_end();
            unmount_result(result)
        })?;
    if !options.no_cache
        && let Err(error) = view.kernel_cache().hold_lease()
    {
        log::warn!("the kernel cache is off: {error}");
    }
    Ok(Mounted {
        view,
        device,
        mountpoint,
        unmounter,
        session: Some(session),
    })
}

/// Maps the end by an unmount to `Ok`. An event thread that had just taken a request when the mount
/// ended reads ECONNABORTED instead of ENODEV (`fuse_dev_do_read` in Linux), which fuser returns as
/// an error.
fn unmount_result(session_result: io::Result<()>) -> io::Result<()> {
    match session_result {
        Err(error) if error.raw_os_error() == Some(libc::ECONNABORTED) => Ok(()),
        session_result => session_result,
    }
}

/// Builds fuser's configuration. Access is for the owner only (the kernel's default), without
/// `default_permissions`: it costs a request at every create and unlink, and answers EACCES for
/// derived files where the view answers EROFS with a reason. With `allow_other`, it keeps other
/// users from writing.
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
    // Event threads read from one device, to which `direntplus` replies.
    config.clone_fd = false;
    config
}

impl Mounted {
    /// Returns the absolute path of the mountpoint.
    #[must_use]
    pub fn mountpoint(&self) -> &Path {
        &self.mountpoint
    }

    /// Returns the device of the mount, by which the kernel gets replies and notifications.
    #[must_use]
    pub fn device(&self) -> &File {
        &self.device
    }

    /// Returns the mounted view.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Unmounts, waits up to `timeout` for the programs that still use the mount, and ends the
    /// view. Files that programs keep open fail from then on.
    ///
    /// # Errors
    /// The kernel refuses the unmount, and the mount stays.
    pub fn unmount(mut self, timeout: Duration) -> io::Result<()> {
        self.finish(timeout)
    }

    fn finish(&mut self, timeout: Duration) -> io::Result<()> {
        let Some(session) = self.session.take() else {
            return Ok(());
        };
        // Ended first, because the programs of waiting calls would hold the mount forever.
        self.view.end_waiting();
        self.view.kernel_cache().stop();
        if !session.is_finished()
            && let Err(error) = self.unmounter.lock().unmount()
        {
            log::info!("{}: {error}; detaching it", self.mountpoint.display());
            mountpoint::detach(&self.mountpoint)?;
        }
        let deadline = Instant::now() + timeout;
        while !session.is_finished() && Instant::now() < deadline {
            std::thread::sleep(POLL_INTERVAL);
        }
        let ended = if session.is_finished() {
            session
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the FUSE session failed")))
        } else {
            log::warn!("{}: programs still use it", self.mountpoint.display());
            Ok(())
        };
        self.view.kernel_cache().unmounted();
        // Last: it executes the deferred deletes, and a request still on its way may defer another.
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
        let ended = |errno| {
            unmount_result(Err(io::Error::from_raw_os_error(errno)))
                .map_err(|error| error.raw_os_error())
        };
        assert_eq!(ended(libc::ECONNABORTED), Ok(()));
        assert_eq!(ended(libc::EIO), Err(Some(libc::EIO)));
    }
}
