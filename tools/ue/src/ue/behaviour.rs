//! Faults that an emulated UE has, and answers that show them.

use sluice_n1::{Header, Uplink};

use super::{Ue, protect};

/// Faults of a UE.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Behaviour {
    pub silent: bool,
    /// The UE answers challenges with a wrong RES*.
    pub wrong_res: bool,
    /// The UE reports once that the key set identifier is in use.
    pub ngksi_in_use: bool,
    /// The UE rejects each Security Mode Command.
    pub refuse_security_mode: bool,
    /// MACs of its initial messages are wrong.
    pub wrong_mac: bool,
    /// The UE sends no ngKSI, though it has keys and protects its initial message.
    pub names_no_key: bool,
    /// The UE protects its answers to unprotected messages with its present keys.
    pub protects_answers: bool,
    /// The UE takes no challenge for one of 5G.
    pub refuses_5g: bool,
    /// The UE never completes a registration or a configuration update.
    pub no_complete: bool,
}

impl Ue {
    /// Answer of the UE to an unprotected message.
    pub(super) fn answer_plain(&mut self, answer: &Uplink) -> Option<Vec<u8>> {
        let keys = self.security.as_mut();
        match keys.filter(|_| self.behaviour.protects_answers) {
            Some(keys) => protect(keys, Header::Ciphered, &answer.encode()),
            None => Some(answer.encode()),
        }
    }
}
