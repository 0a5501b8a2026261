//! Handover of an emulated gNB: as source and as target, by Xn and by N2. What gNBs say to each other over
//! Xn, and to the UE over the radio, is a value that the caller carries.

use std::collections::BTreeMap;

use sluice_ids::{NrCellIdentity, Tai};
use sluice_n2::mobility::{self as transfer, handover_required, not_admitted, path_switch_failed};
use sluice_n2::{
    Admitted, AmfUeId, Cause, DownlinkStatus, FromRan, HandoverCancel, HandoverCancelAcknowledge,
    HandoverCommand, HandoverFailure, HandoverFromAmf, HandoverFromRan, HandoverNotify,
    HandoverPreparationFailure, HandoverRequest, HandoverRequestAcknowledge, HandoverRequired,
    InitialContext, Location, NasNonDelivery, PathSwitch, PathSwitchAcknowledge, PathSwitchRequest,
    PathSwitchRequestAcknowledge, PathSwitchRequestFailure, RanStatus, RanUeId, SessionSetup,
    SetupRequest, Tunnel, UpSecurityInformation, UplinkStatus,
};
use sluice_security::NextHop;

use crate::bearers::RadioSession;
use crate::gnb::{FromGnb, Gnb, UeContext};

/// Handovers of a connection as the gNB knows them.
#[derive(Debug, Default)]
pub(crate) struct Mobility {
    /// Of the last handover to here.
    next_hop: Option<NextHop>,
    /// From which cell the UE comes, and which of its UEs it is.
    from: Option<(NrCellIdentity, u16)>,
    /// Status of radio bearers from the source.
    status: Option<RanStatus>,
    /// Tunnels to which the source forwards packets, by session.
    forwarding: BTreeMap<u8, Option<Tunnel>>,
    /// Tunnels at which the target takes forwarded packets.
    takes: BTreeMap<u8, Tunnel>,
}

/// A UE that leaves by Xn: what its gNB tells the next one.
#[derive(Debug)]
pub struct XnHandover {
    amf: AmfUeId,
    context: Option<InitialContext>,
    sessions: BTreeMap<u8, RadioSession>,
}

/// Answer of the AMF to a handover, the last one of each kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HandoverAnswer {
    /// Packets go here.
    Switched,
    NotSwitched,
    /// The UE was told to go.
    Commanded,
    /// The target has no room, or there is none.
    Refused(Cause),
    Cancelled,
}

fn message(message: HandoverFromRan) -> Vec<u8> {
    FromRan::Handover(message).encode()
}

/// Which of its UEs a gNB hands over: a time that it has stayed, as far as the target is told.
fn token(ran: RanUeId) -> u16 {
    (ran.0 & 0x0fff) as u16
}

impl Gnb {
    /// A UE leaves by Xn: the gNB forgets it.
    pub fn hand_out(&mut self, ran: RanUeId) -> Option<XnHandover> {
        let mut ue = self.ues.remove(&ran)?;
        for session in ue.sessions.values_mut() {
            if let (Some(told), Some(policy)) = (&mut session.request.security, self.tells_policy) {
                told.policy = policy;
            }
        }
        Some(XnHandover {
            amf: ue.amf?,
            context: ue.context,
            sessions: ue.sessions,
        })
    }

    /// A UE has come by Xn: its name here, and what the AMF is told.
    pub fn take_in(&mut self, ue: XnHandover) -> (RanUeId, Vec<u8>) {
        let ran = self.new_name();
        let mut there = UeContext {
            amf: Some(ue.amf),
            context: ue.context,
            ..UeContext::default()
        };
        let (mut switched, mut failed) = (Vec::new(), Vec::new());
        for (session, before) in ue.sessions {
            if self.no_sessions || self.refuses.contains(&session) {
                let why = path_switch_failed(Cause::NO_RADIO_RESOURCES);
                failed.push((session, why));
                continue;
            }
            let protects = match self.protect(before.request.security) {
                Ok(result) => result,
                Err(cause) => {
                    failed.push((session, path_switch_failed(cause)));
                    continue;
                }
            };
            let told = protects.zip(before.request.security);
            let security =
                told.map(|(result, indication)| UpSecurityInformation { result, indication });
            let downlink = self.new_tunnel();
            let mut request = before.request.clone();
            if self.no_guaranteed {
                request.flows.retain(|flow| flow.rates.is_none());
            }
            let qfis = request.flows.iter().map(|flow| flow.qfi).collect();
            let told = PathSwitch {
                downlink,
                qfis,
                security,
            };
            switched.push((session, told.encode()));
            there
                .sessions
                .insert(session, RadioSession { request, downlink });
        }
        let context = there.context.as_ref();
        let capability = context.map_or([0; 4], |context| {
            let known = &context.capability;
            [known.ea(), known.ia(), known.eea(), known.eia()].map(|octet| octet & 0x7f)
        });
        self.ues.insert(ran, there);
        let request = HandoverFromRan::PathSwitchRequest(Box::new(PathSwitchRequest {
            ran,
            source: ue.amf,
            location: Some(self.location()),
            capability: if self.lies {
                [0x40, 0x40, 0, 0]
            } else {
                capability
            },
            switched,
            failed,
        }));
        (ran, message(request))
    }

    /// A UE is to go to another gNB, by N2.
    pub fn require_handover(
        &self,
        ran: RanUeId,
        target: &Self,
        is_direct: bool,
    ) -> Option<Vec<u8>> {
        self.require_handover_to(ran, (target.setup.gnb, target.tai), is_direct)
    }

    /// The same, to a gNB by its identity.
    pub fn require_handover_to(
        &self,
        ran: RanUeId,
        target: (sluice_n2::Gnb, Tai),
        is_direct: bool,
    ) -> Option<Vec<u8>> {
        let ue = self.ues.get(&ran)?;
        let there = Location {
            plmn: target.1.plmn,
            cell: crate::gnb::cell(&target.0),
            tai: target.1,
        };
        let sessions = ue.sessions.keys();
        let required = HandoverRequired {
            ids: (ue.amf?, ran),
            cause: Cause::DESIRABLE_FOR_RADIO,
            is_within_5gs: true,
            target: Some(target),
            is_direct,
            sessions: sessions
                .map(|session| (*session, handover_required(is_direct)))
                .collect(),
            container: transfer::source_container(&there, &self.location(), token(ran)),
        };
        Some(message(HandoverFromRan::Required(Box::new(required))))
    }

    pub fn cancel_handover(&self, ran: RanUeId) -> Option<Vec<u8>> {
        let ids = (self.ues.get(&ran)?.amf?, ran);
        let cause = Cause::HANDOVER_CANCELLED;
        Some(message(HandoverFromRan::Cancel(HandoverCancel {
            ids,
            cause,
        })))
    }

    /// A UE that is to come from another gNB.
    pub fn expected(&self, source: &Self, ran: RanUeId) -> Option<RanUeId> {
        let from = (source.location().cell, token(ran));
        let mut ues = self.ues.iter();
        let found = ues.rfind(|(_, ue)| ue.mobility.from == Some(from));
        found.map(|(ran, _)| *ran)
    }

    /// A UE has come: what the AMF is told.
    pub fn notify(&mut self, ran: RanUeId) -> Option<Vec<u8>> {
        let location = Some(self.location());
        let ue = self.ues.get_mut(&ran)?;
        ue.mobility.from = None;
        let ids = (ue.amf?, ran);
        Some(message(HandoverFromRan::Notify(HandoverNotify {
            ids,
            location,
        })))
    }

    /// A NAS message that a UE did not hear before it left.
    pub fn not_delivered(&self, ran: RanUeId, nas: Vec<u8>, cause: Cause) -> Option<Vec<u8>> {
        let ids = (self.ues.get(&ran)?.amf?, ran);
        Some(FromRan::NasNonDelivery(NasNonDelivery { ids, nas, cause }).encode())
    }

    /// UEs that are to go since the last call.
    pub fn take_commanded(&mut self) -> Vec<RanUeId> {
        std::mem::take(&mut self.commanded)
    }

    /// Answers to handovers since the last call.
    pub fn take_answers(&mut self) -> Vec<HandoverAnswer> {
        std::mem::take(&mut self.answers)
    }

    pub fn has_sessions(&self, ran: RanUeId) -> bool {
        self.ues.get(&ran).is_some_and(|ue| !ue.sessions.is_empty())
    }

    /// Whether the network knows that a UE is here that came by handover.
    pub fn is_known(&self, ran: RanUeId) -> bool {
        let ue = self.ues.get(&ran);
        ue.is_some_and(|ue| ue.mobility.next_hop.is_some() && ue.mobility.from.is_none())
    }

    /// The key chain of a UE that came by handover.
    pub fn next_hop(&self, ran: RanUeId) -> Option<&NextHop> {
        self.ues.get(&ran)?.mobility.next_hop.as_ref()
    }

    /// Status of a UE's radio bearers from the source.
    pub fn status(&self, ran: RanUeId) -> Option<&RanStatus> {
        self.ues.get(&ran)?.mobility.status.as_ref()
    }

    /// Tunnel to which packets of a session are forwarded after its UE has left, if any.
    pub fn forwards_to(&self, ran: RanUeId, session: u8) -> Option<Tunnel> {
        let ue = self.ues.get(&ran)?;
        ue.mobility.forwarding.get(&session).copied().flatten()
    }

    /// Tunnel at which the gNB takes forwarded packets of a session.
    pub fn takes_forwarded(&self, ran: RanUeId, session: u8) -> Option<Tunnel> {
        self.ues.get(&ran)?.mobility.takes.get(&session).copied()
    }

    /// Takes a message of a handover.
    pub(crate) fn hand_over(&mut self, told: HandoverFromAmf) -> (Option<RanUeId>, Vec<FromGnb>) {
        match told {
            HandoverFromAmf::PathSwitchRequestAcknowledge(answer) => self.switched(*answer),
            HandoverFromAmf::PathSwitchRequestFailure(PathSwitchRequestFailure { ids, .. }) => {
                self.answers.push(HandoverAnswer::NotSwitched);
                (Some(ids.1), self.ask_release_of(ids.1))
            }
            HandoverFromAmf::Request(request) => self.prepare(*request),
            HandoverFromAmf::Command(command) => self.command(*command),
            HandoverFromAmf::PreparationFailure(HandoverPreparationFailure { ids, cause }) => {
                self.answers.push(HandoverAnswer::Refused(cause));
                (Some(ids.1), Vec::new())
            }
            HandoverFromAmf::CancelAcknowledge(HandoverCancelAcknowledge { ids }) => {
                self.answers.push(HandoverAnswer::Cancelled);
                (Some(ids.1), Vec::new())
            }
            HandoverFromAmf::DownlinkStatus(DownlinkStatus { ids, status }) => {
                if let Some(ue) = self.ues.get_mut(&ids.1) {
                    ue.mobility.status = Some(status);
                }
                (Some(ids.1), Vec::new())
            }
        }
    }

    fn ask_release_of(&self, ran: RanUeId) -> Vec<FromGnb> {
        let asked = self.ask_release(ran);
        asked.map(FromGnb::ToAmf).into_iter().collect()
    }

    fn switched(
        &mut self,
        answer: PathSwitchRequestAcknowledge,
    ) -> (Option<RanUeId>, Vec<FromGnb>) {
        let (amf, ran) = answer.ids;
        let Some(ue) = self.ues.get_mut(&ran) else {
            return (Some(ran), self.unknown(answer.ids));
        };
        ue.amf = Some(amf);
        // The UE is told to derive its key anew, within this gNB.
        if let (Some(context), true) = (&mut ue.context, answer.is_new_context) {
            context.key = answer.next_hop.key.clone();
        }
        ue.mobility.next_hop = Some(answer.next_hop);
        if let (Some(context), Some(capability)) = (&mut ue.context, answer.capability) {
            context.capability = capability;
        }
        for (session, _) in answer.released {
            ue.sessions.remove(&session);
        }
        // The network's own policy of a session's user plane counts (TS 33.501, 6.6.1).
        for (session, told) in answer.switched {
            let security = PathSwitchAcknowledge::decode(&told).and_then(|told| told.security);
            if let (Some(known), Some(security)) = (ue.sessions.get_mut(&session), security) {
                known.request.security = Some(security);
            }
        }
        self.answers.push(HandoverAnswer::Switched);
        (Some(ran), Vec::new())
    }

    /// Handover Request: room for a UE that is to come.
    fn prepare(&mut self, request: HandoverRequest) -> (Option<RanUeId>, Vec<FromGnb>) {
        let failure = |cause| {
            let amf = request.amf;
            let failure = message(HandoverFromRan::Failure(HandoverFailure { amf, cause }));
            vec![FromGnb::ToAmf(failure)]
        };
        if self.is_silent {
            return (None, Vec::new());
        }
        if self.no_contexts {
            return (None, failure(Cause::NO_RADIO_RESOURCES));
        }
        let ran = self.new_name();
        let (mut admitted, mut failed) = (Vec::new(), Vec::new());
        let mut there = UeContext {
            amf: Some(request.amf),
            ..UeContext::default()
        };
        for one in &request.sessions {
            let (told, session) = match self.admit(one) {
                Ok(known) => known,
                Err(cause) => {
                    failed.push((one.session, not_admitted(cause)));
                    continue;
                }
            };
            admitted.push((one.session, told.encode()));
            there.sessions.insert(one.session, session);
            let takes = told.forwarding;
            there
                .mobility
                .takes
                .extend(takes.map(|takes| (one.session, takes)));
        }
        if admitted.is_empty() {
            return (None, failure(Cause::NO_RADIO_RESOURCES));
        }
        there.mobility.next_hop = Some(request.next_hop.clone());
        there.mobility.from = transfer::read_source_container(&request.container);
        there.context = Some(InitialContext {
            ids: (request.amf, ran),
            guami: request.guami,
            ambr_bps: Some(request.ambr_bps),
            sessions: Vec::new(),
            allowed_nssai: request.allowed_nssai,
            capability: request.capability,
            key: request.next_hop.key,
            masked_imeisv: request.masked_imeisv,
            rfsp: None,
            radio_capability: None,
            nas: None,
        });
        self.ues.insert(ran, there);
        let answer = HandoverFromRan::RequestAcknowledge(Box::new(HandoverRequestAcknowledge {
            ids: (request.amf, ran),
            admitted,
            failed,
            container: transfer::target_container(),
        }));
        (Some(ran), vec![FromGnb::ToAmf(message(answer))])
    }

    /// Room for a session that is to come, or why there is none.
    fn admit(&mut self, one: &SessionSetup) -> Result<(Admitted, RadioSession), Cause> {
        let is_taken = !self.no_sessions && !self.refuses.contains(&one.session);
        let known = SetupRequest::decode(&one.transfer).filter(|_| is_taken);
        let mut request = known.ok_or(Cause::NO_RADIO_RESOURCES)?;
        let security = self.protect(request.security)?;
        if self.no_guaranteed {
            request.flows.retain(|flow| flow.rates.is_none());
        }
        let downlink = self.new_tunnel();
        let told = Admitted {
            downlink,
            forwarding: Some(self.new_tunnel()),
            qfis: request.flows.iter().map(|flow| flow.qfi).collect(),
            security,
        };
        Ok((told, RadioSession { request, downlink }))
    }

    /// Handover Command: the UE goes, and its counts go before it.
    fn command(&mut self, command: HandoverCommand) -> (Option<RanUeId>, Vec<FromGnb>) {
        let ids = command.ids;
        let Some(ue) = self.ues.get_mut(&ids.1) else {
            return (Some(ids.1), self.unknown(ids));
        };
        for (session, _) in command.released {
            ue.sessions.remove(&session);
        }
        for (session, told) in command.sessions {
            let forwarding = transfer::read_handover_command(&told).flatten();
            ue.mobility.forwarding.insert(session, forwarding);
        }
        self.commanded.push(ids.1);
        self.answers.push(HandoverAnswer::Commanded);
        let status = RanStatus::new(1, ids.1.0, 0x1234);
        let status = message(HandoverFromRan::UplinkStatus(UplinkStatus { ids, status }));
        (Some(ids.1), vec![FromGnb::ToAmf(status)])
    }
}

impl XnHandover {
    /// The source tells of a session by another number.
    pub fn rename_session(&mut self, from: u8, to: u8) {
        if let Some(session) = self.sessions.remove(&from) {
            self.sessions.insert(to, session);
        }
    }
}
