//! Sections of the AMF and the UDM: who they are, what they serve, how UEs prove who they are.

use super::kinds;
use sluice_ids::{AmfId, Guami, Plmn, Snssai, Tai};
use sluice_program::config::fields::{At, Fields};
use sluice_program::config::kind::{Kind, auto_or, boolean, number, word};
use sluice_security::{Ciphering, Integrity, Mandatory};
use std::path::PathBuf;

/// Who the AMF is.
#[derive(Clone, Debug)]
pub struct AmfSection {
    /// What it is called.
    pub name: String,
    /// Its identity; none if its PLMN could not be read.
    pub guami: Option<Guami>,
    /// Its weight among others.
    pub capacity: u8,
    /// Line of its PLMN, or of the section.
    pub line: u32,
}

impl AmfSection {
    pub(super) fn read(fields: &mut Fields<'_, '_>, home: Option<Plmn>) -> Self {
        let name = fields.or("name", "sluice-amf", &kinds::node_name()).value;
        let plmn = fields.optional("plmn", &kinds::plmn());
        let line = plmn.as_ref().map_or(fields.line(), |at| at.line);
        let plmn = plmn.map(|at| at.value).or(home);
        let region = fields.or("region", "1", &number(0, 255, "")).value;
        let set = fields.or("set", "1", &number(0, 1023, "")).value;
        let pointer = fields.or("pointer", "0", &number(0, 63, "")).value;
        let amf = AmfId::new(region, set, pointer);
        let guami = plmn.zip(amf).map(|(plmn, amf)| Guami { plmn, amf });
        let capacity = fields.or("capacity", "255", &number(0, 255, "")).value;
        Self {
            name,
            guami,
            capacity,
            line,
        }
    }
}

/// A PLMN with its slices.
#[derive(Clone, PartialEq, Debug)]
pub struct ServedPlmn {
    /// Which.
    pub plmn: At<Plmn>,
    /// At least one.
    pub slices: Vec<At<Snssai>>,
}

impl ServedPlmn {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let plmn = fields.required("plmn", &kinds::plmn());
        let slices = fields.required_list("slices", &kinds::slice());
        Some(Self {
            plmn: plmn?,
            slices,
        })
    }
}

/// A tracking area; of the first PLMN unless it says otherwise.
pub(super) fn read_area(fields: &mut Fields<'_, '_>, home: Option<Plmn>) -> Option<At<Tai>> {
    let plmn = fields.optional("plmn", &kinds::plmn());
    let tac = fields.required("tac", &kinds::tac())?;
    let plmn = plmn.map(|at| at.value).or(home)?;
    Some(tac.map(|tac| Tai { plmn, tac }))
}

/// Algorithms and identities.
#[derive(Clone, PartialEq, Debug)]
pub struct Security {
    /// Best first.
    pub ciphering: Vec<Ciphering>,
    /// Best first.
    pub integrity: Vec<Integrity>,
    /// Which of those that each UE has to have are asked for.
    pub mandatory_algorithms: Mandatory,
    /// Whether a UE may show its IMSI unconcealed.
    pub null_scheme: bool,
    /// Whether UEs are asked which device they are.
    pub ask_imeisv: bool,
}

const CIPHERING: &[(&str, Ciphering)] = &[
    ("nea0", Ciphering::Nea0),
    ("nea1", Ciphering::Nea1),
    ("nea2", Ciphering::Nea2),
    ("nea3", Ciphering::Nea3),
];

const INTEGRITY: &[(&str, Integrity)] = &[
    ("nia1", Integrity::Nia1),
    ("nia2", Integrity::Nia2),
    ("nia3", Integrity::Nia3),
];

const MANDATORY: &[(&str, Mandatory)] = &[("one", Mandatory::One), ("all", Mandatory::All)];

impl Security {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let default = sluice_security::Preference::default();
        let given = |given: Vec<_>, default| match given.is_empty() {
            true => default,
            false => given,
        };
        let ciphering = fields.list("ciphering", &word(CIPHERING));
        let ciphering: Vec<_> = ciphering.into_iter().map(|at| at.value).collect();
        let integrity = fields.list("integrity", &word(INTEGRITY));
        let integrity: Vec<_> = integrity.into_iter().map(|at| at.value).collect();
        if fields.has("integrity") && integrity.is_empty() {
            fields.missing("integrity", "one algorithm at least: NIA0 is never chosen");
        }
        Self {
            ciphering: given(ciphering, default.ciphering),
            integrity: match integrity.is_empty() {
                true => default.integrity,
                false => integrity,
            },
            mandatory_algorithms: fields
                .or("mandatory_algorithms", "one", &word(MANDATORY))
                .value,
            null_scheme: fields.or("null_scheme", "true", &boolean()).value,
            ask_imeisv: fields.or("ask_imeisv", "true", &boolean()).value,
        }
    }
}

/// How SUCIs are concealed (TS 33.501, C.3.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// X25519.
    A,
    /// secp256r1.
    B,
}

impl Profile {
    /// The letter that the TS gives it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }
}

/// A private key of the home network, in a file of its own.
#[derive(Clone, PartialEq, Debug)]
pub struct HomeKeyFile {
    /// What SIMs call it.
    pub id: At<u8>,
    /// What it is for.
    pub profile: Profile,
    /// Where it is.
    pub file: At<PathBuf>,
}

impl HomeKeyFile {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let id = fields.required("id", &number(1, 255, ""));
        let profile = word(&[("a", Profile::A), ("b", Profile::B)]);
        let profile = fields.required("profile", &profile);
        let file = fields.required("file", &kinds::file());
        Some(Self {
            id: id?,
            profile: profile?.value,
            file: file?,
        })
    }
}

/// What UEs show, and what time it is where they are.
#[derive(Clone, PartialEq, Debug)]
pub struct Names {
    /// In full and short; none tells them nothing.
    pub names: Option<(String, String)>,
    /// Local time less universal time in quarters of an hour; none tells them no time.
    pub time_zone_quarters: Option<i8>,
}

impl Names {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let full = fields.optional("full", &kinds::shown_name());
        let short = fields.optional("short", &kinds::shown_name());
        let zone = fields.or("time_zone", "none", &none_or(kinds::time_zone()));
        let names = match (full, short) {
            (None, None) => None,
            (Some(one), None) | (None, Some(one)) => Some((one.value.clone(), one.value)),
            (Some(full), Some(short)) => Some((full.value, short.value)),
        };
        Self {
            names,
            time_zone_quarters: zone.value,
        }
    }
}

/// `none`, or another kind.
pub(super) fn none_or<T: 'static>(kind: Kind<T>) -> Kind<Option<T>> {
    let expected = format!("none, or {}", kind.expected);
    let auto = auto_or(kind);
    Kind::new(expected, move |text| match text {
        "none" => Some(None),
        "auto" => None,
        text => auto.parse(text),
    })
}

/// Timers of UEs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Timers {
    /// After so long a UE registers again.
    pub t3512_s: u32,
    /// After so long a refused UE tries again.
    pub t3502_s: u32,
}

impl Timers {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let t3512 = number(60, 1_116_000, "seconds");
        let t3502 = number(2, 11_160, "seconds");
        Self {
            t3512_s: fields.or("t3512_s", "3240", &t3512).value,
            t3502_s: fields.or("t3502_s", "720", &t3502).value,
        }
    }
}
