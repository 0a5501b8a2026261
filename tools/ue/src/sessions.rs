//! PDU sessions of an emulated UE.

use std::collections::BTreeMap;

use sluice_ids::{Dnn, Snssai};
use sluice_n1::{
    Cause, EstablishmentAccept, EstablishmentRequest, FlowDescription, FlowOperation,
    IntegrityRates, ModificationCommand, ModificationRequest, N1_SM, QosRule, RequestType,
    RuleOperation, SessionCause, SessionDownlink, SessionType, SessionUplink, Transaction, Uplink,
    UplinkPayload, options, transaction,
};

use crate::ue::Ue;

/// Refusals, and names of messages, that are kept.
const KEPT: usize = 64;

/// A session that was refused, and the cause of 5GMM or 5GSM.
pub type Refused = (u8, Option<Cause>, Option<SessionCause>);

/// Parameters of a session that a UE requests.
#[derive(Clone, Debug, Default)]
pub struct WantedSession {
    /// None leaves it to the network.
    pub session_type: Option<SessionType>,
    /// None leaves it to the network.
    pub ssc_mode: Option<u8>,
    /// None leaves it to the network.
    pub slice: Option<Snssai>,
    /// None leaves it to the network.
    pub dnn: Option<Dnn>,
    /// Whether the UE requests an always-on session.
    pub always_on: bool,
    /// How fast the UE protects the integrity of its packets.
    pub integrity: IntegrityRates,
}

#[derive(Debug, Default)]
pub struct Sessions {
    there: BTreeMap<u8, EstablishmentAccept>,
    transactions: u8,
    /// Sessions that have data to send while the UE is idle, a bit for each.
    has_data: u16,
    refused: Vec<Refused>,
    refusals: u64,
    /// Names of the last messages, and their causes.
    received: Vec<String>,
    /// The UE never completes a release or a modification.
    pub no_complete: bool,
    /// How long it was told last to ask for no session, in seconds.
    pub back_off_s: Option<u32>,
    /// The command of a modification never reaches the UE.
    pub loses_modifications: bool,
    pub refuses_modifications: Option<SessionCause>,
}

impl Sessions {
    pub fn get(&self, session: u8) -> Option<&EstablishmentAccept> {
        self.there.get(&session)
    }

    /// A bit for each session.
    pub fn status(&self) -> u16 {
        self.there
            .keys()
            .fold(0, |bits, session| bits | 1 << session)
    }

    /// Sessions that have data to send.
    pub fn wants_up(&self) -> u16 {
        self.has_data & self.status()
    }

    /// From now on these have data to send when the UE is idle, a bit for each.
    pub fn set_data(&mut self, sessions: u16) {
        self.has_data = sessions;
    }

    /// The last requests that came back or were refused: session, and cause of 5GMM or 5GSM.
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// How many requests came back or were refused.
    pub fn refusals(&self) -> u64 {
        self.refusals
    }

    /// Names of the last messages of session management, and their causes.
    pub fn received(&self) -> &[String] {
        &self.received
    }

    /// Forgets a session without a message.
    pub fn forget(&mut self, session: u8) {
        self.there.remove(&session);
    }

    pub(crate) fn clear(&mut self) {
        self.there.clear();
    }

    /// Forgets sessions that the network does not have.
    pub(crate) fn keep(&mut self, status: Option<u16>) {
        if let Some(status) = status {
            self.there.retain(|session, _| status & 1 << session != 0);
        }
    }

    pub(crate) fn establish(&mut self, session: u8, wanted: &WantedSession) -> UplinkPayload {
        let request = SessionUplink::EstablishmentRequest(EstablishmentRequest {
            session_type: wanted.session_type,
            ssc_mode: wanted.ssc_mode,
            always_on: wanted.always_on,
            integrity: wanted.integrity,
            options: Some(options::ask()),
        });
        UplinkPayload {
            request: Some(RequestType::Initial),
            slice: wanted.slice,
            dnn: wanted.dnn.map(|dnn| dnn.labels().to_vec()),
            ..self.payload(session, &request)
        }
    }

    /// Requests a flow, or releases some.
    pub(crate) fn modify(&mut self, session: u8, wanted: ModificationRequest) -> UplinkPayload {
        let request = SessionUplink::ModificationRequest(Box::new(wanted));
        self.payload(session, &request)
    }

    pub(crate) fn release(&mut self, session: u8) -> UplinkPayload {
        self.payload(session, &SessionUplink::ReleaseRequest(None))
    }

    fn refuse(&mut self, refused: Refused) {
        if self.refused.len() >= KEPT {
            self.refused.drain(..KEPT / 2);
        }
        self.refused.push(refused);
        self.refusals += 1;
    }

    /// A message with a transaction of its own.
    fn payload(&mut self, session: u8, message: &SessionUplink) -> UplinkPayload {
        self.transactions = self.transactions % 254 + 1;
        let of = Transaction {
            session,
            procedure: self.transactions,
        };
        UplinkPayload {
            kind: N1_SM,
            session: Some(session),
            payload: message.encode(of),
            ..UplinkPayload::default()
        }
    }

    /// Takes a message of the network, and gives the one that answers it.
    pub(crate) fn receive(
        &mut self,
        session: u8,
        cause: Option<Cause>,
        octets: &[u8],
    ) -> Option<UplinkPayload> {
        if cause.is_some() {
            self.refuse((session, cause, None));
            return None;
        }
        let of = transaction(octets)?;
        let message = SessionDownlink::decode(octets).ok()?;
        if self.received.len() >= KEPT {
            self.received.drain(..KEPT / 2);
        }
        self.received.push(message.to_string());
        match message {
            SessionDownlink::EstablishmentAccept(accept) => {
                let mut accept = *accept;
                accept.rules.sort_by_key(|rule| rule.precedence);
                self.there.insert(session, accept);
                None
            }
            SessionDownlink::EstablishmentReject {
                cause, back_off_s, ..
            } => {
                self.back_off_s = back_off_s.or(self.back_off_s);
                self.refuse((session, None, Some(cause)));
                None
            }
            SessionDownlink::ReleaseReject(cause)
            | SessionDownlink::ModificationReject(cause)
            | SessionDownlink::Status(cause) => {
                self.refuse((session, None, Some(cause)));
                None
            }
            SessionDownlink::ReleaseCommand(_) => {
                self.there.remove(&session);
                let answer = answer(session, &SessionUplink::ReleaseComplete, of);
                Some(answer).filter(|_| !self.no_complete)
            }
            SessionDownlink::ModificationCommand(_) if self.loses_modifications => None,
            SessionDownlink::ModificationCommand(command) => {
                let message = match self.refuses_modifications {
                    Some(cause) => SessionUplink::ModificationCommandReject(cause),
                    None => match self.there.get_mut(&session) {
                        Some(accept) => match modify(accept, &command) {
                            Ok(()) => SessionUplink::ModificationComplete,
                            Err(cause) => SessionUplink::ModificationCommandReject(cause),
                        },
                        None => SessionUplink::ModificationCommandReject(
                            SessionCause::INVALID_SESSION_IDENTITY,
                        ),
                    },
                };
                Some(answer(session, &message, of)).filter(|_| !self.no_complete)
            }
            SessionDownlink::Other => None,
        }
    }
}

impl Ue {
    /// The message that asks for flows of a session, or gives some up.
    pub fn modify(&mut self, session: u8, wanted: ModificationRequest) -> Vec<u8> {
        let payload = self.sessions_mut().modify(session, wanted);
        self.protect(&Uplink::UlNasTransport(Box::new(payload)))
    }
}

fn answer(session: u8, message: &SessionUplink, of: Transaction) -> UplinkPayload {
    UplinkPayload {
        kind: N1_SM,
        session: Some(session),
        payload: message.encode(of),
        ..UplinkPayload::default()
    }
}

/// Executes a command (TS 24.501, 6.3.2.3); if it is wrong, nothing is changed.
fn modify(
    accept: &mut EstablishmentAccept,
    command: &ModificationCommand,
) -> Result<(), SessionCause> {
    let (mut rules, mut flows) = (accept.rules.clone(), accept.flows.clone());
    for rule in &command.rules {
        change_rule(&mut rules, rule)?;
    }
    for flow in &command.flows {
        let known = flows.iter().position(|one| one.qfi == flow.qfi);
        match (flow.operation, known) {
            (FlowOperation::Create, _) | (FlowOperation::Modify, Some(_)) => {
                flows.retain(|one| one.qfi != flow.qfi);
                flows.push(FlowDescription {
                    operation: FlowOperation::Create,
                    ..*flow
                });
            }
            // One that is not there is deleted (TS 24.501, 6.3.2.4).
            (FlowOperation::Delete, _) => flows.retain(|one| one.qfi != flow.qfi),
            (_, None) => return Err(SessionCause::SEMANTICS_OF_QOS),
        }
    }
    // Each rule has a flow, and a precedence of its own.
    for (at, rule) in rules.iter().enumerate() {
        let has_flow = rule.qfi == accept.qfi || flows.iter().any(|flow| flow.qfi == rule.qfi);
        let is_twin = rules[..at]
            .iter()
            .any(|one| one.precedence == rule.precedence);
        if !has_flow || is_twin {
            return Err(SessionCause::SEMANTICS_OF_QOS);
        }
    }
    (accept.rules, accept.flows) = (rules, flows);
    accept.ambr = command.ambr.unwrap_or(accept.ambr);
    accept.always_on = command.always_on.or(accept.always_on);
    if command.options.is_some() {
        accept.options.clone_from(&command.options);
    }
    Ok(())
}

fn change_rule(rules: &mut Vec<QosRule>, rule: &QosRule) -> Result<(), SessionCause> {
    let known = rules.iter().position(|one| one.id == rule.id);
    match (rule.operation, known) {
        (RuleOperation::Create, known) => {
            known.map(|known| rules.remove(known));
            rules.push(rule.clone());
        }
        // One that is not there is deleted (TS 24.501, 6.3.2.4).
        (RuleOperation::Delete, known) => {
            known.map(|known| rules.remove(known));
        }
        (RuleOperation::ReplaceFilters, Some(known)) => {
            rules[known].filters.clone_from(&rule.filters);
        }
        (RuleOperation::Modify, Some(known)) => {
            (rules[known].precedence, rules[known].qfi) = (rule.precedence, rule.qfi);
        }
        // No network here sends anything else.
        _ => return Err(SessionCause::SEMANTICS_OF_QOS),
    }
    rules.sort_by_key(|rule| rule.precedence);
    Ok(())
}
