//! The UP function: PFCP requests of two CP functions and of strangers, with transactions that
//! come back late. When all is deleted, everything is free again.

mod path;
mod rig;

use crate::script::{Step, steps};
use rig::Rig;
use std::net::Ipv4Addr;

/// Bits of a step's kind beside what happens (its low four bits).
mod flag {
    /// The header's SEID becomes that of a session, chosen by the two highest bits.
    pub const KNOWN_SEID: u8 = 0x10;
    /// Transactions come back only after the next step.
    pub const HOLD: u8 = 0x20;
}

/// A script of datagrams, completions, reports and time.
pub fn session_machine(data: &[u8]) {
    let mut rig = Rig::new();
    for step in steps(data) {
        rig.pass(step.wait_ns());
        happen(&mut rig, &step);
        if step.kind & flag::HOLD == 0 {
            rig.complete_all();
        }
        rig.check();
    }
    rig.close();
}

fn happen(rig: &mut Rig, step: &Step<'_>) {
    match step.kind & 0x0f {
        from @ 0..=2 => rig.datagram(from, &with_seid(rig, step)),
        3 => (0..step.octet(0)).for_each(|i| rig.complete_one(usize::from(step.octet(1) ^ i))),
        4 => rig.answer_reports(step.octet(0)),
        5 => {
            let words = step.bytes.as_chunks::<4>().0;
            let word = |at: usize| words.get(at).copied().map(u32::from_be_bytes);
            let peer = word(1).map_or(Ipv4Addr::new(192, 0, 2, 50), Ipv4Addr::from);
            rig.error_indication(peer, word(0).unwrap_or(0x0d01));
        }
        6 => rig.query(step.octet(0)),
        7 => rig.begin_release(step.octet(0)),
        _ => {}
    }
}

/// The step's datagram, for a session that exists where the step wants that.
fn with_seid(rig: &Rig, step: &Step<'_>) -> Vec<u8> {
    let mut bytes = step.bytes.to_vec();
    let seids = rig.seids();
    let which = usize::from(step.kind >> 6) % seids.len().max(1);
    let wanted = seids
        .get(which)
        .filter(|_| step.kind & flag::KNOWN_SEID != 0);
    if let (Some(seid), Some(place)) = (wanted, bytes.get_mut(4..12)) {
        place.copy_from_slice(&seid.to_be_bytes());
    }
    bytes
}
