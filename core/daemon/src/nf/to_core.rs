//! Way of a program to its core, or to none: a program that is alone has what it is to know from its own file.

use crate::config::CoreConfig;
use crate::convert;
use crate::needs::{self, StartError};
use crate::operators::part::Part;
use crate::parts::news::{Comparison, Followed, Presence, Settings, UdmSettings};
use crate::parts::{identities, repository};
use sluice_bus_local::{SharedMember, Told};
use sluice_sbi::Place;

/// Times that a program that is alone is told the same: an AMF compares its sessions with those of no SMF, then begins.
const TOLD: u32 = 3;

/// Way to the core.
pub(super) enum ToCore {
    /// The core has started the program, or the program has found it.
    Joined(SharedMember),
    /// There is none.
    Alone(Alone),
}

/// Settings of a program without a core.
pub(super) struct Alone {
    settings: String,
    left: u32,
}

impl Alone {
    /// Of functions at these places; `udr` has what is beside its own, if it is among them.
    ///
    /// # Errors
    /// Files of keys, or a certificate, that cannot be used.
    pub fn new(
        config: &CoreConfig,
        places: &[Place],
        udr: Option<&repository::Beside>,
    ) -> Result<Self, Vec<StartError>> {
        let refused = |all: Vec<_>| all.into_iter().map(StartError::from).collect::<Vec<_>>();
        let mut keys = needs::home_keys(&config.home_keys).map_err(refused)?;
        keys.extend(udr.into_iter().flat_map(|beside| beside.home_keys.clone()));
        let identities = identities::alone(config, places).map_err(|lack| vec![lack])?;
        let told = identities.iter();
        let told = told.map(|(place, instance)| (place.to_string(), instance.octets()));
        let settings = Settings {
            reloads: 0,
            registrations: 0,
            followed: Followed::Nobody,
            ends: None,
            leaves_gnbs: false,
            comparison: Comparison {
                number: 1,
                known: Some(Vec::new()),
                unknown: Some(Vec::new()),
            },
            presence: Presence {
                number: 1,
                ues: Some(Vec::new()),
                removed: None,
            },
            withdrawn: Vec::new(),
            instances: told.collect(),
            draining: Vec::new(),
            udm: Some(UdmSettings::of(&convert::udm(config, keys))),
        };
        Ok(Self {
            settings: serde_json::to_string(&settings).unwrap_or_default(),
            left: TOLD,
        })
    }
}

impl ToCore {
    /// The next of what the core has told.
    pub fn take_told(&mut self) -> Option<Told> {
        match self {
            Self::Joined(member) => member.take_told(),
            Self::Alone(alone) => {
                alone.left = alone.left.checked_sub(1)?;
                Some(Told::News(alone.settings.clone()))
            }
        }
    }

    /// Whether the core is gone.
    pub fn is_closed(&self) -> bool {
        match self {
            Self::Joined(member) => member.is_closed(),
            Self::Alone(_) => false,
        }
    }

    /// Answers a question of an operator.
    pub fn answer(&self, id: u64, part: &Part) {
        if let Self::Joined(member) = self {
            member.answer(id, serde_json::to_string(part).unwrap_or_default());
        }
    }

    /// Tells the core something; false if there is no room for it now. Without a core nobody wants to know.
    pub fn tell(&self, text: String) -> bool {
        match self {
            Self::Joined(member) => member.tell(text),
            Self::Alone(_) => true,
        }
    }
}
