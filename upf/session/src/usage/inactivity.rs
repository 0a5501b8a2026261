//! User plane inactivity of sessions (TS 29.244, 5.11): no packet for as long as the CP function says, told once
//! until packets come again.
//!
//! As with the [clocks](crate::usage::clock) of URRs the path tells of packets when usage is taken: at the time at which a
//! session may have been idle for long enough usage is taken, and then the last packet is known.

use crate::index::slab::Slab;
use sluice_datapath::session::usage_record::AwaitsPacket;

const NS_PER_S: u64 = 1_000_000_000;

/// The timer of a session, in whole monotonic seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InactivityTimer {
    timer_s: u32,
    /// The last packet, or the message that set the timer.
    last_s: u32,
    /// It was found idle.
    is_idle: bool,
}

impl InactivityTimer {
    /// Begins now.
    pub fn new(timer_s: u32, now_s: u32) -> Self {
        Self {
            timer_s,
            last_s: now_s,
            is_idle: false,
        }
    }

    fn idle_s(&self) -> u32 {
        self.last_s.saturating_add(self.timer_s)
    }

    /// When usage is to be taken next.
    pub fn next_look_s(&self) -> Option<u32> {
        (!self.is_idle).then_some(self.idle_s())
    }

    /// Packets left since usage was taken before, the last then, in nanoseconds; 0 is none.
    pub fn packets_left(&mut self, last_ns: u64) {
        if last_ns != 0 {
            let last_s = (last_ns / NS_PER_S) as u32;
            (self.last_s, self.is_idle) = (self.last_s.max(last_s), false);
        }
    }

    /// All packets until then are known. True if the session has become idle.
    pub fn seen(&mut self, until_s: u32) -> bool {
        let becomes_idle = !self.is_idle && self.idle_s() <= until_s;
        self.is_idle |= becomes_idle;
        becomes_idle
    }

    /// True if it was found idle, and no packet came since.
    pub fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// Whether the control core is to be told of the next packet after usage is taken now.
    pub fn awaits_packet(&self, now_s: u32) -> AwaitsPacket {
        let idle_since_s = now_s.checked_sub(self.timer_s);
        AwaitsPacket {
            if_none: self.is_idle || self.idle_s() <= now_s,
            before_ns: idle_since_s.map_or(0, |s| (u64::from(s) + 1) * NS_PER_S),
        }
    }
}

/// The timers of all sessions that have one.
#[derive(Debug)]
pub struct InactivityTimers {
    timers: Slab<InactivityTimer>,
    /// By place of the session: its timer and 1, or 0. Touched only for sessions with one.
    of_session: Vec<u32>,
}

impl InactivityTimers {
    /// For so many places of sessions.
    pub fn new(sessions: usize) -> Self {
        Self {
            timers: Slab::new(sessions),
            of_session: vec![0; sessions],
        }
    }

    /// Timers that run, or have found their session idle.
    pub fn used(&self) -> usize {
        self.timers.used()
    }

    fn at(&self, session: u32) -> Option<u32> {
        self.of_session.get(session as usize)?.checked_sub(1)
    }

    /// The timer of the session in a place.
    pub fn get(&self, session: u32) -> Option<&InactivityTimer> {
        self.timers.get(self.at(session)?)
    }

    /// The same.
    pub fn get_mut(&mut self, session: u32) -> Option<&mut InactivityTimer> {
        let at = self.at(session)?;
        self.timers.get_mut(at)
    }

    /// The session in a place has this timer from now on, or none.
    pub fn set(&mut self, session: u32, timer: Option<InactivityTimer>) {
        if let Some(at) = self.at(session) {
            self.timers.remove(at);
        }
        // There are as many timers as places.
        let at = timer.and_then(|timer| self.timers.insert(timer));
        let place = at.map_or(0, |at| at + 1);
        if let Some(of_session) = self.of_session.get_mut(session as usize)
            && *of_session != place
        {
            *of_session = place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_idle_once_until_a_packet_comes() {
        let at = |s: u64| s * NS_PER_S + 7;
        let mut timers = InactivityTimers::new(2);
        timers.set(1, Some(InactivityTimer::new(10, 100)));
        assert_eq!((timers.get(0), timers.used()), (None, 1));
        let timer = timers.get_mut(1).unwrap();
        assert_eq!(timer.next_look_s(), Some(110));
        assert!(!timer.awaits_packet(109).if_none && timer.awaits_packet(110).if_none);
        assert_eq!(timer.awaits_packet(110).before_ns, 101 * NS_PER_S);
        timer.packets_left(at(104));
        assert!(!timer.seen(110));
        assert_eq!(timer.next_look_s(), Some(114));
        assert!(timer.seen(114) && timer.is_idle() && !timer.seen(200));
        assert_eq!(timer.next_look_s(), None);
        timer.packets_left(0);
        assert!(timer.is_idle() && timer.awaits_packet(200).if_none);
        timer.packets_left(at(201));
        assert!(!timer.is_idle() && timer.seen(211));
        timers.set(1, None);
        timers.set(7, Some(InactivityTimer::new(1, 1)));
        assert_eq!(timers.get(1), None);
    }
}
