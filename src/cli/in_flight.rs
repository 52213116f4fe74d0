//! Bounds the writes on their way, in number and in bytes.

use parking_lot::{Condvar, Mutex};

/// A gate that writes enter when they are queued and leave when they have ended.
#[derive(Debug)]
pub struct InFlight {
    writes_max: usize,
    bytes_max: usize,
    now: Mutex<Now>,
    left: Condvar,
}

#[derive(Debug, Default, Clone, Copy)]
struct Now {
    writes: usize,
    bytes: usize,
}

impl InFlight {
    pub fn new(writes_max: usize, bytes_max: usize) -> Self {
        Self { writes_max, bytes_max, now: Mutex::default(), left: Condvar::new() }
    }

    /// Waits until there is room. One write alone always has.
    pub fn enter(&self, bytes: usize) {
        let full = |now: &mut Now| now.writes > 0 && (now.writes >= self.writes_max || now.bytes + bytes > self.bytes_max);
        let mut now = self.now.lock();
        self.left.wait_while(&mut now, full);
        now.writes += 1;
        now.bytes += bytes;
    }

    /// A write of so many bytes ended.
    pub fn leave(&self, bytes: usize) {
        let mut now = self.now.lock();
        now.writes = now.writes.saturating_sub(1);
        now.bytes = now.bytes.saturating_sub(bytes);
        self.left.notify_all();
    }

    /// Waits until every write has ended.
    pub fn wait_for_all(&self) {
        self.left.wait_while(&mut self.now.lock(), |now| now.writes > 0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    #[test]
    fn a_write_waits_for_room_in_number_and_in_bytes() {
        for (writes_max, bytes_max) in [(2, 100), (100, 20)] {
            let in_flight = Arc::new(InFlight::new(writes_max, bytes_max));
            in_flight.enter(10);
            in_flight.enter(10);
            let (sender, receiver) = channel();
            let other = Arc::clone(&in_flight);
            let waiting = thread::spawn(move || {
                other.enter(10);
                sender.send(()).unwrap();
            });
            assert!(receiver.recv_timeout(std::time::Duration::from_millis(20)).is_err());
            in_flight.leave(10);
            waiting.join().unwrap();
            in_flight.leave(10);
            in_flight.leave(10);
            in_flight.wait_for_all();
        }
    }

    #[test]
    fn a_write_larger_than_the_room_goes_alone() {
        let in_flight = InFlight::new(10, 20);
        in_flight.enter(1_000);
        in_flight.leave(1_000);
        in_flight.wait_for_all();
    }
}
