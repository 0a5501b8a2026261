//! How an emulated UE proves who it is: by 5G-AKA or EAP-AKA', as the network asks (TS 24.501, 5.4.1); keys that follow.

use sluice_n1::{
    AuthenticationRequest, Cause, EapRequest, Protected, SecurityContext, SecurityModeCommand,
    Side, Uplink,
};
use sluice_security::eap::Reply;
use sluice_security::{
    Kamf, Kgnb, NasCount, NasKeys, NextHop, NextHopChain, UsimError, access_key, kamf, kseaf,
    next_kamf,
};

use super::{Security, Ue};

/// Keys of an authentication that no Security Mode Command has told of yet.
#[derive(Clone, Debug)]
pub(super) struct Fresh {
    ngksi: u8,
    kamf: Kamf,
    /// The home network has not said yet that it takes the answer (EAP-Success).
    waits_for_success: bool,
}

/// Subtype of EAP-AKA' with which a challenge is answered, and where it stands in a packet.
const CHALLENGE: u8 = 1;
const SUBTYPE_AT: usize = 5;

impl Ue {
    /// Registered, with keys that its AMF has, too.
    #[cfg(test)]
    pub(crate) fn registered(mut self, guti: sluice_ids::Guti, kamf: Kamf, keys: NasKeys) -> Self {
        self.state = super::UeState::Registered;
        self.guti = Some(guti);
        self.security = Some(Security {
            context: SecurityContext::new(Side::Ue, 0, keys),
            kamf,
            last_uplink: NasCount::default(),
        });
        self
    }

    /// The key that it would use with its gNB now.
    pub fn kgnb(&self) -> Option<Kgnb> {
        let security = self.security.as_ref()?;
        Some(access_key(&security.kamf, security.last_uplink))
    }

    /// The next hop after so many handovers since its connection began (TS 33.501, 6.9.2.1.1).
    pub fn next_hop(&self, handovers: u8) -> Option<NextHop> {
        let security = self.security.as_ref()?;
        let mut chain = NextHopChain::new(&security.kamf, &self.kgnb()?);
        for _ in 0..handovers {
            chain.is_taken();
            chain.advance(&security.kamf);
        }
        Some(chain.last().clone())
    }

    /// Answers a challenge of 5G-AKA.
    pub(super) fn authenticate(&mut self, request: &AuthenticationRequest) -> Uplink {
        if let Some(in_use) = self.in_use(request.ngksi) {
            return in_use;
        }
        if self.behaviour.refuses_5g {
            return Uplink::AuthenticationFailure {
                cause: Cause::NON_5G_AUTHENTICATION,
                auts: None,
            };
        }
        let network = self.network.serving_network_name();
        match self.sim.answer(request.rand, request.autn, &network) {
            Ok(mut answer) => {
                let kseaf = kseaf(&answer.kausf, &network);
                let kamf = self
                    .sim
                    .supi()
                    .and_then(|supi| kamf(&kseaf, &supi, &request.abba));
                self.fresh = kamf.map(|kamf| Fresh {
                    ngksi: request.ngksi,
                    kamf,
                    waits_for_success: false,
                });
                answer.res_star[0] ^= u8::from(self.behaviour.wrong_res);
                Uplink::AuthenticationResponse(answer.res_star)
            }
            Err(UsimError::Synch(auts)) => Uplink::AuthenticationFailure {
                cause: Cause::SYNCH_FAILURE,
                auts: Some(auts),
            },
            Err(UsimError::Mac) => Uplink::AuthenticationFailure {
                cause: Cause::MAC_FAILURE,
                auts: None,
            },
            Err(UsimError::SeparationBit) => Uplink::AuthenticationFailure {
                cause: Cause::NON_5G_AUTHENTICATION,
                auts: None,
            },
        }
    }

    /// Answers a packet of EAP; none if it needs no answer.
    pub(super) fn answer_eap(&mut self, request: &EapRequest) -> Option<Uplink> {
        if let Some(in_use) = self.in_use(request.ngksi) {
            return Some(in_use);
        }
        let (network, supi) = (self.network.serving_network_name(), self.sim.supi()?);
        let reply = self.sim.answer_eap(&mut self.peer, &network, &request.eap);
        let Reply::Respond(mut response) = reply else {
            return None;
        };
        if let Some(kausf) = self.peer.kausf() {
            let kamf = kamf(&kseaf(kausf, &network), &supi, &request.abba)?;
            self.fresh = Some(Fresh {
                ngksi: request.ngksi,
                kamf,
                waits_for_success: true,
            });
        }
        let is_challenge = response.get(SUBTYPE_AT) == Some(&CHALLENGE);
        if let Some(last) = response.last_mut().filter(|_| is_challenge) {
            *last ^= u8::from(self.behaviour.wrong_res);
        }
        Some(Uplink::EapResponse(response))
    }

    /// EAP-Success or EAP-Failure, with another message.
    pub(super) fn take_eap(&mut self, packet: &[u8]) {
        let network = self.network.serving_network_name();
        match self.sim.answer_eap(&mut self.peer, &network, packet) {
            Reply::Success(Some(_)) => {
                if let Some(fresh) = &mut self.fresh {
                    fresh.waits_for_success = false;
                }
            }
            Reply::Failure => self.fresh = None,
            Reply::Success(None) | Reply::Respond(_) | Reply::Nothing => {}
        }
    }

    /// Keys of this name that may be used.
    pub(super) fn fresh_keys(&self, ngksi: u8) -> Option<(u8, Kamf)> {
        let fresh = self.fresh.as_ref()?;
        let is_it = fresh.ngksi == ngksi && !fresh.waits_for_success;
        is_it.then(|| (ngksi, fresh.kamf.clone()))
    }

    /// Keys of a Security Mode Command: those of the last authentication, or those in use, by other algorithms or derived for
    /// another AMF (TS 33.501, 6.7.2 and 6.9.3).
    pub(super) fn keys_of(
        &mut self,
        command: &SecurityModeCommand,
        message: &Protected<'_>,
    ) -> Option<Security> {
        let known = self.security.take();
        let known = known.filter(|security| security.context.ngksi() == command.ngksi);
        let keys = |kamf: &Kamf| NasKeys::new(kamf, command.ciphering, command.integrity);
        let fresh = self.fresh_keys(command.ngksi);
        let known = match (known, fresh) {
            // A command that is sent again goes on with the counts of the first.
            (Some(known), _) if known.context.count_of(message).is_some() => return Some(known),
            (_, Some((ngksi, kamf))) => {
                return Some(Security {
                    context: SecurityContext::new(Side::Ue, ngksi, keys(&kamf)),
                    kamf,
                    last_uplink: NasCount::default(),
                });
            }
            (known, None) => known?,
        };
        if command.derives_key {
            let kamf = next_kamf(&known.kamf, known.last_uplink);
            return Some(Security {
                context: SecurityContext::new(Side::Ue, command.ngksi, keys(&kamf)),
                kamf,
                last_uplink: NasCount::default(),
            });
        }
        let (sent, received) = (known.context.next_sent(), known.context.next_received());
        let keys = keys(&known.kamf);
        let context = SecurityContext::resumed(Side::Ue, command.ngksi, keys, sent, received);
        Some(Security { context, ..known })
    }

    /// Answer to a challenge whose ngKSI is that of keys in use.
    fn in_use(&mut self, ngksi: u8) -> Option<Uplink> {
        let used = self.security.as_ref();
        let is_used = used.is_some_and(|security| security.context.ngksi() == ngksi);
        let says_so = std::mem::take(&mut self.behaviour.ngksi_in_use) || is_used;
        says_so.then_some(Uplink::AuthenticationFailure {
            cause: Cause::NGKSI_IN_USE,
            auts: None,
        })
    }
}
