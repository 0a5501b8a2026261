//! Mutants: changes of an input by somebody who knows its format.
//!
//! One call makes one change; callers make several. `donor` is another input of the same kind, of
//! which parts may be taken over.

mod bytes;
mod fields;
mod frame;
pub mod parts;
mod pfcp;
mod script;
mod tlv;

use crate::random::Rng;

/// Longest input that a mutator makes: two Ethernet jumbo frames, and far above any PFCP message
/// seen in practice.
pub const INPUT_MAX: usize = 16 * 1024;

/// Changes `input` once.
pub type Mutate = fn(input: &mut Vec<u8>, donor: &[u8], rng: &mut Rng);

/// An input without each of its parts, the later ones not yet taken out of the earlier: what a
/// failing input is made smaller by.
pub type Parts = fn(&[u8]) -> Vec<Vec<u8>>;

/// A PFCP datagram: its tree of IEs.
pub fn pfcp(input: &mut Vec<u8>, donor: &[u8], rng: &mut Rng) {
    pfcp::mutate(input, donor, rng);
    input.truncate(INPUT_MAX);
}

/// A GTP-U message: header, extension headers, inner packet.
pub fn gtpu(input: &mut Vec<u8>, donor: &[u8], rng: &mut Rng) {
    frame::mutate(input, donor, frame::Layer::Gtpu, rng);
    input.truncate(INPUT_MAX);
}

/// An Ethernet frame with whatever is in it.
pub fn frame(input: &mut Vec<u8>, donor: &[u8], rng: &mut Rng) {
    frame::mutate(input, donor, frame::Layer::Ethernet, rng);
    input.truncate(INPUT_MAX);
}

/// A configuration text, or anything of which nothing is known.
pub fn text(input: &mut Vec<u8>, donor: &[u8], rng: &mut Rng) {
    bytes::mutate_text(input, donor, rng);
    input.truncate(INPUT_MAX);
}

/// A script whose octets are PFCP datagrams.
pub fn pfcp_script(input: &mut Vec<u8>, donor: &[u8], rng: &mut Rng) {
    script::mutate(input, donor, pfcp, rng);
    input.truncate(INPUT_MAX);
}

/// A script whose octets are frames.
pub fn frame_script(input: &mut Vec<u8>, donor: &[u8], rng: &mut Rng) {
    script::mutate(input, donor, frame, rng);
    input.truncate(INPUT_MAX);
}

/// As [`frame_script`], behind one octet that shapes the rig.
pub fn shaped_frame_script(input: &mut Vec<u8>, donor: &[u8], rng: &mut Rng) {
    let shape = input.first().copied().unwrap_or(0);
    let mut script = input.get(1..).unwrap_or_default().to_vec();
    let shape = match rng.below(16) {
        0 => rng.octet(),
        _ => shape,
    };
    frame_script(&mut script, donor.get(1..).unwrap_or_default(), rng);
    script.truncate(INPUT_MAX - 1);
    *input = [&[shape][..], &script].concat();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{corpus, targets::TARGETS};

    #[test]
    fn mutants_are_bounded_and_the_same_for_the_same_numbers() {
        for target in TARGETS {
            let kept = corpus::kept(target.name);
            for case in 0..300 {
                let mutant = || {
                    let mut rng = Rng::new(3, case);
                    let mut input = rng.pick(&kept).expect("an entry").bytes.clone();
                    let donor = rng.pick(&kept).expect("an entry");
                    (0..8).for_each(|_| (target.mutate)(&mut input, &donor.bytes, &mut rng));
                    input
                };
                assert!(mutant().len() <= INPUT_MAX);
                assert_eq!(mutant(), mutant());
            }
        }
    }
}
