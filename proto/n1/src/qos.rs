//! QoS of a session as a UE is told: the default rule, its flow, the session AMBR (TS 24.501,
//! 9.11.4.12 to 9.11.4.14).

/// Precedence of the default rule: after all others.
const LAST: u8 = 255;

/// Rule 1, created (001), default (bit 5), of one filter; the filter: both directions (11), match-all.
pub fn default_rule(qfi: u8) -> [u8; 9] {
    [1, 0, 6, 0x31, 0x31, 1, 1, LAST, qfi]
}

/// The flow of the first rule that is a default one.
pub fn read_default_rule(mut octets: &[u8]) -> Option<u8> {
    while let [_, high, low, rest @ ..] = octets {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let (rule, rest) = rest.split_at_checked(length)?;
        if let ([head, ..], Some(flow)) = (rule, rule.last())
            && head & 0x10 != 0
        {
            return Some(flow & 0x3f);
        }
        octets = rest;
    }
    None
}

/// A flow, created, with its 5QI alone.
pub fn flow(qfi: u8, five_qi: u8) -> [u8; 6] {
    [qfi, 0b001 << 5, 0x41, 1, 1, five_qi]
}

/// The 5QI of the first flow.
pub fn read_flow(octets: &[u8]) -> Option<u8> {
    match *octets {
        [_, _, parameters, 1, 1, five_qi, ..] if parameters & 0x3f > 0 => Some(five_qi),
        _ => None,
    }
}

/// Session AMBR, bits per second.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ambr {
    /// To the UE.
    pub down_bps: u64,
    /// From the UE.
    pub up_bps: u64,
}

/// Units 1 to 15: 1, 4, 16, 64 and 256 kbit/s, Mbit/s, Gbit/s.
fn unit_bps(unit: u8) -> u64 {
    let from_zero = u32::from(unit.clamp(1, 15) - 1);
    1000 * 1000_u64.pow(from_zero / 5) * 4_u64.pow(from_zero % 5)
}

/// The largest unit of which the rate is a multiple; else the smallest in which it can be told, which
/// is rounded up so that it is never 0.
fn rate(bps: u64) -> [u8; 3] {
    let value = |unit: u8| bps.div_ceil(unit_bps(unit));
    let fits = |unit: &u8| value(*unit) <= 0xffff;
    let is_exact = |unit: &u8| bps > 0 && bps.is_multiple_of(unit_bps(*unit));
    let unit = (1..=15).rev().find(|unit| fits(unit) && is_exact(unit));
    let unit = unit.or_else(|| (1..=15).find(fits)).unwrap_or(15);
    let [high, low] = (value(unit).min(0xffff) as u16).to_be_bytes();
    [unit, high, low]
}

impl Ambr {
    /// As the IE has it.
    pub fn octets(self) -> [u8; 6] {
        let ([a, b, c], [d, e, f]) = (rate(self.down_bps), rate(self.up_bps));
        [a, b, c, d, e, f]
    }

    /// Of the IE; none if it is cut short.
    pub fn from_octets(octets: &[u8]) -> Option<Self> {
        let [down, a, b, up, c, d] = *octets.first_chunk::<6>()?;
        let rate = |unit, value| unit_bps(unit) * u64::from(u16::from_be_bytes(value));
        Some(Self {
            down_bps: rate(down, [a, b]),
            up_bps: rate(up, [c, d]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_told_exactly_where_they_can_be() {
        for bps in [
            1_000,
            64_000,
            1_000_000,
            150_000_000,
            1_000_000_000,
            40_000_000_000,
        ] {
            let ambr = Ambr {
                down_bps: bps,
                up_bps: bps,
            };
            assert_eq!(Ambr::from_octets(&ambr.octets()), Some(ambr));
        }
        // Not a multiple of anything, and more than can be told in kbit/s: never less than it is.
        let told = |bps| {
            let ambr = Ambr {
                down_bps: bps,
                up_bps: 0,
            };
            Ambr::from_octets(&ambr.octets()).expect("whole").down_bps
        };
        let odd = 123_456_789_123;
        assert!((odd..odd + odd / 1000).contains(&told(odd)));
        assert_eq!(told(1), 1_000);
        assert_eq!(told(u64::MAX), 256_000_000_000 * 0xffff);
    }

    #[test]
    fn a_default_rule_is_found_among_others() {
        let other = [2, 0, 6, 0x21, 0x31, 1, 1, 9, 2];
        let rules = [other, default_rule(5)].concat();
        assert_eq!(read_default_rule(&rules), Some(5));
        assert_eq!(read_default_rule(&other), None);
        assert_eq!(read_default_rule(&rules[..12]), None);
        assert_eq!(read_flow(&flow(5, 9)), Some(9));
    }
}
