//! Doors of a program that has the SMF: N4, charging records, and the end of its sessions.

use crate::boot;
use crate::config::CoreConfig;
use crate::needs::StartError;
use crate::parts::charging::Charging;
use crate::parts::ways::{log_rings, set_rings};
use sluice_core_host::Host;
use sluice_core_runtime::{N4, system};
use sluice_host::netns::Ns;
use sluice_smf::Smf;
use sluice_wiring::{Apart, Sessions};
use std::time::{Duration, Instant};

/// How long UPFs have to answer an Association Release.
const UPFS_WITHIN: Duration = Duration::from_secs(2);

/// N4 and charging.
pub(super) struct Upfs {
    pub n4: N4,
    pub charging: Charging,
    end: End,
}

/// How far the end is.
enum End {
    /// Nobody has asked for it.
    None,
    /// Sessions are released.
    Releases(Instant),
    /// UPFs are left.
    Leaves(Instant),
    Over,
}

impl Upfs {
    /// Opens N4 and the file of charging records.
    pub fn open(config: &CoreConfig) -> Result<Option<Self>, StartError> {
        let ns =
            Ns::current().map_err(|e| StartError::from(boot::step("network namespace", &e)))?;
        let Some(n4) = boot::n4(config, &ns)? else {
            return Ok(None);
        };
        let records = boot::records(config)?;
        Ok(Some(Self {
            n4,
            charging: Charging::new(records),
            end: End::None,
        }))
    }

    /// Begins the end of all sessions, which take `within` to be released at the most.
    pub fn end(&mut self, host: &mut Host<Apart>, within: Duration) {
        Sessions::from(host).end(system::now());
        self.end = End::Releases(Instant::now() + within);
    }

    pub fn is_over(&self) -> bool {
        matches!(self.end, End::Over)
    }

    /// Records go where another configuration has them.
    pub fn reload(&mut self, host: &mut Host<Apart>, config: &CoreConfig) {
        set_rings(&mut self.n4, config);
        let made = Sessions::from(&mut *host).take_records();
        self.charging.take(made, &mut host.contexts);
        match boot::records(config) {
            Ok(records) => self.charging.go_to(records),
            Err(problem) => {
                tracing::error!("charging records stay where they are: {}", problem.what)
            }
        }
    }

    /// Goes on with the end, and writes what is to be charged.
    pub fn turn(&mut self, host: &mut Host<Apart>) {
        log_rings(&mut self.n4);
        self.go_on_ending(host);
        let made = Sessions::from(&mut *host).take_records();
        self.charging.take(made, &mut host.contexts);
    }

    fn go_on_ending(&mut self, host: &mut Host<Apart>) {
        let smf = host.functions.smf.as_ref();
        let sessions = smf.map_or(0, Smf::sessions);
        let upfs = smf.map_or(0, Smf::upfs_left);
        match self.end {
            End::Releases(until) if sessions == 0 || until <= Instant::now() => {
                if sessions > 0 {
                    tracing::warn!(
                        "{sessions} sessions are deleted with the associations of their UPFs"
                    );
                }
                Sessions::from(host).leave_upfs(system::now());
                self.end = End::Leaves(Instant::now() + UPFS_WITHIN);
            }
            End::Leaves(until) if upfs == 0 || until <= Instant::now() => self.end = End::Over,
            _ => {}
        }
    }
}
