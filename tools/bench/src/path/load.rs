//! Load of sessions: how they stand to what comes to them, and time as packets tell it where they wait for bit rates.

use super::form::INNER_LEN;
use sluice_datapath::session::token_bucket::{Lead, Shaping};
use sluice_host::clock;

/// How sessions stand to what comes to them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Load {
    /// All may send as much as they do.
    Usual,
    /// One in ten sends more than its AMBR, which is shaped.
    AboveRate,
    /// All have this AMBR, which is shaped or policed.
    Limited { kbps: u64, is_shaped: bool },
    /// UEs are idle when packets come for them, and are paged.
    Idle,
}

/// From one packet of a direction to the next, as the path is told: so the share of packets that wait, and of those
/// that are dropped, is the machine's in no part.
const PACKET_NS: u64 = 64;
/// Of a turn in which none came.
const IDLE_TURN_NS: u64 = 10_000;
/// One session in so many sends more than its rate.
const ONE_IN: u32 = 10;
/// Bit rate of such a session, in percent of what it sends.
const RATE_PERCENT: u64 = 80;
/// Octets of a packet that rates count.
const COUNTED_BITS: u64 = 8 * INNER_LEN as u64;
const NS_PER_MS: u64 = 1_000_000;
/// Packets that wait at a time.
pub const PACKETS: u32 = 8_192;
/// As upf.yaml has it by default.
pub const SHAPING: Shaping = Shaping {
    burst: Lead::from_ns(10 * NS_PER_MS),
    delay: Lead::from_ns(100 * NS_PER_MS),
    session_packets: 1_024,
    worker_packets: PACKETS,
};
/// The AMBR of a session of so many, if it is one that sends more.
pub fn rate_kbps(index: u32, sessions: u32) -> Option<u64> {
    let sends_kbps = COUNTED_BITS * NS_PER_MS / (PACKET_NS * u64::from(sessions.max(1)));
    index
        .is_multiple_of(ONE_IN)
        .then(|| (sends_kbps * RATE_PERCENT / 100).max(1))
}

/// Time as packets tell it.
#[derive(Clone, Copy, Debug)]
pub struct PacketClock {
    pub now_ns: u64,
    received: u64,
}

impl PacketClock {
    pub fn start() -> Self {
        Self {
            now_ns: clock::monotonic_ns(),
            received: 0,
        }
    }

    /// Counts packets that were received in this number of directions.
    pub fn tick(&mut self, received: u64, directions: usize) {
        let came = received - core::mem::replace(&mut self.received, received);
        self.now_ns += match came {
            0 => IDLE_TURN_NS,
            came => came * PACKET_NS / directions.max(1) as u64,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_session_in_ten_has_four_fifths_of_what_it_sends() {
        let limited = (0..1_000).filter_map(|index| rate_kbps(index, 1_000));
        assert_eq!(limited.collect::<Vec<_>>(), [6_400; 100]);
        assert_eq!(rate_kbps(10, 1_000_000), Some(6));
    }

    #[test]
    fn packets_tell_the_time_and_idle_turns_do() {
        let mut clock = PacketClock::start();
        let began = clock.now_ns;
        clock.tick(100, 1);
        clock.tick(300, 2);
        assert_eq!(clock.now_ns - began, 100 * 64 + 100 * 64);
        clock.tick(300, 2);
        assert_eq!(clock.now_ns - began, 200 * 64 + 10_000);
    }
}
