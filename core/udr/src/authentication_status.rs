//! Authentication status of a subscriber (TS 29.505, 5.2.3; TS 33.501, 6.1.4.1a): how it was authenticated last, and
//! in which network it has proved who it is.

use sluice_ids::ServingNetworkName;
use sluice_sbi::{AuthMethod, StoreAuthentication};

/// How an authentication ended (AuthEvent: TS 29.503, 6.3.6.2.7).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuthEvent {
    /// Whether the UE has proved who it is.
    pub success: bool,
    /// For which network.
    pub network: ServingNetworkName,
    /// By which method.
    pub method: AuthMethod,
    /// Seconds since 1970.
    pub unix_s: u64,
}

/// Of one subscriber: two events at most, whoever tries however often.
#[derive(Clone, Debug, Default)]
pub(crate) struct AuthenticationStatus {
    /// The last one by which the UE has proved who it is.
    success: Option<AuthEvent>,
    /// The last one since then by which it has not: few subscribers have any.
    failure: Option<Box<AuthEvent>>,
}

impl AuthenticationStatus {
    /// Takes in how an authentication ended. A failure takes no success away: it may be of anyone who knows a name of
    /// the subscriber.
    pub fn store(&mut self, update: &StoreAuthentication) {
        let event = AuthEvent {
            success: update.success,
            network: update.network,
            method: update.method,
            unix_s: update.unix_s.get(),
        };
        match event.success {
            true => (self.success, self.failure) = (Some(event), None),
            false => self.failure = Some(Box::new(event)),
        }
    }

    /// How the last one ended.
    pub fn last(&self) -> Option<&AuthEvent> {
        self.failure.as_deref().or(self.success.as_ref())
    }

    /// Whether the UE has proved who it is for this network.
    pub fn is_proved(&self, network: ServingNetworkName) -> bool {
        self.success
            .as_ref()
            .is_some_and(|event| event.network == network)
    }
}
