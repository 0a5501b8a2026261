//! Frames between a front and the program that speaks NGAP: each is one datagram of a Unix socket.

use std::net::IpAddr;

use zerocopy::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::allow::{AllowList, Prefix};
use crate::endpoint::Counters;
use crate::transport::{Association, Loss, Peer};

/// Version of frames; both ends are of one.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/1");

/// Frame of a front, or for one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame {
    /// First frame of either end.
    Hello {
        /// Version of its frames.
        version: String,
    },
    /// Front: the other end is not served.
    Refused {
        /// Why, in words.
        why: String,
    },
    /// Front: an association is up, or was when the other end came.
    Up {
        /// Which.
        association: Association,
        /// With whom.
        peer: Peer,
        /// Streams towards the peer.
        streams: u16,
    },
    /// A message of a peer, or for one.
    Message {
        /// Of which association.
        association: Association,
        /// On which stream.
        stream: u16,
        /// Payload protocol identifier.
        ppid: u32,
        /// The message.
        octets: Vec<u8>,
    },
    /// Front: an association is gone.
    Lost {
        /// Which.
        association: Association,
        /// Why.
        why: Loss,
    },
    /// An association is to be ended in order.
    Shutdown(Association),
    /// An association is to be aborted.
    Abort(Association),
    /// Peers that may speak from now on.
    Allow(AllowList),
    /// Front: an address that may not speak has tried to.
    Stranger(IpAddr),
    /// Front: what its endpoint has counted.
    Counters(Counters),
}

/// Octets before those that a frame's kind says more of.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Head {
    kind: u8,
    /// Stream, number of streams, or reason of a loss.
    small: U16,
    association: U32,
    /// Payload protocol identifier, or UDP port.
    large: U32,
}

const HELLO: u8 = 1;
const REFUSED: u8 = 2;
const UP: u8 = 3;
const MESSAGE: u8 = 4;
const LOST: u8 = 5;
const SHUTDOWN: u8 = 6;
const ABORT: u8 = 7;
const ALLOW: u8 = 8;
const STRANGER: u8 = 9;
const COUNTERS: u8 = 10;

/// Reasons of a loss, by their numbers.
const LOSSES: [Loss; 6] = [
    Loss::Ended,
    Loss::Aborted,
    Loss::Silent,
    Loss::Restarted,
    Loss::NotSetUp,
    Loss::Refused,
];

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

fn write_address(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn read_address(octets: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from))
        .ok()
}

fn write_prefixes(allowed: &AllowList) -> Vec<u8> {
    let texts = allowed.prefixes().iter().map(ToString::to_string);
    texts.collect::<Vec<_>>().join(" ").into_bytes()
}

fn read_prefixes(octets: &[u8]) -> Option<AllowList> {
    let text = str::from_utf8(octets).ok()?;
    let prefixes = text.split_whitespace().map(str::parse::<Prefix>);
    Some(AllowList::new(prefixes.collect::<Result<_, _>>().ok()?))
}

fn write_counters(counters: &Counters) -> Vec<u8> {
    let Counters {
        taken,
        not_allowed,
        other_port,
        malformed,
        no_room,
        too_many,
        too_long,
        received,
        sent,
    } = *counters;
    let all = [
        taken,
        not_allowed,
        other_port,
        malformed,
        no_room,
        too_many,
        too_long,
        received,
        sent,
    ];
    all.map(U64::new).as_bytes().to_vec()
}

fn read_counters(octets: &[u8]) -> Option<Counters> {
    let all = <[U64; 9]>::read_from_bytes(octets).ok()?;
    let [
        taken,
        not_allowed,
        other_port,
        malformed,
        no_room,
        too_many,
        too_long,
        received,
        sent,
    ] = all.map(U64::get);
    Some(Counters {
        taken,
        not_allowed,
        other_port,
        malformed,
        no_room,
        too_many,
        too_long,
        received,
        sent,
    })
}

impl Frame {
    /// First frame of this program's end.
    pub fn hello() -> Self {
        let version = VERSION.to_owned();
        Self::Hello { version }
    }

    /// Octets of the frame.
    pub fn encode(&self) -> Vec<u8> {
        let of = |kind, association: Association| (kind, 0, association.0, 0);
        let without = |kind| (kind, 0, 0, 0);
        let ((kind, small, association, large), more) = match self {
            Self::Hello { version } => (without(HELLO), version.clone().into_bytes()),
            Self::Refused { why } => (without(REFUSED), why.clone().into_bytes()),
            Self::Up {
                association,
                peer,
                streams,
            } => {
                let head = (UP, *streams, association.0, peer.udp_port.into());
                (head, write_address(peer.address))
            }
            Self::Message {
                association,
                stream,
                ppid,
                octets,
            } => ((MESSAGE, *stream, association.0, *ppid), octets.clone()),
            Self::Lost { association, why } => {
                let number = LOSSES.iter().position(|one| one == why);
                let number = number.unwrap_or_default() as u16;
                ((LOST, number, association.0, 0), Vec::new())
            }
            Self::Shutdown(association) => (of(SHUTDOWN, *association), Vec::new()),
            Self::Abort(association) => (of(ABORT, *association), Vec::new()),
            Self::Allow(allowed) => (without(ALLOW), write_prefixes(allowed)),
            Self::Stranger(address) => (without(STRANGER), write_address(*address)),
            Self::Counters(counters) => (without(COUNTERS), write_counters(counters)),
        };
        let head = Head {
            kind,
            small: small.into(),
            association: association.into(),
            large: large.into(),
        };
        [head.as_bytes(), &more].concat()
    }

    /// Reads a frame; none of octets that are no frame.
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let (head, more) = Head::read_from_prefix(octets).ok()?;
        let association = Association(head.association.get());
        let small = head.small.get();
        Some(match head.kind {
            HELLO => Self::Hello {
                version: text(more),
            },
            REFUSED => Self::Refused { why: text(more) },
            UP => Self::Up {
                association,
                peer: Peer {
                    address: read_address(more)?,
                    udp_port: u16::try_from(head.large.get()).ok()?,
                },
                streams: small,
            },
            MESSAGE => Self::Message {
                association,
                stream: small,
                ppid: head.large.get(),
                octets: more.to_vec(),
            },
            LOST => Self::Lost {
                association,
                why: *LOSSES.get(usize::from(small))?,
            },
            SHUTDOWN => Self::Shutdown(association),
            ABORT => Self::Abort(association),
            ALLOW => Self::Allow(read_prefixes(more)?),
            STRANGER => Self::Stranger(read_address(more)?),
            COUNTERS => Self::Counters(read_counters(more)?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Frame> {
        let association = Association(7);
        let peer = |address: &str, udp_port| Peer {
            address: address.parse().expect("an address"),
            udp_port,
        };
        let mut all = vec![
            Frame::hello(),
            Frame::Refused {
                why: "another AMF".to_owned(),
            },
            Frame::Up {
                association,
                peer: peer("192.0.2.1", 9899),
                streams: 16,
            },
            Frame::Up {
                association,
                peer: peer("2001:db8::1", 0),
                streams: 1,
            },
            Frame::Message {
                association,
                stream: 3,
                ppid: 60,
                octets: vec![1, 2, 3],
            },
            Frame::Shutdown(association),
            Frame::Abort(association),
            Frame::Allow(AllowList::default()),
            Frame::Allow(AllowList::new(vec![
                "10.0.0.0/8".parse().expect("a prefix"),
                "fd00::/8".parse().expect("a prefix"),
            ])),
            Frame::Stranger("192.0.2.9".parse().expect("an address")),
            Frame::Counters(Counters {
                taken: 1,
                not_allowed: 2,
                other_port: 3,
                malformed: 4,
                no_room: 5,
                too_many: 6,
                too_long: 7,
                received: 8,
                sent: u64::MAX,
            }),
        ];
        all.extend(LOSSES.map(|why| Frame::Lost { association, why }));
        all
    }

    #[test]
    fn each_frame_comes_as_it_was_sent() {
        for frame in all() {
            assert_eq!(Frame::decode(&frame.encode()), Some(frame));
        }
    }

    #[test]
    fn what_is_cut_or_of_an_unknown_kind_is_no_frame_or_another_one() {
        for frame in all() {
            let octets = frame.encode();
            for length in 0..octets.len() {
                assert_ne!(Frame::decode(&octets[..length]), Some(frame.clone()));
            }
            let unknown = [&[0], &octets[1..]].concat();
            assert_eq!(Frame::decode(&unknown), None);
        }
    }
}
