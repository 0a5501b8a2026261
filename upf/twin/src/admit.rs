//! Request admission: changed rules, or the reason of refusal.

mod check;
mod far;
mod framed;
mod pdr;
mod predefined;
mod qer;
mod sdf;
mod ue_address;

use crate::applications::Told;
use crate::config::TwinConfig;
use crate::rules::Session;
use crate::up_fteid::Choices;
use crate::usage::Urr;
use sluice_wire::pfcp::group::CreateBar;
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::{NtpTime, PdnType, SessionModificationRequestFlags};
use sluice_wire::pfcp::{Cause, IeType};
use std::fmt;

pub use check::check;
pub use far::EndMarker;

/// Why a request cannot be granted, or was not granted as it should have been.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The request itself is impossible; the session stays as it was.
    Request {
        /// In words.
        why: String,
        /// What the response says: the cause, and the offending IE if there is one. None where that depends on what
        /// else is wrong.
        said: Option<(Cause, Option<IeType>)>,
    },
    /// The UP function's answer does not fit the request.
    Answer(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request { why, .. } => write!(f, "the request cannot be granted: {why}"),
            Self::Answer(why) => write!(f, "the answer does not fit the request: {why}"),
        }
    }
}

impl std::error::Error for Refused {}

/// Refuses a request.
pub fn no<T>(why: impl Into<String>) -> Result<T, Refused> {
    Err(Refused::Request {
        why: why.into(),
        said: None,
    })
}

/// Refuses a request for one of its IEs.
pub fn no_to<T>(cause: Cause, ie: IeType, why: impl Into<String>) -> Result<T, Refused> {
    Err(Refused::Request {
        why: why.into(),
        said: Some((cause, Some(ie))),
    })
}

/// Refuses to touch a rule that is not there, or to make one that is: the Failed Rule ID says which.
pub fn no_identity<T>(why: impl Into<String>) -> Result<T, Refused> {
    Err(Refused::Request {
        why: why.into(),
        said: Some((Cause::RULE_CREATION_MODIFICATION_FAILURE, None)),
    })
}

/// Refuses a rule for one of its IEs.
pub fn no_rule<T>(ie: IeType, why: impl Into<String>) -> Result<T, Refused> {
    no_to(Cause::RULE_CREATION_MODIFICATION_FAILURE, ie, why)
}

/// Refuses an interface: one of these values belongs to a feature that is not there, others mean nothing (8.2.2, 8.2.24).
pub fn no_interface<T>(ie: IeType, of_features: &[u8], value: u8) -> Result<T, Refused> {
    let cause = match of_features.contains(&value) {
        true => Cause::RULE_CREATION_MODIFICATION_FAILURE,
        false => Cause::MANDATORY_IE_INCORRECT,
    };
    no_to(cause, ie, format!("interface {value}"))
}

/// A session's rules while a request is applied to them.
pub struct Draft<'a, 'c> {
    pub config: &'a TwinConfig,
    /// What was told of applications.
    pub told: &'a Told,
    /// As they were before.
    pub before: &'a Session,
    pub rules: Session,
    /// It is established.
    pub is_new: bool,
    pub choices: &'a mut Choices<'c>,
    pub now: NtpTime,
    pub end_markers: Vec<EndMarker>,
    /// URRs that went; their last usage is to be reported.
    pub removed: Vec<Urr>,
}

impl Draft<'_, '_> {
    /// All rules of a new session.
    pub fn establish(&mut self, request: &SessionEstablishmentRequest<'_>) -> Result<(), Refused> {
        if !request.create_traffic_endpoint.is_empty() || !request.create_mar.is_empty() {
            return no("traffic endpoints and MARs are not interpreted");
        }
        pdn_type(request.pdn_type)?;
        let timer = request.user_plane_inactivity_timer.unwrap_or_default();
        self.rules.inactivity.set(timer.0, self.now.0);
        self.rules.join(&request.fq_csid);
        for urr in &request.create_urr {
            self.create_urr(urr)?;
        }
        for qer in &request.create_qer {
            self.create_qer(qer)?;
        }
        for far in &request.create_far {
            self.create_far(far)?;
        }
        for bar in &request.create_bar {
            self.create_bar(bar)?;
        }
        for pdr in &request.create_pdr {
            self.create_pdr(pdr)?;
        }
        self.rules.told = self.rules.ue();
        self.rules.give_up_inactive_rules();
        self.rules.give_up_unused_filters();
        Ok(())
    }

    /// Changes of a session: what goes, what comes, what changes.
    pub fn modify(&mut self, request: &SessionModificationRequest<'_>) -> Result<(), Refused> {
        // QAURR asks for all; then it does not matter which others are named.
        let flags = request.pfcpsmreq_flags.unwrap_or_default();
        let all = flags.contains(SessionModificationRequestFlags::QAURR);
        for query in &request.query_urr {
            if !all && !self.rules.urrs.contains_key(&query.urr_id.0) {
                return no_identity(format!("query of unknown URR {}", query.urr_id));
            }
        }
        if let Some(edit) = &request.user_plane_inactivity_timer {
            let timer = edit.value().map_or(0, |timer| timer.0);
            self.rules.inactivity.set(timer, self.now.0);
        }
        self.rules.join(&request.fq_csid);
        self.remove(request)?;
        self.rules.give_up_unused_filters();
        for urr in &request.create_urr {
            self.create_urr(urr)?;
        }
        for qer in &request.create_qer {
            self.create_qer(qer)?;
        }
        for far in &request.create_far {
            self.create_far(far)?;
        }
        for bar in &request.create_bar {
            self.create_bar(bar)?;
        }
        for pdr in &request.create_pdr {
            self.create_pdr(pdr)?;
        }
        self.update(request)?;
        // A prefix may come later, and then stays as well.
        let told = &mut self.rules.told;
        told.prefix = told
            .prefix
            .or(self.rules.pdrs.values().find_map(|p| p.ue.prefix));
        self.rules.give_up_inactive_rules();
        self.rules.give_up_unused_filters();
        Ok(())
    }

    fn remove(&mut self, request: &SessionModificationRequest<'_>) -> Result<(), Refused> {
        for ie in &request.remove_pdr {
            known("PDR", ie.pdr_id.0, self.rules.pdrs.remove(&ie.pdr_id.0))?;
        }
        for ie in &request.remove_far {
            known("FAR", ie.far_id.0, self.rules.fars.remove(&ie.far_id.0))?;
        }
        for ie in &request.remove_qer {
            qer::of_cp(ie.qer_id.0)?;
            known("QER", ie.qer_id.0, self.rules.qers.remove(&ie.qer_id.0))?;
        }
        for ie in &request.remove_urr {
            let urr = self.rules.urrs.remove(&ie.urr_id.0);
            self.removed.push(known("URR", ie.urr_id.0, urr)?);
        }
        for ie in &request.remove_bar {
            known("BAR", ie.bar_id.0, self.rules.bars.remove(&ie.bar_id.0))?;
        }
        Ok(())
    }

    fn update(&mut self, request: &SessionModificationRequest<'_>) -> Result<(), Refused> {
        for ie in &request.update_urr {
            let urr = self.rules.urrs.get_mut(&ie.urr_id.0);
            known("URR", ie.urr_id.0, urr)?.update(ie, self.now);
        }
        for ie in &request.update_qer {
            self.update_qer(ie)?;
        }
        for ie in &request.update_bar {
            let bar = self.rules.bars.get_mut(&ie.bar_id.0);
            let packets = known("BAR", ie.bar_id.0, bar)?;
            *packets = ie.suggested_buffering_packets_count.or(*packets);
        }
        for ie in &request.update_far {
            self.update_far(ie)?;
        }
        for ie in &request.update_pdr {
            self.update_pdr(ie)?;
        }
        Ok(())
    }

    fn create_bar(&mut self, ie: &CreateBar<'_>) -> Result<(), Refused> {
        let (id, packets) = (ie.bar_id.0, ie.suggested_buffering_packets_count);
        new("BAR", id, self.rules.bars.insert(id, packets))
    }

    fn create_urr(&mut self, ie: &sluice_wire::pfcp::group::CreateUrr<'_>) -> Result<(), Refused> {
        let urr = Urr::new(ie, self.now);
        new("URR", ie.urr_id.0, self.rules.urrs.insert(ie.urr_id.0, urr))
    }
}

/// Sessions of IP packets, of either version (8.2.79).
fn pdn_type(pdn_type: Option<PdnType>) -> Result<(), Refused> {
    let refused = |cause| no_to(cause, IeType::PDN_TYPE, "no PDN type of IP packets");
    match pdn_type {
        None | Some(PdnType::IPV4 | PdnType::IPV6 | PdnType::IPV4V6) => Ok(()),
        Some(PdnType::NON_IP | PdnType::ETHERNET) => refused(Cause::SERVICE_NOT_SUPPORTED),
        Some(_) => refused(Cause::MANDATORY_IE_INCORRECT),
    }
}

/// What is there, or the refusal to touch what is not.
fn known<T>(kind: &str, id: impl fmt::Display, rule: Option<T>) -> Result<T, Refused> {
    rule.map_or_else(|| no_identity(format!("{kind} {id} is unknown")), Ok)
}

/// Refuses to create what is there already.
fn new<T>(kind: &str, id: impl fmt::Display, before: Option<T>) -> Result<(), Refused> {
    match before {
        None => Ok(()),
        Some(_) => no_identity(format!("{kind} {id} exists already")),
    }
}
