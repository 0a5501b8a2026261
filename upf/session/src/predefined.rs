//! Predefined rules (TS 29.244, 5.19): what PDRs activate by name.

use crate::limits::PREDEFINED;
use crate::sdf::{self, FlowFilterList, SdfError};
use core::fmt;
use sluice_wire::ids::QerId;
use sluice_wire::pfcp::value::{BitRate, Gate, GateStatus, SdfFilter};

/// A rule that PDRs activate by name. It matches in the place of a PDR that activates it, what else that PDR's PDI
/// asks; precedence, FAR and URRs are the PDR's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PredefinedRule {
    /// Predefined Rules Name (8.2.72).
    pub name: String,
    /// Flow descriptions (TS 29.212, 5.4.2), of which a packet has to meet one; with none it meets the PDI alone.
    pub flows: Vec<String>,
    /// Which directions are open.
    pub gate: GateStatus,
    /// Maximum bit rate of all its packets in a session, beside the rates of the PDR's QERs.
    pub mbr: Option<BitRate>,
    /// QFI of its packets, if no QER of the PDR tells one.
    pub qfi: Option<u8>,
}

impl PredefinedRule {
    /// One that lets all pass.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            flows: Vec::new(),
            gate: GateStatus {
                uplink: Gate::Open,
                downlink: Gate::Open,
            },
            mbr: None,
            qfi: None,
        }
    }

    /// True if its packets are treated otherwise than the PDR says.
    pub fn needs_qer(&self) -> bool {
        let Self { gate, mbr, qfi, .. } = self;
        let is_open = gate.uplink == Gate::Open && gate.downlink == Gate::Open;
        !is_open || mbr.is_some() || qfi.is_some()
    }
}

/// Why rules cannot be had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PredefinedError {
    /// More than [`PREDEFINED`].
    TooMany,
    /// Two rules have this name.
    Twice(String),
    /// This rule has a flow description that none of ours can be.
    Flow(String, String),
    /// This rule has more flow filters than a PDR may have.
    TooManyFlows(String),
}

impl fmt::Display for PredefinedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(f, "more than {PREDEFINED} predefined rules"),
            Self::Twice(name) => write!(f, "two predefined rules are called {name}"),
            Self::Flow(name, text) => {
                write!(f, "predefined rule {name}: no flow description: {text}")
            }
            Self::TooManyFlows(name) => write!(f, "predefined rule {name} has too many flows"),
        }
    }
}

impl std::error::Error for PredefinedError {}

/// All predefined rules, with their flow filters.
#[derive(Clone, Debug, Default)]
pub struct PredefinedRules(Vec<(PredefinedRule, FlowFilterList)>);

impl PredefinedRules {
    /// Reads the flows of all.
    ///
    /// # Errors
    /// If one cannot be had; see [`PredefinedError`].
    pub fn new(rules: &[PredefinedRule]) -> Result<Self, PredefinedError> {
        if rules.len() > PREDEFINED {
            return Err(PredefinedError::TooMany);
        }
        let mut all = Self::default();
        for rule in rules {
            if all.find(rule.name.as_bytes()).is_some() {
                return Err(PredefinedError::Twice(rule.name.clone()));
            }
            let mut list = FlowFilterList::new();
            for text in &rule.flows {
                let recall = |_, _: &mut FlowFilterList| Err(SdfError::Wrong);
                let read = sdf::read(&SdfFilter::flow(text.as_bytes()), recall, &mut list);
                read.map_err(|error| match error {
                    SdfError::Wrong => PredefinedError::Flow(rule.name.clone(), text.clone()),
                    SdfError::TooMany => PredefinedError::TooManyFlows(rule.name.clone()),
                })?;
            }
            all.0.push((rule.clone(), list));
        }
        Ok(all)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of the rule of this name.
    pub fn find(&self, name: &[u8]) -> Option<u16> {
        let at = self
            .0
            .iter()
            .position(|(rule, _)| rule.name.as_bytes() == name)?;
        Some(at as u16)
    }

    /// A rule and its flow filters.
    pub fn get(&self, number: u16) -> Option<&(PredefinedRule, FlowFilterList)> {
        self.0.get(usize::from(number))
    }
}

/// Bit of a QER ID that no CP function gives: the QER is one of the UP function (8.2.75).
const OF_UP_FUNCTION: u32 = 1 << 31;

/// The QER that a predefined rule brings into a session.
pub fn qer_id(number: u16) -> QerId {
    QerId(OF_UP_FUNCTION | u32::from(number))
}

/// The predefined rule of a QER; none if the CP function gave it.
pub fn of_qer(id: QerId) -> Option<u16> {
    (id.0 & OF_UP_FUNCTION != 0).then_some(id.0 as u16)
}
