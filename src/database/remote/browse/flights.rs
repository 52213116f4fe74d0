//! One request in flight for one thing: who asks for the same waits for its answer.

use crate::database::prelude::*;
use std::collections::HashMap;
use std::hash::Hash;

use parking_lot::Condvar;

use crate::database::caller::{self, SLICE};

type Answer<V> = Result<V, Error>;

#[derive(Debug)]
pub struct Flight<V> {
    answer: Mutex<Option<Answer<V>>>,
    landed: Condvar,
}

/// See the module.
#[derive(Debug)]
pub struct Flights<K, V>(Arc<Mutex<HashMap<K, Arc<Flight<V>>>>>);

impl<K, V> Default for Flights<K, V> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

/// A request in flight. Ends with this, also when it panics: nobody waits for ever.
pub struct Landing<K: Eq + Hash, V> {
    flights: Flights<K, V>,
    key: K,
    flight: Arc<Flight<V>>,
}

impl<K: Eq + Hash, V> Landing<K, V> {
    /// This is its answer.
    pub fn land(self, answer: Answer<V>) {
        *self.flight.answer.lock() = Some(answer);
    }
}

impl<K: Eq + Hash, V> Drop for Landing<K, V> {
    fn drop(&mut self) {
        self.flights.end(&self.key, &self.flight);
        // Without one, whoever waits asks anew.
        self.flight.answer.lock().get_or_insert(Err(Error::Interrupted));
        self.flight.landed.notify_all();
    }
}

impl<V: Clone> Flight<V> {
    /// Its answer, as long as somebody wants it.
    fn wait(&self) -> Answer<V> {
        let mut answer = self.answer.lock();
        loop {
            if let Some(answer) = &*answer {
                return answer.clone();
            }
            if self.landed.wait_for(&mut answer, SLICE).timed_out() && !caller::is_waiting() {
                return Err(Error::Interrupted);
            }
        }
    }
}

impl<K: Eq + Hash, V> Flights<K, V> {
    /// It is over. One that was let go of may have been followed by another.
    fn end(&self, key: &K, flight: &Arc<Flight<V>>) {
        let mut flights = self.0.lock();
        if flights.get(key).is_some_and(|of_key| Arc::ptr_eq(of_key, flight)) {
            flights.remove(key);
        }
    }
}

impl<K: Eq + Hash + Clone, V: Clone> Flights<K, V> {
    /// The answer of the request in flight for `key`, else of `ask`. No lock is held while it is under way.
    pub fn run(&self, key: &K, ask: impl FnOnce() -> Answer<V>) -> Answer<V> {
        loop {
            let flight = match self.begin(key) {
                Err(flight) => flight,
                Ok(landing) => {
                    let answer = ask();
                    landing.land(answer.clone());
                    return answer;
                }
            };
            match flight.wait() {
                // Who asked was interrupted, which is nothing to who waits.
                Err(Error::Interrupted) if caller::is_waiting() => self.end(key, &flight),
                answer => return answer,
            }
        }
    }

    /// A request for `key`, that whoever asks waits for from now on.
    ///
    /// # Errors
    /// The one in flight already.
    pub fn begin(&self, key: &K) -> Result<Landing<K, V>, Arc<Flight<V>>> {
        let mut flights = self.0.lock();
        if let Some(flight) = flights.get(key) {
            return Err(Arc::clone(flight));
        }
        let flight = Arc::new(Flight { answer: Mutex::new(None), landed: Condvar::new() });
        flights.insert(key.clone(), Arc::clone(&flight));
        Ok(Landing { flights: Self(Arc::clone(&self.0)), key: key.clone(), flight })
    }

    /// Who asks for `key` from now on does not wait for a request that is in flight already.
    pub fn let_go(&self, key: &K) {
        self.0.lock().remove(key);
    }

    /// The same of all keys that are meant.
    pub fn let_go_of(&self, is_meant: impl Fn(&K) -> bool) {
        self.0.lock().retain(|key, _| !is_meant(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn who_asks_meanwhile_waits_for_the_same_answer_and_later_ones_do_not() {
        let flights = Arc::new(Flights::<u8, u32>::default());
        let ((began, has_begun), (end, ends)) = (channel(), channel::<()>());
        let of_first = Arc::clone(&flights);
        let first = std::thread::spawn(move || {
            of_first.run(&1, || {
                began.send(()).unwrap();
                ends.recv().unwrap();
                Ok(7)
            })
        });
        has_begun.recv().unwrap();
        let of_second = Arc::clone(&flights);
        let second = std::thread::spawn(move || of_second.run(&1, || panic!("a second request")));
        // Of another key, and after it was let go of, there is another request.
        assert_eq!(flights.run(&2, || Ok(8)), Ok(8));
        while Arc::strong_count(flights.0.lock().get(&1).unwrap()) < 3 {
            std::thread::yield_now();
        }
        flights.let_go(&1);
        assert_eq!(flights.run(&1, || Ok(9)), Ok(9));
        end.send(()).unwrap();
        assert_eq!((first.join().unwrap(), second.join().unwrap()), (Ok(7), Ok(7)));
    }

    #[test]
    fn a_request_that_panics_lets_the_next_one_begin() {
        let flights = Flights::<u8, u32>::default();
        let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| flights.run(&1, || panic!("a defect"))));
        assert!(panics.is_err());
        assert_eq!(flights.run(&1, || Ok(1)), Ok(1));
    }

    #[test]
    fn an_interrupt_is_of_who_asked_alone() {
        let flights = Flights::<u8, u32>::default();
        let landing = flights.begin(&1).ok().unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| flights.run(&1, || Ok(2)));
            let gives_up = scope.spawn(|| {
                let caller = caller::Releases::default().caller(0, |_| false);
                caller::work_for(Some(caller), || flights.run(&1, || panic!("a second request")))
            });
            assert_eq!(gives_up.join().unwrap(), Err(Error::Interrupted));
            landing.land(Err(Error::Interrupted));
            assert_eq!(waits.join().unwrap(), Ok(2));
        });
    }
}
