//! Protection of NAS messages (TS 24.501, 4.4 and 9.1): header, MAC, ciphering, counts.

use std::fmt;

use sluice_security::{Ciphering, Direction, Integrity, NasCount, NasKeys};

/// Extended protocol discriminator of 5GMM.
const MOBILITY_MANAGEMENT: u8 = 0x7e;
/// Type of a message (TS 24.501, 9.7).
const REGISTRATION_REQUEST: u8 = 0x41;
/// Header, MAC and sequence number before the message.
const OVERHEAD: usize = 7;

/// Security header type of a protected message (TS 24.501, 9.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// Integrity alone.
    Integrity = 1,
    /// Integrity, and ciphered.
    Ciphered = 2,
    /// Integrity with keys that are new: Security Mode Command.
    IntegrityNew = 3,
    /// Integrity and ciphered with keys that are new: Security Mode Complete.
    CipheredNew = 4,
}

impl Header {
    /// Of four bits; none if it is reserved or says that the message is plain.
    pub fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Integrity),
            2 => Some(Self::Ciphered),
            3 => Some(Self::IntegrityNew),
            4 => Some(Self::CipheredNew),
            _ => None,
        }
    }

    /// Whether the message inside is ciphered.
    pub fn is_ciphered(self) -> bool {
        matches!(self, Self::Ciphered | Self::CipheredNew)
    }
}

/// A message as it came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Envelope<'a> {
    /// Without protection.
    Plain(&'a [u8]),
    /// With a MAC.
    Protected(Protected<'a>),
}

/// A message with a MAC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Protected<'a> {
    /// Security header.
    pub header: Header,
    mac: [u8; 4],
    /// Sequence number and message.
    covered: &'a [u8],
}

impl<'a> Envelope<'a> {
    /// Whether it is a Registration Request without protection, of somebody who has to be authenticated; one whose
    /// octets are not read any further.
    pub fn is_strange_registration(octets: &[u8]) -> bool {
        matches!(
            octets,
            [MOBILITY_MANAGEMENT, 0, REGISTRATION_REQUEST, _, ..]
        )
    }

    /// None if it is no message of mobility management, or cut short.
    pub fn open(octets: &'a [u8]) -> Option<Self> {
        let &[MOBILITY_MANAGEMENT, header, ref rest @ ..] = octets else {
            return None;
        };
        if header & 15 == 0 {
            return Some(Self::Plain(octets));
        }
        let header = Header::from_number(header & 15)?;
        let (mac, covered) = rest.split_first_chunk::<4>()?;
        // A sequence number, and a message of three octets at least.
        (covered.len() >= 4).then_some(())?;
        Some(Self::Protected(Protected {
            header,
            mac: *mac,
            covered,
        }))
    }
}

impl<'a> Protected<'a> {
    /// The message inside, if it is not ciphered: what may be read before its MAC is known to be
    /// right (TS 24.501, 4.4.4.3).
    pub fn readable(&self) -> Option<&'a [u8]> {
        if self.header.is_ciphered() {
            None
        } else {
            self.covered.get(1..)
        }
    }
}

/// End of a security context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The AMF's.
    Network,
    /// The UE's.
    Ue,
}

impl Side {
    fn sends(self) -> Direction {
        match self {
            Self::Network => Direction::Downlink,
            Self::Ue => Direction::Uplink,
        }
    }

    fn receives(self) -> Direction {
        match self {
            Self::Network => Direction::Uplink,
            Self::Ue => Direction::Downlink,
        }
    }
}

/// A message whose MAC was right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verified {
    /// The message, deciphered.
    pub plain: Vec<u8>,
    /// NAS COUNT of the message.
    pub count: NasCount,
}

/// Keys and counts of one UE at one end.
pub struct SecurityContext {
    side: Side,
    ngksi: u8,
    keys: NasKeys,
    /// Of the next message that is sent; none if the key is used up.
    send: Option<NasCount>,
    /// Of the earliest message that is taken; none if the key is used up.
    receive: Option<NasCount>,
}

impl SecurityContext {
    /// With keys that have protected no message yet.
    pub fn new(side: Side, ngksi: u8, keys: NasKeys) -> Self {
        let first = Some(NasCount::default());
        Self {
            side,
            ngksi,
            keys,
            send: first,
            receive: first,
        }
    }

    /// With keys that were in use before: counts of the next message that is sent, and of the earliest
    /// that is taken; none where the key is used up.
    pub fn resumed(
        side: Side,
        ngksi: u8,
        keys: NasKeys,
        send: Option<NasCount>,
        receive: Option<NasCount>,
    ) -> Self {
        Self {
            side,
            ngksi,
            keys,
            send,
            receive,
        }
    }

    /// Count of the earliest message that is taken.
    pub fn next_received(&self) -> Option<NasCount> {
        self.receive
    }

    /// Key set identifier (ngKSI).
    pub fn ngksi(&self) -> u8 {
        self.ngksi
    }

    /// Algorithms of the keys.
    pub fn algorithms(&self) -> (Ciphering, Integrity) {
        (self.keys.ciphering, self.keys.integrity)
    }

    /// Count of the next message that is sent.
    pub fn next_sent(&self) -> Option<NasCount> {
        self.send
    }

    /// Protects a plain message and uses up a count; none if there is none left. The keys must be
    /// changed before that.
    pub fn protect(&mut self, header: Header, plain: &[u8]) -> Option<Vec<u8>> {
        let count = self.send?;
        self.send = count.next();
        let mut octets = Vec::with_capacity(OVERHEAD + plain.len());
        octets.extend_from_slice(&[MOBILITY_MANAGEMENT, header as u8, 0, 0, 0, 0]);
        octets.push(count.sequence_number());
        octets.extend_from_slice(plain);
        if header.is_ciphered() {
            self.keys
                .cipher(count, self.side.sends(), &mut octets[OVERHEAD..]);
        }
        let mac = self
            .keys
            .mac(count, self.side.sends(), &octets[OVERHEAD - 1..]);
        octets[2..6].copy_from_slice(&mac);
        Some(octets)
    }

    /// The plain message of one that was protected and ciphered at this end and has not been delivered: sent
    /// as it is after later ones, the other end would not take it. None of any other octets.
    pub fn take_back(&self, octets: &[u8]) -> Option<Vec<u8>> {
        let Some(Envelope::Protected(message)) = Envelope::open(octets) else {
            return None;
        };
        let (&sequence_number, inside) = message.covered.split_first()?;
        // The last count before the next one that shows this number.
        let next = self.send?;
        let back = u32::from(
            next.sequence_number()
                .wrapping_sub(sequence_number)
                .wrapping_sub(1),
        );
        let count = NasCount::new(next.get().checked_sub(back + 1)?)?;
        let direction = self.side.sends();
        let is_ours = self.keys.mac(count, direction, message.covered) == message.mac;
        if !is_ours || message.header != Header::Ciphered {
            return None;
        }
        let mut plain = inside.to_vec();
        self.keys.cipher(count, direction, &mut plain);
        Some(plain)
    }

    /// NAS COUNT of a message that [`verify`](Self::verify) would take.
    pub fn count_of(&self, message: &Protected<'_>) -> Option<NasCount> {
        let sequence_number = message.covered.first()?;
        let count = self.receive?.estimate(*sequence_number)?;
        let direction = self.side.receives();
        let expected = self.keys.mac(count, direction, message.covered);
        // In a time that does not tell where they differ.
        let differs = expected
            .iter()
            .zip(message.mac)
            .fold(0, |all, (a, b)| all | (a ^ b));
        (differs == 0).then_some(count)
    }

    /// Checks a message's MAC and deciphers it. Each count is taken once: what was seen before, or
    /// is older than what was seen, has another count and so another MAC.
    pub fn verify(&mut self, message: &Protected<'_>) -> Option<Verified> {
        let count = self.count_of(message)?;
        let inside = message.covered.get(1..)?;
        let direction = self.side.receives();
        self.receive = count.next();
        let mut plain = inside.to_vec();
        if message.header.is_ciphered() {
            self.keys.cipher(count, direction, &mut plain);
        }
        Some(Verified { plain, count })
    }

    /// Ciphers or deciphers the NAS message container of a UE's initial message, which has the count
    /// of that message (TS 24.501, 4.4.5).
    pub fn cipher_container(&self, count: NasCount, container: &mut [u8]) {
        self.keys.cipher(count, Direction::Uplink, container);
    }
}

impl fmt::Debug for SecurityContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecurityContext")
            .field("side", &self.side)
            .field("ngksi", &self.ngksi)
            .field("send", &self.send)
            .field("receive", &self.receive)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_security::Kamf;

    fn both_ends() -> (SecurityContext, SecurityContext) {
        let kamf = Kamf::new([7; 32]);
        let keys = || NasKeys::new(&kamf, Ciphering::Nea2, Integrity::Nia2);
        let network = SecurityContext::new(Side::Network, 1, keys());
        (network, SecurityContext::new(Side::Ue, 1, keys()))
    }

    const PLAIN: [u8; 3] = [0x7e, 0, 0x43];

    fn verify(context: &mut SecurityContext, octets: &[u8]) -> Option<Vec<u8>> {
        match Envelope::open(octets)? {
            Envelope::Protected(message) => context.verify(&message).map(|v| v.plain),
            Envelope::Plain(_) => None,
        }
    }

    #[test]
    fn a_message_that_was_not_delivered_is_taken_back_by_who_sent_it() {
        let (mut network, mut ue) = both_ends();
        let sent: Vec<_> = (0..300)
            .map(|_| network.protect(Header::Ciphered, &PLAIN).expect("a count"))
            .collect();
        // The last 256 have sequence numbers of their own.
        for octets in &sent[44..] {
            assert_eq!(network.take_back(octets).as_deref(), Some(&PLAIN[..]));
        }
        assert_eq!(network.take_back(&sent[43]), None);
        assert_eq!(ue.take_back(&sent[299]), None);
        assert_eq!(network.take_back(&PLAIN), None);
        let of_ue = ue.protect(Header::Ciphered, &PLAIN).expect("a count");
        assert_eq!(network.take_back(&of_ue), None);
        let mut changed = sent[299].clone();
        changed[8] ^= 1;
        assert_eq!(network.take_back(&changed), None);
    }

    #[test]
    fn a_message_is_taken_once_and_only_as_it_was_sent() {
        let (mut network, mut ue) = both_ends();
        let first = ue.protect(Header::Ciphered, &PLAIN).expect("a count");
        assert_ne!(first[7..], PLAIN);
        for at in 2..first.len() {
            let mut changed = first.clone();
            changed[at] ^= 1;
            assert_eq!(verify(&mut network, &changed), None, "octet {at}");
        }
        assert_eq!(verify(&mut network, &first).as_deref(), Some(&PLAIN[..]));
        assert_eq!(verify(&mut network, &first), None, "a second time");
        // What the network sends is not what a UE sends.
        let down = network.protect(Header::Ciphered, &PLAIN).expect("a count");
        assert_eq!(verify(&mut network, &down), None);
        assert_eq!(verify(&mut ue, &down).as_deref(), Some(&PLAIN[..]));
    }

    #[test]
    fn counts_go_on_when_messages_are_lost_and_sequence_numbers_wrap() {
        let (mut network, mut ue) = both_ends();
        for sent in 0..600 {
            let octets = ue.protect(Header::Integrity, &PLAIN).expect("a count");
            // Nine of ten are lost.
            if sent % 10 == 0 {
                assert!(verify(&mut network, &octets).is_some(), "message {sent}");
            }
        }
    }

    #[test]
    fn a_used_up_key_protects_and_takes_nothing() {
        let (mut network, mut ue) = both_ends();
        ue.send = Some(NasCount::MAX);
        network.receive = Some(NasCount::MAX);
        let last = ue
            .protect(Header::Integrity, &PLAIN)
            .expect("the last count");
        assert_eq!(ue.protect(Header::Integrity, &PLAIN), None);
        assert!(verify(&mut network, &last).is_some());
        assert_eq!(verify(&mut network, &last), None);
    }

    #[test]
    fn a_container_has_the_count_of_its_message() {
        let (network, ue) = both_ends();
        let (count, mut container) = (NasCount::new(5).expect("24 bits"), vec![1, 2, 3]);
        ue.cipher_container(count, &mut container);
        assert_ne!(container, [1, 2, 3]);
        network.cipher_container(count, &mut container);
        assert_eq!(container, [1, 2, 3]);
    }

    #[test]
    fn what_is_no_envelope_is_not_opened() {
        for octets in [
            &[][..],
            &[0x7e],
            &[0x2e, 0, 0],
            &[0x7e, 5, 0, 0],
            &[0x7e, 1, 0, 0, 0, 0, 0],
        ] {
            assert_eq!(Envelope::open(octets), None, "{octets:02x?}");
        }
        assert!(matches!(Envelope::open(&PLAIN), Some(Envelope::Plain(_))));
    }
}
