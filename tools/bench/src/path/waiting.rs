//! Packets that wait: for their session's bit rate, in time that packets themselves tell, or for idle UEs to be paged.

use super::measure::Lap;
use super::testbed::{Failure, Testbed};
use super::topology::number_of;
use sluice_datapath::drop::DropReason;
use sluice_datapath::session::token_bucket::{Lead, Shaping};
use sluice_host::clock;
use sluice_port::Packet;
use std::time::{Duration, Instant};

/// From one packet of a direction to the next, as the path is told: so the share of packets that wait, and of those
/// that are dropped, is the machine's in no part.
const PACKET_NS: u64 = 64;
/// Of a turn in which none came.
const IDLE_TURN_NS: u64 = 10_000;
/// One session in so many sends more than its rate.
const ONE_IN: u32 = 10;
/// Its rate by what it sends, in percent.
const RATE_PERCENT: u64 = 80;
/// Octets of a packet that rates count.
const COUNTED_BITS: u64 = 8 * super::traffic::INNER_LEN as u64;
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
/// UEs that are paged at a time.
const PAGED: usize = 1_024;
/// Requests of the SMF at a time.
const WINDOW: usize = 256;
/// Turns after which whatever waits must have left: a second of idle ones.
const TURNS_MAX: usize = 1_000_000;

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
    /// From now on.
    pub fn start() -> Self {
        Self {
            now_ns: clock::monotonic_ns(),
            received: 0,
        }
    }

    /// So many packets were received until now, in so many directions at once.
    pub fn tick(&mut self, received: u64, directions: usize) {
        let came = received - core::mem::replace(&mut self.received, received);
        self.now_ns += match came {
            0 => IDLE_TURN_NS,
            came => came * PACKET_NS / directions.max(1) as u64,
        };
    }
}

impl<P: Packet> Testbed<P> {
    /// Lets all leave that waits; nothing comes in meanwhile.
    pub fn drain(&mut self) -> Result<(), Failure> {
        let allowed = self.worker.io().fifos().map(|fifo| fifo.allowed());
        self.allow([0; 2]);
        let mut turns = 0;
        while self.turn() > 0 || self.ledger().held > 0 {
            turns += 1;
            if turns > TURNS_MAX {
                return Err(format!("packets wait for ever: {}", self.ledger()));
            }
        }
        self.allow(allowed);
        Ok(())
    }

    fn allow(&mut self, packets: [usize; 2]) {
        let fifos = self.worker.io().fifos().into_iter();
        fifos.zip(packets).for_each(|(fifo, n)| fifo.allow(n));
    }

    /// What did not come back must be what shaping dropped.
    pub fn lost_as_told(&mut self) -> Result<(), Failure> {
        let missing: usize = self.worker.io().fifos().map(|f| f.under_way()).iter().sum();
        let ledger = self.ledger();
        let shaped = [DropReason::ShapingDelay, DropReason::ShapingFull];
        let shaped: u64 = shaped.map(|reason| ledger.dropped_for(reason)).iter().sum();
        match ledger.dropped_total() == shaped && missing as u64 == shaped {
            true => Ok(()),
            false => Err(format!("{missing} packets did not come back: {ledger}")),
        }
    }
}

/// Pages UEs for so long: the worker's time for packets that it holds and lets go, with the changes of rules that
/// tell it to; not the SMF's time, nor that of the control core.
pub fn page<P: Packet>(world: &mut Testbed<P>, lasts: Duration) -> Result<Lap, Failure> {
    let before = world.returned();
    let batch = PAGED.min(world.flows.len());
    let (began, mut cpu_ns) = (Instant::now(), 0);
    let mut wall_ns = 0;
    world.allow([0; 2]);
    while began.elapsed() < lasts {
        let next = world.worker.io().downlink.next_flows().take(batch);
        let sessions: Vec<u32> = next.map(|flow| number_of(flow.gnb_teid)).collect();
        change(world, &sessions, true)?;
        let lap = (clock::thread_cpu_ns(), Instant::now());
        let held = world.ledger().held + batch as u64;
        world.allow([0, batch]);
        while world.worker_turn() > 0 {}
        cpu_ns += clock::thread_cpu_ns() - lap.0;
        wall_ns += lap.1.elapsed().as_nanos() as u64;
        if world.ledger().held != held {
            return Err(format!("{held} packets should be held: {}", world.ledger()));
        }
        hear(world, batch as u64)?;
        let lap = change(world, &sessions, false)?;
        (cpu_ns, wall_ns) = (cpu_ns + lap.0, wall_ns + lap.1);
        if world.ledger().held + batch as u64 != held {
            return Err(format!("packets are still held: {}", world.ledger()));
        }
    }
    world.allow([usize::MAX; 2]);
    Ok(Lap {
        cpu_ns: cpu_ns as f64,
        wall_ns: wall_ns as f64,
        packets: (world.returned() - before) as f64,
    })
}

/// The SMF is told of so many UEs.
fn hear<P: Packet>(world: &mut Testbed<P>, pages: u64) -> Result<(), Failure> {
    let until = world.reports + pages;
    for _ in 0..TURNS_MAX {
        if world.reports >= until {
            return Ok(());
        }
        world.core_turn();
        world.worker_turn();
    }
    Err(format!(
        "the SMF was told of {} UEs of {until}",
        world.reports
    ))
}

/// The SMF makes these UEs idle, or brings them back. Gives the worker's time for it, of the CPU and of the wall.
fn change<P: Packet>(
    world: &mut Testbed<P>,
    sessions: &[u32],
    idle: bool,
) -> Result<(u64, u64), Failure> {
    let mut took = (0, 0);
    for window in sessions.chunks(WINDOW) {
        world.ask_for_changes(window, idle)?;
        while world.is_changing() {
            let lap = (clock::thread_cpu_ns(), Instant::now());
            while world.worker_turn() > 0 {}
            took.0 += clock::thread_cpu_ns() - lap.0;
            took.1 += lap.1.elapsed().as_nanos() as u64;
            world.core_turn();
        }
    }
    Ok(took)
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
