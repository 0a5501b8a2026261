//! Messages of a UE as octets, for `sluice ctl trace IMSI`: N1 without its protection, N2 and N4.
//!
//! Whoever follows asks again and again, and gets what has come meanwhile. It ends when that is said, or
//! when nobody has asked for a while.

use serde_json::{Value, json};
use sluice_ids::Supi;
use sluice_program::control::refusal;
use sluice_sbi::{Followed, ReferencePoint, TracedMessage};
use sluice_wiring::Core;
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Nobody has asked for so long: nobody follows any more.
const LAPSE: Duration = Duration::from_secs(30);
/// Messages that are kept for the next question.
const KEPT: usize = 65_536;
/// Messages of one answer: some megabytes.
const TAKEN: usize = 4096;

/// Who is followed, and what is known of it.
struct Trace {
    /// None: all UEs.
    supi: Option<Supi>,
    /// The AMF's numbers of it.
    numbers: BTreeSet<u64>,
    seen: VecDeque<(u64, TracedMessage)>,
    lost: u64,
    asked: Instant,
}

impl Trace {
    fn of(supi: Option<Supi>) -> Self {
        Self {
            supi,
            numbers: BTreeSet::new(),
            seen: VecDeque::new(),
            lost: 0,
            asked: Instant::now(),
        }
    }

    /// One more message; the oldest goes where there is no room.
    fn add(&mut self, unix_us: u64, seen: TracedMessage) {
        if self.supi.is_some() && seen.supi == self.supi {
            self.numbers.extend(seen.ue);
        }
        if self.is_anothers(&seen) {
            return;
        }
        if self.seen.len() >= KEPT {
            self.seen.pop_front();
            self.lost += 1;
        }
        self.seen.push_back((unix_us, seen));
    }

    fn is_anothers(&self, seen: &TracedMessage) -> bool {
        self.supi.is_some() && seen.supi.is_some() && seen.supi != self.supi
    }

    /// What is its own, also of when nobody knew that it was it. What is nobody's yet waits.
    fn take(&mut self) -> Vec<(u64, TracedMessage)> {
        let (supi, numbers) = (self.supi, &self.numbers);
        let is_its = |(_, seen): &(u64, TracedMessage)| {
            let is_named = seen.ue.is_some_and(|ue| numbers.contains(&ue));
            supi.is_none() || seen.supi == supi || is_named
        };
        let mut taken = Vec::new();
        let mut others = VecDeque::new();
        while let Some(one) = self.seen.pop_front() {
            match is_its(&one) && taken.len() < TAKEN {
                true => taken.push(one),
                false => others.push_back(one),
            }
        }
        self.seen = others;
        taken
    }
}

/// Now, as times of messages are told.
pub(crate) fn unix_us() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_micros() as u64)
}

/// The trace, while somebody follows.
#[derive(Default)]
pub(crate) struct Tracing(Option<Trace>);

impl Tracing {
    /// Takes what the core has seen since the last turn.
    pub fn turn(&mut self, core: &mut Core) {
        let Some(trace) = &mut self.0 else {
            return;
        };
        let now_us = unix_us();
        for seen in core.take_traced_messages() {
            trace.add(now_us, seen);
        }
        if trace.asked.elapsed() >= LAPSE {
            self.end(core);
        }
    }

    /// A message that another program has seen.
    pub fn add(&mut self, unix_us: u64, seen: TracedMessage) {
        if let Some(trace) = &mut self.0 {
            trace.add(unix_us, seen);
        }
    }

    fn end(&mut self, core: &mut Core) {
        self.0 = None;
        core.follow_ues(Followed::Nobody);
    }

    /// Messages of the UE since the last question; the first one begins it.
    pub fn answer(&mut self, core: &mut Core, supi: Option<Supi>, ends: bool) -> Value {
        self.turn(core);
        if self.0.as_ref().is_some_and(|trace| trace.supi != supi) {
            let what = "another UE is followed; that ends when nobody has asked for 30 s";
            return refusal("busy", what);
        }
        if self.0.is_none() {
            core.follow_ues(supi.map_or(Followed::All, Followed::One));
        }
        let trace = self.0.get_or_insert_with(|| Trace::of(supi));
        trace.asked = Instant::now();
        let messages: Vec<Value> = trace.take().iter().map(object).collect();
        let lost = trace.lost;
        if ends {
            self.end(core);
        }
        let imsi = supi.map(|supi| supi.imsi().to_owned());
        json!({ "imsi": imsi, "messages": messages, "lost": lost })
    }
}

fn object((unix_us, seen): &(u64, TracedMessage)) -> Value {
    let at = match seen.at {
        ReferencePoint::N1 => "N1",
        ReferencePoint::N2 => "N2",
        ReferencePoint::N4 => "N4",
    };
    let mut hex = String::with_capacity(2 * seen.octets.len());
    for octet in &seen.octets {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{octet:02x}");
    }
    json!({
        "unix_us": unix_us,
        "at": at,
        "received": seen.is_received,
        "imsi": seen.supi.map(|supi| supi.imsi().to_owned()),
        "hex": hex,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(supi: Option<&str>, ue: Option<u64>, octet: u8) -> TracedMessage {
        TracedMessage {
            at: ReferencePoint::N1,
            is_received: true,
            supi: supi.and_then(Supi::from_imsi),
            ue,
            octets: vec![octet],
        }
    }

    fn octets(trace: &mut Trace) -> Vec<u8> {
        let taken = trace.take();
        taken.iter().map(|(_, seen)| seen.octets[0]).collect()
    }

    #[test]
    fn what_came_before_the_ue_was_known_waits_until_it_is() {
        let (one, other) = ("001010000000001", "001010000000002");
        let mut trace = Trace::of(Supi::from_imsi(one));
        trace.add(1, seen(None, Some(7), 1));
        trace.add(2, seen(None, Some(8), 2));
        assert_eq!(octets(&mut trace), [0; 0]);
        trace.add(3, seen(Some(one), Some(7), 3));
        trace.add(4, seen(Some(other), Some(8), 4));
        trace.add(5, seen(Some(one), None, 5));
        assert_eq!(octets(&mut trace), [1, 3, 5]);
        let mut all = Trace::of(None);
        all.add(1, seen(None, Some(8), 1));
        all.add(2, seen(Some(other), None, 2));
        assert_eq!(octets(&mut all), [1, 2]);
    }

    #[test]
    fn the_oldest_goes_where_there_is_no_room() {
        let mut trace = Trace::of(None);
        for _ in 0..KEPT + 2 {
            trace.add(1, seen(None, None, 1));
        }
        assert_eq!((trace.seen.len(), trace.lost), (KEPT, 2));
        assert_eq!((trace.take().len(), trace.take().len()), (TAKEN, TAKEN));
    }
}
