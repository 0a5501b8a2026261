//! The packet path: real workers on simulated ports, with sessions of every kind, while frames,
//! transactions and new tables come in.

mod rig;
mod rules;

use super::checks::{g_pdu_payload, ip_in, udp_in};
use crate::script::{Step, steps};
use rig::Rig;
use sluice_datapath::session::txn::Usage;
use sluice_wire::ipv4::Ipv4;

/// A frame that the control core had sent begins with this EtherType (IEEE 802, local use).
const CONTROLS_OWN: [u8; 2] = [0x88, 0xb5];

/// Octet 0 shapes the rig; a script of frames, transactions, tables and time follows.
pub fn packet_path(data: &[u8]) {
    let (shape, script) = data.split_first().unwrap_or((&0, &[]));
    let mut rig = Rig::new(*shape);
    let mut total = Totals::default();
    for step in steps(script) {
        rig.pass(step.wait_ns());
        happen(&mut rig, &step, &mut total);
        if step.kind & 0x08 == 0 {
            rig.settle();
            total.see(&rig.take_output());
        }
    }
    rig.settle();
    total.see(&rig.take_output());
    total.charge(&rig.take_all_usage());
    total.see(&rig.take_output());
    total.arrived(&rig.arrived);
    total.check();
    rig.close();
}

/// What happens in a step; 0x08 in its kind: together with what follows.
fn happen(rig: &mut Rig, step: &Step<'_>, total: &mut Totals) {
    match step.kind & 0x07 {
        0 | 4 => rig.arrives(0, step.bytes),
        1 => rig.arrives(1, step.bytes),
        2 => total.charge(&rig.transact(step.bytes)),
        3 => rig.publish(step.octet(0)),
        5 => {
            let body = step.bytes.get(..1500).unwrap_or(step.bytes);
            let frame = [&[2; 12][..], &CONTROLS_OWN, body].concat();
            rig.control_sends(&frame, step.octet(0));
        }
        6 => rig.control_hands_in(step.bytes, step.octet(0)),
        // With nothing in it: only time passes.
        _ => rig.moves(step.bytes),
    }
}

/// Octets and packets that were charged, and those that left.
#[derive(Default)]
struct Totals {
    charged: (u64, u64),
    left: (u64, u64),
    /// Of those that left: fragments, which may be pieces of one packet.
    fragments: u64,
}

impl Totals {
    fn charge(&mut self, usage: &[Usage]) {
        for Usage { bytes, packets } in usage {
            self.charged.0 += bytes;
            self.charged.1 += packets;
        }
    }

    /// What UEs sent to ourselves has left their sessions, too.
    fn arrived(&mut self, lens: &[usize]) {
        self.left.0 += lens.iter().map(|len| *len as u64).sum::<u64>();
        self.left.1 += lens.len() as u64;
    }

    /// Usage is what left. A packet that was cut counts once and by its own length, with its last
    /// piece; from outside its pieces look like fragments that came as such.
    fn check(&self) {
        let Self {
            charged,
            left,
            fragments,
        } = self;
        if *fragments == 0 {
            assert_eq!(charged, left, "usage is what left (octets, packets)");
        }
        let packets = left.1 - fragments..=left.1;
        assert!(
            packets.contains(&charged.1),
            "{charged:?} charged, {left:?} left, {fragments} of them fragments"
        );
    }

    /// Every frame that left is sound; user data in it counts by the inner packet's length.
    fn see(&mut self, frames: &[Vec<u8>]) {
        for frame in frames
            .iter()
            .filter(|f| f.get(12..14) != Some(&CONTROLS_OWN))
        {
            let ip = ip_in(frame).expect("the path sends IPv4 only");
            assert!(ip.ttl() > 0);
            let inner = match is_outer(&ip).then(|| udp_in(&ip)).flatten() {
                Some(udp) => match g_pdu_payload(&udp) {
                    Some(inner) => Ipv4::parse(inner).expect("tunnels carry sound packets"),
                    // An End Marker carries no user data.
                    None => continue,
                },
                None => ip,
            };
            self.left.0 += u64::from(inner.total_len());
            self.left.1 += 1;
            self.fragments += u64::from(inner.is_fragment());
        }
    }
}

/// Whether the path made this header: UEs and servers may imitate all of it but not all at once,
/// for what they send has at least one hop behind it.
fn is_outer(ip: &Ipv4<'_>) -> bool {
    ip.source() == rig::UPF && ip.ttl() == 64 && ip.identification() == 0 && ip.dont_fragment()
}
