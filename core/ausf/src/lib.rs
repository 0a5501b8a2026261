//! Authentication server (TS 23.501, 6.2.8): the home network's side of 5G-AKA (TS 33.501, 6.1.3.2)
//! and of EAP-AKA' (6.1.3.1).
#![forbid(unsafe_code)]

mod eap_aka_prime;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use sluice_ids::{ServingNetworkName, Supi};
use sluice_sbi::server::{Procedure, Server};
use sluice_sbi::{
    AuthMethod, Authenticate, AuthenticationOutcome, Challenge, Confirm, Confirmed, Container,
    Effect, GetAuthenticationData, Input, Instant, Message, NetworkFunction, Nf, Now, Problem,
};
use sluice_security::{Kausf, ResStar, eap, hxres_star, kseaf};

/// Procedures at a time; each holds a few hundred octets.
pub const PROCEDURES: usize = 4096;

/// Challenges that wait for their answer. A UE has 30 s for one (five times T3560), so this is
/// enough for 2,000 in a second; the oldest goes when there are more.
pub const CHALLENGES: usize = 65_536;

/// A challenge that waits for its answer.
struct Pending {
    supi: Supi,
    network: ServingNetworkName,
    expected: Expected,
}

/// What is compared with the answer, and what follows from it.
enum Expected {
    FiveGAka { xres_star: ResStar, kausf: Kausf },
    EapAkaPrime(Box<Exchange>),
}

/// An exchange of EAP.
struct Exchange {
    server: eap::Server,
    resynchronisations: usize,
}

#[derive(Default)]
struct State {
    pending: BTreeMap<u64, Pending>,
    order: VecDeque<u64>,
    contexts: u64,
}

impl State {
    fn keep(&mut self, pending: Pending) -> u64 {
        while self.pending.len() >= CHALLENGES {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            self.pending.remove(&oldest);
        }
        self.contexts += 1;
        self.pending.insert(self.contexts, pending);
        self.order.push_back(self.contexts);
        self.contexts
    }

    /// A challenge is answered once.
    fn take(&mut self, context: u64) -> Option<Pending> {
        let pending = self.pending.remove(&context);
        // Answered ones leave the order when they come to its front.
        while self
            .order
            .front()
            .is_some_and(|first| !self.pending.contains_key(first))
        {
            self.order.pop_front();
        }
        pending
    }
}

/// The function.
pub struct Ausf(Server<State>);

impl Default for Ausf {
    fn default() -> Self {
        Self(Server::new(
            Nf::Ausf,
            PROCEDURES,
            State::default(),
            |p, message| {
                Box::pin(async move { procedure(&p, message).await.unwrap_or_else(Message::from) })
            },
        ))
    }
}

async fn procedure(p: &Procedure<State>, message: Message) -> Result<Message, Problem> {
    match message {
        Message::Authenticate(request) => authenticate(p, request).await.map(Message::from),
        Message::Confirm(request) => confirm(p, request).await.map(Message::from),
        Message::EapResponse(request) => {
            eap_aka_prime::receive(p, request).await.map(Message::from)
        }
        _ => Err(Problem::Protocol),
    }
}

/// Nausf_UEAuthentication_Authenticate (TS 33.501, 6.1.3.2.0, steps 2 to 5).
async fn authenticate(p: &Procedure<State>, request: Authenticate) -> Result<Challenge, Problem> {
    let Authenticate {
        identity,
        network,
        resynchronisation,
    } = request;
    let get = GetAuthenticationData {
        identity,
        network,
        resynchronisation,
    };
    let vector = p.call("9a", identity.get().ok(), get).await?;
    match vector.method {
        AuthMethod::FiveGAka => {
            let pending = Pending {
                supi: vector.supi,
                network,
                expected: Expected::FiveGAka {
                    xres_star: vector.xres_star,
                    kausf: Kausf::new(vector.kausf),
                },
            };
            let context = p.with(|state, _| state.keep(pending));
            Ok(Challenge {
                context: context.into(),
                method: vector.method,
                rand: vector.rand,
                autn: vector.autn,
                hxres_star: hxres_star(vector.rand, &vector.xres_star),
                eap: Container::NONE,
            })
        }
        AuthMethod::EapAkaPrime => eap_aka_prime::begin(p, network, &vector),
    }
}

/// The confirmation (TS 33.501, 6.1.3.2.0, steps 10 to 12).
async fn confirm(p: &Procedure<State>, request: Confirm) -> Result<Confirmed, Problem> {
    let pending = p.with(|state, _| state.take(request.context.get()));
    let pending = pending.ok_or(Problem::ContextNotFound)?;
    let Expected::FiveGAka { xres_star, kausf } = pending.expected else {
        return Err(Problem::Protocol);
    };
    // In a time that does not tell where they differ.
    let pairs = xres_star.iter().zip(&request.res_star);
    let success = pairs.fold(0, |all, (a, b)| all | (a ^ b)) == 0;
    let (supi, network) = (pending.supi, pending.network);
    let outcome = AuthenticationOutcome {
        supi,
        network,
        success,
    };
    p.call("9d", Some(supi), outcome).await?;
    if !success {
        return Err(Problem::AuthenticationRejected);
    }
    let kseaf = *kseaf(&kausf, &network).octets();
    Ok(Confirmed { supi, kseaf })
}

impl NetworkFunction for Ausf {
    fn handle(&mut self, now: Now, input: Input<'_>, effects: &mut Vec<Effect>) {
        self.0.handle(now, input, effects);
    }

    fn next_deadline(&self) -> Instant {
        self.0.next_deadline()
    }
}

impl fmt::Debug for Ausf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ausf")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_answered_once_and_the_oldest_goes() {
        let mut state = State::default();
        let pending = || Pending {
            supi: Supi::from_imsi("001010000000001").expect("digits"),
            network: sluice_ids::Plmn::new("001", "01")
                .expect("digits")
                .serving_network_name(),
            expected: Expected::FiveGAka {
                xres_star: [0; 16],
                kausf: Kausf::new([0; 32]),
            },
        };
        let first = state.keep(pending());
        for _ in 0..CHALLENGES {
            state.keep(pending());
        }
        assert!(state.take(first).is_none());
        assert!(state.take(first + 1).is_some());
        assert!(state.take(first + 1).is_none());
        assert_eq!(state.pending.len(), CHALLENGES - 1);
        assert_eq!(state.order.len(), CHALLENGES - 1);
    }
}
