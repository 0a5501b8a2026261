//! Section `wiring`: which network functions have programs of their own, and what connects these.

use sluice_bus_local::Carrier;
use sluice_program::config::fields::{At, Fields};
use sluice_program::config::kind::{number, socket_path, word};
use sluice_sbi::{INSTANCES, Instance, Nf, Place};
use sluice_wiring::contexts::Kind;
use std::net::SocketAddr;
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
/// Functions that may be of another core.
const FOREIGN: &[(&str, Nf)] = &[
    ("ausf", Nf::Ausf),
    ("udm", Nf::Udm),
    ("udr", Nf::Udr),
    ("nrf", Nf::Nrf),
    ("nssf", Nf::Nssf),
    ("smf", Nf::Smf),
    ("pcf", Nf::Pcf),
];
/// Functions that may have several instances: each call to them names all that it goes on with, or the instance.
const MANY: [Nf; 3] = [Nf::Ausf, Nf::Udm, Nf::Nssf];
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
    /// Functions of other cores, which the NRF knows.
    pub others: Vec<At<Nf>>,
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
    /// Instance of them.
    pub instance: Instance,
    /// CPU that it has for itself.
    pub cpu: Option<At<usize>>,
    /// Address of its service-based interface.
    pub sbi: Option<At<SocketAddr>>,
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

/// Addresses are for services by HTTP.
fn check_addresses(
    fields: &mut Fields<'_, '_>,
    programs: &[ProgramSection],
    carrier: Option<Carrier>,
) {
    let mut given = programs.iter().filter_map(|one| one.sbi.as_ref());
    if let Some(sbi) = given.next().filter(|_| carrier != Some(Carrier::Http2)) {
        let key = fields.key("programs.sbi");
        let what = "given for functions that have no HTTP";
        let expected = "wiring.transport: http2, or no sbi";
        fields.report().problem(sbi.line, key, what, expected);
    }
}

/// Functions of other cores speak HTTP, and are no program's.
fn check_others(
    fields: &mut Fields<'_, '_>,
    others: &[At<Nf>],
    programs: &[ProgramSection],
    carrier: Option<Carrier>,
    (has_sessions, has_contexts): (bool, bool),
) {
    let key = fields.key("others");
    let mut problem = |line, what: String, expected| {
        fields.report().problem(line, key.clone(), what, expected);
    };
    if let Some(one) = others.first().filter(|_| carrier != Some(Carrier::Http2)) {
        let what = format!("{} is of another core, and speaks HTTP", one.value);
        problem(one.line, what, "wiring.transport: http2, or no others");
    }
    for one in others {
        if programs.iter().any(|program| program.has(one.value)) {
            let what = format!("{} is of another core, and has a program", one.value);
            problem(one.line, what, "one of the two");
        }
        if is_of_sessions(one.value) && has_contexts {
            let what = format!(
                "the {} is of another core, and there are contexts",
                one.value
            );
            let expected = "no contexts: those of sessions are of SMF and PCF together";
            problem(one.line, what, expected);
        }
        if one.value == Nf::Smf && has_sessions {
            let what = "the SMF is of another core, and there are n4, upfs and data_networks";
            problem(
                one.line,
                what.to_owned(),
                "none of these: that SMF has them",
            );
        }
    }
}

/// Each instance once; several of those functions alone that may have them, and none in a program that asks it, whose own
/// calls would all go there.
fn check_instances(fields: &mut Fields<'_, '_>, programs: &[ProgramSection]) {
    let places = programs.iter().flat_map(|one| {
        let place = |at: &At<Nf>| (at.line, Place::from(at.value).at(one.instance.number));
        one.functions.iter().map(place)
    });
    let all: Vec<(u32, Place)> = places.collect();
    let key = fields.key("programs");
    let mut problem = |line, what, expected| {
        fields.report().problem(line, key.clone(), what, expected);
    };
    for (at, (line, place)) in all.iter().enumerate() {
        let nf = place.nf;
        if place.instance() > 0 && !MANY.contains(&nf) {
            let what = format!(
                "{nf} has one instance, and this is its instance {}",
                place.instance()
            );
            let expected = "no instance of functions other than ausf, udm and nssf";
            problem(*line, what, expected);
        }
        if let Some((before, _)) = all[..at].iter().find(|(_, other)| other == place) {
            let what = format!("{place} has a program in line {before}, too");
            let expected = "each function once, or another instance of ausf, udm or nssf";
            problem(*line, what, expected);
        }
    }
    for one in programs {
        let its = |nf| one.functions.iter().any(|at| at.value == nf);
        let Some(asks) = [Nf::Amf, Nf::Smf].into_iter().find(|nf| its(*nf)) else {
            continue;
        };
        let has_others = |nf| all.iter().filter(|(_, other)| other.nf == nf).count() > 1;
        if let Some(at) = one.functions.iter().find(|at| has_others(at.value)) {
            let nf = at.value;
            let what =
                format!("{nf} has several instances, and one shares its program with the {asks}");
            let expected = "programs without amf and smf, which would ask their own alone";
            problem(at.line, what, expected);
        }
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
            ("http2", Some(Carrier::Http2)),
        ]);
        let carrier = fields.or("transport", "thread", &transports).value;
        let socket = fields.optional("socket", &socket_path());
        let given = fields.has("programs");
        let others = fields.list("others", &word(FOREIGN));
        let mut programs = fields.sections("programs", ProgramSection::read);
        let line = fields.line();
        if carrier.is_none() && given {
            let (key, what) = (fields.key("programs"), "given for functions on one thread");
            let expected = "wiring.transport: ring, socket or http2";
            fields.report().problem(line, key, what, expected);
        }
        if carrier.is_some() && !given {
            let may = HOSTED.iter().filter_map(|(_, nf)| *nf);
            let is_other = |nf| others.iter().any(|one| one.value == nf);
            let may = may.filter(|nf| has_sessions || !is_of_sessions(*nf));
            let may = may.filter(|nf| !is_other(*nf));
            for nf in may {
                let one = At { value: nf, line };
                match programs.last_mut() {
                    Some(of_smf) if has_contexts && nf == Nf::Pcf => of_smf.functions.push(one),
                    _ => programs.push(ProgramSection {
                        functions: vec![one],
                        is_front: false,
                        instance: Instance::default(),
                        cpu: None,
                        sbi: None,
                    }),
                }
            }
        }
        check_front(fields, &programs);
        check_addresses(fields, &programs, carrier);
        check_instances(fields, &programs);
        let of_sessions = (has_sessions, has_contexts);
        check_others(fields, &others, &programs, carrier, of_sessions);
        let all: Vec<&At<Nf>> = programs.iter().flat_map(|one| &one.functions).collect();
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
            others,
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

    /// Priority and capacity of an instance of a function.
    pub fn instance_of(&self, place: Place) -> Instance {
        let mut programs = self.programs.iter();
        let its = programs.find(|one| one.places().any(|other| other == place));
        let number = place.instance();
        its.map_or(
            Instance {
                number,
                ..Instance::default()
            },
            |one| one.instance,
        )
    }

    /// Whether a core goes on with another wiring without a restart: programs of functions that may have several instances
    /// come and go, as long as each function has one, and others stay as they are.
    pub fn may_become(&self, new: &Self) -> bool {
        let stays = |wiring: &Self, other: &Self| {
            let gone = |one: &&ProgramSection| !other.programs.contains(one);
            let mut gone = wiring.programs.iter().filter(gone);
            gone.all(|one| !one.is_front && one.functions.iter().all(|at| MANY.contains(&at.value)))
        };
        let functions = |wiring: &Self| {
            let all = Nf::ALL.into_iter();
            all.filter(|nf| wiring.is_apart(*nf)).collect::<Vec<_>>()
        };
        // A number that is in both has the same program.
        let is_kept = |one: &ProgramSection| {
            let mut same = new.programs.iter();
            let shares =
                |other: &ProgramSection| one.places().any(|it| other.places().any(|o| o == it));
            same.all(|other| one == other || !shares(other))
        };
        self.carrier == new.carrier
            && self.socket == new.socket
            && self
                .others
                .iter()
                .map(|one| one.value)
                .eq(new.others.iter().map(|one| one.value))
            && functions(self) == functions(new)
            && stays(self, new)
            && stays(new, self)
            && self.programs.iter().all(is_kept)
    }

    /// Instances of functions beyond the first of each.
    pub fn further_instances(&self) -> Vec<Place> {
        let places = self.programs.iter().flat_map(ProgramSection::places);
        places.filter(|place| place.instance() > 0).collect()
    }

    /// Whether a function is not in the core's own program.
    pub fn is_apart(&self, nf: Nf) -> bool {
        self.has_program(nf) || self.is_other(nf)
    }

    /// Whether a function has a program of its own.
    pub fn has_program(&self, nf: Nf) -> bool {
        self.programs.iter().any(|one| one.has(nf))
    }

    /// Whether a function is of another core.
    pub fn is_other(&self, nf: Nf) -> bool {
        self.others.iter().any(|one| one.value == nf)
    }
}

impl ProgramSection {
    fn has(&self, nf: Nf) -> bool {
        self.functions.iter().any(|one| one.value == nf)
    }

    /// Places of its functions.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        let number = self.instance.number;
        self.functions
            .iter()
            .map(move |at| Place::from(at.value).at(number))
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let hosted = fields.required_list("functions", &word(HOSTED));
        let cpu = fields.optional("cpu", &number(0, CPUS - 1, "the number of a CPU"));
        let sbi = fields.optional("sbi", &super::sbi::address());
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
        let instance = fields.or("instance", "0", &number(0, INSTANCES - 1, ""));
        let priority = fields.or("priority", "0", &number(0, u16::MAX, ""));
        let capacity = fields.or("capacity", "100", &number(0, u16::MAX, ""));
        let instance = Instance {
            number: instance.value,
            priority: priority.value,
            capacity: capacity.value,
        };
        Some(Self {
            functions: hosted.iter().filter_map(function).collect(),
            is_front: front.is_some(),
            instance,
            cpu,
            sbi,
        })
    }
}
