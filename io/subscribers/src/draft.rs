//! A subscriber as people write it: in a file, on a command line, over HTTP. All checks are here.

use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use sluice_ids::{Supi, UpSecurity};
use sluice_sbi::{DNNS, SLICES};
use sluice_security::{Algorithm, Credentials, Method, Sqn};
use zeroize::Zeroizing;

use crate::problem::Problem;
use crate::record::{Network, Profile, Record, Slice, SqnState};

pub(crate) mod keys;
pub(crate) mod value;

pub use value::may_be_default;

/// UE AMBR and session AMBR in each direction, of who has none written.
pub const DEFAULT_AMBR_BPS: u64 = 1_000_000_000;
/// 5QI of who has none written: best effort.
pub const DEFAULT_FIVE_QI: u8 = 9;
/// ARP priority of who has none written.
pub const DEFAULT_ARP: u8 = 8;
/// Data network of who has no slices written.
pub const DEFAULT_DNN: &str = "internet";
/// Most default slices of a subscriber.
pub const DEFAULT_SLICES: usize = 8;
/// Slice type of who has no slices written: eMBB.
pub const DEFAULT_SST: u8 = 1;

/// A value as it was written; numbers and `true` of JSON are text, too, and lists are words.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
#[serde(transparent)]
pub struct Text(pub Option<String>);

impl Text {
    /// Of a word.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Some(text.into()))
    }

    /// Whether nothing was written.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a whole number, true or false")
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Text, E> {
                Ok(Text::new(value))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Text, E> {
                Ok(Text::new(value.to_string()))
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Text, E> {
                Ok(Text::new(if value { "yes" } else { "no" }))
            }

            fn visit_unit<E: de::Error>(self) -> Result<Text, E> {
                Ok(Text(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut words: A) -> Result<Text, A::Error> {
                let mut all: Vec<String> = Vec::new();
                while let Some(word) = words.next_element()? {
                    all.push(word);
                }
                Ok(Text::new(all.join(" ")))
            }
        }

        from.deserialize_any(Any)
    }
}

/// A key as it was written. It is wiped when it is dropped, and does not print.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(Option<Zeroizing<String>>);

impl Secret {
    /// Of hexadecimal digits.
    pub fn new(digits: impl Into<String>) -> Self {
        Self(Some(Zeroizing::new(digits.into())))
    }

    /// Whether nothing was written.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// What was written.
    pub(crate) fn digits(&self) -> Option<&str> {
        self.0.as_deref().map(String::as_str)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_none() { "None" } else { "Secret" })
    }
}

impl Serialize for Secret {
    /// Towards the daemon, whose socket is its owner's alone.
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.as_deref().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // A value of another type is not repeated in the message, unlike serde's own.
        let text = Text::deserialize(from);
        let text = text.map_err(|_| de::Error::custom("a key is no text"))?;
        Ok(Self(text.0.map(Zeroizing::new)))
    }
}

/// A subscriber as it was written; what is missing has its default.
#[derive(Clone, PartialEq, Eq, Default, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Draft {
    /// 6 to 15 digits.
    #[serde(skip_serializing_if = "Text::is_none")]
    pub imsi: Text,
    /// 32 hexadecimal digits; for TUAK 32 or 64.
    #[serde(skip_serializing_if = "Secret::is_none")]
    pub k: Secret,
    /// 32 hexadecimal digits.
    #[serde(skip_serializing_if = "Secret::is_none")]
    pub opc: Secret,
    /// 32 hexadecimal digits, instead of `opc`, which is derived.
    #[serde(skip_serializing_if = "Secret::is_none")]
    pub op: Secret,
    /// 64 hexadecimal digits, for TUAK.
    #[serde(skip_serializing_if = "Secret::is_none")]
    pub topc: Secret,
    /// 64 hexadecimal digits, instead of `topc`, which is derived.
    #[serde(skip_serializing_if = "Secret::is_none")]
    pub top: Secret,
    /// `milenage` or `tuak`.
    #[serde(skip_serializing_if = "Text::is_none")]
    pub algorithm: Text,
    /// `5g_aka` or `eap_aka_prime`.
    #[serde(skip_serializing_if = "Text::is_none")]
    pub method: Text,
    /// The highest sequence number that the SIM has taken, 12 hexadecimal digits.
    #[serde(skip_serializing_if = "Text::is_none")]
    pub sqn: Text,
    /// `yes` or `no`.
    #[serde(skip_serializing_if = "Text::is_none")]
    pub barred: Text,
    /// UE AMBR towards the UE.
    #[serde(skip_serializing_if = "Text::is_none")]
    pub ue_ambr_down_bps: Text,
    /// UE AMBR from the UE.
    #[serde(skip_serializing_if = "Text::is_none")]
    pub ue_ambr_up_bps: Text,
    /// Slices with their data networks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<SliceDraft>,
}

/// A slice as it was written.
#[derive(Clone, PartialEq, Eq, Default, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct SliceDraft {
    /// `1`, or with its differentiator `1-00000a`.
    pub slice: Text,
    /// `yes` or `no`; the first slice is a default one if it says nothing.
    #[serde(skip_serializing_if = "Text::is_none")]
    pub default: Text,
    /// Data networks; the first is the slice's default one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<NetworkDraft>,
}

/// A data network as it was written.
#[derive(Clone, PartialEq, Eq, Default, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkDraft {
    /// Its name.
    pub dnn: Text,
    /// `ipv4`, `ipv6`, `ipv4v6`, with spaces between them.
    #[serde(skip_serializing_if = "Text::is_none")]
    pub types: Text,
    /// One of them.
    #[serde(skip_serializing_if = "Text::is_none")]
    pub default_type: Text,
    /// Session AMBR towards the UE.
    #[serde(skip_serializing_if = "Text::is_none")]
    pub session_ambr_down_bps: Text,
    /// Session AMBR from the UE.
    #[serde(skip_serializing_if = "Text::is_none")]
    pub session_ambr_up_bps: Text,
    /// 5QI of the default flow.
    #[serde(skip_serializing_if = "Text::is_none")]
    pub five_qi: Text,
    /// Priority of its ARP.
    #[serde(skip_serializing_if = "Text::is_none")]
    pub arp: Text,
    /// The UE's own address.
    #[serde(skip_serializing_if = "Text::is_none")]
    pub ipv4: Text,
    /// The UE's own prefix.
    #[serde(skip_serializing_if = "Text::is_none")]
    pub ipv6_prefix: Text,
    /// Whether the integrity of the user plane is protected.
    #[serde(skip_serializing_if = "Text::is_none")]
    pub up_integrity: Text,
    /// Whether its confidentiality is.
    #[serde(skip_serializing_if = "Text::is_none")]
    pub up_confidentiality: Text,
}

/// A subscriber that has passed all checks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    /// Who.
    pub supi: Supi,
    /// Keys; those of who is changed may stay.
    pub algorithm: Option<Algorithm>,
    /// How it is authenticated, if that was written.
    pub method: Option<Method>,
    /// The highest sequence number that the SIM has taken, if that was written.
    pub sqn: Option<Sqn>,
    /// What it may do.
    pub profile: Profile,
}

impl Checked {
    /// As it is stored; none without keys. `before` is the same subscriber until now: its sequence
    /// numbers go on unless the keys are others or a number was written.
    pub fn into_record(self, before: Option<&Record>, unix_s: u64) -> Option<Record> {
        let old = before.map(|b| &b.credentials);
        let algorithm = self.algorithm.or_else(|| Some(old?.algorithm.clone()))?;
        let method = self.method.or_else(|| Some(old?.method));
        let same = before.filter(|b| b.credentials.algorithm == algorithm);
        let sqn = match (self.sqn, same) {
            (Some(sqn), _) => SqnState::new(sqn, unix_s),
            (None, Some(before)) => before.sqn,
            (None, None) => SqnState::new(Sqn::default(), unix_s),
        };
        Some(Record {
            supi: self.supi,
            credentials: Credentials {
                method: method.unwrap_or_default(),
                algorithm,
            },
            sqn,
            profile: self.profile,
        })
    }
}

impl Draft {
    /// Checks all of it; `before` is the subscriber that it changes, whose keys may stay.
    ///
    /// # Errors
    /// All that is wrong, never a key.
    pub fn check(&self, before: Option<&Record>) -> Result<Checked, Vec<Problem>> {
        let mut problems = Vec::new();
        let expected = "6 to 15 digits";
        let imsi = self.imsi.0.as_deref();
        let supi = required(&mut problems, "imsi", imsi, expected, Supi::from_imsi);
        let algorithm = self.algorithm(before, &mut problems);
        let (expected, text) = (value::METHOD, &self.method);
        let method = optional(&mut problems, "method", text, expected, value::method);
        let digits = "12 hexadecimal digits (48 bits)";
        let sqn = optional(&mut problems, "sqn", &self.sqn, digits, value::sqn);
        let profile = self.profile(&mut problems);
        match (supi, algorithm, method, sqn, profile) {
            (Some(supi), Some(algorithm), Some(method), Some(sqn), Some(profile))
                if problems.is_empty() =>
            {
                Ok(Checked {
                    supi,
                    algorithm,
                    method,
                    sqn,
                    profile,
                })
            }
            _ => {
                let of = |problem: Problem| match imsi {
                    Some(imsi) => problem.of(imsi),
                    None => problem,
                };
                Err(problems.into_iter().map(of).collect())
            }
        }
    }

    /// What it may do, of what was written; none if something of it is wrong.
    pub(crate) fn profile(&self, problems: &mut Vec<Problem>) -> Option<Profile> {
        let barred = or(
            problems,
            "barred",
            &self.barred,
            value::YES,
            value::yes,
            false,
        );
        let down = rate(problems, "ue_ambr_down_bps", &self.ue_ambr_down_bps);
        let up = rate(problems, "ue_ambr_up_bps", &self.ue_ambr_up_bps);
        let slices = self.slices(problems);
        Some(Profile {
            barred: barred?,
            ambr_bps: (down?, up?),
            slices: slices?,
        })
    }

    fn slices(&self, problems: &mut Vec<Problem>) -> Option<Vec<Slice>> {
        let usual = [SliceDraft::usual()];
        let drafts = if self.slices.is_empty() {
            &usual[..]
        } else {
            &self.slices[..]
        };
        if drafts.len() > SLICES {
            let what = format!("{} slices", drafts.len());
            problems.push(Problem::new("slices", what, format!("at most {SLICES}")));
            return None;
        }
        let checked = drafts.iter().enumerate();
        let checked: Vec<_> = checked
            .map(|(at, draft)| draft.check(at, problems))
            .collect();
        let slices: Vec<Slice> = checked.into_iter().collect::<Option<_>>()?;
        for (at, one) in slices.iter().enumerate() {
            if slices[..at]
                .iter()
                .any(|before| before.snssai == one.snssai)
            {
                let field = format!("slices[{at}].slice");
                let what = format!("{} a second time", one.snssai);
                problems.push(Problem::new(field, what, "each slice once"));
            }
        }
        if !slices.iter().any(|one| one.is_default) {
            let expected = "at least one with `default: yes` (TS 23.501, 5.15.3)";
            problems.push(Problem::new("slices", "no default slice", expected));
        }
        // All of them become the Allowed NSSAI of a UE that asks for none (TS 24.501, 9.11.3.37).
        if slices.iter().filter(|one| one.is_default).count() > DEFAULT_SLICES {
            let expected = format!("at most {DEFAULT_SLICES} with `default: yes`");
            problems.push(Problem::new("slices", "too many default slices", expected));
        }
        Some(slices)
    }
}

impl SliceDraft {
    /// Slice 1 with one data network.
    fn usual() -> Self {
        Self {
            slice: Text::new(DEFAULT_SST.to_string()),
            default: Text::default(),
            networks: vec![NetworkDraft {
                dnn: Text::new(DEFAULT_DNN),
                ..NetworkDraft::default()
            }],
        }
    }

    fn check(&self, at: usize, problems: &mut Vec<Problem>) -> Option<Slice> {
        let path = format!("slices[{at}]");
        let slice = self.slice.0.as_deref();
        let field = format!("{path}.slice");
        let snssai = required(problems, &field, slice, value::SLICE, value::slice);
        let field = format!("{path}.default");
        let is_default = or(
            problems,
            &field,
            &self.default,
            value::YES,
            value::yes,
            at == 0,
        );
        if self.networks.len() > DNNS {
            let what = format!("{} data networks", self.networks.len());
            let field = format!("{path}.networks");
            problems.push(Problem::new(field, what, format!("at most {DNNS}")));
            return None;
        }
        let checked = self.networks.iter().enumerate();
        let checked: Vec<_> = checked
            .map(|(n, draft)| draft.check(&format!("{path}.networks[{n}]"), problems))
            .collect();
        let networks: Vec<Network> = checked.into_iter().collect::<Option<_>>()?;
        for (n, one) in networks.iter().enumerate() {
            if networks[..n].iter().any(|before| before.dnn == one.dnn) {
                let field = format!("{path}.networks[{n}].dnn");
                let what = format!("{} a second time in this slice", one.dnn);
                problems.push(Problem::new(field, what, "each data network once"));
            }
        }
        Some(Slice {
            snssai: snssai?,
            is_default: is_default?,
            networks,
        })
    }
}

impl NetworkDraft {
    fn check(&self, path: &str, problems: &mut Vec<Problem>) -> Option<Network> {
        let name = |field: &str| format!("{path}.{field}");
        let dnn = self.dnn.0.as_deref();
        let dnn = required(problems, &name("dnn"), dnn, value::DNN, value::dnn);
        let all = [true; 3];
        let types = or(
            problems,
            &name("types"),
            &self.types,
            value::TYPES,
            value::types,
            all,
        );
        let down = rate(
            problems,
            &name("session_ambr_down_bps"),
            &self.session_ambr_down_bps,
        );
        let up = rate(
            problems,
            &name("session_ambr_up_bps"),
            &self.session_ambr_up_bps,
        );
        let (field, text) = (name("five_qi"), &self.five_qi);
        let five_qi = or(
            problems,
            &field,
            text,
            value::FIVE_QI,
            value::five_qi,
            DEFAULT_FIVE_QI,
        );
        let (field, text) = (name("arp"), &self.arp);
        let arp = or(problems, &field, text, value::ARP, value::arp, DEFAULT_ARP);
        let ipv4 = optional(
            problems,
            &name("ipv4"),
            &self.ipv4,
            value::IPV4,
            value::ipv4,
        );
        let (field, text) = (name("ipv6_prefix"), &self.ipv6_prefix);
        let ipv6_prefix = optional(problems, &field, text, value::IPV6, value::ipv6_prefix);
        let up_security = self.up_security(name, problems);
        let types = types?;
        let default_type = self.default_type(types, &name("default_type"), problems);
        let [only_4, only_6, both] = types;
        for (field, address, allowed) in [
            ("ipv4", ipv4?.is_some(), only_4 || both),
            ("ipv6_prefix", ipv6_prefix?.is_some(), only_6 || both),
        ] {
            if address && !allowed {
                let what = "given, but no session may have one";
                problems.push(Problem::new(
                    name(field),
                    what,
                    "a type in types that has it",
                ));
            }
        }
        Some(Network {
            dnn: dnn?,
            types,
            default_type: default_type?,
            ambr_bps: (down?, up?),
            five_qi: five_qi?,
            arp: arp?,
            ipv4: ipv4?,
            ipv6_prefix: ipv6_prefix?,
            up_security: up_security?,
        })
    }

    /// Both of it, or neither (TS 29.571, 5.4.4.23).
    fn up_security(
        &self,
        name: impl Fn(&str) -> String,
        problems: &mut Vec<Problem>,
    ) -> Option<Option<UpSecurity>> {
        let mut read = |field: &str, text: &Text| {
            let expected = value::PROTECTION;
            optional(problems, &name(field), text, expected, value::protection)
        };
        let integrity = read("up_integrity", &self.up_integrity)?;
        let confidentiality = read("up_confidentiality", &self.up_confidentiality)?;
        let (missing, other) = match (integrity, confidentiality) {
            (None, None) => return Some(None),
            (Some(integrity), Some(confidentiality)) => {
                return Some(Some(UpSecurity {
                    integrity,
                    confidentiality,
                }));
            }
            (None, _) => ("up_integrity", "up_confidentiality"),
            (_, None) => ("up_confidentiality", "up_integrity"),
        };
        let expected = format!("{}, as {other} is there", value::PROTECTION);
        problems.push(Problem::new(name(missing), "missing", expected));
        None
    }

    /// What was written, else the most that `types` allows.
    fn default_type(
        &self,
        types: [bool; 3],
        field: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<u8> {
        let most = (1..=3).rev().find(|number| types[usize::from(*number) - 1]);
        let is_allowed = |number: &u8| types[usize::from(*number) - 1];
        let read = |text: &str| value::type_number(text).filter(is_allowed);
        let expected = "one of types";
        or(problems, field, &self.default_type, expected, read, most?)
    }
}

/// A value that must be there.
fn required<T>(
    problems: &mut Vec<Problem>,
    field: &str,
    text: Option<&str>,
    expected: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    let Some(text) = text else {
        problems.push(Problem::new(field, "missing", expected));
        return None;
    };
    let value = read(text);
    if value.is_none() {
        problems.push(Problem::got(field, text, expected));
    }
    value
}

/// A value that may be missing; none if it is wrong.
fn optional<T>(
    problems: &mut Vec<Problem>,
    field: &str,
    text: &Text,
    expected: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Option<Option<T>> {
    match text.0.as_deref() {
        None => Some(None),
        Some(text) => required(problems, field, Some(text), expected, read).map(Some),
    }
}

/// A value with a default; none if it is wrong.
fn or<T>(
    problems: &mut Vec<Problem>,
    field: &str,
    text: &Text,
    expected: &str,
    read: impl Fn(&str) -> Option<T>,
    default: T,
) -> Option<T> {
    optional(problems, field, text, expected, read).map(|value| value.unwrap_or(default))
}

fn rate(problems: &mut Vec<Problem>, field: &str, text: &Text) -> Option<u64> {
    or(
        problems,
        field,
        text,
        value::RATE,
        value::rate,
        DEFAULT_AMBR_BPS,
    )
}

#[cfg(test)]
mod tests;
