//! Integrity protection maximum data rate (TS 24.501, 9.11.4.7): how fast a UE protects the integrity of the user plane.

/// Most that a UE protects in a direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum IntegrityRate {
    /// 64 kbit/s. A spare value is taken for this, which every value but NULL is at the least.
    Kbps64 = 0,
    /// NULL: nothing, of a UE without NR as its primary radio, or without user plane.
    Null = 1,
    /// As fast as its radio.
    Full = 0xff,
}

impl IntegrityRate {
    /// Of its octet.
    pub fn from_octet(octet: u8) -> Self {
        match octet {
            0xff => Self::Full,
            1 => Self::Null,
            _ => Self::Kbps64,
        }
    }

    /// Whether a UE may protect so many bits per second.
    pub fn reaches(self, rate_bps: u64) -> bool {
        match self {
            Self::Full => true,
            Self::Kbps64 => rate_bps <= 64_000,
            Self::Null => false,
        }
    }
}

/// Most that a UE protects, both ways. UEs of today protect all (TS 23.501, 5.10.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntegrityRates {
    /// From the UE.
    pub up: IntegrityRate,
    /// To the UE.
    pub down: IntegrityRate,
}

impl Default for IntegrityRates {
    fn default() -> Self {
        Self {
            up: IntegrityRate::Full,
            down: IntegrityRate::Full,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spare_rate_is_the_least() {
        for octet in 0..=255 {
            let read = IntegrityRate::from_octet(octet);
            let is_known = read as u8 == octet;
            assert!(is_known || read == IntegrityRate::Kbps64, "{octet}");
        }
        assert!(IntegrityRate::Kbps64.reaches(64_000));
        assert!(!IntegrityRate::Kbps64.reaches(64_001));
        assert!(!IntegrityRate::Null.reaches(0));
        assert!(IntegrityRate::Full.reaches(u64::MAX));
    }
}
