//! Packet templates of a source: default packets, or other sizes, with and without PDU Session
//! Container, one or several sizes in turn.

use crate::path::topology::Servers;
use crate::path::traffic::{Direction, Flow, Form, Frames};
use sluice_wire::layout::{ipv4, udp};

/// The shortest inner packet: IPv4, UDP, and 16 octets in which a source writes number and time.
pub const INNER_MIN: usize = ipv4::LEN + udp::LEN + 16;
/// The longest, which fits into the MTU of the scene with its outer header.
pub const INNER_MAX: usize = 1540;

/// Forms of packets, used in turn. By default as in `sluice bench path`.
#[derive(Debug)]
pub struct PacketTemplate(Vec<Frames>);

impl Default for PacketTemplate {
    fn default() -> Self {
        Self(vec![Frames::default()])
    }
}

impl PacketTemplate {
    /// Inner packets of these lengths in octets, one after the other, otherwise of this form. They have no UDP
    /// checksum, as sources write over the payload's end.
    pub fn of(inner_lens: &[usize], like: Form) -> Result<Self, String> {
        let mut lens = inner_lens.iter();
        if let Some(len) = lens.find(|len| !(INNER_MIN..=INNER_MAX).contains(*len)) {
            return Err(format!(
                "an inner packet of {len} octets; expected {INNER_MIN} to {INNER_MAX}"
            ));
        }
        if inner_lens.is_empty() {
            return Err("no packet sizes".to_owned());
        }
        let frames = inner_lens.iter().map(|inner_len| {
            let form = Form {
                inner_len: *inner_len,
                inner_sum: false,
                ..like
            };
            Frames::new(form, Servers::One)
        });
        Ok(Self(frames.collect()))
    }

    #[inline]
    fn frames(&self, number: u64) -> &Frames {
        match &self.0[..] {
            [one] => one,
            several => &several[number as usize % several.len()],
        }
    }

    /// Octets of packet `number` in this direction, as it comes in.
    #[inline]
    pub fn len(&self, direction: Direction, number: u64) -> usize {
        self.frames(number).form.input_len(direction)
    }

    /// Writes packet `number` of `flow` into `out`, which has its length.
    #[inline]
    pub fn fill(&self, direction: Direction, flow: &Flow, number: u64, out: &mut [u8]) {
        self.frames(number).fill(direction, flow, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_come_in_turn_and_impossible_ones_are_refused() {
        let mould = PacketTemplate::of(&[64, 524], Form::USUAL).unwrap();
        let lens: Vec<usize> = (0..3).map(|n| mould.len(Direction::Downlink, n)).collect();
        assert_eq!(lens, [78, 538, 78]);
        let of = |lens: &[usize]| PacketTemplate::of(lens, Form::USUAL).unwrap_err();
        assert!(of(&[43]).contains("expected 44 to 1540"));
        assert_eq!(of(&[]), "no packet sizes");
    }
}
