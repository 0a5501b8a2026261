//! Lists inside NAS messages: slices, tracking areas, PLMNs (TS 24.501, 9.11.3.37, 9.11.3.9, 9.11.3.45).

use sluice_ids::{Plmn, Snssai, Tac, Tai};

use crate::cause::Cause;

/// Most slices that a UE asks for, or may use (TS 24.501, 9.11.3.37).
pub const SLICES: usize = 8;

/// Slices, each with its length; none if the list is cut short. Mapped slices of a home network are
/// left out.
pub fn read_nssai(mut octets: &[u8]) -> Option<Vec<Snssai>> {
    let mut slices = Vec::new();
    while let Some((&length, rest)) = octets.split_first() {
        let (slice, rest) = rest.split_at_checked(usize::from(length))?;
        slices.push(read_slice(slice)?);
        octets = rest;
    }
    (slices.len() <= SLICES).then_some(slices)
}

/// A slice (TS 24.501, 9.11.2.8); none if it is cut short. A mapped slice of a home network is left
/// out.
pub fn read_slice(octets: &[u8]) -> Option<Snssai> {
    match *octets {
        [sst] | [sst, _] => Some(Snssai::new(sst, None)),
        [sst, a, b, c, ..] => Some(Snssai::new(sst, Some([a, b, c]))),
        _ => None,
    }
}

/// A slice.
pub fn slice(slice: &Snssai) -> Vec<u8> {
    match slice.sd() {
        Some([a, b, c]) => vec![slice.sst, a, b, c],
        None => vec![slice.sst],
    }
}

/// Slices, each with its length.
pub fn nssai(slices: &[Snssai]) -> Vec<u8> {
    let with_length = |one: &Snssai| {
        let octets = slice(one);
        [&[octets.len() as u8][..], &octets].concat()
    };
    slices.iter().flat_map(with_length).collect()
}

/// Area of a rejected S-NSSAI (TS 24.501, 9.11.3.46).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RejectedIn {
    /// In this PLMN.
    Plmn = 0,
    /// In this registration area.
    Area = 1,
}

/// Slices that are refused, each with its length and cause (TS 24.501, 9.11.3.46).
pub fn rejected_nssai(slices: &[(Snssai, RejectedIn)]) -> Vec<u8> {
    let slice = |(slice, cause): &(Snssai, RejectedIn)| match slice.sd() {
        Some([a, b, c]) => vec![4 << 4 | *cause as u8, slice.sst, a, b, c],
        None => vec![1 << 4 | *cause as u8, slice.sst],
    };
    slices.iter().flat_map(slice).collect()
}

/// Slices that are refused; what cannot be read is left out.
pub fn read_rejected_nssai(mut octets: &[u8]) -> Vec<(Snssai, RejectedIn)> {
    let mut slices = Vec::new();
    while let Some((&head, rest)) = octets.split_first() {
        let Some((slice, rest)) = rest.split_at_checked(usize::from(head >> 4)) else {
            break;
        };
        // Of other causes the slice is refused for good, too.
        let cause = match head & 15 {
            1 => RejectedIn::Area,
            _ => RejectedIn::Plmn,
        };
        match *slice {
            [sst] => slices.push((Snssai::new(sst, None), cause)),
            [sst, a, b, c, ..] => slices.push((Snssai::new(sst, Some([a, b, c])), cause)),
            _ => {}
        }
        octets = rest;
    }
    slices
}

/// Tracking areas as partial lists of type 2 (TS 24.501, 9.11.3.9), which takes any: at most 16.
pub fn tai_list(areas: &[Tai]) -> Vec<u8> {
    let mut octets = Vec::with_capacity(1 + 6 * areas.len());
    let number = areas.len().clamp(1, 16) as u8 - 1;
    octets.push(2 << 5 | number);
    for area in areas.iter().take(16) {
        octets.extend_from_slice(&area.plmn.octets());
        octets.extend_from_slice(&area.tac.0);
    }
    octets
}

/// Tracking areas of partial lists of any type; none if they are cut short, or are more than 16.
pub fn read_tai_list(mut octets: &[u8]) -> Option<Vec<Tai>> {
    let mut areas = Vec::new();
    while let Some((&head, rest)) = octets.split_first() {
        let number = usize::from(head & 31) + 1;
        octets = match head >> 5 & 3 {
            // One PLMN, and areas of their own, or of consecutive codes.
            kind @ (0 | 1) => {
                let (plmn, rest) = rest.split_first_chunk::<3>()?;
                let plmn = Plmn::from_octets(*plmn)?;
                let told = if kind == 0 { number } else { 1 };
                let (codes, rest) = rest.split_at_checked(3 * told)?;
                let code = |at: usize| match kind {
                    0 => codes[3 * at..3 * at + 3].try_into().ok(),
                    _ => {
                        let first = u32::from_be_bytes([0, codes[0], codes[1], codes[2]]);
                        let [_, a, b, c] = (first + at as u32).to_be_bytes();
                        Some([a, b, c])
                    }
                };
                for at in 0..number {
                    areas.push(Tai {
                        plmn,
                        tac: Tac(code(at)?),
                    });
                }
                rest
            }
            2 => {
                let (areas_told, rest) = rest.split_at_checked(6 * number)?;
                for area in areas_told.chunks_exact(6) {
                    let plmn = Plmn::from_octets([area[0], area[1], area[2]])?;
                    areas.push(Tai {
                        plmn,
                        tac: Tac([area[3], area[4], area[5]]),
                    });
                }
                rest
            }
            _ => return None,
        };
    }
    (1..=16).contains(&areas.len()).then_some(areas)
}

/// PLMNs, one after the other: at most 15.
pub fn plmns(plmns: &[Plmn]) -> Vec<u8> {
    plmns
        .iter()
        .take(15)
        .flat_map(|plmn| plmn.octets())
        .collect()
}

/// PDU sessions, a bit for each identity (TS 24.501, 9.11.3.44).
pub fn status(octets: &[u8]) -> Option<u16> {
    match *octets {
        [low, high, ..] => Some(u16::from_le_bytes([low, high])),
        _ => None,
    }
}

/// Units of GPRS timer 3 in seconds, and their numbers (TS 24.008, 10.5.7.4a).
const TIMER_UNITS: [(u32, u8); 7] = [
    (2, 3),
    (30, 4),
    (60, 5),
    (600, 0),
    (3600, 1),
    (36_000, 2),
    (1_152_000, 6),
];

/// GPRS timer 3: the longest time that can be told and is no longer than `time_s`.
pub fn gprs_timer_3(time_s: u32) -> u8 {
    let told = |&(unit_s, number): &(u32, u8)| {
        let value = (time_s / unit_s).min(31);
        (value * unit_s, number << 5 | value as u8)
    };
    let longest = TIMER_UNITS
        .iter()
        .map(told)
        .max_by_key(|(told_s, _)| *told_s);
    longest.map_or(0, |(_, octet)| octet)
}

/// T3512 as a UE is told it: the longest time that GPRS timer 3 has and that is no longer. The TS's default
/// of 54 minutes has none: it is told as 50.
pub fn told_t3512_s(time_s: u32) -> u32 {
    let octet = gprs_timer_3(time_s);
    let unit = TIMER_UNITS.iter().find(|unit| unit.1 == octet >> 5);
    unit.map_or(0, |(unit_s, _)| unit_s * u32::from(octet & 31))
}

/// Sessions whose user planes are not up again, and why (TS 24.501, 9.11.3.43).
pub fn causes(causes: &[(u8, Cause)]) -> Vec<u8> {
    causes
        .iter()
        .flat_map(|(session, cause)| [*session, cause.0])
        .collect()
}

/// The same as it is read; what is cut short is left out.
pub fn read_causes(octets: &[u8]) -> Vec<(u8, Cause)> {
    let pairs = octets.chunks_exact(2);
    pairs.map(|pair| (pair[0], Cause(pair[1]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_told_as_no_longer_than_it_is() {
        // 54 minutes have no value of their own.
        assert_eq!(told_t3512_s(54 * 60), 50 * 60);
        assert_eq!(told_t3512_s(30 * 60), 30 * 60);
        assert_eq!(told_t3512_s(40), 40);
        assert_eq!(told_t3512_s(3600), 3600);
        assert_eq!(told_t3512_s(1), 0);
        // Unit 10 minutes, 5 of them.
        assert_eq!(gprs_timer_3(54 * 60), 5);
    }

    #[test]
    fn slices_are_read_as_they_are_written() {
        let slices = [Snssai::new(1, None), Snssai::new(2, Some([0, 0, 10]))];
        assert_eq!(nssai(&slices), [1, 1, 4, 2, 0, 0, 10]);
        assert_eq!(read_nssai(&nssai(&slices)).as_deref(), Some(&slices[..]));
        assert_eq!(read_nssai(&[1, 1, 5, 2]), None);
        assert_eq!(read_nssai(&[0]), None);
        assert_eq!(read_nssai(&[1, 1].repeat(9)), None);
        let rejected = [(slices[0], RejectedIn::Plmn), (slices[1], RejectedIn::Area)];
        assert_eq!(rejected_nssai(&rejected), [0x10, 1, 0x41, 2, 0, 0, 10]);
        assert_eq!(read_rejected_nssai(&rejected_nssai(&rejected)), rejected);
    }

    #[test]
    fn areas_are_read_as_they_are_written() {
        let plmn = Plmn::new("001", "01").unwrap();
        let areas: Vec<_> = (1..4)
            .map(|n| Tai {
                plmn,
                tac: Tac([0, 0, n]),
            })
            .collect();
        let octets = tai_list(&areas);
        assert_eq!(octets[..7], [0x42, 0x00, 0xf1, 0x10, 0, 0, 1]);
        assert_eq!(read_tai_list(&octets), Some(areas));
        assert_eq!(read_tai_list(&octets[..12]), None);
        // As others write them: one PLMN with areas of their own, and with consecutive ones.
        let codes = |octets: &[u8]| -> Option<Vec<[u8; 3]>> {
            Some(
                read_tai_list(octets)?
                    .iter()
                    .map(|area| area.tac.0)
                    .collect(),
            )
        };
        let separate = [1, 0x00, 0xf1, 0x10, 0, 0, 1, 0, 0, 9];
        assert_eq!(codes(&separate), Some(vec![[0, 0, 1], [0, 0, 9]]));
        let consecutive = [0x22, 0x00, 0xf1, 0x10, 0, 0, 0xff];
        assert_eq!(
            codes(&consecutive),
            Some(vec![[0, 0, 0xff], [0, 1, 0], [0, 1, 1]])
        );
        assert_eq!(
            codes(&[separate, separate].concat()).map(|all| all.len()),
            Some(4)
        );
        assert_eq!(
            codes(&[0x3f, 0x00, 0xf1, 0x10, 0, 0, 1]),
            None,
            "more than 16"
        );
        assert_eq!(codes(&[0x60]), None);
        assert_eq!(codes(&[]), None);
    }
}
