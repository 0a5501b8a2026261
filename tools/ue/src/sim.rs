//! A SIM: who a subscriber is, and the keys that prove it.

use sluice_ids::{Plmn, ServingNetworkName, Suci, Supi};
use sluice_security::eap::{Peer, Reply};
use sluice_security::suci::{self, HomePublicKey};
use sluice_security::{Answer, Autn, Credentials, K, Opc, Rand, Sqn, Usim, UsimError};

#[derive(Debug)]
pub struct Sim {
    home: Plmn,
    msin: String,
    usim: Usim,
    /// With which identities are concealed, and its identifier.
    home_key: Option<(u8, HomePublicKey)>,
}

impl Sim {
    /// With Milenage, without a key of the home network: the identity is shown as it is.
    pub fn new(home: Plmn, msin: &str, k: &K, opc: &Opc) -> Self {
        let credentials = Credentials::milenage(k.clone(), opc.clone());
        Self::with(home, msin, &credentials)
    }

    /// With any algorithm, without a key of the home network.
    pub fn with(home: Plmn, msin: &str, credentials: &Credentials) -> Self {
        Self {
            home,
            msin: msin.to_owned(),
            usim: Usim::new(credentials),
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

    /// SUPI of the subscriber.
    pub fn supi(&self) -> Option<Supi> {
        Supi::from_msin(self.home, &self.msin)
    }

    /// SUCI of the subscriber; the ephemeral key is random and used once.
    pub fn suci(&self, ephemeral: [u8; 32]) -> Option<Suci> {
        match &self.home_key {
            Some((id, key)) => suci::conceal(self.home, &self.msin, *id, key, ephemeral),
            None => suci::unconcealed(self.home, &self.msin),
        }
    }

    pub fn answer(
        &mut self,
        rand: Rand,
        autn: Autn,
        network: &ServingNetworkName,
    ) -> Result<Answer, UsimError> {
        self.usim.answer(rand, autn, network)
    }

    /// Has the ue's end of EAP-AKA' take a packet.
    pub fn answer_eap(
        &mut self,
        peer: &mut Peer,
        network: &ServingNetworkName,
        packet: &[u8],
    ) -> Reply {
        let Some(supi) = self.supi() else {
            return Reply::Nothing;
        };
        peer.receive(&mut self.usim, &supi, network, packet)
    }
}
