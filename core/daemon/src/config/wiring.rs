//! Section `wiring`: which network functions have programs of their own, and what connects these.

use sluice_program::config::fields::{At, Fields};
use sluice_program::config::kind::{number, socket_path, word};
use sluice_sbi::Nf;
use std::path::{Path, PathBuf};

/// Functions that may have a program of their own.
const APART: &[(&str, Nf)] = &[
    ("ausf", Nf::Ausf),
    ("udm", Nf::Udm),
    ("nrf", Nf::Nrf),
    ("nssf", Nf::Nssf),
    ("pcf", Nf::Pcf),
];
/// Most CPUs of a machine.
const CPUS: usize = 4_096;

/// Connection of a core's functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// All functions on one thread.
    Thread,
    /// Programs that pass references in shared memory.
    Ring,
}

/// Which functions have programs of their own.
#[derive(Clone, PartialEq, Debug)]
pub struct WiringSection {
    /// Connection of functions.
    pub transport: Transport,
    /// Socket at which programs find the core; none: beside its control socket.
    pub socket: Option<PathBuf>,
    /// Programs beside that of the core.
    pub programs: Vec<ProgramSection>,
}

/// Why a core's PCF has no program of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoPcf {
    /// Sessions have their default flows alone.
    NoSessions,
    /// Its contexts are stored with those of the SMF.
    Contexts,
}

impl NoPcf {
    fn text(self) -> (&'static str, &'static str) {
        match self {
            Self::NoSessions => (
                "the PCF has a program, and there are no sessions",
                "a core with sessions, or none of pcf",
            ),
            Self::Contexts => (
                "the PCF has a program, and there are contexts",
                "none of pcf: with contexts it is the core's own, which stores them",
            ),
        }
    }
}

/// A program of some functions.
#[derive(Clone, PartialEq, Debug)]
pub struct ProgramSection {
    /// Functions of the program, at least one.
    pub functions: Vec<At<Nf>>,
    /// CPU that it has for itself.
    pub cpu: Option<At<usize>>,
}

impl WiringSection {
    /// Without `programs` each function that may have one has its own; `pcf` says why the PCF may not, if so.
    pub(super) fn read(fields: &mut Fields<'_, '_>, pcf: Option<NoPcf>) -> Self {
        let transports = word(&[("thread", Transport::Thread), ("ring", Transport::Ring)]);
        let transport = fields.or("transport", "thread", &transports).value;
        let socket = fields.optional("socket", &socket_path());
        let given = fields.has("programs");
        let mut programs = fields.sections("programs", ProgramSection::read);
        let line = fields.line();
        if transport == Transport::Thread && given {
            let (key, what) = (fields.key("programs"), "given for functions on one thread");
            let expected = "wiring.transport: ring";
            fields.report().problem(line, key, what, expected);
        }
        if transport == Transport::Ring && !given {
            let may = APART
                .iter()
                .filter(|(_, nf)| *nf != Nf::Pcf || pcf.is_none());
            let each = may.map(|(_, nf)| ProgramSection {
                functions: vec![At { value: *nf, line }],
                cpu: None,
            });
            programs = each.collect();
        }
        let all: Vec<&At<Nf>> = programs.iter().flat_map(|one| &one.functions).collect();
        for (place, one) in all.iter().enumerate() {
            let before = all[..place].iter().find(|other| other.value == one.value);
            if let Some(before) = before {
                let what = format!("{} has a program in line {}, too", one.value, before.line);
                let key = fields.key("programs");
                fields
                    .report()
                    .problem(one.line, key, what, "each function once");
            }
        }
        let mut of_pcf = all.iter().filter(|one| one.value == Nf::Pcf);
        if let (Some(one), Some(no)) = (of_pcf.next(), pcf) {
            let (what, expected) = no.text();
            let key = fields.key("programs");
            fields.report().problem(one.line, key, what, expected);
        }
        Self {
            transport,
            socket: socket.map(|at| at.value),
            programs,
        }
    }

    /// Socket at which programs find the core whose control socket this is.
    pub fn socket(&self, control: &Path) -> PathBuf {
        let beside = || {
            let stem = control.file_stem().unwrap_or_default().to_string_lossy();
            control.with_file_name(format!("{stem}-wiring.sock"))
        };
        self.socket.clone().unwrap_or_else(beside)
    }

    /// Whether a function has a program of its own.
    pub fn is_apart(&self, nf: Nf) -> bool {
        let mut all = self.programs.iter().flat_map(|one| &one.functions);
        all.any(|one| one.value == nf)
    }
}

impl ProgramSection {
    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let functions = fields.required_list("functions", &word(APART));
        let cpu = fields.optional("cpu", &number(0, CPUS - 1, "the number of a CPU"));
        Some(Self { functions, cpu })
    }
}
