//! Network of a scenario: gNBs, UEs, SMF, and their upkeep: one thread commands, each gNB and the
//! SMF have their own.
//!
//! [`Network::pulse`] is called wherever the script waits: it takes reports, sets up again what the
//! UPF has lost, and forgets tunnels that UEs left. Calls that block until they are done
//! ([`Network::register`] and those beside it) wait by it, too.

mod calls;
mod core;
mod echo;
mod gnb;
mod mobility;
mod n2;
mod namespaces;
mod restore;
mod sessions;
mod snapshot;
mod ues;

use mobility::TOGETHER;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub use calls::{CALL_LIMIT, Device};
pub use mobility::LeftTunnel;
pub use n2::{Signalling, Tally};
pub use snapshot::Figures;
pub use ues::{State, Ue};

use self::core::Core;
use self::echo::Echoes;
pub use self::gnb::NetworkGnb;
use self::namespaces::Namespaces;
pub use self::namespaces::Undo;
use crate::scenario::Scenario;
use crate::{Failure, Halt};
use sluice_program::screen::Screen;

/// From one look at everything to the next.
const PULSE: Duration = Duration::from_millis(200);

/// When the script must stop.
#[derive(Clone, Debug)]
pub struct Until {
    /// Somebody wants the end.
    pub flag: Arc<AtomicBool>,
    /// The time is up then.
    pub deadline: Option<Instant>,
}

impl Until {
    /// An error when it is time.
    pub fn check(&self) -> Result<(), Halt> {
        if self.flag.load(Ordering::Relaxed) {
            return Err(Halt::Interrupted);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Halt::TimeUp),
            _ => Ok(()),
        }
    }
}

/// Counters of events, beside those of the gNBs.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Totals {
    pub attaches: u64,
    pub detaches: u64,
    pub handovers: u64,
    /// Handovers after which no End Marker came.
    pub end_markers_missing: u64,
    pub failures: u64,
    /// Error Indications that the UPF reported.
    pub error_reports: u64,
    /// Usage reports of URRs.
    pub usage_reports: u64,
    /// Reports that concern nobody, or were lost.
    pub unknown_reports: u64,
    /// Associations that ended by themselves.
    pub associations_lost: u64,
    pub sessions_lost: u64,
    pub sessions_restored: u64,
    /// Our Echo Requests that were answered.
    pub echoes_answered: u64,
    /// Our Echo Requests that were not.
    pub echoes_unanswered: u64,
    /// Octets by which ended sessions' usage was wrong.
    #[serde(skip)]
    pub usage_difference: u64,
}

/// All of it. gNBs and UEs come before the places where they are, so that they go first.
pub struct Network {
    pub scenario: Arc<Scenario>,
    pub screen: Screen,
    /// When the script must stop.
    pub until: Until,
    pub totals: Totals,
    stations: Vec<NetworkGnb>,
    ues: Vec<Ue>,
    core: Option<Core>,
    n2: Option<Signalling>,
    /// Procedures of UEs with SIMs, when N2 has ended.
    tally: Tally,
    left: Vec<LeftTunnel>,
    echoes: Echoes,
    last_pulse: Instant,
    last_failure: String,
    /// Devices stay when their sessions end.
    keeps_devices: bool,
    places: Namespaces,
}

impl Network {
    /// Makes namespaces, starts gNBs and the SMF, and associates it with the UPF. No UE is
    /// attached yet.
    pub fn start(scenario: &Arc<Scenario>, screen: &Screen, until: Until) -> Result<Self, Failure> {
        let mut places = Namespaces::default();
        // gNBs first: where another run has their ports, its rules are not touched.
        let stations = gnb::all(scenario, &mut places)?;
        let ues = ues::all(scenario, &mut places)?;
        let is_ipv6 = scenario.is_n3_ipv6();
        let core = scenario.n4.as_ref().map(|n4| Core::start(n4, is_ipv6));
        let core = core.transpose()?;
        let mut n2 = Signalling::open(scenario, &mut places)?;
        if let Some(n2) = &mut n2 {
            n2.set_up(scenario, &until)?;
        }
        let mut this = Self {
            scenario: Arc::clone(scenario),
            screen: screen.clone(),
            until,
            totals: Totals::default(),
            stations,
            ues,
            core,
            n2,
            tally: Tally::default(),
            left: Vec::new(),
            echoes: Echoes::new(scenario.echo_every),
            last_pulse: Instant::now(),
            last_failure: String::new(),
            keeps_devices: false,
            places,
        };
        this.add_lines()?;
        Ok(this)
    }

    /// Results of procedures of UEs with SIMs, without the deregistrations of the end; once N2 has ended.
    pub fn take_tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }

    /// Changes to existing namespaces, and how to undo them.
    pub fn undo(&self) -> Undo {
        self.places.undo()
    }

    pub fn stations(&self) -> &[NetworkGnb] {
        &self.stations
    }

    pub fn ues(&self) -> &[Ue] {
        &self.ues
    }

    /// Whether the SMF can ask the UPF for something; without an SMF of ours, nobody asks.
    pub fn is_n4_up(&self) -> bool {
        self.core.as_ref().is_none_or(Core::is_up)
    }

    /// Sleeps that long, and looks after everything meanwhile.
    pub fn pause(&mut self, time: Duration) -> Result<(), Halt> {
        let end = Instant::now() + time;
        loop {
            self.until.check()?;
            self.pulse();
            let rest = end.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Ok(());
            }
            // A signal is heard as soon as a person notices.
            self.turn(rest.min(Duration::from_millis(50)));
        }
    }

    /// Looks after everything, if the last look is some time ago.
    pub fn pulse(&mut self) {
        let now = Instant::now();
        if now.duration_since(self.last_pulse) < PULSE {
            return;
        }
        self.last_pulse = now;
        self.take_reports();
        self.keep_association();
        self.forget_left(now);
        self.look_after_echoes(now);
        self.look_after_bearers(now);
    }

    /// Counts a procedure that failed. The first ones are told.
    pub fn fail(&mut self, what: impl std::fmt::Display) {
        const TOLD: u64 = 20;
        self.totals.failures += 1;
        self.last_failure = what.to_string();
        if self.totals.failures <= TOLD {
            self.screen.say(&format!("  FAILED  {what}"));
        }
        if self.totals.failures == TOLD {
            let line = "  further failures are counted, not told";
            self.screen.say(line);
        }
    }

    /// How N4 and N2 are, in a few words.
    pub fn describe(&self) -> (Option<&'static str>, Option<String>) {
        let n4 = self.core.as_ref().map(Core::describe);
        (n4, self.n2.as_ref().map(Signalling::describe))
    }
}

impl Network {
    /// Detaches all UEs and releases the association. What fails is counted; devices and
    /// namespaces go in any case, with the value.
    pub fn close(&mut self) {
        self.close_n2();
        let all: Vec<_> = (0..self.ues.len()).collect();
        for some in all.chunks(TOGETHER) {
            self.detach(some);
        }
        self.settle_echoes();
        let Some(core) = &self.core else { return };
        if core.is_up()
            && let Err(error) = core.smf().release()
        {
            self.fail(format!("release of the association: {error}"));
        }
    }
}
