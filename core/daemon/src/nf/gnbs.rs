//! Door of a program that has the AMF: N2, the load of its loop, and the end of its associations.

use crate::boot;
use crate::config::CoreConfig;
use crate::needs::StartError;
use crate::parts::refusals::{Kept, Strangers};
use crate::parts::ways::log_front;
use sluice_core_host::Host;
use sluice_core_runtime::{Load, N2, system};
use sluice_host::netns::Ns;
use sluice_sctp::AllowList;
use sluice_wiring::{Apart, Mobility};
use std::io;
use std::time::{Duration, Instant};

/// How long gNBs have to end their associations.
const GNBS_WITHIN: Duration = Duration::from_secs(2);

/// N2.
pub(super) struct Gnbs {
    pub n2: N2,
    pub load: Load,
    strangers: Strangers,
    /// When the last of them is aborted; none before they are left.
    leaves_by: Option<Instant>,
}

impl Gnbs {
    /// Opens N2.
    pub fn open(config: &CoreConfig) -> Result<Self, StartError> {
        let ns =
            Ns::current().map_err(|e| StartError::from(boot::step("network namespace", &e)))?;
        let mut load = Load::default();
        load.set_automatic(config.overload.automatic);
        Ok(Self {
            n2: boot::n2(config, &ns)?,
            load,
            strangers: Strangers::default(),
            leaves_by: None,
        })
    }

    /// Gives the AMF what has come.
    ///
    /// # Errors
    /// SCTP's socket fails.
    pub fn turn(&mut self, host: &mut Host<Apart>, slept: Duration) -> io::Result<()> {
        self.n2.turn(host)?;
        log_front(self.n2.take_front_news());
        let now = system::now();
        if self.load.turn(now.instant, slept) {
            Mobility::from(host).feel_load(now, self.load.overload());
        }
        Ok(())
    }

    /// Strangers on N2 since the last call, each told once in a while.
    pub fn take_strangers(&mut self) -> Vec<Kept> {
        let strangers = self.n2.take_strangers().into_iter();
        let now = Instant::now();
        let refused = strangers.filter_map(|one| self.strangers.refused(one, now));
        refused.map(Kept::from).collect()
    }

    /// gNBs that may speak to the AMF from now on, and whether they are asked to keep UEs away.
    pub fn reload(&mut self, host: &mut Host<Apart>, config: &CoreConfig) {
        let gone = self.n2.allow(host, AllowList::new(config.n2.gnbs.clone()));
        if gone > 0 {
            tracing::warn!("{gone} gNBs that n2.gnbs has no more were aborted");
        }
        self.load.set_automatic(config.overload.automatic);
        Mobility::from(host).feel_load(system::now(), self.load.overload());
    }

    /// Ends all associations in order.
    pub fn leave(&mut self, host: &mut Host<Apart>) {
        if self.leaves_by.is_none() {
            self.leaves_by = Some(Instant::now() + GNBS_WITHIN);
            self.n2.send(host);
            self.n2.shut_down();
        }
    }

    /// Whether all have been left.
    pub fn is_over(&self) -> bool {
        let is_late = |until| until <= Instant::now();
        self.leaves_by
            .is_some_and(|until| is_late(until) || self.n2.gnbs().next().is_none())
    }
}
