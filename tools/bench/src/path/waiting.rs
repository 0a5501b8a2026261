//! Packets that wait: for their session's bit rate, or for idle UEs to be paged.

use super::testbed::Testbed;
use super::topology::number_of;
use crate::Failure;
use crate::measure::{Lap, Stopwatch};
use sluice_datapath::drop::DropReason;
use sluice_port::Packet;
use std::time::{Duration, Instant};

/// UEs that are paged at a time.
const PAGED: usize = 1_024;
/// Requests of the SMF at a time.
const WINDOW: usize = 256;
/// Turns after which whatever waits must have left: a second of idle ones.
const TURNS_MAX: usize = 1_000_000;

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

    /// Checks that the missing packets are those that shaping dropped.
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
pub fn page<P: Packet>(testbed: &mut Testbed<P>, lasts: Duration) -> Result<Lap, Failure> {
    let before = testbed.returned();
    let batch = PAGED.min(testbed.flows.len());
    let (began, mut spent) = (Instant::now(), Lap::default());
    testbed.allow([0; 2]);
    while began.elapsed() < lasts {
        let next = testbed.worker.io().downlink.next_flows().take(batch);
        let sessions: Vec<u32> = next.map(|flow| number_of(flow.gnb_teid)).collect();
        change(testbed, &sessions, true)?;
        let watch = Stopwatch::start();
        let held = testbed.ledger().held + batch as u64;
        testbed.allow([0, batch]);
        while testbed.worker_turn() > 0 {}
        spent.add(watch.lap(0));
        if testbed.ledger().held != held {
            return Err(format!(
                "{held} packets should be held: {}",
                testbed.ledger()
            ));
        }
        hear(testbed, batch as u64)?;
        spent.add(change(testbed, &sessions, false)?);
        if testbed.ledger().held + batch as u64 != held {
            return Err(format!("packets are still held: {}", testbed.ledger()));
        }
    }
    testbed.allow([usize::MAX; 2]);
    Ok(Lap {
        packets: (testbed.returned() - before) as f64,
        ..spent
    })
}

/// The SMF is told of so many UEs.
fn hear<P: Packet>(testbed: &mut Testbed<P>, pages: u64) -> Result<(), Failure> {
    let until = testbed.reports + pages;
    for _ in 0..TURNS_MAX {
        if testbed.reports >= until {
            return Ok(());
        }
        testbed.core_turn();
        testbed.worker_turn();
    }
    Err(format!(
        "the SMF was told of {} UEs of {until}",
        testbed.reports
    ))
}

/// The SMF makes these UEs idle, or brings them back. Gives the worker's time for it.
fn change<P: Packet>(
    testbed: &mut Testbed<P>,
    sessions: &[u32],
    idle: bool,
) -> Result<Lap, Failure> {
    let mut took = Lap::default();
    for window in sessions.chunks(WINDOW) {
        testbed.ask_for_changes(window, idle)?;
        while testbed.is_changing() {
            let watch = Stopwatch::start();
            while testbed.worker_turn() > 0 {}
            took.add(watch.lap(0));
            testbed.core_turn();
        }
    }
    Ok(took)
}
