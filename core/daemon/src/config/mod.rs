//! `core.yaml`: from text to a checked [`CoreConfig`].
//!
//! Each section is one file, which reads its keys and says what is expected of each. The commented
//! example, `docs/core.yaml`, names every key.

mod access;
mod api;
mod check;
mod contexts;
pub mod kinds;
mod n2;
mod nrf;
mod overload;
mod policies;
mod reload;
mod sbi;
mod sessions;
mod subscribers;
mod summary;
#[cfg(test)]
mod tests;
mod wiring;

pub use access::{AmfSection, HomeKeyFile, Names, Profile, Security, ServedPlmn, Timers};
pub use api::ApiSection;
pub use contexts::{ContextsFolder, ContextsRedis, ContextsSection};
pub use n2::{N2Section, Over};
pub use nrf::NrfSection;
pub use overload::OverloadSection;
pub use policies::PolicySection;
pub use sbi::{SbiSection, TlsSection, TokensSection};
pub use sessions::{AtEnd, Charging, DataNetwork, End, Sessions, Upf};
pub use subscribers::{Account, Database, Network};
pub use wiring::{ProgramSection, StoreOfProgram, WiringSection};

use sluice_ids::{Plmn, Tai};
use sluice_program::config::fields::{At, Fields};
use sluice_program::config::kind::{boolean, log_filter, socket_path};
use sluice_program::config::problem::Refused;
use sluice_program::config::{self, read_text};
use sluice_program::control::CORE_SOCKET;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The configuration of a core.
#[derive(Clone, Debug)]
pub struct CoreConfig {
    /// Who the AMF is.
    pub amf: AmfSection,
    /// PLMNs that are served, with their slices; at least one.
    pub plmns: Vec<ServedPlmn>,
    /// Tracking areas that are served; at least one.
    pub areas: Vec<At<Tai>>,
    /// PLMNs that count as ours.
    pub equivalent_plmns: Vec<At<Plmn>>,
    /// Algorithms and identities.
    pub security: Security,
    /// Keys of the home network.
    pub home_keys: Vec<HomeKeyFile>,
    /// What UEs show.
    pub names: Names,
    /// Whether UEs are told that there are voice calls.
    pub ims_voice: bool,
    /// Timers of UEs.
    pub timers: Timers,
    /// Towards gNBs.
    pub n2: N2Section,
    /// What becomes of UEs when there are too many.
    pub overload: OverloadSection,
    /// Heart-beats of network functions, and discoveries.
    pub nrf: NrfSection,
    /// PDU sessions; none of a core that only registers UEs.
    pub sessions: Option<Sessions>,
    /// Subscribers and home network keys in a database.
    pub database: Option<Database>,
    /// Subscribers of laboratories.
    pub subscribers: Vec<Account>,
    /// Where contexts of UEs and sessions are stored; none are lost when the core ends.
    pub contexts: Option<ContextsSection>,
    /// How it ends.
    pub end: End,
    /// Where `sluice ctl` finds us.
    pub control_socket: PathBuf,
    /// The same by HTTP.
    pub api: ApiSection,
    /// Which functions have programs of their own.
    pub wiring: WiringSection,
    /// Addresses of service-based interfaces.
    pub sbi: SbiSection,
    /// What is logged, as `tracing` filters are written.
    pub log: String,
}

/// A configuration of a core, and what came to light while it was read.
pub type Loaded = config::Loaded<CoreConfig>;

impl CoreConfig {
    /// Address of the server of a program of `wiring.programs`.
    pub fn sbi_address(&self, program: &ProgramSection) -> SocketAddr {
        let mut all = self.wiring.programs.iter();
        let number = all.position(|one| one == program).unwrap_or_default();
        let of_its_own = program.sbi.as_ref().map(|at| at.value);
        of_its_own.unwrap_or_else(|| self.sbi.address_of(number))
    }

    /// Reads and checks a file.
    ///
    /// # Errors
    /// All that is wrong with it, each with line, key, problem and what was expected.
    pub fn load(file: &Path) -> Result<Loaded, Refused> {
        let text = read_text(file)?;
        Self::from_text(file, &text)
    }

    /// As [`load`](Self::load), with the text of the file at hand.
    ///
    /// # Errors
    /// See [`load`](Self::load).
    pub fn from_text(file: &Path, text: &str) -> Result<Loaded, Refused> {
        config::load(file, text, Self::read, check::all)
    }

    fn read(fields: &mut Fields<'_, '_>) -> Self {
        let expected = "a list of plmn and slices";
        let plmns = fields.required_sections("plmns", expected, ServedPlmn::read);
        let home = plmns.first().map(|first| first.plmn.value);
        let amf = fields.section("amf", |f| AmfSection::read(f, home));
        let expected = "a list of tac, and plmn where there are several";
        let area = |f: &mut Fields<'_, '_>| access::read_area(f, home);
        let areas = fields.required_sections("tracking_areas", expected, area);
        let equivalent_plmns = fields.list("equivalent_plmns", &kinds::plmn());
        let security = fields.section("security", Security::read);
        let home_keys = fields.sections("home_network_keys", HomeKeyFile::read);
        let names = fields.section("network_name", Names::read);
        let ims_voice = fields.or("ims_voice", "false", &boolean()).value;
        let timers = fields.section("timers", Timers::read);
        let n2 = fields.section("n2", N2Section::read);
        let overload = fields.section("overload", OverloadSection::read);
        let nrf = fields.section("nrf", NrfSection::read);
        let sessions = Sessions::read(fields);
        let first = plmns.first().and_then(|plmn| plmn.slices.first());
        let slice = first.map(|at| at.value);
        let database = fields.optional_section("subscriber_database", Database::read);
        let subscribers = fields.sections("subscribers", |f| Account::read(f, slice));
        let contexts = fields.optional_section("contexts", ContextsSection::read);
        let end = fields.section("end", End::read);
        let control_socket = fields.or("control_socket", CORE_SOCKET, &socket_path());
        let api = fields.section("api", ApiSection::read);
        let (has_sessions, has_contexts) = (sessions.is_some(), contexts.is_some());
        let wiring = fields.section("wiring", |f| {
            WiringSection::read(f, has_sessions, has_contexts)
        });
        let sbi = fields.section("sbi", |f| SbiSection::read(f, &wiring));
        let log = fields.or("log", "info", &log_filter());
        Self {
            amf,
            plmns,
            areas,
            equivalent_plmns,
            security,
            home_keys,
            names,
            ims_voice,
            timers,
            n2,
            overload,
            nrf,
            sessions,
            database,
            subscribers,
            contexts,
            end,
            control_socket: control_socket.value,
            api,
            wiring,
            sbi,
            log: log.value,
        }
    }
}
