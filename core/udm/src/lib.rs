//! Unified data management (TS 23.501, 6.2.7): SUCIs become SUPIs, keys become authentication
//! vectors, and AMFs say which UEs they have.
#![forbid(unsafe_code)]

mod authentication;
mod context_management;

use std::collections::BTreeMap;
use std::fmt;

use sluice_sbi::server::{Procedure, Server};
use sluice_sbi::{
    DataChange, Done, Effect, Input, Instant, Message, NetworkFunction, Nf, NotifyAccess,
    NotifyDataChange, NotifyDeregistration, NotifySubscription, Now, Problem, QueryContextData,
    Random, Removal, Slot,
};
use sluice_security::suci::HomeKey;

/// Procedures at a time; each holds a few hundred octets.
pub const PROCEDURES: usize = 4096;

/// Keys of the home network by their identifiers, and what a challenge is made from.
struct State {
    home_keys: BTreeMap<u8, HomeKey>,
    /// Whether a UE may show its SUPI unconcealed.
    null_scheme: bool,
    random: Box<dyn Random>,
}

/// How a UDM treats SUCIs.
#[derive(Debug, Default)]
pub struct Config {
    /// Keys of the home network by their identifiers (1 to 255).
    pub home_keys: BTreeMap<u8, HomeKey>,
    /// Whether a UE may show its SUPI unconcealed.
    pub null_scheme: bool,
}

/// The function.
pub struct Udm(Server<State>);

impl Udm {
    /// `random` makes the challenges.
    pub fn new(config: Config, random: Box<dyn Random>) -> Self {
        let Config {
            home_keys,
            null_scheme,
        } = config;
        let state = State {
            home_keys,
            null_scheme,
            random,
        };
        Self(Server::new(Nf::Udm, PROCEDURES, state, |p, message| {
            Box::pin(async move {
                procedure(&p, message)
                    .await
                    .unwrap_or_else(Message::from)
                    .into()
            })
        }))
    }

    /// Takes other keys of the home network from now on.
    pub fn set_home_keys(&mut self, keys: BTreeMap<u8, HomeKey>) {
        self.0.with(|state| state.home_keys = keys);
    }

    /// Whether UEs may show who they are unconcealed, from now on.
    pub fn allow_null_scheme(&mut self, is_allowed: bool) {
        self.0.with(|state| state.null_scheme = is_allowed);
    }
}

/// Nudr_DM_Notify: the AMF that has the UE, or the SMFs that have its sessions, hear of it and do the rest, as far as they
/// have subscribed; that a subscription is withdrawn they hear because they are registered.
async fn data_changed(p: &Procedure<State>, notice: NotifyDataChange) -> Result<Done, Problem> {
    let NotifyDataChange { supi, change } = notice;
    let query = QueryContextData { supi };
    let known = p.call("", Some(supi), query).await?;
    match change {
        DataChange::Withdrawn => {
            let removal = Removal::SubscriptionWithdrawn;
            if known.has_amf {
                // TS 23.502, 4.2.2.3.3, step 1.
                let amf = known.guami;
                p.tell("1", Some(supi), NotifyDeregistration { supi, removal, amf })?;
            }
            if known.sessions.get() != 0 {
                // TS 23.502, 4.3.4.2, step 1.
                p.tell("1", Some(supi), NotifySubscription { supi })?;
            }
        }
        // TS 23.502, 4.5.1, step 1.
        DataChange::Access if known.tells_amf => {
            p.tell("1", Some(supi), NotifyAccess { supi })?;
        }
        // TS 23.502, 4.3.3.2, step 1d.
        DataChange::SessionRates if known.tells_smf => {
            p.tell("1d", Some(supi), NotifySubscription { supi })?;
        }
        DataChange::Access | DataChange::SessionRates => {}
    }
    Ok(Done::ALL)
}

async fn procedure(p: &Procedure<State>, message: Slot) -> Result<Message, Problem> {
    match *message {
        Message::GetAuthenticationData(request) => {
            authentication::get(p, request).await.map(Message::from)
        }
        Message::AuthenticationOutcome(outcome) => {
            authentication::outcome(p, outcome).await.map(Message::from)
        }
        Message::RegisterAmf(request) => context_management::register(p, request)
            .await
            .map(Message::from),
        Message::DeregisterAmf(request) => context_management::deregister(p, request)
            .await
            .map(Message::from),
        Message::GetUeContext(request) => context_management::known(p, request.supi)
            .await
            .map(Message::from),
        Message::GetSmfRegistration(request) => {
            context_management::smf(p, request).await.map(Message::from)
        }
        Message::GetAccessAndMobility(request) => {
            context_management::access_and_mobility(p, request)
                .await
                .map(Message::from)
        }
        Message::GetSmfSelection(request) => context_management::smf_selection(p, request)
            .await
            .map(Message::from),
        Message::GetSessionManagement(request) => {
            context_management::session_management(p, request)
                .await
                .map(Message::from)
        }
        Message::RegisterSmf(request) => context_management::register_smf(p, request)
            .await
            .map(Message::from),
        Message::DeregisterSmf(request) => context_management::deregister_smf(p, request)
            .await
            .map(Message::from),
        Message::SubscribeSdm(request) => context_management::subscribe(p, request)
            .await
            .map(Message::from),
        Message::UnsubscribeSdm(request) => context_management::unsubscribe(p, request)
            .await
            .map(Message::from),
        Message::NotifyDataChange(notice) => data_changed(p, notice).await.map(Message::from),
        _ => Err(Problem::Protocol),
    }
}

impl NetworkFunction for Udm {
    fn handle(&mut self, now: Now, input: Input<'_>, effects: &mut Vec<Effect>) {
        self.0.handle(now, input, effects);
    }

    fn next_deadline(&self) -> Instant {
        self.0.next_deadline()
    }

    fn load(&self) -> u8 {
        self.0.load()
    }

    fn open(&self) -> usize {
        self.0.open()
    }
}

impl fmt::Debug for Udm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Udm")
    }
}

#[cfg(test)]
mod tests;
