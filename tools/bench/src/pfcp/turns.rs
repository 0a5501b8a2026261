//! Turns of the measured control loop, and their cost.

use super::clock::Away;
use super::load::Lap;
use super::n4_transport::Door;
use sluice_control::core::{Env, UpfControl};
use sluice_host::clock;
use sluice_port::Packet;
use sluice_testbed::upf::time;
use sluice_upf_daemon::control::{TURNS_BEFORE_REST, WAIT_BUSY};
use std::sync::atomic::{AtomicBool, Ordering};

/// Cost of a lap for the N4 loop.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Time in turns that had something to do, in nanoseconds.
    pub busy_ns: u64,
    pub busy_turns: u64,
    /// CPU time of its thread.
    pub cpu_ns: u64,
    pub wall_ns: u64,
    /// Lap, as the generator saw it.
    pub lap: Lap,
}

/// A turn of the daemon's loop (`upf::control`), without what has no part in N4. Returns how many
/// messages, and transactions that came back, it dealt with.
pub fn turn<P: Packet, D: Door<Around: Env<Packet = P>>>(
    core: &mut UpfControl<P>,
    door: &mut D,
) -> usize {
    let now = time();
    let mut work = door.receive(|datagrams, around| core.datagrams(now, datagrams, around));
    work += core.turn(now, door.around());
    door.flush();
    while core.up.next_event().is_some() {}
    work
}

/// The same, and the daemon's rest behind some turns without work.
pub fn turn_or_rest<P: Packet, D: Door<Around: Env<Packet = P>>>(
    core: &mut UpfControl<P>,
    door: &mut D,
    idle_turns: &mut u32,
) -> usize {
    let work = turn(core, door);
    *idle_turns = if work > 0 { 0 } else { *idle_turns + 1 };
    if *idle_turns >= TURNS_BEFORE_REST {
        core.end().sleep(WAIT_BUSY);
    }
    work
}

/// Turns until the generator is done.
pub fn spend((done, away): (&AtomicBool, &Away), mut turn: impl FnMut() -> usize) -> Spent {
    let (mut busy_ns, mut busy_turns) = (0, 0);
    let (began_ns, cpu_ns) = (clock::monotonic_ns(), clock::thread_cpu_ns());
    let mut from_ns = began_ns;
    while !done.load(Ordering::Acquire) {
        let work = turn();
        let now_ns = clock::monotonic_ns();
        away.note(now_ns - from_ns, work);
        if work > 0 {
            busy_ns += now_ns - from_ns;
            busy_turns += 1;
        }
        from_ns = now_ns;
    }
    Spent {
        busy_ns,
        busy_turns,
        cpu_ns: clock::thread_cpu_ns() - cpu_ns,
        wall_ns: clock::monotonic_ns() - began_ns,
        lap: Lap::default(),
    }
}
