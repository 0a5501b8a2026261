//! NRF of a host, as those ask it that have no messages but documents: by HTTP.

use sluice_core_host::{self as host, Host};
use sluice_nrf::{Notification, Signer};
use sluice_sbi::{Nf, Now};
use sluice_services::{Request, Response};

use crate::Apart;

/// Registry of a host, as far as it has it.
pub struct Registry<'a, F>(pub(crate) &'a mut Host<F>);

impl<'a, F: host::Functions + AsMut<Apart>> From<&'a mut Host<F>> for Registry<'a, F> {
    fn from(host: &'a mut Host<F>) -> Self {
        Self(host)
    }
}

impl<F: host::Functions + AsMut<Apart>> Registry<'_, F> {
    /// Others reach the registry at this API root.
    pub fn reached_at(&mut self, root: &str) {
        if let Some(nrf) = self.0.functions.as_mut().nrf.as_mut() {
            nrf.reached_at(root);
        }
    }

    /// The registry signs access tokens so, and its own services want them or not.
    pub fn give_tokens(&mut self, signer: Option<Signer>, needs_tokens: bool) {
        if let Some(nrf) = self.0.functions.as_mut().nrf.as_mut() {
            nrf.sign_with(signer);
            nrf.require_tokens(needs_tokens);
        }
    }

    /// Serves a request; none if another host has the registry.
    pub fn serve(&mut self, now: Now, request: &Request) -> Option<Response> {
        let mut effects = Vec::new();
        let nrf = self.0.functions.as_mut().nrf.as_mut()?;
        let response = nrf.serve(now, request, &mut effects);
        self.0.follow(now, Nf::Nrf, effects);
        Some(response)
    }

    /// Notifications since the last call.
    pub fn take_notifications(&mut self) -> Vec<Notification> {
        let nrf = self.0.functions.as_mut().nrf.as_mut();
        nrf.map(|nrf| nrf.take_notifications()).unwrap_or_default()
    }
}
