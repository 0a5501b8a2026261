//! Authentication data that SIM and home network share (AuthenticationSubscription of TS 29.505).

use std::fmt;

use crate::key::{K, K256, Opc, Topc};
use crate::tuak;

/// How a subscriber is authenticated (TS 33.501, 6.1.3): the home network's choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// 5G-AKA
    #[default]
    FiveGAka,
    /// EAP-AKA'
    EapAkaPrime,
}

/// A subscriber's long-term key for TUAK, which takes either length (TS 35.231, 5.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TuakKey {
    /// 128 bits.
    K128(K),
    /// 256 bits.
    K256(K256),
}

/// The algorithm in a SIM, and its keys.
#[derive(Clone, PartialEq, Eq)]
pub enum Algorithm {
    /// TS 35.206
    Milenage {
        /// The subscriber's key.
        k: K,
        /// The operator's variant, bound to that.
        opc: Opc,
    },
    /// TS 35.231
    Tuak {
        /// The subscriber's key.
        k: TuakKey,
        /// The operator's variant, bound to that.
        topc: Topc,
    },
}

/// Algorithm, keys, and the method of authentication. None of its keys prints.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// How the subscriber is authenticated.
    pub method: Method,
    /// Algorithm of the SIM.
    pub algorithm: Algorithm,
}

impl Credentials {
    /// Of Milenage and 5G-AKA.
    pub fn milenage(k: K, opc: Opc) -> Self {
        Self {
            method: Method::FiveGAka,
            algorithm: Algorithm::Milenage { k, opc },
        }
    }

    /// Of TUAK and 5G-AKA.
    pub fn tuak(k: TuakKey, topc: Topc) -> Self {
        Self {
            method: Method::FiveGAka,
            algorithm: Algorithm::Tuak { k, topc },
        }
    }

    /// The same by another method.
    #[must_use]
    pub fn by(self, method: Method) -> Self {
        Self { method, ..self }
    }
}

impl TuakKey {
    /// Of 16 or 32 octets; none of another number.
    pub fn new(octets: &[u8]) -> Option<Self> {
        if let Ok(octets) = octets.try_into() {
            return Some(Self::K128(K::new(octets)));
        }
        octets
            .try_into()
            .ok()
            .map(|octets| Self::K256(K256::new(octets)))
    }

    /// 16 or 32 octets.
    pub fn octets(&self) -> &[u8] {
        match self {
            Self::K128(k) => k.octets(),
            Self::K256(k) => k.octets(),
        }
    }
}

impl Topc {
    /// Of a subscriber's key and the operator's constant TOP (TS 35.231, 6.1).
    pub fn from_top(k: &TuakKey, top: &[u8; 32]) -> Self {
        tuak::topc(k, top)
    }
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Milenage { .. } => "Milenage",
            Self::Tuak { .. } => "Tuak",
        })
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} by {:?}", self.algorithm, self.method)
    }
}
