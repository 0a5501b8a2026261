//! Grants and refusals of both sides, and what a refusal says.

use crate::compare::Difference;
use crate::shrink::{simpler_change, simpler_rules};
use crate::spec::{Action, Change, PdrEdit, PdrSpec, Rules, TeidSpec, UeSpec};
use sluice_twin::Refused;
use sluice_wire::pfcp::value::OffendingIe;
use sluice_wire::pfcp::{Cause, IeType};
use std::collections::VecDeque;

/// What a response says of a request.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    pub cause: Cause,
    pub offending_ie: Option<OffendingIe>,
}

/// A cause, and the IE that is to blame for it.
pub type Told = (Cause, Option<IeType>);

impl Said {
    fn told(self) -> Told {
        (self.cause, self.offending_ie.map(|ie| ie.0))
    }
}

/// Both grant, or both refuse, for the same cause and IE where the twin can tell them. If they name different ones, the
/// request may have several faults, of which either side may name any: `has_too` is asked whether the twin finds
/// what was really said in a part of the request.
pub fn agree(
    said: Said,
    twin: &Result<(), Refused>,
    has_too: impl FnOnce(Told) -> bool,
) -> Result<(), Difference> {
    match (said.cause.is_acceptance(), twin) {
        (true, Ok(())) => Ok(()),
        (false, Err(Refused::Request { said: None, .. })) => Ok(()),
        (
            false,
            Err(Refused::Request {
                said: Some(told),
                why,
            }),
        ) => match said.told() == *told || has_too(said.told()) {
            true => Ok(()),
            false => Err(format!(
                "refusal: really {said:?}, the twin says {told:?}: {why}"
            )),
        },
        (true, Err(refused)) => Err(format!("the real thing grants, but {refused}")),
        (false, Ok(())) => Err(format!(
            "the real thing refuses ({said:?}), the twin grants"
        )),
        (false, Err(refused)) => Err(format!(
            "the real thing refuses ({said:?}), the twin only because {refused}"
        )),
    }
}

/// What can be left out of, or repaired in, a request.
pub trait Parts: Clone {
    /// The request with a part less, each in its turn.
    fn parts(&self) -> Vec<Self>;
    /// The request without any of a kind that is often wrong in several places; nothing new is wrong then.
    fn without_a_kind(&self) -> Vec<Self>;
}

/// Parts that are looked at, so that a request of many rules ends.
const LOOKS: usize = 3_000;

/// True if the twin refuses a part of the request for what was told, or finds faults of several kinds, of which each may
/// hide others. Parts in which it finds another fault than in the whole are taken apart first. A search that comes to no
/// end proves nothing: a request with so many parts counts as one of which either side may name any fault.
pub fn is_of_a_part<T: Parts>(
    whole: &T,
    told: Told,
    refuse: impl Fn(&T) -> Result<(), Refused>,
) -> bool {
    let fault = |request: &T| match refuse(request) {
        Err(Refused::Request { said, .. }) => Some(said),
        Ok(()) | Err(Refused::Answer(_)) => None,
    };
    let first = fault(whole);
    let mut others = whole.without_a_kind().into_iter();
    if others.any(|rest| fault(&rest).is_some_and(|said| Some(said) != first)) {
        return true;
    }
    let mut todo = VecDeque::from([(whole.clone(), None)]);
    let mut looks = 0;
    while let Some((request, before)) = todo.pop_front() {
        for part in request.parts() {
            looks += 1;
            match refuse(&part) {
                Err(Refused::Request { said: None, .. }) => return true,
                Err(Refused::Request { said, .. }) if said == Some(told) => return true,
                Err(Refused::Request { said, .. }) if said != before => {
                    todo.push_front((part, said))
                }
                Err(Refused::Request { said, .. }) => todo.push_back((part, said)),
                Ok(()) | Err(Refused::Answer(_)) => {}
            }
            if looks == LOOKS {
                return true;
            }
        }
    }
    false
}

impl Parts for Rules {
    fn parts(&self) -> Vec<Self> {
        let mut all = simpler_rules(self);
        // Without a PDR or FAR it would be no Session Establishment Request.
        all.retain(|rules| !rules.pdrs.is_empty() && !rules.fars.is_empty());
        all.extend(self.pdn_type.map(|_| Self {
            pdn_type: None,
            ..self.clone()
        }));
        all.extend(repaired(self));
        all
    }

    fn without_a_kind(&self) -> Vec<Self> {
        let kinds: [fn(&mut PdrSpec); 5] = [
            |pdr| {
                if let TeidSpec::Given(..) = pdr.f_teid {
                    (pdr.f_teid, pdr.families) = (TeidSpec::Choose, (true, false));
                }
            },
            |pdr| pdr.application = None,
            |pdr| pdr.active.clear(),
            |pdr| {
                pdr.filters.clear();
                (pdr.application, pdr.active) = (None, vec![]);
            },
            |pdr| {
                (pdr.ue.behind, pdr.ue.fault) = Default::default();
                pdr.filters.clear();
                (pdr.application, pdr.active) = (None, vec![]);
            },
        ];
        let without = kinds.map(|kind| {
            let mut rest = self.clone();
            rest.pdn_type = None;
            rest.pdrs.iter_mut().for_each(kind);
            rest
        });
        without.to_vec()
    }
}

impl Parts for Change {
    fn without_a_kind(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for create in self.create.without_a_kind() {
            let mut rest = Self {
                create,
                ..self.clone()
            };
            all.push(rest.clone());
            for edit in &mut rest.pdrs {
                if let Some((_, _, filters)) = &mut edit.flow {
                    filters.clear();
                }
                (edit.application, edit.on, edit.off) = (None, vec![], vec![]);
            }
            all.push(rest);
        }
        all
    }

    fn parts(&self) -> Vec<Self> {
        let nothing_changed = Self {
            pdrs: vec![],
            fars: vec![],
            qers: vec![],
            urrs: vec![],
            bars: vec![],
            ..self.clone()
        };
        let mut all = vec![nothing_changed];
        all.retain(|rest| rest != self);
        all.extend(simpler_change(self));
        all.extend(repaired(&self.create).into_iter().map(|create| Self {
            create,
            ..self.clone()
        }));
        for at in 0..self.pdrs.len() {
            let edit = &self.pdrs[at];
            let mut put = |edit: PdrEdit| {
                let mut change = self.clone();
                change.pdrs[at] = edit;
                all.push(change);
            };
            let flow = edit.flow.clone();
            put(PdrEdit {
                flow: flow.map(|(side, qfis, _)| (side, qfis, vec![])),
                ..edit.clone()
            });
            put(PdrEdit {
                application: None,
                ..edit.clone()
            });
            put(PdrEdit {
                on: vec![],
                off: vec![],
                ..edit.clone()
            });
            put(PdrEdit {
                flow: None,
                application: None,
                ..edit.clone()
            });
        }
        all
    }
}

/// A way to take what can be wrong from a PDR; the number is that of a FAR that there is.
type Repair = fn(&mut PdrSpec, u32);

/// All of them.
const REPAIRS: [Repair; 10] = [
    |pdr, _| {
        // Without a tunnel it would have no entry, which is a fault of its own.
        if pdr.f_teid != TeidSpec::None {
            pdr.ue = UeSpec::default();
        }
    },
    |pdr, _| (pdr.ue.behind, pdr.ue.fault) = Default::default(),
    |pdr, _| {
        if pdr.f_teid != TeidSpec::None {
            (pdr.f_teid, pdr.families) = (TeidSpec::Choose, (true, false));
        }
    },
    |pdr, _| {
        pdr.removes_outer = pdr.f_teid != TeidSpec::None;
        pdr.removes_other = None;
    },
    |pdr, far| pdr.far = far,
    |pdr, _| pdr.active.clear(),
    |pdr, _| pdr.application = None,
    |pdr, _| pdr.filters.clear(),
    |pdr, _| pdr.qers.clear(),
    |pdr, _| pdr.urrs.clear(),
];

/// Rules of which all, or one, have nothing that can be wrong in some way, each in its turn. What is wrong in the same
/// way in several places hides other faults until it is gone from all of them.
fn repaired(rules: &Rules) -> Vec<Rules> {
    let mut all = Vec::new();
    let first_far = rules.fars.first().map_or(1, |far| far.id);
    for repair in REPAIRS {
        let mut repaired = rules.clone();
        let pdrs = repaired.pdrs.iter_mut();
        pdrs.for_each(|pdr| repair(pdr, first_far));
        all.push(repaired);
    }
    for at in 0..rules.fars.len() {
        let mut repaired = rules.clone();
        let far = &mut repaired.fars[at];
        (far.action, far.to, far.bar) = (Action::Drop, None, None);
        all.push(repaired);
    }
    for at in 0..rules.pdrs.len() {
        for nth in 0..rules.pdrs[at].urrs.len() {
            let mut repaired = rules.clone();
            repaired.pdrs[at].urrs.remove(nth);
            all.push(repaired);
        }
        for nth in 0..rules.pdrs[at].qers.len() {
            let mut repaired = rules.clone();
            repaired.pdrs[at].qers.remove(nth);
            all.push(repaired);
        }
        for repair in REPAIRS {
            let mut repaired = rules.clone();
            repair(&mut repaired.pdrs[at], first_far);
            all.push(repaired);
        }
    }
    all.retain(|repaired| repaired != rules);
    all
}

/// What an answer is counted under.
pub fn name(twin: &Result<(), Refused>) -> &'static str {
    let said = match twin {
        Ok(()) => return "granted",
        Err(Refused::Request { said, .. }) => *said,
        Err(Refused::Answer(_)) => None,
    };
    if said
        == Some((
            Cause::ALL_DYNAMIC_ADDRESSES_ARE_OCCUPIED,
            Some(IeType::UE_IP_ADDRESS),
        ))
    {
        return "refused for want of an address";
    }
    match said.and_then(|(_, ie)| ie) {
        Some(IeType::QER_ID) if is_full(said) => "refused for too many rates",
        Some(IeType::SDF_FILTER) if is_full(said) => "refused for too many ports",
        Some(IeType::CREATE_PDR) if is_full(said) => "refused for too many PDRs of a door",
        Some(IeType::SDF_FILTER) => "refused for an SDF filter",
        Some(IeType::APPLICATION_ID) => "refused for an application",
        Some(IeType::REPORTING_TRIGGERS) => "refused for a URR of several applications",
        Some(IeType::PFD_CONTENTS) => "refused for the contents of a PFD",
        Some(IeType::ACTIVATE_PREDEFINED_RULES) => "refused for a predefined rule",
        Some(IeType::DEACTIVATE_PREDEFINED_RULES) => "refused for a predefined rule that ends",
        Some(IeType::UE_IP_ADDRESS) => "refused for a UE address",
        Some(IeType::FRAMED_ROUTE | IeType::FRAMED_IPV6_ROUTE | IeType::FRAMED_ROUTING) => {
            "refused for a framed route"
        }
        Some(IeType::PDN_TYPE) => "refused for the PDN type",
        _ => "refused",
    }
}

fn is_full(said: Option<Told>) -> bool {
    said.is_some_and(|(cause, _)| cause == Cause::NO_RESOURCES_AVAILABLE)
}
