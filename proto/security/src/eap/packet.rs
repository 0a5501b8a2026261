//! Octets of EAP packets (RFC 3748, 4) and of the attributes of EAP-AKA' (RFC 4187, 8; RFC 9048, 3).

use super::LONGEST;
use super::keys::KAut;
use crate::aka::{Autn, Auts, Rand, hmac_sha256};
use crate::functions::is_same;

/// Type of EAP-AKA' (RFC 9048, 6.1).
const EAP_AKA_PRIME: u8 = 50;

const REQUEST: u8 = 1;
const RESPONSE: u8 = 2;
const SUCCESS: u8 = 3;
const FAILURE: u8 = 4;

/// Attributes (RFC 4187, 11; RFC 9048, 6.2); those below 128 may not be skipped.
pub(super) const AT_RAND: u8 = 1;
pub(super) const AT_AUTN: u8 = 2;
pub(super) const AT_RES: u8 = 3;
pub(super) const AT_AUTS: u8 = 4;
const AT_MAC: u8 = 11;
pub(super) const AT_NOTIFICATION: u8 = 12;
pub(super) const AT_CLIENT_ERROR_CODE: u8 = 22;
pub(super) const AT_KDF_INPUT: u8 = 23;
pub(super) const AT_KDF: u8 = 24;
const SKIPPABLE: u8 = 128;

/// Most key derivation functions that a server offers; there is one.
const KDFS: usize = 8;

/// Subtype of an EAP-AKA' packet (RFC 4187, 11).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Subtype {
    Challenge = 1,
    AuthenticationReject = 2,
    SynchronizationFailure = 4,
    Notification = 12,
    ClientError = 14,
}

/// A packet.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Packet<'a> {
    Request(Message<'a>),
    Response(Message<'a>),
    Success,
    Failure,
    /// A request or response of another method.
    Other {
        is_request: bool,
        identifier: u8,
    },
}

/// A request or response of EAP-AKA'.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Message<'a> {
    pub identifier: u8,
    pub subtype: Subtype,
    pub attributes: Attributes<'a>,
    octets: &'a [u8],
}

/// Attributes of a packet; each at most once, except key derivation functions.
#[derive(PartialEq, Eq, Debug, Default)]
pub(super) struct Attributes<'a> {
    pub rand: Option<Rand>,
    pub autn: Option<Autn>,
    pub res: Option<&'a [u8]>,
    pub auts: Option<Auts>,
    pub notification: Option<u16>,
    pub kdf_input: Option<&'a [u8]>,
    pub kdfs: Vec<u16>,
    /// Offset of the MAC.
    mac_at: Option<usize>,
}

impl<'a> Packet<'a> {
    /// Reads a packet; none if it is malformed, or has what may not be skipped and is not known.
    pub fn read(octets: &'a [u8]) -> Option<Self> {
        let [code, identifier, high, low, rest @ ..] = octets else {
            return None;
        };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if length != octets.len() || length > LONGEST {
            return None;
        }
        let (is_request, identifier) = match *code {
            SUCCESS => return Some(Self::Success),
            FAILURE => return Some(Self::Failure),
            REQUEST => (true, *identifier),
            RESPONSE => (false, *identifier),
            _ => return None,
        };
        let other = Self::Other {
            is_request,
            identifier,
        };
        let [EAP_AKA_PRIME, subtype, _, _, ..] = rest else {
            return (!rest.is_empty()).then_some(other);
        };
        let subtype = match *subtype {
            1 => Subtype::Challenge,
            2 => Subtype::AuthenticationReject,
            4 => Subtype::SynchronizationFailure,
            12 => Subtype::Notification,
            14 => Subtype::ClientError,
            _ => return None,
        };
        let message = Message {
            identifier,
            subtype,
            attributes: Attributes::read(octets)?,
            octets,
        };
        Some(match is_request {
            true => Self::Request(message),
            false => Self::Response(message),
        })
    }
}

impl Message<'_> {
    /// Whether it has a MAC, made with this key.
    pub fn has_mac_of(&self, key: &KAut) -> bool {
        let Some(at) = self.attributes.mac_at else {
            return false;
        };
        let (before, rest) = self.octets.split_at(at);
        let (mac, after) = rest.split_at(MAC);
        is_same(&mac_of(key, &[before, &[0; MAC], after]), mac)
    }

    /// Whether it has any MAC.
    pub fn has_mac(&self) -> bool {
        self.attributes.mac_at.is_some()
    }
}

const MAC: usize = 16;

/// HMAC-SHA-256-128 (RFC 9048, 3.4.2).
fn mac_of(key: &KAut, parts: &[&[u8]]) -> [u8; MAC] {
    let whole = hmac_sha256(&**key, parts);
    std::array::from_fn(|at| whole[at])
}

/// Octets before the attributes of a request or response.
const HEAD: usize = 8;

impl<'a> Attributes<'a> {
    fn read(octets: &'a [u8]) -> Option<Self> {
        let mut this = Self::default();
        let mut at = HEAD;
        while at < octets.len() {
            let [kind, words, ..] = *octets.get(at..)? else {
                return None;
            };
            let end = at + 4 * usize::from(words);
            // After kind and length; a length of 0 has no end.
            let value = octets.get(at + 2..end)?;
            this.take(kind, value, at)?;
            at = end;
        }
        Some(this)
    }

    /// None if it is wrong, comes twice, or may not be skipped and is not known.
    fn take(&mut self, kind: u8, value: &'a [u8], at: usize) -> Option<()> {
        match kind {
            AT_RAND => once(&mut self.rand, reserved_and(value)?),
            AT_AUTN => once(&mut self.autn, reserved_and(value)?),
            AT_RES => {
                let (bits, value) = value.split_first_chunk::<2>()?;
                let bits = usize::from(u16::from_be_bytes(*bits));
                // 32 to 128 bits (RFC 4187, 10.8); ours are whole octets.
                if !(32..=128).contains(&bits) || bits % 8 != 0 {
                    return None;
                }
                once(&mut self.res, value.get(..bits / 8)?)
            }
            AT_AUTS => once(&mut self.auts, value.try_into().ok()?),
            AT_MAC => {
                let _: [u8; MAC] = reserved_and(value)?;
                once(&mut self.mac_at, at + 4)
            }
            AT_NOTIFICATION => once(&mut self.notification, number(value)?),
            AT_CLIENT_ERROR_CODE => number(value).map(|_| ()),
            AT_KDF_INPUT => {
                let (length, value) = value.split_first_chunk::<2>()?;
                let length = usize::from(u16::from_be_bytes(*length));
                let name = value.get(..length).filter(|name| !name.is_empty())?;
                once(&mut self.kdf_input, name)
            }
            AT_KDF if self.kdfs.len() < KDFS => {
                self.kdfs.push(number(value)?);
                Some(())
            }
            _ => (kind >= SKIPPABLE).then_some(()),
        }
    }
}

fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

fn reserved_and<const N: usize>(value: &[u8]) -> Option<[u8; N]> {
    value.split_first_chunk::<2>()?.1.try_into().ok()
}

fn number(value: &[u8]) -> Option<u16> {
    value.try_into().ok().map(u16::from_be_bytes)
}

/// A request or response that is being written.
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub fn request(identifier: u8, subtype: Subtype) -> Self {
        Self::new(REQUEST, identifier, subtype)
    }

    pub fn response(identifier: u8, subtype: Subtype) -> Self {
        Self::new(RESPONSE, identifier, subtype)
    }

    fn new(code: u8, identifier: u8, subtype: Subtype) -> Self {
        Self(vec![
            code,
            identifier,
            0,
            0,
            EAP_AKA_PRIME,
            subtype as u8,
            0,
            0,
        ])
    }

    /// Two octets, reserved or a number, then a value, then zeros up to a multiple of four.
    pub fn put(mut self, kind: u8, head: [u8; 2], value: &[u8]) -> Self {
        let words = (4 + value.len()).div_ceil(4);
        let end = self.0.len() + 4 * words;
        // Ours have 40 octets at the most.
        self.0.extend_from_slice(&[kind, words as u8]);
        self.0.extend_from_slice(&head);
        self.0.extend_from_slice(value);
        self.0.resize(end, 0);
        self
    }

    /// AT_AUTS has no reserved octets.
    pub fn put_auts(self, auts: &Auts) -> Self {
        let (head, rest) = auts.split_at(2);
        self.put(AT_AUTS, [head[0], head[1]], rest)
    }

    /// The packet's octets.
    pub fn finish(mut self) -> Vec<u8> {
        let length = (self.0.len() as u16).to_be_bytes();
        self.0[2..4].copy_from_slice(&length);
        self.0
    }

    /// The packet's octets, with a MAC of all of them.
    pub fn finish_with_mac(self, key: &KAut) -> Vec<u8> {
        let mut octets = self.put(AT_MAC, [0; 2], &[0; MAC]).finish();
        let mac = mac_of(key, &[&octets]);
        let at = octets.len() - MAC;
        octets[at..].copy_from_slice(&mac);
        octets
    }
}

/// EAP-Success, which answers the response of this identifier.
pub(super) fn success(identifier: u8) -> Vec<u8> {
    vec![SUCCESS, identifier, 0, 4]
}

/// EAP-Failure, which answers the response of this identifier.
pub(super) fn failure(identifier: u8) -> Vec<u8> {
    vec![FAILURE, identifier, 0, 4]
}

/// Legacy Nak: no method is wanted instead (RFC 3748, 5.3.1).
pub(super) fn nak(identifier: u8) -> Vec<u8> {
    vec![RESPONSE, identifier, 0, 6, 3, EAP_AKA_PRIME]
}
