//! PFCP dialects of SMFs, one file each.

use std::fmt;
use std::str::FromStr;

mod free5gc;
mod marking;
mod oai;
mod open5gs;
pub mod profile;
mod sdcore;
mod ts;

pub use profile::Profile;

/// One SMF's way of encoding sessions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Dialect {
    /// By the book: TS 29.244, Release 17.
    #[default]
    Ts,
    /// Open5GS.
    Open5gs,
    /// free5GC.
    Free5gc,
    Oai,
    SdCore,
    /// By the book, with Transport Level Marking by 5QI.
    Marking,
}

impl Dialect {
    pub const ALL: [Self; 6] = [
        Self::Ts,
        Self::Open5gs,
        Self::Free5gc,
        Self::Oai,
        Self::SdCore,
        Self::Marking,
    ];

    /// The facts about it.
    pub fn profile(self) -> &'static Profile {
        match self {
            Self::Ts => &ts::PROFILE,
            Self::Open5gs => &open5gs::PROFILE,
            Self::Free5gc => &free5gc::PROFILE,
            Self::Oai => &oai::PROFILE,
            Self::SdCore => &sdcore::PROFILE,
            Self::Marking => &marking::PROFILE,
        }
    }

    /// Whether this SMF chooses TEIDs itself, so that its plans need
    /// [`crate::UplinkTeid::ChosenByCp`].
    pub fn chooses_teids(self) -> bool {
        self.profile().f_teid.chosen_by_cp
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.profile().name)
    }
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown SMF dialect {0:?}: expected ts, open5gs, free5gc, oai, sdcore or marking")]
pub struct UnknownDialect(String);

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let dialect = Self::ALL
            .into_iter()
            .find(|dialect| dialect.profile().name == name);
        dialect.ok_or_else(|| UnknownDialect(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_is_found_by_its_name() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.to_string().parse(), Ok(dialect));
        }
        let error = "huawei".parse::<Dialect>().unwrap_err();
        assert!(error.to_string().contains("\"huawei\""), "{error}");
    }

    #[test]
    fn only_free5gc_and_sd_core_choose_teids() {
        let choosing = Dialect::ALL.map(Dialect::chooses_teids);
        assert_eq!(choosing, [false, false, true, false, true, false]);
    }
}
