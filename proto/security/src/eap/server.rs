//! The home network's end of EAP-AKA' (RFC 9048, 3; RFC 4187, 3 and 6; TS 33.501, 6.1.3.1).

use sluice_ids::{ServingNetworkName, Supi};

use super::keys::Keys;
use super::packet::{
    AT_AUTN, AT_KDF, AT_KDF_INPUT, AT_NOTIFICATION, AT_RAND, Message, Packet, Subtype, Writer,
    failure, success,
};
use crate::aka::{Auts, PrimeChallenge, Rand};
use crate::functions::{RES, is_same};
use crate::key::Kausf;

/// The only key derivation function that there is (RFC 9048, 3.3).
pub(super) const KDF: u16 = 1;

/// "General failure", in the phase before the UE has proved who it is (RFC 4187, 6.1).
const GENERAL_FAILURE: u16 = 16_384;

/// An authentication that waits for the UE's response.
pub struct Server {
    rand: Rand,
    xres: [u8; RES],
    keys: Keys,
    identifier: u8,
    /// The request that is not answered yet.
    request: Vec<u8>,
    /// That was a notification, after which there is only failure.
    has_failed: bool,
}

/// Result of a response.
#[derive(PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Another request, or the same again: the response was not one to it.
    Ask(Vec<u8>),
    /// The UE is authenticated: EAP-Success, and the derived key.
    Success(Vec<u8>, Kausf),
    /// The SIM refuses the sequence number; for the challenge of this RAND.
    Synchronise(Rand, Auts),
    /// EAP-Failure.
    Failure(Vec<u8>),
}

impl Server {
    /// Begins with a vector of the home network. `identifier` is that of the first request.
    pub fn new(
        identifier: u8,
        supi: &Supi,
        network: &ServingNetworkName,
        challenge: &PrimeChallenge,
    ) -> Self {
        let keys = Keys::new(&challenge.keys, supi.imsi());
        let name = network.octets();
        // 32 octets or so.
        let length = (name.len() as u16).to_be_bytes();
        let request = Writer::request(identifier, Subtype::Challenge)
            .put(AT_RAND, [0; 2], &challenge.rand)
            .put(AT_AUTN, [0; 2], &challenge.autn)
            .put(AT_KDF_INPUT, length, name)
            .put(AT_KDF, KDF.to_be_bytes(), &[])
            .finish_with_mac(&keys.k_aut);
        Self {
            rand: challenge.rand,
            xres: challenge.xres,
            keys,
            identifier,
            request,
            has_failed: false,
        }
    }

    /// The request that is not answered yet.
    pub fn request(&self) -> &[u8] {
        &self.request
    }

    /// The identifier of a request that follows.
    pub fn next_identifier(&self) -> u8 {
        self.identifier.wrapping_add(1)
    }

    /// Takes a response. What is no response to the last request is discarded (RFC 3748, 4.1).
    pub fn receive(&mut self, response: &[u8]) -> Verdict {
        match Packet::read(response) {
            Some(Packet::Response(message)) if message.identifier == self.identifier => {
                self.answered(&message)
            }
            Some(Packet::Other {
                is_request: false,
                identifier,
            }) if identifier == self.identifier => self.fail(),
            // Malformed, and it answers the request: an error (RFC 4187, 6.3.3).
            None if response.get(1) == Some(&self.identifier) => self.notify(),
            _ => Verdict::Ask(self.request.clone()),
        }
    }

    fn answered(&mut self, message: &Message<'_>) -> Verdict {
        let attributes = &message.attributes;
        match (message.subtype, attributes.res, attributes.auts) {
            (Subtype::Notification, ..) if self.has_failed => self.fail(),
            (Subtype::AuthenticationReject | Subtype::ClientError, ..) => self.fail(),
            _ if self.has_failed => self.fail(),
            (Subtype::SynchronizationFailure, _, Some(auts)) => {
                Verdict::Synchronise(self.rand, auts)
            }
            (Subtype::Challenge, Some(res), _)
                if message.has_mac_of(&self.keys.k_aut) && is_same(res, &self.xres) =>
            {
                Verdict::Success(success(self.identifier), self.keys.kausf.clone())
            }
            // Also a UE that wants another key derivation function: there is none.
            _ => self.notify(),
        }
    }

    /// The UE is told that it failed, and answers before it is over (RFC 4187, 6.3.3).
    fn notify(&mut self) -> Verdict {
        if self.has_failed {
            return self.fail();
        }
        self.has_failed = true;
        self.identifier = self.next_identifier();
        self.request = Writer::request(self.identifier, Subtype::Notification)
            .put(AT_NOTIFICATION, GENERAL_FAILURE.to_be_bytes(), &[])
            .finish();
        Verdict::Ask(self.request.clone())
    }

    /// EAP-Failure of an authentication that is over.
    pub fn failure(&self) -> Vec<u8> {
        failure(self.identifier)
    }

    fn fail(&self) -> Verdict {
        Verdict::Failure(self.failure())
    }
}
