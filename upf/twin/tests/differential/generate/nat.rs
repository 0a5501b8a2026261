//! Packets of a translated data network: of UEs, answers to their public ports, errors, and from UE to UE.

use super::Generator;
use crate::spec::*;

impl Generator {
    /// So many new flows of a UE at once that its ports become few.
    pub(super) fn flood(&mut self) -> Step {
        let mut spec = self.packet();
        for _ in 0..8 {
            let is_sound = spec.damage == Damage::default() && spec.remote.is_ipv4();
            if is_sound
                && matches!(
                    spec.entry,
                    Entry::Tunnel {
                        downlink: false,
                        ..
                    }
                )
            {
                break;
            }
            spec = self.packet();
        }
        spec.inner.protocol = self.rng.pick(&[17, 17, 6]);
        (spec.tcp, spec.public_of) = (None, None);
        (spec.inner.more_fragments, spec.inner.offset) = (false, 0);
        let first = self.rng.pick(&[4000, 4000, 4060, 4120, 40_000]);
        let flows = self.rng.within(50, 70) as u16;
        let of_port = |port| PacketSpec {
            ports: (port, 80),
            ..spec.clone()
        };
        Step::Packets((first..first + flows).map(of_port).collect())
    }

    /// Makes a sound IPv4 packet one of which translation has to see more than ports.
    pub(super) fn translated(&mut self, slot: Slot, spec: &mut PacketSpec) {
        let is_plain = matches!(spec.entry, Entry::Plain { .. });
        spec.inner.protocol = self.rng.pick(&[17, 17, 17, 6, 6, 6, 1, 1, 132]);
        spec.flags = self.rng.pick(&[0x02, 0x12, 0x10, 0x10, 0x11, 0x11, 0x04]);
        spec.checksum = match spec.inner.protocol {
            // Of ICMP it is what is wrong with it.
            1 => self.rng.pick(&[0, 0, 0, 0, 0x0100]),
            _ => self.rng.pick(&[0, 0xffff, 0x1234, 0xfffe, 1]),
        };
        let quoted = self.rng.pick(&[17, 17, 6, 1, 132]);
        let len = self.rng.pick(&[28, 28, 40, 60, 27, 19, 200]);
        let usual = if is_plain { Icmp::Reply } else { Icmp::Request };
        let unusual = if is_plain { Icmp::Request } else { Icmp::Reply };
        spec.icmp = match self.rng.below(8) {
            0..=3 => usual,
            4..=6 => Icmp::Unreachable(quoted, len),
            _ => self.rng.pick(&[unusual, Icmp::Other]),
        };
        if is_plain {
            spec.public_of = (!self.rng.one_in(8)).then_some(slot);
        } else if self.rng.one_in(6) {
            spec.public_of = Some(self.rng.below(3) as Slot);
        }
        if self.rng.one_in(2) {
            spec.inner.identification = self.rng.pick(&[7, 8]);
        }
        match self.rng.below(16) {
            0..=1 => spec.inner.more_fragments = true,
            2 => spec.inner.offset = self.rng.pick(&[1, 4, 8]),
            _ => {}
        }
        if spec.inner.more_fragments && self.rng.one_in(2) {
            spec.payload_len = spec.payload_len.next_multiple_of(8);
        }
    }
}

/// Of two that turn round together nobody promised the order.
pub(super) fn keep_one_hairpin(packets: &mut Vec<PacketSpec>) {
    let turns = |p: &PacketSpec| p.public_of.is_some() && matches!(p.entry, Entry::Tunnel { .. });
    let mut seen = false;
    packets.retain(|p| !turns(p) || !std::mem::replace(&mut seen, true));
}
