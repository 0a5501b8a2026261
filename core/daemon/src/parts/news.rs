//! News between a core and its programs: settings one way, refusals and traced messages the other.

use crate::parts::refusals::Kept;
use serde::{Deserialize, Serialize};
use sluice_ids::Supi;
use sluice_sbi::{INSTANCES, Nf, NfInstance, Place, ReferencePoint, TracedMessage};
use sluice_security::suci::HomeKey;
use std::collections::BTreeMap;

/// News of a core for its programs.
#[derive(Serialize, Deserialize)]
pub(crate) struct Settings {
    /// How often core.yaml was read again.
    pub reloads: u64,
    /// How often functions were to register anew.
    pub registrations: u64,
    pub followed: Followed,
    /// Whether the core ends, and if so whether sessions are released.
    pub ends: Option<bool>,
    /// gNBs may be left: nobody sends them anything more.
    pub leaves_gnbs: bool,
    pub comparison: Comparison,
    pub presence: Presence,
    /// Subscribers of UEs that the AMF goes on with who were removed or barred meanwhile, by their IMSIs: told once.
    pub withdrawn: Vec<String>,
    /// Identities of functions, by their names.
    pub instances: Vec<(String, [u8; 16])>,
    /// Instances of functions that operators have taken out.
    pub draining: Vec<String>,
    /// None for a program that has no UDM, and while keys of the database are not known.
    pub udm: Option<UdmSettings>,
}

impl Settings {
    /// Identities of functions, by their places.
    pub fn places(&self) -> impl Iterator<Item = (Place, NfInstance)> {
        let told = self.instances.iter();
        told.filter_map(|(name, octets)| Some((place(name)?, NfInstance::from_octets(*octets)?)))
    }

    /// Instances of functions that operators have taken out.
    pub fn draining(&self) -> impl Iterator<Item = Place> {
        self.draining.iter().filter_map(|text| place(text))
    }
}

/// A place as it is told: `UDM`, `UDM/1`.
fn place(text: &str) -> Option<Place> {
    let (name, number) = text.split_once('/').unwrap_or((text, "0"));
    let number = number.parse().ok().filter(|number| *number < INSTANCES)?;
    let mut all = Nf::ALL.into_iter();
    let nf = all.find(|nf| nf.to_string() == name)?;
    Some(Place::from(nf).at(number))
}

/// AMF and SMF of two programs know the same sessions: what one of them does not know is over. They are compared when
/// one of the programs has joined, which begins with the outcome.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Comparison {
    /// How many there were, with this one.
    pub number: u64,
    /// Sessions that the AMF knows, by the SMF's numbers, and whether a gNB has them: for the SMF. None while the AMF
    /// has not told.
    pub known: Option<Vec<(u64, bool)>>,
    /// Sessions of these that the SMF does not know: for the AMF. None while the SMF has not told.
    pub unknown: Option<Vec<u64>>,
}

/// The UDR of one program hears which UEs the AMF of another has, when one of the two has joined: it goes on with what it
/// has stored of these, and begins.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Presence {
    /// How often that was so, with this time.
    pub number: u64,
    /// Subscribers of these UEs, by their IMSIs: for the UDR. None while the AMF has not told.
    pub ues: Option<Vec<String>>,
    /// UEs among them that are subscribers no more, or barred: of the UDR.
    pub removed: Option<Vec<String>>,
}

/// IMSIs of subscribers.
pub(crate) fn imsis(supis: &[Supi]) -> Vec<String> {
    supis.iter().map(|supi| supi.imsi().to_owned()).collect()
}

/// Subscribers of IMSIs.
pub(crate) fn supis(imsis: &[String]) -> Vec<Supi> {
    let read = imsis.iter().filter_map(|imsi| Supi::from_imsi(imsi));
    read.collect()
}

/// UEs whose messages are traced.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) enum Followed {
    #[default]
    Nobody,
    All,
    /// One, by its IMSI.
    One(String),
}

impl From<sluice_sbi::Followed> for Followed {
    fn from(followed: sluice_sbi::Followed) -> Self {
        match followed {
            sluice_sbi::Followed::Nobody => Self::Nobody,
            sluice_sbi::Followed::All => Self::All,
            sluice_sbi::Followed::One(supi) => Self::One(supi.imsi().to_owned()),
        }
    }
}

impl From<&Followed> for sluice_sbi::Followed {
    fn from(followed: &Followed) -> Self {
        match followed {
            Followed::Nobody => Self::Nobody,
            Followed::All => Self::All,
            Followed::One(imsi) => Supi::from_imsi(imsi).map_or(Self::Nobody, Self::One),
        }
    }
}

/// News of a program for its core.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Report {
    pub refused: Vec<Kept>,
    pub traced: Vec<Traced>,
    /// Comparison of sessions, as far as this program's AMF or SMF has told of it.
    pub compared: Option<Comparison>,
    /// UEs of this program's AMF, or those of them that its UDR does not know.
    pub presence: Option<Presence>,
    /// Keys of the home network that the database of the UDR has: told first, and when they are others.
    pub home_keys: Option<Vec<Key>>,
    /// The NRF has another configuration, of which functions hear when they register.
    pub has_new_nrf: bool,
}

impl Report {
    pub fn is_empty(&self) -> bool {
        let has_lists = [
            self.refused.is_empty(),
            self.traced.is_empty(),
            self.presence.is_none(),
            self.home_keys.is_none(),
        ];
        has_lists == [true; 4] && self.compared.is_none() && !self.has_new_nrf
    }

    /// Leaves out the oldest of each.
    pub fn keep(&mut self, refused: usize, traced: usize) {
        let old = self.refused.len().saturating_sub(refused);
        self.refused.drain(..old);
        let old = self.traced.len().saturating_sub(traced);
        self.traced.drain(..old);
    }
}

/// A traced message of a function of a program.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Traced {
    unix_us: u64,
    at: At,
    is_received: bool,
    imsi: Option<String>,
    ue: Option<u64>,
    octets: Vec<u8>,
}

#[derive(Debug, Serialize, Deserialize)]
enum At {
    N1,
    N2,
    N4,
}

impl Traced {
    pub fn new(unix_us: u64, seen: TracedMessage) -> Self {
        Self {
            unix_us,
            at: match seen.at {
                ReferencePoint::N1 => At::N1,
                ReferencePoint::N2 => At::N2,
                ReferencePoint::N4 => At::N4,
            },
            is_received: seen.is_received,
            imsi: seen.supi.map(|supi| supi.imsi().to_owned()),
            ue: seen.ue,
            octets: seen.octets,
        }
    }

    /// When it passed, and what it is.
    pub fn seen(self) -> (u64, TracedMessage) {
        let seen = TracedMessage {
            at: match self.at {
                At::N1 => ReferencePoint::N1,
                At::N2 => ReferencePoint::N2,
                At::N4 => ReferencePoint::N4,
            },
            is_received: self.is_received,
            supi: self.imsi.as_deref().and_then(Supi::from_imsi),
            ue: self.ue,
            octets: self.octets,
        };
        (self.unix_us, seen)
    }
}

/// Settings of a UDM of another program.
#[derive(Serialize, Deserialize)]
pub(crate) struct UdmSettings {
    home_keys: Vec<Key>,
    pub null_scheme: bool,
}

/// A home network key on its way from the program of the UDR to that of the UDM, which the same user runs.
#[derive(Serialize, Deserialize)]
pub(crate) struct Key {
    id: u8,
    is_profile_b: bool,
    secret: [u8; 32],
}

/// Keys on their way.
pub(crate) fn told_keys(keys: &BTreeMap<u8, HomeKey>) -> Vec<Key> {
    let key = |(id, key): (&u8, &HomeKey)| Key {
        id: *id,
        is_profile_b: matches!(key, HomeKey::B(_)),
        secret: key.secret(),
    };
    keys.iter().map(key).collect()
}

/// Keys that have come.
pub(crate) fn read_keys(keys: &[Key]) -> BTreeMap<u8, HomeKey> {
    let read = |one: &Key| {
        let key = if one.is_profile_b {
            HomeKey::profile_b(one.secret)?
        } else {
            HomeKey::profile_a(one.secret)
        };
        Some((one.id, key))
    };
    keys.iter().filter_map(read).collect()
}

impl UdmSettings {
    pub fn of(config: &sluice_udm::Config) -> Self {
        Self {
            home_keys: told_keys(&config.home_keys),
            null_scheme: config.null_scheme,
        }
    }

    pub fn keys(&self) -> BTreeMap<u8, HomeKey> {
        read_keys(&self.home_keys)
    }
}
