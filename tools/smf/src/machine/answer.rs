//! Interpretation of the UPF's responses.

use arrayvec::ArrayVec;
use sluice_n4::{FailReason, Instant, Outbox, Response};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::group::CreatedPdr;
use sluice_wire::pfcp::message::{
    SessionDeletionResponse, SessionEstablishmentResponse, SessionModificationResponse,
};
use sluice_wire::pfcp::value::{FailedRuleId, OffendingIe};
use sluice_wire::pfcp::{Cause, MessageType, Reject};

use super::{Ask, Machine, Peer};
use crate::encode::{Direction, EncodeContext, SessionChange};
use crate::error::Rejection;
use crate::{SmfError, Tunnel, UplinkTeid, Usage};

/// Stands for one thing that was asked of the machine; its [`Outcome`] comes later.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Ticket(pub(super) u64);

/// Result of an operation.
pub type Outcome = (Ticket, Result<Done, SmfError>);

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Done {
    Associated(Peer),
    Released,
    Established(Established),
    Changed(Changed),
    /// The session is deleted; this was its last usage.
    Deleted(Usage),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Established {
    /// Our SEID, by which the session is called from now on.
    pub cp_seid: Seid,
    pub up_seid: Seid,
    /// The UPF's end of the tunnel, whoever chose it.
    pub uplink: Tunnel,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changed {
    /// The UPF's end of the tunnel: another one than before if the rules were made anew.
    pub uplink: Option<Tunnel>,
    /// Usage that the UPF reported with its answers.
    pub usage: Usage,
}

/// Operation that waits for an answer.
#[derive(Debug)]
pub(super) enum Operation {
    Associate {
        until: Instant,
    },
    Release,
    Establish {
        cp_seid: Seid,
    },
    Change {
        cp_seid: Seid,
        step: SessionChange,
        rest: ArrayVec<SessionChange, 2>,
        usage: Usage,
    },
    Delete {
        cp_seid: Seid,
    },
}

impl Machine {
    pub(super) fn take_answer(
        &mut self,
        now: Instant,
        response: &Response<'_>,
        out: &mut impl Outbox,
    ) {
        let ticket = Ticket(response.tag);
        match self.operations.remove(&response.tag) {
            Some(Operation::Establish { cp_seid }) => {
                let established = self.established(cp_seid, response);
                if established.is_err() {
                    self.sessions.remove(&cp_seid);
                }
                self.finish(ticket, established.map(Done::Established));
            }
            Some(Operation::Change {
                cp_seid,
                step,
                rest,
                mut usage,
            }) => match self.changed(cp_seid, step, response) {
                Ok(more) => {
                    usage.urrs.extend(more.urrs);
                    self.next_step(now, ticket, cp_seid, rest, usage, out);
                }
                Err(error) => self.fail_step(ticket, cp_seid, step, error),
            },
            Some(Operation::Delete { cp_seid }) => match deleted(cp_seid, response) {
                Ok(usage) => {
                    self.sessions.remove(&cp_seid);
                    self.finish(ticket, Ok(Done::Deleted(usage)));
                }
                Err(error) => self.fail(ticket, cp_seid, error),
            },
            Some(Operation::Associate { .. } | Operation::Release) | None => {}
        }
    }

    /// The endpoint has given a request up.
    pub(super) fn take_failure(&mut self, tag: u64, reason: FailReason) {
        let Some(operation) = self.operations.remove(&tag) else {
            return;
        };
        let (cp_seid, request) = match operation {
            Operation::Establish { cp_seid } => {
                (cp_seid, MessageType::SESSION_ESTABLISHMENT_REQUEST)
            }
            Operation::Change { cp_seid, step, .. } => {
                let request = MessageType::SESSION_MODIFICATION_REQUEST;
                let error = SmfError::NoAnswer { request, reason };
                return self.fail_step(Ticket(tag), cp_seid, step, error);
            }
            Operation::Delete { cp_seid } => (cp_seid, MessageType::SESSION_DELETION_REQUEST),
            Operation::Associate { .. } | Operation::Release => return,
        };
        if request == MessageType::SESSION_ESTABLISHMENT_REQUEST {
            self.sessions.remove(&cp_seid);
        }
        self.fail(Ticket(tag), cp_seid, SmfError::NoAnswer { request, reason });
    }

    /// Goes on with a change, or ends it.
    pub(super) fn next_step(
        &mut self,
        now: Instant,
        ticket: Ticket,
        cp_seid: Seid,
        mut steps: ArrayVec<SessionChange, 2>,
        usage: Usage,
        out: &mut impl Outbox,
    ) {
        let Some(session) = self.sessions.get_mut(&cp_seid) else {
            return self.finish(ticket, Err(SmfError::NoSuchSession(cp_seid)));
        };
        let Some(step) = steps.pop_at(0) else {
            session.busy = false;
            let uplink = session.uplink;
            return self.finish(ticket, Ok(Done::Changed(Changed { uplink, usage })));
        };
        session.begin(step);
        match self.ask(now, ticket, cp_seid, Ask::Step(step), out) {
            Ok(()) => self.expect(
                ticket,
                Operation::Change {
                    cp_seid,
                    step,
                    rest: steps,
                    usage,
                },
            ),
            Err(error) => self.fail_step(ticket, cp_seid, step, error),
        }
    }

    fn fail_step(&mut self, ticket: Ticket, cp_seid: Seid, step: SessionChange, error: SmfError) {
        if let Some(session) = self.sessions.get_mut(&cp_seid) {
            session.abandon(step);
        }
        self.fail(ticket, cp_seid, error);
    }

    fn established(
        &mut self,
        cp_seid: Seid,
        response: &Response<'_>,
    ) -> Result<Established, SmfError> {
        let request = MessageType::SESSION_ESTABLISHMENT_REQUEST;
        let mut answer = SessionEstablishmentResponse::default();
        let read = answer.parse_into(response.body);
        let said = (answer.cause, answer.offending_ie, answer.failed_rule_id);
        check(request, (cp_seid, response), read, said)?;
        let uplink = self.uplink(cp_seid, &answer.created_pdr);
        let uplink = uplink.ok_or(SmfError::NoFTeid(request))?;
        let missing = SmfError::NoSuchSession(cp_seid);
        let session = self.sessions.get_mut(&cp_seid).ok_or(missing)?;
        session.up_seid = answer.up_f_seid.unwrap_or_default().seid;
        session.uplink = Some(uplink);
        session.busy = false;
        Ok(Established {
            cp_seid,
            up_seid: session.up_seid,
            uplink,
        })
    }

    fn changed(
        &mut self,
        cp_seid: Seid,
        step: SessionChange,
        response: &Response<'_>,
    ) -> Result<Usage, SmfError> {
        let request = MessageType::SESSION_MODIFICATION_REQUEST;
        let mut answer = SessionModificationResponse::default();
        let read = answer.parse_into(response.body);
        let said = (answer.cause, answer.offending_ie, answer.failed_rule_id);
        check(request, (cp_seid, response), read, said)?;
        let uplink = match step {
            SessionChange::MakeUplink => {
                let uplink = self.uplink(cp_seid, &answer.created_pdr);
                Some(uplink.ok_or(SmfError::NoFTeid(request))?)
            }
            _ => None,
        };
        if let Some(session) = self.sessions.get_mut(&cp_seid) {
            session.complete(step);
            session.uplink = uplink.or(session.uplink);
        }
        Ok(Usage::read(&answer.usage_report))
    }

    /// The F-TEID of the uplink PDR: as the UPF chose it, or as we did.
    fn uplink(&self, cp_seid: Seid, created: &[CreatedPdr]) -> Option<Tunnel> {
        let session = self.sessions.get(&cp_seid)?;
        if let UplinkTeid::ChosenByCp(tunnel) = session.plan.uplink {
            return Some(tunnel);
        }
        let scene = EncodeContext::of(self.dialect, &self.cp, &session.view());
        let pdr_id = scene.pdr_id(Direction::Uplink);
        let created = created.iter().find(|created| created.pdr_id == pdr_id)?;
        let prefers_ipv6 = session.plan.uplink == UplinkTeid::ChosenByUpAtIpv6;
        Tunnel::of(created.local_f_teid.first()?, prefers_ipv6)
    }
}

fn deleted(cp_seid: Seid, response: &Response<'_>) -> Result<Usage, SmfError> {
    let request = MessageType::SESSION_DELETION_REQUEST;
    let mut answer = SessionDeletionResponse::default();
    let read = answer.parse_into(response.body);
    let said = (answer.cause, answer.offending_ie, None);
    check(request, (cp_seid, response), read, said)?;
    Ok(Usage::read(&answer.usage_report))
}

/// Whether the UPF accepted the request, and answered to our SEID (TS 29.244, 7.2.2.4.2). A rejection counts even if the
/// rest cannot be read.
fn check(
    request: MessageType,
    (ours, response): (Seid, &Response<'_>),
    read: Result<(), Reject>,
    (cause, offending_ie, failed_rule): (Cause, Option<OffendingIe>, Option<FailedRuleId>),
) -> Result<(), SmfError> {
    let answered = response.header.seid;
    match read {
        _ if cause != Cause::default() && !cause.is_acceptance() => {
            let offending_ie = offending_ie.map(|ie| ie.0);
            let rejection = Rejection {
                cause,
                offending_ie,
                failed_rule,
            };
            Err(SmfError::Rejected { request, rejection })
        }
        Err(reject) => Err(SmfError::Malformed { request, reject }),
        Ok(()) if answered == Some(ours) => Ok(()),
        Ok(()) => Err(SmfError::WrongSeid {
            request,
            answered,
            ours,
        }),
    }
}
