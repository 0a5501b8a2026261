//! Session AMBR as a UE is told (TS 24.501, 9.11.4.14), and the units of bit rates that all QoS of a session has.

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
pub(crate) fn rate(bps: u64) -> [u8; 3] {
    let value = |unit: u8| bps.div_ceil(unit_bps(unit));
    let fits = |unit: &u8| value(*unit) <= 0xffff;
    let is_exact = |unit: &u8| bps > 0 && bps.is_multiple_of(unit_bps(*unit));
    let unit = (1..=15).rev().find(|unit| fits(unit) && is_exact(unit));
    let unit = unit.or_else(|| (1..=15).find(fits)).unwrap_or(15);
    let [high, low] = (value(unit).min(0xffff) as u16).to_be_bytes();
    [unit, high, low]
}

/// Bits per second of a unit and a value.
pub(crate) fn read_rate([unit, high, low]: [u8; 3]) -> u64 {
    unit_bps(unit) * u64::from(u16::from_be_bytes([high, low]))
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
        Some(Self {
            down_bps: read_rate([down, a, b]),
            up_bps: read_rate([up, c, d]),
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
}
