//! The UE's end of EAP-AKA' (RFC 9048, 3; RFC 4187, 3 and 6; TS 33.501, 6.1.3.1).

use std::fmt;

use sluice_ids::{ServingNetworkName, Supi};

use super::keys::Keys;
use super::packet::{AT_CLIENT_ERROR_CODE, AT_KDF, AT_RES, Message, Packet, Subtype, Writer, nak};
use super::server::KDF;
use crate::aka::{Usim, UsimError};
use crate::key::Kausf;

/// "Unable to process packet" (RFC 4187, 10.20).
const UNABLE: u16 = 0;

/// The S and P bits of a notification's code (RFC 4187, 10.19): success, and before the UE was known.
const BEFORE: u16 = 0x4000;

/// A UE's end.
#[derive(Default)]
pub struct Peer {
    /// The last request and what it was answered with: one that is sent again is answered alike.
    answered: Option<(Vec<u8>, Vec<u8>)>,
    keys: Option<Keys>,
}

/// Result of a packet.
#[derive(PartialEq, Eq, Debug)]
pub enum Reply {
    /// A response.
    Respond(Vec<u8>),
    /// EAP-Success, and the key that follows from the challenge; none if none was answered.
    Success(Option<Kausf>),
    /// EAP-Failure.
    Failure,
    /// Nothing: it is no packet for a UE.
    Nothing,
}

impl Peer {
    /// The key that follows, once the challenge was answered.
    pub fn kausf(&self) -> Option<&Kausf> {
        self.keys.as_ref().map(|keys| &keys.kausf)
    }

    /// Takes a packet. `network` is the serving network that the UE has chosen.
    pub fn receive(
        &mut self,
        usim: &mut Usim,
        supi: &Supi,
        network: &ServingNetworkName,
        packet: &[u8],
    ) -> Reply {
        if let Some((request, response)) = &self.answered
            && request == packet
        {
            return Reply::Respond(response.clone());
        }
        let response = match Packet::read(packet) {
            Some(Packet::Request(message)) => self.request(usim, supi, network, &message),
            Some(Packet::Success) => {
                return Reply::Success(self.keys.take().map(|keys| keys.kausf));
            }
            Some(Packet::Failure) => {
                self.keys = None;
                return Reply::Failure;
            }
            Some(Packet::Other {
                is_request: true,
                identifier,
            }) => nak(identifier),
            Some(Packet::Response(_) | Packet::Other { .. }) => return Reply::Nothing,
            None => match *packet {
                // A request that cannot be read (RFC 4187, 6.3.1).
                [1, identifier, _, _, 50, ..] => unable(identifier),
                _ => return Reply::Nothing,
            },
        };
        self.answered = Some((packet.to_vec(), response.clone()));
        Reply::Respond(response)
    }

    fn request(
        &mut self,
        usim: &mut Usim,
        supi: &Supi,
        network: &ServingNetworkName,
        message: &Message<'_>,
    ) -> Vec<u8> {
        match message.subtype {
            Subtype::Challenge => self.challenge(usim, supi, network, message),
            Subtype::Notification => self.notification(message),
            _ => unable(message.identifier),
        }
    }

    fn challenge(
        &mut self,
        usim: &mut Usim,
        supi: &Supi,
        network: &ServingNetworkName,
        message: &Message<'_>,
    ) -> Vec<u8> {
        let identifier = message.identifier;
        let attributes = &message.attributes;
        let (Some(rand), Some(autn), Some(name), true) = (
            attributes.rand,
            attributes.autn,
            attributes.kdf_input,
            message.has_mac(),
        ) else {
            return unable(identifier);
        };
        let reject = || Writer::response(identifier, Subtype::AuthenticationReject).finish();
        match attributes.kdfs.first() {
            Some(&KDF) => {}
            // The one that this end has, if it is offered (RFC 9048, 3.2).
            Some(_) if attributes.kdfs.contains(&KDF) => {
                return Writer::response(identifier, Subtype::Challenge)
                    .put(AT_KDF, KDF.to_be_bytes(), &[])
                    .finish();
            }
            _ => return reject(),
        }
        // It must be the network that the UE is in (RFC 9048, 3.1; TS 33.501, 6.1.1.4.1).
        if name != network.octets() {
            return reject();
        }
        let answer = match usim.answer_prime(&rand, &autn, name) {
            Ok(answer) => answer,
            Err(UsimError::Mac | UsimError::SeparationBit) => return reject(),
            Err(UsimError::Synch(auts)) => {
                let response = Writer::response(identifier, Subtype::SynchronizationFailure);
                // The functions that were offered come back with it (RFC 9048, 3.2).
                let response = response.put_auts(&auts);
                let kdfs = attributes.kdfs.iter();
                let put =
                    |response: Writer, kdf: &u16| response.put(AT_KDF, kdf.to_be_bytes(), &[]);
                return kdfs.fold(response, put).finish();
            }
        };
        let keys = Keys::new(&answer.keys, supi.imsi());
        if !message.has_mac_of(&keys.k_aut) {
            return unable(identifier);
        }
        let bits = (8 * answer.res.len() as u16).to_be_bytes();
        let response = Writer::response(identifier, Subtype::Challenge)
            .put(AT_RES, bits, &answer.res)
            .finish_with_mac(&keys.k_aut);
        self.keys = Some(keys);
        response
    }

    /// Before the UE is known, nothing of it is protected; after that, all of it is (RFC 4187, 6.1).
    fn notification(&mut self, message: &Message<'_>) -> Vec<u8> {
        let response = Writer::response(message.identifier, Subtype::Notification);
        let is_before = |code: u16| code & BEFORE != 0;
        match (message.attributes.notification, &self.keys) {
            (Some(code), _) if is_before(code) && !message.has_mac() => response.finish(),
            (Some(code), Some(keys)) if !is_before(code) && message.has_mac_of(&keys.k_aut) => {
                response.finish_with_mac(&keys.k_aut)
            }
            _ => unable(message.identifier),
        }
    }
}

/// Client-Error.
fn unable(identifier: u8) -> Vec<u8> {
    Writer::response(identifier, Subtype::ClientError)
        .put(AT_CLIENT_ERROR_CODE, UNABLE.to_be_bytes(), &[])
        .finish()
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Peer")
    }
}
