//! Faults that an emulated UE has, and answers that show them.

use sluice_n1::{Header, Uplink};

use super::{Ue, protect};

/// What a UE does otherwise than it should.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Behaviour {
    /// It answers nothing.
    pub silent: bool,
    /// It answers challenges with a wrong RES*.
    pub wrong_res: bool,
    /// It says once that the key set identifier is in use.
    pub ngksi_in_use: bool,
    /// It refuses each Security Mode Command.
    pub refuse_security_mode: bool,
    /// MACs of its initial messages are wrong.
    pub wrong_mac: bool,
    /// It names no key, though it has keys and protects what it says first.
    pub names_no_key: bool,
    /// It protects its answers to what comes unprotected with the keys that it has.
    pub protects_answers: bool,
    /// It takes no challenge for one of 5G.
    pub refuses_5g: bool,
    /// It never says that a registration, or an update of its configuration, is complete.
    pub no_complete: bool,
}

impl Ue {
    /// What it answers to what came without protection.
    pub(super) fn answer_plain(&mut self, answer: &Uplink) -> Option<Vec<u8>> {
        let keys = self.security.as_mut();
        match keys.filter(|_| self.behaviour.protects_answers) {
            Some(keys) => protect(keys, Header::Ciphered, &answer.encode()),
            None => Some(answer.encode()),
        }
    }
}
