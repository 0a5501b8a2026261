//! Kinds of sessions that `sluice bench path` measures, a row each.

pub use super::load::Load;
use super::rules::Filters;
use super::rules::Usage;
use super::topology::Servers;
use super::traffic::Form;

/// Sessions of a UPF, and their packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    /// As `--rules` and results name it, where it is measured up, down and both ways.
    pub name: &'static str,
    pub says: &'static str,
    pub ue: Ue,
    /// TEIDs are the SMF's, not the UPF's.
    pub foreign_teids: bool,
    /// The data network's servers.
    pub servers: Servers,
    /// Forms of packets; those of a session are of each form in turn.
    pub forms: &'static [Form],
    /// PDRs that are tried before the default ones.
    pub filters: Filters,
    pub usage: Usage,
    pub load: Load,
}

/// Four ports of each UE in turn, each with a mapping.
const TRANSLATED: [Form; 4] = [
    Form::translated(0),
    Form::translated(1),
    Form::translated(2),
    Form::translated(3),
];

/// Addresses of a UE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ue {
    Ipv4,
    Ipv6,
    Both,
}

impl Variant {
    pub const USUAL: Self = Self {
        name: DEFAULT,
        says: "",
        ue: Ue::Ipv4,
        foreign_teids: false,
        servers: Servers::One,
        forms: &[Form::USUAL],
        filters: Filters::NONE,
        usage: Usage::Counted,
        load: Load::Usual,
    };
    pub const FOREIGN_TEIDS: Self = Self {
        says: " with TEIDs that the SMF chose",
        foreign_teids: true,
        ..Self::USUAL
    };
    pub const ROUTES: Self = Self {
        says: " with 16 ways to the data network",
        servers: Servers::Many,
        ..Self::USUAL
    };
    pub const BARE: Self = Self {
        says: " without PDU Session Containers",
        forms: &[Form::BARE],
        ..Self::USUAL
    };
    /// With translated addresses and ports, one of each UE's.
    pub const TRANSLATED: Self = Self {
        forms: &[Form::translated(0)],
        ..Self::USUAL
    };
    pub const BARE_TRANSLATED: Self = Self {
        forms: &[Form {
            container: false,
            ..Form::translated(0)
        }],
        ..Self::USUAL
    };
    /// Variants without `--rules`.
    pub const DEFAULTS: [Self; 4] = [Self::USUAL, Self::FOREIGN_TEIDS, Self::ROUTES, Self::BARE];

    /// Variants of `--rules`.
    pub const RULES: [Self; 10] = [
        Self {
            name: "uncounted",
            says: " without URRs",
            usage: Usage::None,
            ..Self::USUAL
        },
        Self {
            name: "armed",
            says: " that report each mebibyte",
            usage: Usage::Armed,
            ..Self::USUAL
        },
        Self {
            name: "sdf10",
            says: " with ten SDF filters that all have",
            filters: Filters::shared(10, 1),
            ..Self::USUAL
        },
        Self {
            name: "sdf100",
            says: " with a hundred SDF filters that all have",
            filters: Filters::shared(10, 10),
            ..Self::USUAL
        },
        Self {
            name: "sdf10own",
            says: " with ten SDF filters of each session's own",
            filters: Filters::own(10),
            ..Self::USUAL
        },
        Self {
            name: "v6",
            says: " with IPv6 prefixes",
            ue: Ue::Ipv6,
            forms: &[Form::IPV6],
            ..Self::USUAL
        },
        Self {
            name: "v46",
            says: " with IPv4 addresses and IPv6 prefixes",
            ue: Ue::Both,
            forms: &[Form::USUAL, Form::IPV6],
            ..Self::USUAL
        },
        Self {
            name: "nat",
            says: " with translated addresses and ports",
            forms: &TRANSLATED,
            ..Self::USUAL
        },
        Self {
            name: "shape",
            says: " of which one in ten sends more than its rate",
            forms: &[Form::NUMBERED],
            load: Load::AboveRate,
            ..Self::USUAL
        },
        Self {
            name: "paging",
            says: " whose UEs are idle when packets come",
            forms: &[Form::NUMBERED],
            load: Load::Idle,
            ..Self::USUAL
        },
    ];

    /// Whether the data network sees public addresses.
    pub fn is_translated(&self) -> bool {
        self.forms.iter().any(|form| form.is_translated)
    }

    /// Whether its UEs have IPv6 prefixes.
    pub fn has_ipv6(&self) -> bool {
        self.ue != Ue::Ipv4
    }

    /// Whether packets have PDU Session Containers.
    pub fn has_container(&self) -> bool {
        self.forms.iter().all(|form| form.container)
    }
}

/// As `--rules` names what is measured where nothing is said of rules.
pub const DEFAULT: &str = "default";
/// The same of sessions that report all the time.
pub const REPORTS: &str = "reports";

/// All that `--rules` takes.
pub fn names() -> impl Iterator<Item = &'static str> {
    let rules = Variant::RULES.iter().map(|variant| variant.name);
    std::iter::once(DEFAULT).chain(rules).chain([REPORTS])
}
