//! Which places of a partition were asked for over the last minute or two: some at random, each unit of load as likely as another.
//!
//! A reservoir a minute (Chao, 1982), so that a count adds a few numbers, and seldom copies a place. The dice are the same each time.

use crate::model::layout::Load;

/// Places of one minute.
const PLACES: usize = 64;
const MINUTE_MS: u64 = 60_000;

/// See the module.
#[derive(Debug)]
pub struct Samples {
    now: Reservoir,
    before: Reservoir,
    counted: u64,
    dice: u64,
}

#[derive(Debug, Default)]
struct Reservoir {
    /// Since the epoch.
    minute: u64,
    weight: f64,
    /// With how many requests were counted before.
    places: Vec<(Box<[u8]>, u64)>,
}

/// A place, the load that it stands for, and its turn among all requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled {
    pub place: Box<[u8]>,
    pub weight: f64,
    pub turn: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Self { now: Reservoir::default(), before: Reservoir::default(), counted: 0, dice: 0x9E37_79B9_7F4A_7C15 }
    }
}

impl Samples {
    /// Counts a load on one of two places, either as likely.
    pub fn count(&mut self, between: (&[u8], &[u8]), now_ms: u64, load: &Load) {
        let weight = load.weight();
        if weight <= 0.0 {
            return;
        }
        let minute = now_ms / MINUTE_MS;
        if minute != self.now.minute {
            self.before = std::mem::replace(&mut self.now, Reservoir { minute, ..Reservoir::default() });
        }
        self.counted += 1;
        self.now.weight += weight;
        let dice = self.roll();
        let is_full = self.now.places.len() == PLACES;
        if is_full && unit(dice) * self.now.weight >= weight * PLACES as f64 {
            return;
        }
        let dice = self.roll();
        let place = if dice & 1 == 0 { between.0 } else { between.1 };
        let sample = (place.into(), self.counted);
        match self.now.places.get_mut(index(dice)).filter(|_| is_full) {
            Some(old) => *old = sample,
            None => self.now.places.push(sample),
        }
    }

    /// Those of this minute and of the one before.
    #[must_use]
    pub fn recent(&self, now_ms: u64) -> Vec<Sampled> {
        let minute = now_ms / MINUTE_MS;
        let recent = [&self.before, &self.now].into_iter().filter(|of| of.minute + 1 >= minute);
        let sampled = recent.flat_map(|of| {
            let weight = of.weight / of.places.len().max(1) as f64;
            of.places.iter().map(move |(place, turn)| Sampled { place: place.clone(), weight, turn: *turn })
        });
        sampled.collect()
    }

    /// Xorshift (Marsaglia, 2003).
    fn roll(&mut self) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice
    }
}

/// From 0 to below 1.
fn unit(dice: u64) -> f64 {
    (dice >> 11) as f64 / (1_u64 << 53) as f64
}

/// The lowest bit has chosen the place.
fn index(dice: u64) -> usize {
    usize::try_from((dice >> 1) % PLACES as u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_is_as_likely_as_another_and_two_minutes_are_looked_back_on() {
        let mut samples = Samples::default();
        let write = |units: f64| Load { write: units, ..Load::default() };
        for n in 0..30_000_u32 {
            let place = [u8::from(n % 3 == 0)];
            // A third of the requests has three quarters of the load.
            samples.count((&place, &place), u64::from(n) * 2, &write(if n % 3 == 0 { 6.0 } else { 1.0 }));
        }
        let recent = samples.recent(59_998);
        let weight =
            |of: &dyn Fn(&Sampled) -> bool| recent.iter().filter(|sample| of(sample)).map(|sample| sample.weight).sum::<f64>();
        assert_eq!((recent.len(), weight(&|_| true).round()), (PLACES, 240_000.0));
        let share = weight(&|sample| *sample.place == [1]) / weight(&|_| true);
        assert!((0.55..0.9).contains(&share), "{share}");
        // Early and late.
        assert!((0.3..0.7).contains(&(weight(&|sample| sample.turn > 15_000) / weight(&|_| true))));
        assert_eq!(samples.recent(119_000).len(), PLACES);
        assert_eq!(samples.recent(120_000), []);
    }
}
