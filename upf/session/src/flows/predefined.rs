//! Predefined rules (TS 29.244, 5.19): what PDRs activate by name.

use crate::flows::sdf;
use crate::flows::sdf::{FlowFilterList, SdfError};
use crate::limits::PREDEFINED;
use crate::node::uses::UseCounts;
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

/// Why rules cannot take the place of those there are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PredefinedChange {
    /// Sessions have this rule active, and it would go.
    Active(String),
    /// This rule would stand elsewhere among those that stay, or a new one before it.
    Order(String),
    /// So many came and went that there is no number left.
    Numbers,
}

impl fmt::Display for PredefinedChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Active(name) => write!(f, "rule {name} is active in sessions"),
            Self::Order(name) => write!(
                f,
                "rule {name} stands elsewhere: new rules come behind those that stay; another order needs a restart"
            ),
            Self::Numbers => write!(f, "too many rules came and went: a restart is needed"),
        }
    }
}

impl std::error::Error for PredefinedChange {}

/// All predefined rules, with their flow filters. A rule keeps its number while it is there.
#[derive(Clone, Debug, Default)]
pub struct PredefinedRules {
    /// By number; none in the place of one that went.
    rules: Vec<Option<(PredefinedRule, FlowFilterList)>>,
}

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
            all.rules.push(Some((rule.clone(), list)));
        }
        Ok(all)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.iter().flatten().next().is_none()
    }

    /// The number of the rule of this name.
    pub fn find(&self, name: &[u8]) -> Option<u16> {
        let is_it = |rule: &Option<(PredefinedRule, _)>| {
            (rule.as_ref()).is_some_and(|(rule, _)| rule.name.as_bytes() == name)
        };
        let at = self.rules.iter().position(is_it)?;
        Some(at as u16)
    }

    /// A rule and its flow filters.
    pub fn get(&self, number: u16) -> Option<&(PredefinedRule, FlowFilterList)> {
        self.rules.get(usize::from(number))?.as_ref()
    }

    /// Rules in the place of these, by the numbers that those have which stay; true behind it if one is
    /// another now that PDRs have active.
    ///
    /// # Errors
    /// If it cannot take their place while sessions have them; see [`PredefinedChange`].
    pub fn replaced(&self, new: &Self, pdrs: &UseCounts) -> Result<(Self, bool), PredefinedChange> {
        let mut after = Self {
            rules: vec![None; self.rules.len()],
        };
        let is_used = |number: usize| pdrs.of(number as u16) > 0;
        let mut is_any_used = false;
        let mut last = None;
        for rule in new.rules.iter().flatten() {
            let name = &rule.0.name;
            let number = match self.find(name.as_bytes()) {
                Some(number) => usize::from(number),
                None => after.rules.len(),
            };
            if last.is_some_and(|last| number <= last) {
                return Err(PredefinedChange::Order(name.clone()));
            }
            last = Some(number);
            if number == after.rules.len() {
                after.rules.push(None);
            }
            let is_other = self.rules.get(number) != Some(&Some(rule.clone()));
            is_any_used |= is_other && is_used(number);
            if let Some(place) = after.rules.get_mut(number) {
                *place = Some(rule.clone());
            }
        }
        for (number, rule) in self.rules.iter().enumerate() {
            let is_gone = after.rules.get(number).is_some_and(Option::is_none);
            if let Some((rule, _)) = rule
                && is_gone
                && is_used(number)
            {
                return Err(PredefinedChange::Active(rule.name.clone()));
            }
        }
        while after.rules.pop_if(|last| last.is_none()).is_some() {}
        if after.rules.len() > PREDEFINED {
            Err(PredefinedChange::Numbers)
        } else {
            Ok((after, is_any_used))
        }
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
