//! A SIM: who a subscriber is, and the keys that prove it.

use sluice_ids::{Plmn, ServingNetworkName, Suci, Supi};
use sluice_security::suci::{self, HomePublicKey};
use sluice_security::{Answer, Autn, K, Opc, Rand, Sqn, Usim, UsimError};

/// A SIM.
#[derive(Debug)]
pub struct Sim {
    home: Plmn,
    msin: String,
    usim: Usim,
    /// With which identities are concealed, and its identifier.
    home_key: Option<(u8, HomePublicKey)>,
}

impl Sim {
    /// Of a subscriber's keys, without a key of the home network: the identity is shown as it is.
    pub fn new(home: Plmn, msin: &str, k: &K, opc: &Opc) -> Self {
        Self {
            home,
            msin: msin.to_owned(),
            usim: Usim::new(k, opc),
            home_key: None,
        }
    }

    /// Identities are concealed with this key.
    pub fn conceal_with(&mut self, id: u8, key: HomePublicKey) {
        self.home_key = Some((id, key));
    }

    /// Sequence numbers up to this one count as used.
    pub fn advance(&mut self, sqn: Sqn) {
        self.usim.advance(sqn);
    }

    /// Who it is.
    pub fn supi(&self) -> Option<Supi> {
        Supi::from_msin(self.home, &self.msin)
    }

    /// Who it is, for others' eyes; the ephemeral key is random and used once.
    pub fn suci(&self, ephemeral: [u8; 32]) -> Option<Suci> {
        match &self.home_key {
            Some((id, key)) => suci::conceal(self.home, &self.msin, *id, key, ephemeral),
            None => suci::unconcealed(self.home, &self.msin),
        }
    }

    /// Answers a challenge.
    pub fn answer(
        &mut self,
        rand: Rand,
        autn: Autn,
        network: &ServingNetworkName,
    ) -> Result<Answer, UsimError> {
        self.usim.answer(rand, autn, network)
    }
}
