//! Flow description: an IPFilterRule (RFC 6733, 4.3.1), as TS 29.212, 5.4.2 restricts it.
//!
//! `permit out PROTOCOL from REMOTE [PORTS] to LOCAL [PORTS]`

use std::net::IpAddr;
use std::str::FromStr;

/// Read as it stands, for the downlink.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowDescription {
    /// None is `ip`.
    pub protocol: Option<u8>,
    pub remote: End,
    pub local: End,
}

/// Addresses and ports of one end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// A prefix; None is `any` or `assigned`.
    pub addresses: Option<(IpAddr, u8)>,
    /// Ranges, both ends included; none is every port, and packets without.
    pub ports: Vec<(u16, u16)>,
}

/// Reads a flow description, or says what is wrong with it.
pub fn read(text: &[u8]) -> Result<FlowDescription, String> {
    let text = std::str::from_utf8(text).map_err(|_| "no text".to_owned())?;
    let mut words = text.split_ascii_whitespace().peekable();
    let mut expect = |expected: &str| match words.next() {
        Some(word) if word == expected => Ok(()),
        other => Err(format!("{other:?} instead of {expected:?}")),
    };
    expect("permit")?;
    expect("out")?;
    let protocol = protocol(words.next())?;
    let mut end = |keyword: &str, behind: Option<&str>| {
        let word = words.next();
        if word != Some(keyword) {
            return Err(format!("{word:?} instead of {keyword:?}"));
        }
        let addresses = addresses(words.next())?;
        let ports = match words.peek().copied() {
            next if next == behind => Vec::new(),
            _ => ports(words.next())?,
        };
        Ok(End { addresses, ports })
    };
    let remote = end("from", Some("to"))?;
    let local = end("to", None)?;
    if let Some(option) = words.next() {
        return Err(format!("option {option:?}"));
    }
    if let (Some((remote, _)), Some((local, _))) = (remote.addresses, local.addresses)
        && remote.is_ipv4() != local.is_ipv4()
    {
        return Err(format!("no packet goes from {remote} to {local}"));
    }
    Ok(FlowDescription {
        protocol,
        remote,
        local,
    })
}

fn protocol(word: Option<&str>) -> Result<Option<u8>, String> {
    match word {
        Some("ip") => Ok(None),
        _ => number(word.unwrap_or_default()).map(Some),
    }
}

fn addresses(word: Option<&str>) -> Result<Option<(IpAddr, u8)>, String> {
    let word = word.unwrap_or_default();
    if word == "any" || word == "assigned" {
        return Ok(None);
    }
    let (address, len) = match word.split_once('/') {
        Some((address, len)) => (address, Some(number(len)?)),
        None => (word, None),
    };
    let address = address.parse::<IpAddr>();
    let address = address.map_err(|_| format!("{word:?} is no address"))?;
    let longest = if address.is_ipv4() { 32 } else { 128 };
    match len.unwrap_or(longest) {
        len if len <= longest => Ok(Some((address, len))),
        len => Err(format!("a prefix of {len} bits")),
    }
}

fn ports(word: Option<&str>) -> Result<Vec<(u16, u16)>, String> {
    let list = word.unwrap_or_default().split(',');
    list.map(range).collect()
}

fn range(text: &str) -> Result<(u16, u16), String> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    match (number(low)?, number(high)?) {
        (low, high) if low <= high => Ok((low, high)),
        _ => Err(format!("range {text:?}")),
    }
}

/// Digits and nothing else; zeros in front are octal to some, and so to nobody.
fn number<T: FromStr>(text: &str) -> Result<T, String> {
    let wrong = || format!("{text:?} is no number that fits");
    let is_octal = text.len() > 1 && text.starts_with('0');
    match text.bytes().all(|b| b.is_ascii_digit()) && !is_octal {
        true => text.parse().map_err(|_| wrong()),
        false => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(addresses: Option<(&str, u8)>, ports: &[(u16, u16)]) -> End {
        let address = |text: &str| text.parse().expect("an address");
        End {
            addresses: addresses.map(|(text, len)| (address(text), len)),
            ports: ports.to_vec(),
        }
    }

    #[test]
    fn every_part_is_read() {
        let text = "permit out 17 from 2001:db8:6::/48 53,1000-2000 to 2001:db8::7 4000";
        let read = read(text.as_bytes()).expect("a sound description");
        assert_eq!(read.protocol, Some(17));
        let remote = end(Some(("2001:db8:6::", 48)), &[(53, 53), (1000, 2000)]);
        assert_eq!(read.remote, remote);
        assert_eq!(read.local, end(Some(("2001:db8::7", 128)), &[(4000, 4000)]));
    }

    #[test]
    fn any_and_assigned_stand_for_every_address_on_either_end() {
        for text in [
            "permit out ip from any to assigned",
            "permit out ip from any to any",
            "permit out ip from assigned to any",
            "  permit  out ip from any   to assigned ",
        ] {
            let read = read(text.as_bytes()).expect(text);
            assert_eq!(read.protocol, None);
            assert_eq!((read.remote, read.local), (end(None, &[]), end(None, &[])));
        }
    }

    #[test]
    fn what_ts_29_212_does_not_allow_is_refused() {
        for text in [
            "",
            "permit",
            "deny out ip from any to assigned",
            "permit in ip from any to assigned",
            "permit out ip from !192.0.2.1 to assigned",
            "permit out !17 from any to assigned",
            "permit out ip from any to assigned frag",
            "permit out 6 from any to assigned 80 established",
            "permit out 6 from any to assigned tcpflags syn",
            "permit out 256 from any to assigned",
            "permit out udp from any to assigned",
            "permit out +6 from any to assigned",
            "permit out from any to assigned",
            "permit out ip from any",
            "permit out ip from any to",
            "permit out ip from to assigned",
            "permit out ip to assigned from any",
            "permit out ip from 192.0.2.0/33 to assigned",
            "permit out ip from 2001:db8::/129 to assigned",
            "permit out ip from 192.0.2.0/ to assigned",
            "permit out ip from 192.0.2/24 to assigned",
            "permit out ip from 192.0.2.0/24 to 2001:db8::/64",
            "permit out 017 from any to assigned",
            "permit out 17 from any 080 to assigned",
            "permit out ip from example.org to assigned",
            "permit out 17 from any 65536 to assigned",
            "permit out 17 from any 2-1 to assigned",
            "permit out 17 from any 1-2-3 to assigned",
            "permit out 17 from any 1, to assigned",
            "permit out 17 from any 1 2 to assigned",
            "permit out 17 from any -5 to assigned",
        ] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
        assert!(read(b"permit out ip from any to \xff").is_err());
    }
}
