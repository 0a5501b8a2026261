//! Keys of a subscriber as people write them, for the algorithm that its SIM has.

use sluice_security::{Algorithm, K, Opc, Topc, TuakKey};
use zeroize::Zeroizing;

use super::{Draft, Secret, optional, value};
use crate::hex;
use crate::problem::Problem;
use crate::record::Record;

/// Which algorithm, without its keys.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Kind {
    #[default]
    Milenage,
    Tuak,
}

const DIGITS_32: &str = "32 hexadecimal digits";
const DIGITS_64: &str = "64 hexadecimal digits";

impl Kind {
    pub(crate) fn of(algorithm: &Algorithm) -> Self {
        match algorithm {
            Algorithm::Milenage { .. } => Self::Milenage,
            Algorithm::Tuak { .. } => Self::Tuak,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Milenage => "milenage",
            Self::Tuak => "tuak",
        }
    }
}

impl Draft {
    /// Algorithm and keys that were written, or none where those of `before` stay.
    pub(super) fn algorithm(
        &self,
        before: Option<&Record>,
        problems: &mut Vec<Problem>,
    ) -> Option<Option<Algorithm>> {
        let before = before.map(|record| &record.credentials.algorithm);
        let (expected, text) = (value::ALGORITHM, &self.algorithm);
        let told = optional(problems, "algorithm", text, expected, value::algorithm)?;
        let kind = told.or(before.map(Kind::of)).unwrap_or_default();
        let before = before.filter(|before| Kind::of(before) == kind);
        let others = match kind {
            Kind::Milenage => [("topc", &self.topc), ("top", &self.top)],
            Kind::Tuak => [("opc", &self.opc), ("op", &self.op)],
        };
        for (field, secret) in others {
            if !secret.is_none() {
                let what = format!("given with algorithm {}", kind.name());
                problems.push(Problem::new(field, what, "the keys of one algorithm"));
                return None;
            }
        }
        match kind {
            Kind::Milenage => self.milenage(before, problems),
            Kind::Tuak => self.tuak(before, problems),
        }
    }

    fn milenage(
        &self,
        before: Option<&Algorithm>,
        problems: &mut Vec<Problem>,
    ) -> Option<Option<Algorithm>> {
        let mut key = |field, secret| exact::<16>(field, secret, DIGITS_32, problems);
        let (k, opc, op) = (
            key("k", &self.k),
            key("opc", &self.opc),
            key("op", &self.op),
        );
        let (k, opc, op) = (k?, opc?, op?);
        let old = before.and_then(|algorithm| match algorithm {
            Algorithm::Milenage { k, .. } => Some(k),
            Algorithm::Tuak { .. } => None,
        });
        let new = k.map(|k| K::new(*k));
        let variant = Variant {
            names: ["opc", "op"],
            digits: DIGITS_32,
            direct: opc.map(|opc| Opc::new(*opc)),
            constant: op,
        };
        let (k, opc) =
            match variant.join(new, old, DIGITS_32, problems, |k, op| Opc::from_op(k, **op))? {
                Some(keys) => keys,
                None => return Some(None),
            };
        Some(Some(Algorithm::Milenage { k, opc }))
    }

    fn tuak(
        &self,
        before: Option<&Algorithm>,
        problems: &mut Vec<Problem>,
    ) -> Option<Option<Algorithm>> {
        const EITHER: &str = "32 or 64 hexadecimal digits";
        let digits = self.k.digits().unwrap_or_default();
        let k = if digits.chars().count() == 64 {
            let k = exact::<32>("k", &self.k, EITHER, problems)?;
            k.and_then(|k| TuakKey::new(&*k))
        } else {
            let k = exact::<16>("k", &self.k, EITHER, problems)?;
            k.and_then(|k| TuakKey::new(&*k))
        };
        let mut key = |field, secret| exact::<32>(field, secret, DIGITS_64, problems);
        let (topc, top) = (key("topc", &self.topc), key("top", &self.top));
        let (topc, top) = (topc?, top?);
        let old = before.and_then(|algorithm| match algorithm {
            Algorithm::Tuak { k, .. } => Some(k),
            Algorithm::Milenage { .. } => None,
        });
        let variant = Variant {
            names: ["topc", "top"],
            digits: DIGITS_64,
            direct: topc.map(|topc| Topc::new(*topc)),
            constant: top,
        };
        let (k, topc) =
            match variant.join(k, old, EITHER, problems, |k, top| Topc::from_top(k, top))? {
                Some(keys) => keys,
                None => return Some(None),
            };
        Some(Some(Algorithm::Tuak { k, topc }))
    }
}

/// The operator's variant, as it is or as the constant that it is derived from.
struct Variant<V, const N: usize> {
    names: [&'static str; 2],
    digits: &'static str,
    direct: Option<V>,
    constant: Option<Zeroizing<[u8; N]>>,
}

impl<V, const N: usize> Variant<V, N> {
    /// A new key, or the old one, with its variant; none of it where the old ones stay.
    fn join<K: Clone>(
        self,
        new: Option<K>,
        old: Option<&K>,
        digits_of_k: &str,
        problems: &mut Vec<Problem>,
        derive: impl Fn(&K, &Zeroizing<[u8; N]>) -> V,
    ) -> Option<Option<(K, V)>> {
        let [direct, constant] = self.names;
        if self.direct.is_some() && self.constant.is_some() {
            let what = format!("given beside {direct}");
            problems.push(Problem::new(constant, what, "one of both"));
            return None;
        }
        let is_new = new.is_some();
        let Some(k) = new.or_else(|| old.cloned()) else {
            problems.push(Problem::new("k", "missing", digits_of_k));
            return None;
        };
        match (self.direct, self.constant) {
            (Some(variant), _) => Some(Some((k, variant))),
            (_, Some(value)) => {
                let variant = derive(&k, &value);
                Some(Some((k, variant)))
            }
            (None, None) if old.is_some() && !is_new => Some(None),
            (None, None) => {
                let expected = format!("{}, or {constant} instead", self.digits);
                problems.push(Problem::new(direct, "missing", expected));
                None
            }
        }
    }
}

/// A key that was written; none if it is wrong.
fn exact<const N: usize>(
    field: &str,
    secret: &Secret,
    expected: &str,
    problems: &mut Vec<Problem>,
) -> Option<Option<Zeroizing<[u8; N]>>> {
    let Some(digits) = secret.digits() else {
        return Some(None);
    };
    let octets = hex::read::<N>(digits);
    if octets.is_none() {
        let number = digits.chars().count();
        let what = format!("{number} characters, or not all of them digits");
        problems.push(Problem::new(field, what, expected));
    }
    octets.map(Some)
}
