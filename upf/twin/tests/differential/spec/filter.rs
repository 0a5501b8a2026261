//! SDF filters as descriptions.

/// What a filter's IE has.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FilterSpec {
    /// The flow description as it stands.
    pub flow: Option<String>,
    pub class: Option<[u8; 2]>,
    pub index: Option<u32>,
    pub label: Option<u32>,
    pub id: Option<u32>,
}

impl FilterSpec {
    pub fn flow(text: &str) -> Self {
        Self {
            flow: Some(text.to_owned()),
            ..Self::default()
        }
    }

    /// That of a default flow, as SMFs write it.
    pub fn all() -> Self {
        Self::flow("permit out ip from any to assigned")
    }

    /// That of Open5GS for Router Solicitations.
    pub fn solicitations() -> Self {
        Self::flow("permit out 58 from ff02::2/128 to assigned")
    }

    /// What another PDR of the session tells in full.
    pub fn of_id(id: u32) -> Self {
        Self {
            id: Some(id),
            ..Self::default()
        }
    }
}
