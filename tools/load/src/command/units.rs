//! Human-readable rates, times and lengths.

use crate::n4::Rates;
use crate::source::Unit;
use sluice_program::units::duration;
use std::path::PathBuf;
use std::time::Duration;

/// How much is sent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rate {
    /// Per second, by packets or bits.
    Open(f64, Unit),
    /// Number of packets under way.
    Window(u32),
    /// As fast as it goes.
    Max,
}

/// A step: two rates and a time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StepText {
    /// At its beginning.
    pub from: f64,
    /// At its end.
    pub to: f64,
    pub unit: Unit,
    pub duration: Duration,
}

/// How long packets are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lengths {
    Octets(u16),
    Imix,
    /// A live network's uplink.
    LiveUplink,
    /// A live network's downlink.
    LiveDownlink,
    Pcap(PathBuf),
    /// Of a capture, with its times.
    PcapSpaced(PathBuf),
}

/// Choice of UEs for packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pick {
    Uniform,
    /// One after the other.
    RoundRobin,
    Zipf(f64),
    /// A number of UEs that get a share of the packets.
    Hot(u32, f64),
}

/// A number with k, M or G behind it.
fn number(text: &str) -> Option<f64> {
    let scaled = |suffix, by: f64| text.strip_suffix(suffix).map(|rest| (rest, by));
    let (digits, by) = scaled('k', 1e3)
        .or_else(|| scaled('M', 1e6))
        .or_else(|| scaled('G', 1e9))
        .unwrap_or((text, 1.0));
    let value: f64 = digits.parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value * by)
}

fn open(text: &str) -> Option<(f64, Unit)> {
    let packets = text.strip_suffix("pps").map(|rest| (rest, Unit::Packets));
    let bits = || text.strip_suffix("bps").map(|rest| (rest, Unit::Bits));
    let (digits, unit) = packets.or_else(bits)?;
    Some((number(digits)?, unit))
}

/// `1Mpps`, `2.5Gbps`, `window:64`, `max`.
pub fn rate(text: &str) -> Result<Rate, String> {
    let window = text.strip_prefix("window:").map(|n| n.parse().ok());
    let found = match (text, window) {
        ("max", _) => Some(Rate::Max),
        (_, Some(packets)) => packets.filter(|n| *n > 0).map(Rate::Window),
        _ => open(text)
            .filter(|(rate, _)| *rate > 0.0)
            .map(|(rate, unit)| Rate::Open(rate, unit)),
    };
    found.ok_or_else(|| {
        "expected a rate such as 500kpps, 2Mpps or 1.5Gbps, window:64 or max".to_owned()
    })
}

/// `1Mpps:10s` or `1Mpps-4Mpps:30s`.
pub fn steps(text: &str) -> Result<StepText, String> {
    let wrong =
        || "expected steps such as 1Mpps:10s (constant) or 1Mpps-4Mpps:30s (a ramp)".to_owned();
    let (rates, time) = text.rsplit_once(':').ok_or_else(wrong)?;
    let (from, to) = rates.split_once('-').unwrap_or((rates, rates));
    let (from, to) = open(from).zip(open(to)).ok_or_else(wrong)?;
    if from.1 != to.1 {
        return Err(wrong());
    }
    Ok(StepText {
        from: from.0,
        to: to.0,
        unit: from.1,
        duration: duration(time)?,
    })
}

/// From 0 to 100, with or without the sign; gives the part from 0 to 1.
pub fn percent(text: &str) -> Result<f64, String> {
    let value = text.strip_suffix('%').unwrap_or(text).parse().ok();
    let good = value.filter(|value: &f64| (0.0..=100.0).contains(value));
    good.map(|value| value / 100.0)
        .ok_or_else(|| "expected percent from 0 to 100".to_owned())
}

/// `64`, `imix`, `live-uplink`, `live-downlink`, `pcap:FILE`, `pcap-spaced:FILE`.
pub fn lengths(text: &str) -> Result<Lengths, String> {
    let file = |prefix| text.strip_prefix(prefix).filter(|name| !name.is_empty());
    if let Some(name) = file("pcap:") {
        return Ok(Lengths::Pcap(name.into()));
    }
    if let Some(name) = file("pcap-spaced:") {
        return Ok(Lengths::PcapSpaced(name.into()));
    }
    match text {
        "imix" => Ok(Lengths::Imix),
        "live-uplink" => Ok(Lengths::LiveUplink),
        "live-downlink" => Ok(Lengths::LiveDownlink),
        _ => text.parse().map(Lengths::Octets).map_err(|_| {
            "expected octets such as 64, or imix, live-uplink, live-downlink, pcap:FILE, \
             pcap-spaced:FILE"
                .to_owned()
        }),
    }
}

/// `uniform`, `round-robin`, `zipf:1.0`, `hot:10:80`.
pub fn pick(text: &str) -> Result<Pick, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let found = match parts[..] {
        ["uniform"] => Some(Pick::Uniform),
        ["round-robin"] => Some(Pick::RoundRobin),
        ["zipf"] => Some(Pick::Zipf(1.0)),
        ["zipf", exponent] => exponent.parse().ok().map(Pick::Zipf),
        ["hot", ues, share] => {
            let ues = ues.parse().ok().filter(|ues| *ues > 0);
            ues.zip(percent(share).ok())
                .map(|(n, part)| Pick::Hot(n, part))
        }
        _ => None,
    };
    found.ok_or_else(|| {
        "expected uniform, round-robin, zipf:1.0, or hot:10:80 (10 UEs get 80 %)".to_owned()
    })
}

/// `100,500,100`.
pub fn rates(text: &str) -> Result<Rates, String> {
    let parts: Option<Vec<f64>> = text.split(',').map(|part| number(part.trim())).collect();
    match parts.as_deref() {
        Some([establish, modify, delete]) => Ok(Rates {
            establish: *establish,
            modify: *modify,
            delete: *delete,
        }),
        _ => Err(
            "expected three rates per second: establish,modify,delete, such as 100,500,100"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_people_write_them() {
        assert_eq!(rate("1.5Mpps"), Ok(Rate::Open(1.5e6, Unit::Packets)));
        assert_eq!(rate("2Gbps"), Ok(Rate::Open(2e9, Unit::Bits)));
        assert_eq!(rate("window:64"), Ok(Rate::Window(64)));
        assert_eq!(rate("max"), Ok(Rate::Max));
        for wrong in [
            "", "1M", "0pps", "-1pps", "window:0", "nanpps", "infpps", "1 Mpps",
        ] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn steps_and_shares_are_read() {
        let step = StepText {
            from: 1e6,
            to: 4e6,
            unit: Unit::Packets,
            duration: Duration::from_secs(30),
        };
        assert_eq!(steps("1Mpps-4Mpps:30s"), Ok(step));
        assert!(steps("1Mpps-4Mbps:30s").is_err() && steps("1Mpps").is_err());
        assert_eq!(percent("42.5"), Ok(0.425));
        assert!(percent("101").is_err() && percent("x").is_err());
    }

    #[test]
    fn lengths_laws_and_churn_are_read() {
        assert_eq!(lengths("1400"), Ok(Lengths::Octets(1400)));
        assert_eq!(lengths("pcap:a.pcap"), Ok(Lengths::Pcap("a.pcap".into())));
        assert!(lengths("pcap:").is_err() && lengths("big").is_err());
        assert_eq!(pick("zipf:0.9"), Ok(Pick::Zipf(0.9)));
        assert_eq!(pick("hot:10:80"), Ok(Pick::Hot(10, 0.8)));
        assert!(pick("hot:0:80").is_err() && pick("cold").is_err());
        let churn = Rates {
            establish: 1e3,
            modify: 500.0,
            delete: 0.0,
        };
        assert_eq!(rates("1k,500,0"), Ok(churn));
        assert!(rates("1,2").is_err() && rates("1,2,x").is_err());
    }
}
