//! Authentication server (TS 23.501, 6.2.8): the home network's side of 5G-AKA (TS 33.501, 6.1.3.2)
//! and of EAP-AKA' (6.1.3.1).
#![forbid(unsafe_code)]

mod eap_aka_prime;

use std::collections::BTreeMap;
use std::fmt;

use sluice_ids::{ServingNetworkName, Supi};
use sluice_sbi::server::{Procedure, Server, percent};
use sluice_sbi::{
    AuthMethod, Authenticate, AuthenticationOutcome, Challenge, Confirm, Confirmed, Container,
    Effect, GetAuthenticationData, Input, Instant, Message, NetworkFunction, Nf, Now, Problem,
    Slot,
};
use sluice_security::{Kausf, ResStar, eap, hxres_star, kseaf};

/// Procedures at a time; each holds a few hundred octets.
pub const PROCEDURES: usize = 4096;

/// Challenges that wait for their answer. A UE has 30 s for one (five times T3560), so this is
/// enough for 2,000 in a second; the oldest goes when there are more.
pub const CHALLENGES: usize = 65_536;

/// How long a challenge is kept: five times T3560 of 6 s, and as much again for calls between.
pub const KEPT_MS: u64 = 60_000;

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
    /// By the number of the challenge, which counts up: the first is the oldest.
    pending: BTreeMap<u64, (Instant, Pending)>,
    contexts: u64,
    /// Number among the instances, to which answers to challenges come.
    instance: u8,
}

impl State {
    fn keep(&mut self, now: Instant, pending: Pending) -> u64 {
        self.forget_old(now);
        if self.pending.len() >= CHALLENGES {
            self.pending.pop_first();
        }
        self.contexts += 1;
        self.pending.insert(self.contexts, (now, pending));
        self.contexts
    }

    /// A challenge is answered once, and in time.
    fn take(&mut self, now: Instant, context: u64) -> Option<Pending> {
        self.forget_old(now);
        self.pending.remove(&context).map(|(_, pending)| pending)
    }

    /// UEs that were challenged so long ago will not answer.
    fn forget_old(&mut self, now: Instant) {
        while let Some(oldest) = self.pending.first_entry() {
            if now.ms_since(oldest.get().0) <= KEPT_MS {
                return;
            }
            oldest.remove();
        }
    }
}

/// The function.
pub struct Ausf(Server<State>);

impl Default for Ausf {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Ausf {
    /// The instance of this number.
    pub fn new(instance: u8) -> Self {
        let state = State {
            instance,
            ..State::default()
        };
        Self(Server::new(Nf::Ausf, PROCEDURES, state, |p, message| {
            Box::pin(async move {
                procedure(&p, message)
                    .await
                    .unwrap_or_else(Message::from)
                    .into()
            })
        }))
    }
}

async fn procedure(p: &Procedure<State>, message: Slot) -> Result<Message, Problem> {
    match *message {
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
            let kept =
                |state: &mut State, now: Now| (state.keep(now.instant, pending), state.instance);
            let (context, instance) = p.with(kept);
            Ok(Challenge {
                context: context.into(),
                instance,
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
    let pending = p.with(|state, now| state.take(now.instant, request.context.get()));
    let pending = pending.ok_or(Problem::ContextNotFound)?;
    let Expected::FiveGAka { xres_star, kausf } = pending.expected else {
        return Err(Problem::Protocol);
    };
    // In a time that does not tell where they differ.
    let pairs = xres_star.iter().zip(&request.res_star);
    let is_equal = pairs.fold(0, |all, (a, b)| all | (a ^ b)) == 0;
    let success = is_equal && !request.is_null;
    let (supi, network) = (pending.supi, pending.network);
    let outcome = AuthenticationOutcome {
        supi,
        network,
        method: AuthMethod::FiveGAka,
        success,
        unix_s: p.with(|_, now| now.unix_s).into(),
    };
    p.call("9d", Some(supi), outcome).await?;
    if !success {
        return Err(Problem::AuthenticationRejected);
    }
    let kseaf = *kseaf(&kausf, &network).octets();
    Ok(Confirmed { supi, kseaf })
}

impl Ausf {
    /// Challenges that wait for their answers.
    pub fn pending(&self) -> usize {
        self.0.with(|state| state.pending.len())
    }
}

impl NetworkFunction for Ausf {
    fn handle(&mut self, now: Now, input: Input<'_>, effects: &mut Vec<Effect>) {
        let is_time = matches!(input, Input::Time);
        self.0.handle(now, input, effects);
        if is_time {
            self.0.with(|state| state.forget_old(now.instant));
        }
    }

    fn next_deadline(&self) -> Instant {
        self.0.next_deadline()
    }

    fn load(&self) -> u8 {
        self.0.load().max(percent(self.pending(), CHALLENGES))
    }

    fn open(&self) -> usize {
        self.0.open() + self.pending()
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

    fn pending() -> Pending {
        Pending {
            supi: Supi::from_imsi("001010000000001").expect("digits"),
            network: sluice_ids::Plmn::new("001", "01")
                .expect("digits")
                .serving_network_name(),
            expected: Expected::FiveGAka {
                xres_star: [0; 16],
                kausf: Kausf::new([0; 32]),
            },
        }
    }

    #[test]
    fn challenges_are_answered_once_and_the_oldest_goes() {
        let (mut state, now) = (State::default(), Instant(0));
        let first = state.keep(now, pending());
        for _ in 0..CHALLENGES {
            state.keep(now, pending());
        }
        assert!(state.take(now, first).is_none());
        assert!(state.take(now, first + 1).is_some());
        assert!(state.take(now, first + 1).is_none());
        assert_eq!(state.pending.len(), CHALLENGES - 1);
    }

    /// One that is never answered keeps nothing else: neither answered ones behind it, nor itself.
    #[test]
    fn an_unanswered_challenge_keeps_nothing() {
        let (mut state, now) = (State::default(), Instant(0));
        let unanswered = state.keep(now, pending());
        for _ in 0..10 * CHALLENGES {
            let context = state.keep(now, pending());
            assert!(state.take(now, context).is_some());
        }
        assert_eq!(state.pending.len(), 1);
        let later = now.plus_ms(KEPT_MS + 1);
        assert!(state.take(later, unanswered).is_none());
        assert!(state.pending.is_empty());
    }
}
