//! Section `wiring`: which network functions have programs of their own, and what connects these.

use sluice_bus_local::Carrier;
use sluice_program::config::fields::{At, Fields};
use sluice_program::config::kind::{number, socket_path, word};
use sluice_sbi::Nf;
use sluice_wiring::contexts::Kind;
use std::path::{Path, PathBuf};

/// Functions that may have a program of their own, and the front of N2, which is none.
const HOSTED: &[(&str, Option<Nf>)] = &[
    ("amf", Some(Nf::Amf)),
    ("ausf", Some(Nf::Ausf)),
    ("udm", Some(Nf::Udm)),
    ("udr", Some(Nf::Udr)),
    ("nrf", Some(Nf::Nrf)),
    ("nssf", Some(Nf::Nssf)),
    ("smf", Some(Nf::Smf)),
    ("pcf", Some(Nf::Pcf)),
    ("n2", None),
];
/// Most CPUs of a machine.
const CPUS: usize = 4_096;

/// Which functions have programs of their own.
#[derive(Clone, PartialEq, Debug)]
pub struct WiringSection {
    /// Carrier between programs; none: all functions are on one thread.
    pub carrier: Option<Carrier>,
    /// Socket at which programs find the core; none: beside its control socket.
    pub socket: Option<PathBuf>,
    /// Programs beside that of the core.
    pub programs: Vec<ProgramSection>,
}

/// Store of contexts that a program other than the core's has: of those of its functions that have some.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoreOfProgram([bool; Kind::ALL.len()]);

impl StoreOfProgram {
    /// Each of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (1_u8..1 << Kind::ALL.len()).map(|bits| Self(std::array::from_fn(|at| bits >> at & 1 == 1)))
    }

    fn of(program: &ProgramSection) -> Option<Self> {
        let store = Self(Kind::ALL.map(|kind| program.has(kind.function())));
        store.0.contains(&true).then_some(store)
    }

    /// Name of its folder or instance.
    pub fn name(self) -> String {
        let its = Kind::ALL.into_iter().filter(|kind| self.may_have(*kind));
        let names = its.map(|kind| kind.function().to_string().to_lowercase());
        names.collect::<Vec<_>>().join("-")
    }

    /// Whether contexts of a kind may be there.
    pub fn may_have(self, kind: Kind) -> bool {
        let mut all = Kind::ALL.into_iter().zip(self.0);
        all.any(|(one, has)| one == kind && has)
    }
}

fn is_of_sessions(nf: Nf) -> bool {
    matches!(nf, Nf::Smf | Nf::Pcf)
}

/// A program of some functions.
#[derive(Clone, PartialEq, Debug)]
pub struct ProgramSection {
    /// Functions of the program, at least one unless it is the front of N2.
    pub functions: Vec<At<Nf>>,
    /// The program keeps the associations of gNBs for the AMF, in whichever program that is.
    pub is_front: bool,
    /// CPU that it has for itself.
    pub cpu: Option<At<usize>>,
}

/// Programs that end lose what no contexts have.
fn warn_of_loss(fields: &mut Fields<'_, '_>, programs: &[ProgramSection]) {
    let mut all = programs.iter().flat_map(|one| &one.functions);
    let Some(one) = all.find(|one| matches!(one.value, Nf::Amf | Nf::Smf | Nf::Udr)) else {
        return;
    };
    let loss = match one.value {
        Nf::Udr => {
            "UEs hear of no changes of their subscriptions until they have left and come again"
        }
        _ => "UEs register anew or lose their sessions",
    };
    let what = format!(
        "{} has a program, and there are no contexts: if that ends, {loss}",
        one.value
    );
    let (key, expected) = (fields.key("programs"), "contexts, which outlive programs");
    fields.report().warning(one.line, key, what, expected);
}

fn check_front(fields: &mut Fields<'_, '_>, programs: &[ProgramSection]) {
    if programs.iter().filter(|one| one.is_front).count() > 1 {
        let (line, key) = (fields.line(), fields.key("programs"));
        let what = "two programs have n2";
        fields.report().problem(line, key, what, "n2 once");
    }
}

impl WiringSection {
    /// Without `programs` each function that may have one has its own, but for SMF and PCF of a core with contexts, which
    /// share one; without sessions those two have none.
    pub(super) fn read(
        fields: &mut Fields<'_, '_>,
        has_sessions: bool,
        has_contexts: bool,
    ) -> Self {
        let transports = word(&[
            ("thread", None),
            ("ring", Some(Carrier::Ring)),
            ("socket", Some(Carrier::Socket)),
        ]);
        let carrier = fields.or("transport", "thread", &transports).value;
        let socket = fields.optional("socket", &socket_path());
        let given = fields.has("programs");
        let mut programs = fields.sections("programs", ProgramSection::read);
        let line = fields.line();
        if carrier.is_none() && given {
            let (key, what) = (fields.key("programs"), "given for functions on one thread");
            let expected = "wiring.transport: ring or socket";
            fields.report().problem(line, key, what, expected);
        }
        if carrier.is_some() && !given {
            let may = HOSTED.iter().filter_map(|(_, nf)| *nf);
            let may = may.filter(|nf| has_sessions || !is_of_sessions(*nf));
            for nf in may {
                let one = At { value: nf, line };
                match programs.last_mut() {
                    Some(of_smf) if has_contexts && nf == Nf::Pcf => of_smf.functions.push(one),
                    _ => programs.push(ProgramSection {
                        functions: vec![one],
                        is_front: false,
                        cpu: None,
                    }),
                }
            }
        }
        check_front(fields, &programs);
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
        for one in all.iter().filter(|one| is_of_sessions(one.value)) {
            if !has_sessions {
                let what = format!("{} has a program, and there are no sessions", one.value);
                let expected = "programs of SMF and PCF in a core with sessions";
                let key = fields.key("programs");
                fields.report().problem(one.line, key, what, expected);
            }
        }
        let of_sessions = |one: &ProgramSection| {
            let its = one.functions.iter().filter(|one| is_of_sessions(one.value));
            its.count()
        };
        if has_contexts && programs.iter().any(|one| of_sessions(one) == 1) {
            let what = "SMF and PCF are apart, and there are contexts";
            let expected =
                "both in one program, which stores the contexts of sessions, or none of them";
            let key = fields.key("programs");
            fields.report().problem(line, key, what, expected);
        }
        if !has_contexts {
            warn_of_loss(fields, &programs);
        }
        Self {
            carrier,
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

    /// Socket of the front of N2, of a core that has one.
    pub fn front(&self, control: &Path) -> Option<PathBuf> {
        let has_front = self.programs.iter().any(|one| one.is_front);
        let stem = control.file_stem().unwrap_or_default().to_string_lossy();
        has_front.then(|| control.with_file_name(format!("{stem}-n2.sock")))
    }

    /// Store of contexts of the program that has a function; none of a function without contexts, or of the core's own
    /// program.
    pub fn store_of(&self, nf: Nf) -> Option<StoreOfProgram> {
        let kinds = Kind::ALL.into_iter();
        let has_contexts = kinds.map(Kind::function).any(|one| one == nf);
        let program = self.programs.iter().find(|one| one.has(nf))?;
        StoreOfProgram::of(program).filter(|_| has_contexts)
    }

    /// Whether a function has a program of its own.
    pub fn is_apart(&self, nf: Nf) -> bool {
        let mut all = self.programs.iter().flat_map(|one| &one.functions);
        all.any(|one| one.value == nf)
    }
}

impl ProgramSection {
    fn has(&self, nf: Nf) -> bool {
        self.functions.iter().any(|one| one.value == nf)
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let hosted = fields.required_list("functions", &word(HOSTED));
        let cpu = fields.optional("cpu", &number(0, CPUS - 1, "the number of a CPU"));
        let front = hosted.iter().find(|at| at.value.is_none());
        if let Some(front) = front.filter(|_| hosted.len() > 1) {
            let (key, what) = (fields.key("functions"), "n2 shares its program");
            let expected = "n2 alone: the associations of gNBs outlive all functions";
            fields.report().problem(front.line, key, what, expected);
        }
        let function = |at: &At<Option<Nf>>| {
            at.value.map(|value| At {
                value,
                line: at.line,
            })
        };
        Some(Self {
            functions: hosted.iter().filter_map(function).collect(),
            is_front: front.is_some(),
            cpu,
        })
    }
}
