//! Packet length distributions.
//!
//! All lengths are octets of the UE's IPv4 packet.

use std::sync::Arc;

use super::alias::Alias;
use crate::LoadError;
use crate::stamp::IP_BYTES_MIN;

/// The longest packet of a UE that fits into a jumbo frame with its outer headers.
pub const IP_BYTES_MAX: u16 = 9150;

/// Ethernet header and FCS.
const ETHERNET_BYTES: u16 = 14 + 4;
/// IPv4 and UDP.
const UDP_IPV4_BYTES: u16 = 28;

/// The lengths of a lane's packets.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    Fixed(u16),
    /// Lengths with weights, in random order.
    Mix(Vec<(u16, f64)>),
    /// One after the other, and again from the beginning.
    Recorded(Arc<[u16]>),
}

/// Layer at which a given length is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SizeOf {
    /// The UE's IP packet.
    #[default]
    Ip,
    /// The payload of the UE's UDP datagram.
    Payload,
    /// An Ethernet frame with its FCS that carries the UE's packet bare, as on N6.
    Frame,
}

impl SizeOf {
    /// The IP packet's length; none if it would not fit a packet.
    pub fn to_ip_bytes(self, bytes: u16) -> Option<u16> {
        match self {
            Self::Ip => Some(bytes),
            Self::Payload => bytes.checked_add(UDP_IPV4_BYTES),
            Self::Frame => bytes.checked_sub(ETHERNET_BYTES),
        }
    }
}

impl Sizes {
    /// The simple IMIX of seven, four and one Ethernet frames of 64, 576 and 1518 octets (with
    /// FCS): UDP payloads of 309 octets in the mean.
    pub fn imix() -> Self {
        Self::frames(&[(64, 7.0), (576, 4.0), (1518, 1.0)])
    }

    /// Uplink of a live mobile network, mean 370 octets: "iMIX1" of fastSwan's measurements
    /// (acassen/fastswan, Nvidia-Bluefield-3-Benchmark), lengths taken as IP packets.
    pub fn live_uplink() -> Self {
        Self::Mix(vec![
            (114, 27_991.0),
            (200, 5_841.0),
            (491, 1_807.0),
            (1000, 2_488.0),
            (1428, 6_039.0),
        ])
    }

    /// Downlink of the same network, mean 991 octets: "iMIX2" there.
    pub fn live_downlink() -> Self {
        Self::Mix(vec![
            (120, 16_960.0),
            (218, 9_161.0),
            (438, 2_960.0),
            (1075, 5_619.0),
            (1398, 56_458.0),
        ])
    }

    fn frames(entries: &[(u16, f64)]) -> Self {
        let ip = |(bytes, weight): &(u16, f64)| (bytes - ETHERNET_BYTES, *weight);
        Self::Mix(entries.iter().map(ip).collect())
    }

    pub fn mean_bytes(&self) -> f64 {
        match self {
            Self::Fixed(bytes) => f64::from(*bytes),
            Self::Mix(entries) => {
                let total: f64 = entries.iter().map(|(_, weight)| weight).sum();
                let sum: f64 = entries.iter().map(|(b, w)| f64::from(*b) * w).sum();
                sum / total
            }
            Self::Recorded(all) => {
                all.iter().map(|b| f64::from(*b)).sum::<f64>() / all.len().max(1) as f64
            }
        }
    }

    pub fn longest_bytes(&self) -> u16 {
        self.lengths().max().unwrap_or(0)
    }

    /// Whether every length can be sent.
    ///
    /// # Errors
    /// Names the first that cannot.
    pub fn check(&self) -> Result<(), LoadError> {
        let range = IP_BYTES_MIN..=IP_BYTES_MAX;
        match self.lengths().find(|bytes| !range.contains(bytes)) {
            Some(bytes) => Err(LoadError::Size { bytes }),
            None if self.lengths().next().is_none() => Err(LoadError::NoSizes),
            None => Ok(()),
        }
    }

    fn lengths(&self) -> Box<dyn Iterator<Item = u16> + '_> {
        match self {
            Self::Fixed(bytes) => Box::new(std::iter::once(*bytes)),
            Self::Mix(entries) => Box::new(entries.iter().map(|(bytes, _)| *bytes)),
            Self::Recorded(all) => Box::new(all.iter().copied()),
        }
    }
}

#[derive(Debug)]
pub(crate) enum SizeDraw {
    Fixed(u16),
    Mix { lengths: Vec<u16>, alias: Alias },
    Recorded { all: Arc<[u16]>, next: usize },
}

impl SizeDraw {
    pub(crate) fn new(sizes: &Sizes) -> Result<Self, LoadError> {
        sizes.check()?;
        Ok(match sizes {
            Sizes::Fixed(bytes) => Self::Fixed(*bytes),
            Sizes::Mix(entries) => {
                let weights: Vec<f64> = entries.iter().map(|(_, weight)| *weight).collect();
                let lengths = entries.iter().map(|(bytes, _)| *bytes).collect();
                let alias = Alias::new(&weights)?;
                Self::Mix { lengths, alias }
            }
            Sizes::Recorded(all) => Self::Recorded {
                all: all.clone(),
                next: 0,
            },
        })
    }

    /// The length of the next packet.
    #[inline]
    pub(crate) fn draw(&mut self, rng: &mut fastrand::Rng) -> u16 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Mix { lengths, alias } => {
                let place = alias.draw(rng) as usize;
                lengths.get(place).copied().unwrap_or(IP_BYTES_MIN)
            }
            Self::Recorded { all, next } => {
                let bytes = all.get(*next).copied().unwrap_or(IP_BYTES_MIN);
                *next = if *next + 1 < all.len() { *next + 1 } else { 0 };
                bytes
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn the_mixes_have_the_means_that_they_say() {
        let payload = Sizes::imix().mean_bytes() - f64::from(UDP_IPV4_BYTES);
        assert!((309.0..310.0).contains(&payload), "{payload}");
        for (mix, mean) in [
            (Sizes::live_uplink(), 370.0),
            (Sizes::live_downlink(), 991.0),
        ] {
            let is = mix.mean_bytes();
            assert!((is - mean).abs() < 1.0, "{is} instead of {mean}");
        }
    }

    #[test]
    fn lengths_come_as_often_as_their_weights_say() {
        let mut draw = SizeDraw::new(&Sizes::imix()).unwrap();
        let mut rng = fastrand::Rng::with_seed(1);
        let drawn: Vec<u16> = (0..120_000).map(|_| draw.draw(&mut rng)).collect();
        for (bytes, of_12) in [(46, 7), (558, 4), (1500, 1)] {
            let count = drawn.iter().filter(|drawn| **drawn == bytes).count();
            let want = of_12 * 10_000;
            assert!(
                count.abs_diff(want) < 600,
                "{count} of {bytes}, want {want}"
            );
        }
    }

    #[test]
    fn recorded_lengths_go_round() {
        let mut draw = SizeDraw::new(&Sizes::Recorded([100, 200, 300].into())).unwrap();
        let mut rng = fastrand::Rng::with_seed(1);
        let drawn: Vec<u16> = (0..5).map(|_| draw.draw(&mut rng)).collect();
        assert_eq!(drawn, [100, 200, 300, 100, 200]);
    }

    #[test]
    fn what_cannot_carry_a_stamp_is_refused() {
        assert!(Sizes::Fixed(45).check().is_err() && Sizes::Fixed(46).check().is_ok());
        assert!(Sizes::Recorded([].into()).check().is_err());
        assert_eq!(SizeOf::Frame.to_ip_bytes(64), Some(46));
        assert_eq!(SizeOf::Payload.to_ip_bytes(36), Some(64));
        assert_eq!(SizeOf::Frame.to_ip_bytes(10), None);
    }
}
