//! Session heads: SEID, association, flags and record location; and the user of a session.

use crate::index::hash_index::Seeded;
use crate::index::slab::{Node, Slab};
use crate::rules::octets::{Kinds, OctetReader, OctetWriter};
use crate::store::index::CpKey;
use crate::store::span_alloc::Span;
use arrayvec::ArrayString;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::num::NonZeroU32;
use sluice_datapath::limits::SHARDS;
use sluice_n4::AssociationId;
use sluice_wire::ids::Seid;
use std::collections::HashMap;

/// A session without its rules.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    /// Whose session it is.
    pub association: AssociationId,
    /// The session at the CP function.
    pub cp: CpSession,
    /// Where all its entries and blocks lie.
    pub shard: u16,
    /// The path has carried its establishment out.
    pub stands: bool,
    /// Hash of the request that established it, so that the request is known when it comes again.
    pub request: RequestHash,
}

/// What is kept of a request to know it again: half of its fingerprint, as it is compared with one other request
/// alone, which names the same CP F-SEID.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestHash(u32);

impl RequestHash {
    /// Of a request with this fingerprint.
    pub fn of(fingerprint: u64) -> Self {
        Self(fingerprint as u32)
    }
}

/// CP F-SEID.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CpSession {
    /// Its SEID.
    pub seid: Seid,
    /// Its IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
}

/// A session to be kept.
#[derive(Clone, Copy, Debug)]
pub struct NewSession {
    /// Whose session it is.
    pub association: AssociationId,
    /// The session at the CP function.
    pub cp: CpSession,
    /// Where all its entries and blocks lie.
    pub shard: u32,
    /// Upper half of the UP SEID, not 0.
    pub check: u32,
    /// Hash of the request that established it.
    pub request: RequestHash,
    /// Who the user is.
    pub user: User,
}

/// What of a session stands in its place.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// Upper half of the UP SEID.
    pub check: NonZeroU32,
    /// Whose session it is.
    pub association: AssociationId,
    /// SEID of the CP F-SEID, in halves, upper one first: whole it would begin at a multiple of eight octets, and so
    /// would each head.
    pub cp_seid: [u32; 2],
    /// IPv4 address of the CP F-SEID, if it has one.
    pub cp_ipv4: u32,
    /// Hash of the request that established it.
    pub request: RequestHash,
    /// First granule of its record.
    pub record_at: u32,
    /// The session before it in its list.
    pub previous: u32,
    /// The session behind it in its list.
    pub next: u32,
    /// Granules of its record.
    pub record_len: u16,
    /// Where all its entries and blocks lie, and what is true of it.
    pub state: SessionState,
}

const _: () = assert!(size_of::<Node<Head>>() == 44);

/// The shard of a session, and behind it, as bits, what is true of it.
#[derive(Clone, Copy, Debug)]
pub struct SessionState(u16);

const SHARD_BITS: u32 = 12;
const _: () = assert!(SHARDS <= 1 << SHARD_BITS);

/// What may be true of a session.
#[derive(Clone, Copy, Debug)]
pub struct SessionFlag(u16);

impl SessionFlag {
    /// The CP F-SEID has an IPv4 address.
    pub const IPV4: Self = Self(1 << SHARD_BITS);
    /// The CP F-SEID has an IPv6 address.
    pub const IPV6: Self = Self(2 << SHARD_BITS);
    /// It is to be removed; nobody can name it any more.
    pub const DOOMED: Self = Self(4 << SHARD_BITS);
    /// The path has carried its establishment out.
    pub const STANDS: Self = Self(8 << SHARD_BITS);
}

impl SessionState {
    /// In a shard; nothing else is true of it.
    pub fn in_shard(shard: u32) -> Self {
        Self((shard % SHARDS) as u16)
    }

    /// The shard.
    pub fn shard(self) -> u16 {
        self.0 % SHARDS as u16
    }

    /// True if this is true of it.
    pub fn has(self, flag: SessionFlag) -> bool {
        self.0 & flag.0 != 0
    }

    /// Says whether this is true of it.
    pub fn set(&mut self, flag: SessionFlag, on: bool) {
        self.0 = self.0 & !flag.0 | if on { flag.0 } else { 0 };
    }
}

impl Head {
    /// Of a session without record, in no list.
    pub fn of(new: &NewSession) -> Option<Self> {
        let cp = &new.cp;
        let mut state = SessionState::in_shard(new.shard);
        state.set(SessionFlag::IPV4, cp.ipv4.is_some());
        state.set(SessionFlag::IPV6, cp.ipv6.is_some());
        Some(Self {
            check: NonZeroU32::new(new.check)?,
            association: new.association,
            cp_seid: halves(cp.seid),
            cp_ipv4: cp.ipv4.map_or(0, u32::from),
            request: new.request,
            record_at: 0,
            record_len: 0,
            previous: NONE,
            next: NONE,
            state,
        })
    }

    /// Where its record is.
    pub fn record(&self) -> Span {
        Span::of(self.record_at, self.record_len)
    }

    /// Its record is elsewhere from now on; gives the run where it was.
    pub fn replace_record(&mut self, run: Span) -> Span {
        let old = self.record();
        (self.record_at, self.record_len) = run.parts();
        old
    }

    /// Nobody can name it any more.
    pub fn is_doomed(&self) -> bool {
        self.state.has(SessionFlag::DOOMED)
    }
}

/// The upper and the lower half of a SEID.
pub fn halves(seid: Seid) -> [u32; 2] {
    [(seid.0 >> 32) as u32, seid.0 as u32]
}

fn whole([upper, lower]: [u32; 2]) -> Seid {
    Seid(u64::from(upper) << 32 | u64::from(lower))
}

/// No session.
pub const NONE: u32 = u32::MAX;

/// Names a session from inside: its place and check, so that a place's next user is told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionRef {
    /// The place.
    pub at: u32,
    /// The check.
    pub check: u32,
}

impl SessionRef {
    /// From a SEID of ours.
    pub fn from_seid(seid: Seid) -> Self {
        Self {
            at: seid.0 as u32,
            check: (seid.0 >> 32) as u32,
        }
    }

    /// The UP SEID.
    pub fn seid(self) -> Seid {
        Seid(u64::from(self.check) << 32 | u64::from(self.at))
    }
}

/// The CP F-SEID of the session in a place.
pub fn cp_of(ipv6: &HashMap<u32, Ipv6Addr, Seeded>, at: u32, head: &Head) -> CpSession {
    let has = |flag| head.state.has(flag);
    CpSession {
        seid: whole(head.cp_seid),
        ipv4: has(SessionFlag::IPV4).then(|| head.cp_ipv4.into()),
        ipv6: has(SessionFlag::IPV6)
            .then(|| ipv6.get(&at).copied())
            .flatten(),
    }
}

/// What the session in a place is found by.
pub fn key_of(heads: &Slab<Head>, ipv6: &HashMap<u32, Ipv6Addr, Seeded>, at: u32) -> Option<CpKey> {
    let head = heads.get(at)?;
    Some((head.association, cp_of(ipv6, at, head)))
}

/// User ID.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct User {
    /// IMSI, digits.
    pub imsi: Digits,
    /// MSISDN, digits.
    pub msisdn: Digits,
}

/// Up to 15 digits (ITU-T E.164, E.212).
pub type Digits = ArrayString<15>;

/// In place of a digit: none.
const FILLER: u8 = 15;

impl User {
    /// Writes what is known.
    pub fn write(&self, kinds: Kinds, pen: &mut OctetWriter<'_>) {
        if kinds.has(Kinds::IMSI) {
            pen.put(packed(&self.imsi));
        }
        if kinds.has(Kinds::MSISDN) {
            pen.put(packed(&self.msisdn));
        }
    }

    /// Reads it again.
    pub fn read(kinds: Kinds, eye: &mut OctetReader<'_>) -> Self {
        let mut digits = |part| {
            let known = kinds.has(part).then(|| unpacked(eye.get()));
            known.unwrap_or_default()
        };
        Self {
            imsi: digits(Kinds::IMSI),
            msisdn: digits(Kinds::MSISDN),
        }
    }

    /// Passes over it.
    pub fn pass(kinds: Kinds, eye: &mut OctetReader<'_>) {
        for part in [Kinds::IMSI, Kinds::MSISDN] {
            if kinds.has(part) {
                eye.get::<8>();
            }
        }
    }
}

/// Two digits in an octet.
fn packed(digits: &str) -> [u8; 8] {
    let mut octets = [FILLER << 4 | FILLER; 8];
    for (pair, octet) in digits.as_bytes().chunks(2).zip(&mut octets) {
        let value = |i: usize| pair.get(i).map_or(FILLER, |c| c.wrapping_sub(b'0') & 15);
        *octet = value(1) << 4 | value(0);
    }
    octets
}

fn unpacked(octets: [u8; 8]) -> Digits {
    let halves = octets.into_iter().flat_map(|o| [o & 15, o >> 4]);
    let mut digits = Digits::new();
    for digit in halves.take_while(|half| *half != FILLER).take(15) {
        digits.push(char::from(b'0' + digit));
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_kept_whatever_their_number() {
        for text in ["", "1", "42", "001010000000001", "99999999999999"] {
            assert_eq!(&unpacked(packed(text))[..], text);
        }
    }
}
