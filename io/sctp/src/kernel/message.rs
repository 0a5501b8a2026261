//! What Linux' SCTP says beside a message: ancillary data and notifications (RFC 6458, 5.3 and 6.1).
//!
//! Octets are read, never cast. They come from the kernel, yet parts of a notification are a peer's.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Number of an association inside the kernel.
pub type Number = i32;

/// Level of SCTP's ancillary data and options.
pub(crate) const SOL_SCTP: i32 = 132;

/// Kind of ancillary data: `struct sctp_sndrcvinfo` (RFC 6458, 5.3.2).
pub(crate) const SCTP_SNDRCV: i32 = 1;

/// Octets of `struct sctp_sndrcvinfo`.
pub(crate) const SEND_RECEIVE: usize = 32;

/// Octets of `struct cmsghdr`; what follows it is aligned to as many as a pointer has.
pub(crate) const HEAD: usize = size_of::<usize>() + 8;

const ASSOC_CHANGE: u16 = 0x8001;

/// Association and stream of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Of which association.
    pub number: Number,
    /// On which stream.
    pub stream: u16,
    /// Payload protocol identifier.
    pub ppid: u32,
}

/// Change of an association (RFC 6458, 6.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Became {
    /// Up.
    Up,
    /// Lost: aborted, or silent.
    Lost {
        /// The peer has said so.
        was_aborted: bool,
    },
    /// The peer has begun anew.
    Restarted,
    /// Shut down in order.
    Ended,
    /// Not set up.
    NotSetUp,
}

/// A change of an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// Which.
    pub number: Number,
    /// Change of the association.
    pub became: Became,
    /// Streams towards the peer.
    pub streams: u16,
}

fn number<const N: usize>(octets: &[u8], at: usize) -> Option<[u8; N]> {
    octets.get(at..)?.first_chunk().copied()
}

fn u16_at(octets: &[u8], at: usize) -> Option<u16> {
    number(octets, at).map(u16::from_ne_bytes)
}

fn i32_at(octets: &[u8], at: usize) -> Option<i32> {
    number(octets, at).map(i32::from_ne_bytes)
}

/// Association and stream of a message, from its ancillary data; none without it.
pub fn place(mut control: &[u8]) -> Option<Place> {
    loop {
        let length = usize::from_ne_bytes(number(control, 0)?);
        let level = i32_at(control, size_of::<usize>())?;
        let kind = i32_at(control, size_of::<usize>() + 4)?;
        let data = control.get(HEAD..length)?;
        if (level, kind) == (SOL_SCTP, SCTP_SNDRCV) && data.len() >= SEND_RECEIVE {
            return Some(Place {
                stream: u16_at(data, 0)?,
                // In network order, as the kernel leaves it alone.
                ppid: number(data, 8).map(u32::from_be_bytes)?,
                number: i32_at(data, 28)?,
            });
        }
        control = control.get(length.next_multiple_of(size_of::<usize>())..)?;
    }
}

/// The ancillary data with which a message is sent.
pub fn to_place(place: Place, flags: u16) -> [u8; HEAD + SEND_RECEIVE] {
    let mut octets = [0; HEAD + SEND_RECEIVE];
    let mut put = |at: usize, value: &[u8]| octets[at..at + value.len()].copy_from_slice(value);
    put(0, &(HEAD + SEND_RECEIVE).to_ne_bytes());
    put(size_of::<usize>(), &SOL_SCTP.to_ne_bytes());
    put(size_of::<usize>() + 4, &SCTP_SNDRCV.to_ne_bytes());
    put(HEAD, &place.stream.to_ne_bytes());
    put(HEAD + 4, &flags.to_ne_bytes());
    put(HEAD + 8, &place.ppid.to_be_bytes());
    put(HEAD + 28, &place.number.to_ne_bytes());
    octets
}

/// A notification; none of another kind than a change of an association, or of one that is cut short.
pub fn change(notification: &[u8]) -> Option<Change> {
    /// Octets before the peer's ABORT, which is there if it has sent one.
    const FIXED: usize = 20;
    if u16_at(notification, 0)? != ASSOC_CHANGE {
        return None;
    }
    let state = u16_at(notification, 8)?;
    let error = u16_at(notification, 10)?;
    let number = i32_at(notification, 16)?;
    let was_aborted = error != 0 || notification.len() > FIXED;
    let became = match state {
        0 => Became::Up,
        1 => Became::Lost { was_aborted },
        2 => Became::Restarted,
        3 => Became::Ended,
        4 => Became::NotSetUp,
        _ => return None,
    };
    Some(Change {
        number,
        became,
        streams: u16_at(notification, 12)?,
    })
}

const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;

/// An address as the kernel writes it.
pub fn address(name: &[u8]) -> Option<SocketAddr> {
    let port = number(name, 2).map(u16::from_be_bytes)?;
    let ip: IpAddr = match u16_at(name, 0)? {
        AF_INET => Ipv4Addr::from(number::<4>(name, 4)?).into(),
        AF_INET6 => Ipv6Addr::from(number::<16>(name, 8)?).into(),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// Addresses as the kernel reads them, one behind the other.
pub fn to_addresses(all: &[SocketAddr]) -> Vec<u8> {
    let mut octets = Vec::new();
    for one in all {
        match one {
            SocketAddr::V4(one) => {
                octets.extend_from_slice(&AF_INET.to_ne_bytes());
                octets.extend_from_slice(&one.port().to_be_bytes());
                octets.extend_from_slice(&one.ip().octets());
                octets.extend_from_slice(&[0; 8]);
            }
            SocketAddr::V6(one) => {
                octets.extend_from_slice(&AF_INET6.to_ne_bytes());
                octets.extend_from_slice(&one.port().to_be_bytes());
                octets.extend_from_slice(&[0; 4]);
                octets.extend_from_slice(&one.ip().octets());
                octets.extend_from_slice(&one.scope_id().to_ne_bytes());
            }
        }
    }
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place {
        number: 7,
        stream: 3,
        ppid: 60,
    };

    #[test]
    fn a_place_is_read_as_it_was_written_also_behind_others() {
        let ours = to_place(PLACE, 4);
        assert_eq!(place(&ours), Some(PLACE));
        // SO_TIMESTAMP and what is longer than it says before it.
        let mut others = [0; HEAD + 8];
        others[..8].copy_from_slice(&(HEAD + 3).to_ne_bytes());
        assert_eq!(place(&[&others[..], &ours].concat()), Some(PLACE));
        for length in 0..ours.len() {
            assert_eq!(place(&ours[..length]), None, "{length}");
        }
        for length in [0usize, 1, HEAD - 1, 4000, usize::MAX] {
            let mut wrong = ours;
            wrong[..8].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(place(&wrong), None, "{length}");
        }
    }

    #[test]
    fn an_address_is_read_as_it_was_written() {
        for text in ["10.1.2.3:38412", "[2001:db8::7]:38412"] {
            let one: SocketAddr = text.parse().expect("an address");
            let octets = to_addresses(&[one]);
            assert_eq!(octets.len(), if one.is_ipv4() { 16 } else { 28 });
            assert_eq!(address(&octets), Some(one));
            assert_eq!(address(&octets[..6]), None);
        }
        assert_eq!(address(&[1, 0, 0, 0, 0, 0, 0, 0]), None);
    }

    /// As `struct sctp_assoc_change` stands in `linux/sctp.h`.
    fn octets(state: u16, error: u16, info: &[u8]) -> Vec<u8> {
        let mut octets = Vec::new();
        octets.extend(ASSOC_CHANGE.to_ne_bytes());
        octets.extend([0; 2]);
        octets.extend((20 + info.len() as u32).to_ne_bytes());
        for value in [state, error, 16, 10] {
            octets.extend(value.to_ne_bytes());
        }
        octets.extend(9i32.to_ne_bytes());
        octets.extend(info);
        octets
    }

    #[test]
    fn changes_tell_whether_the_peer_aborted() {
        let became = |octets: &[u8]| change(octets).map(|change| change.became);
        let up = Change {
            number: 9,
            became: Became::Up,
            streams: 16,
        };
        assert_eq!(change(&octets(0, 0, &[])), Some(up));
        let lost = |was_aborted| Some(Became::Lost { was_aborted });
        assert_eq!(became(&octets(1, 0, &[])), lost(false));
        assert_eq!(became(&octets(1, 0, &[6, 0, 0, 4])), lost(true));
        assert_eq!(became(&octets(1, 12, &[])), lost(true));
        assert_eq!(became(&octets(2, 0, &[])), Some(Became::Restarted));
        assert_eq!(became(&octets(3, 0, &[])), Some(Became::Ended));
        assert_eq!(became(&octets(4, 0, &[])), Some(Became::NotSetUp));
        assert_eq!(became(&octets(5, 0, &[])), None);
        let whole = octets(0, 0, &[]);
        for length in 0..whole.len() {
            assert_eq!(change(&whole[..length]), None, "{length}");
        }
        let mut other = whole;
        other[..2].copy_from_slice(&0x8002u16.to_ne_bytes());
        assert_eq!(change(&other), None);
    }
}
