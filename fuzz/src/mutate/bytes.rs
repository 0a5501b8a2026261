//! Changes of octets of which nothing is known.

use crate::random::Rng;

/// Words that mean something to a YAML reader or to a reader of addresses and rates.
const WORDS: &[&str] = &[
    ":",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "#",
    "\n",
    "\n  ",
    "\t",
    "null",
    "true",
    "~",
    "\"",
    "'",
    "&a",
    "*a",
    "<<: *a",
    "|",
    "---",
    "0",
    "-1",
    "65536",
    "4294967296",
    "1e999",
    "0x7fffffffffffffff",
    "0.0.0.0/0",
    "255.255.255.255/33",
    "::",
    "10.45.0.0/16",
    "!!str",
    "\u{feff}",
    "\u{0}",
];

/// One change of octets.
pub(super) fn mutate(input: &mut Vec<u8>, donor: &[u8], rng: &mut Rng) {
    match rng.below(9) {
        0 => flip_bit(input, rng),
        1 => set_octet(input, rng),
        2 | 3 => set_number(input, rng),
        4 => insert(input, rng),
        5 => remove(input, rng),
        6 => double(input, rng),
        7 => cut(input, rng),
        _ => splice(input, donor, rng),
    }
}

/// One change of a text: a line or a word, else octets.
pub(super) fn mutate_text(input: &mut Vec<u8>, donor: &[u8], rng: &mut Rng) {
    match rng.below(6) {
        0 => word(input, rng),
        1 | 2 => lines(input, donor, rng),
        3 => indent(input, rng),
        _ => mutate(input, donor, rng),
    }
}

/// Writes an edge value of `width` octets at `at`, as far as there are octets.
pub(super) fn put(input: &mut [u8], at: usize, width: usize, value: u64) {
    let octets = value.to_be_bytes();
    let low = octets
        .get(8usize.saturating_sub(width)..)
        .unwrap_or(&octets);
    for (place, octet) in input.iter_mut().skip(at).zip(low) {
        *place = *octet;
    }
}

fn flip_bit(input: &mut [u8], rng: &mut Rng) {
    let at = rng.below(input.len());
    if let Some(octet) = input.get_mut(at) {
        *octet ^= 1 << rng.below(8);
    }
}

fn set_octet(input: &mut [u8], rng: &mut Rng) {
    let at = rng.below(input.len());
    if let Some(octet) = input.get_mut(at) {
        *octet = match rng.below(3) {
            0 => rng.edge() as u8,
            1 => octet.wrapping_add(1),
            _ => octet.wrapping_sub(1),
        };
    }
}

fn set_number(input: &mut [u8], rng: &mut Rng) {
    let width = [2, 3, 4, 8][rng.below(4)];
    let at = rng.below(input.len());
    put(input, at, width, rng.edge());
}

fn insert(input: &mut Vec<u8>, rng: &mut Rng) {
    let at = rng.below(input.len() + 1);
    let len = 1 + rng.below(16);
    let new = rng.octets(len);
    input.splice(at..at, new);
}

fn remove(input: &mut Vec<u8>, rng: &mut Rng) {
    let range = some_range(input.len(), rng);
    input.drain(range);
}

fn double(input: &mut Vec<u8>, rng: &mut Rng) {
    let range = some_range(input.len(), rng);
    let copy = input.get(range.clone()).unwrap_or_default().to_vec();
    input.splice(range.end..range.end, copy);
}

fn cut(input: &mut Vec<u8>, rng: &mut Rng) {
    let len = rng.below(input.len() + 1);
    input.truncate(len);
}

/// The front of one and the back of the other.
fn splice(input: &mut Vec<u8>, donor: &[u8], rng: &mut Rng) {
    cut(input, rng);
    let from = rng.below(donor.len() + 1);
    input.extend(donor.get(from..).unwrap_or_default());
}

/// Mostly short: long ones leave little to be read.
fn some_range(len: usize, rng: &mut Rng) -> core::ops::Range<usize> {
    let start = rng.below(len);
    let most = if rng.one_in(4) { len } else { 8 };
    let end = (start + 1 + rng.below(most)).min(len);
    start.min(end)..end
}

fn word(input: &mut Vec<u8>, rng: &mut Rng) {
    let at = rng.below(input.len() + 1);
    let word = rng.pick(WORDS).copied().unwrap_or_default();
    input.splice(at..at, word.bytes());
}

fn lines(input: &mut Vec<u8>, donor: &[u8], rng: &mut Rng) {
    let mut all: Vec<Vec<u8>> = split(input);
    let at = rng.below(all.len());
    let other = split(donor);
    match rng.below(4) {
        0 if !all.is_empty() => drop(all.remove(at)),
        1 if !all.is_empty() => all.insert(at, all[at].clone()),
        2 if !all.is_empty() => {
            let to = rng.below(all.len());
            all.swap(at, to);
        }
        _ => {
            if let Some(line) = rng.pick(&other) {
                all.insert(at, line.clone());
            }
        }
    }
    *input = all.concat();
}

fn split(text: &[u8]) -> Vec<Vec<u8>> {
    text.split_inclusive(|octet| *octet == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

fn indent(input: &mut Vec<u8>, rng: &mut Rng) {
    let mut all = split(input);
    let at = rng.below(all.len());
    if let Some(line) = all.get_mut(at) {
        if rng.one_in(2) && line.starts_with(b"  ") {
            line.drain(..2);
        } else {
            line.splice(0..0, *b"  ");
        }
    }
    *input = all.concat();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_be_changed_without_a_panic() {
        for case in 0..2000 {
            let mut rng = Rng::new(1, case);
            let mut input = Vec::new();
            mutate(&mut input, &[], &mut rng);
            mutate_text(&mut input, &[], &mut rng);
        }
    }

    #[test]
    fn a_number_is_written_big_end_first_and_never_behind_the_end() {
        let mut octets = [0; 4];
        put(&mut octets, 1, 2, 0x0a_0b0c);
        assert_eq!(octets, [0, 0x0b, 0x0c, 0]);
        put(&mut octets, 3, 4, 0x0102_0304);
        assert_eq!(octets, [0, 0x0b, 0x0c, 1]);
    }
}
