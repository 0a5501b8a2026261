//! The first message of a UE, read in place: by how its octets are laid out, without the codec. For an AMF that has
//! more of them than it can serve.

use crate::value::RanUeId;

/// Initial UE Message (TS 38.413, 9.2.5.1): initiatingMessage, id-InitialUEMessage.
const INITIAL_UE_MESSAGE: [u8; 2] = [0x00, 15];

/// IEs (TS 38.413, 9.4.7).
const NAS_PDU: u16 = 38;
const RAN_UE_NGAP_ID: u16 = 85;

/// Who comes, and with what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FirstMessage<'a> {
    /// The UE's name at its gNB.
    pub ran: RanUeId,
    /// NAS.
    pub nas: &'a [u8],
}

impl<'a> FirstMessage<'a> {
    /// None of any other message, and of one that only the codec can read.
    pub fn peek(octets: &'a [u8]) -> Option<Self> {
        let rest = octets.strip_prefix(&INITIAL_UE_MESSAGE)?;
        // Criticality.
        let (body, end) = open_type(rest.get(1..)?)?;
        if !end.is_empty() {
            return None;
        }
        // No extension of the sequence; how many IEs there are.
        let [0, high, low, ies @ ..] = body else {
            return None;
        };
        let (mut ran, mut nas, mut ies) = (None, None, ies);
        for _ in 0..u16::from_be_bytes([*high, *low]) {
            let ([id_high, id_low, _], rest) = ies.split_first_chunk()?;
            let (value, rest) = open_type(rest)?;
            ies = rest;
            match u16::from_be_bytes([*id_high, *id_low]) {
                RAN_UE_NGAP_ID => ran = Some(integer(value)?),
                NAS_PDU => {
                    let (octets, rest) = open_type(value)?;
                    nas = rest.is_empty().then_some(octets);
                }
                _ => {}
            }
        }
        Some(Self {
            ran: RanUeId(ran?),
            nas: nas?,
        })
    }
}

/// Octets behind their length (X.691, 11.9), and what follows. Of 16 KiB and more there is none.
fn open_type(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = match octets {
        [short @ 0..0x80, rest @ ..] => (usize::from(*short), rest),
        [high @ 0x80..0xc0, low, rest @ ..] => {
            (usize::from(high & 0x3f) << 8 | usize::from(*low), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// A number of up to 32 bits (X.691, 13.2.6): how many octets it has, less one, in two bits, and then these.
fn integer(value: &[u8]) -> Option<u32> {
    let (first, octets) = value.split_first()?;
    let is_sound = first & 0x3f == 0 && octets.len() == usize::from(first >> 6) + 1;
    is_sound.then(|| {
        octets
            .iter()
            .fold(0, |sum, octet| sum << 8 | u32::from(*octet))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FromRan, InitialUeMessage, Location};

    fn message(ran: u32, nas: Vec<u8>) -> Vec<u8> {
        let plmn = sluice_ids::Plmn::new("001", "01").expect("digits");
        let tai = sluice_ids::Tai {
            plmn,
            tac: sluice_ids::Tac([0, 0, 1]),
        };
        FromRan::InitialUeMessage(InitialUeMessage {
            ran: RanUeId(ran),
            nas,
            location: Location {
                plmn,
                cell: sluice_ids::NrCellIdentity([0; 5]),
                tai,
            },
            establishment_cause: 3,
            s_tmsi: None,
            context_requested: true,
        })
        .encode()
    }

    #[test]
    fn it_says_what_the_codec_says() {
        for ran in [0, 1, 255, 256, 70_000, 1 << 24, u32::MAX] {
            for length in [3, 60, 127, 128, 400, 5_000] {
                let nas: Vec<u8> = (0..length).map(|at| at as u8).collect();
                let octets = message(ran, nas.clone());
                let peeked = FirstMessage::peek(&octets).expect("an Initial UE Message");
                assert_eq!((peeked.ran, peeked.nas), (RanUeId(ran), &nas[..]));
            }
        }
    }

    #[test]
    fn no_octets_make_it_panic_and_none_that_are_cut_are_read() {
        let octets = message(70_000, vec![0x7e; 60]);
        for length in 0..octets.len() {
            assert_eq!(FirstMessage::peek(&octets[..length]), None);
        }
        for at in 0..octets.len() {
            for bit in 0..8 {
                let mut changed = octets.clone();
                changed[at] ^= 1 << bit;
                let Some(peeked) = FirstMessage::peek(&changed) else {
                    continue;
                };
                // What both read is the same.
                if let Ok(FromRan::InitialUeMessage(read)) = FromRan::decode(&changed) {
                    assert_eq!((peeked.ran, peeked.nas), (read.ran, &read.nas[..]));
                }
            }
        }
        let other = FromRan::NgReset(crate::NgReset {
            cause: crate::Cause::UNSPECIFIED,
            connections: None,
        });
        assert_eq!(FirstMessage::peek(&other.encode()), None);
    }
}
