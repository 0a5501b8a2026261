//! An emulated gNB: it sets up N2 and carries the messages of its UEs.

use core::net::{IpAddr, Ipv4Addr};
use std::collections::{BTreeMap, BTreeSet};

use sluice_ids::{NrCellIdentity, STmsi, Tai, UpSecurity};
use sluice_n2::{
    AmfConfigurationUpdate, AmfUeId, Cause, Connection, ContextModification,
    DownlinkConfigurationTransfer, DownlinkNasTransport, ErrorIndication, FromAmf, FromRan,
    InitialContext, InitialContextSetupFailure, InitialContextSetupResponse, InitialUeMessage,
    Location, NgReset, NgResetAcknowledge, NgSetupFailure, NgSetupRequest, NgSetupResponse,
    Overload, Paging, PagingCapability, PduSessionModifyConfirm, PduSessionModifyRequest,
    PduSessionReleaseCommand, PduSessionSetupRequest, RanConfigurationUpdate,
    RanConfigurationUpdateFailure, RanUeId, SessionResults, SupportedArea, Tunnel,
    UeContextModificationFailure, UeContextModificationResponse, UeContextReleaseCommand,
    UeContextReleaseComplete, UeContextReleaseRequest, UeRadioCapability, UplinkNasTransport,
};

use crate::bearers::RadioSession;
use crate::handover::{HandoverAnswer, Mobility};

/// Causes of Error Indications that are kept.
const INDICATIONS: usize = 64;

/// Reaction of a gNB to a message of the AMF.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FromGnb {
    ToAmf(Vec<u8>),
    /// NAS message to a UE.
    ToUe(RanUeId, Vec<u8>),
    /// The gNB has released a UE.
    Released(RanUeId),
}

/// A UE's connection as the gNB knows it.
#[derive(Debug, Default)]
pub(crate) struct UeContext {
    pub amf: Option<AmfUeId>,
    pub context: Option<InitialContext>,
    pub sessions: BTreeMap<u8, RadioSession>,
    /// Previous tunnels of sessions that move to other tunnels, until the AMF has answered.
    pub moving: BTreeMap<u8, Tunnel>,
    pub mobility: Mobility,
}

/// A gNB with one cell.
#[derive(Debug)]
pub struct Gnb {
    pub(crate) setup: NgSetupRequest,
    pub(crate) tai: Tai,
    pub(crate) ues: BTreeMap<RanUeId, UeContext>,
    connections: u32,
    response: Option<NgSetupResponse>,
    refused: Option<Cause>,
    indications: Vec<Cause>,
    indicated: u64,
    /// The gNB keeps its UEs when it loses its association with the AMF.
    pub retains_ues: bool,
    /// The gNB refuses to set up contexts.
    pub no_contexts: bool,
    /// The gNB does not answer release commands.
    pub no_releases: bool,
    /// The gNB has no room for sessions.
    pub no_sessions: bool,
    /// No protection of the integrity of the user plane.
    pub no_integrity: bool,
    /// No protection of the confidentiality of the user plane.
    pub no_confidentiality: bool,
    /// Security Results say that nothing is protected, whatever is.
    pub denies_protection: bool,
    /// Policy of the user plane that the next gNB is given, in place of the SMF's.
    pub tells_policy: Option<UpSecurity>,
    /// The gNB has no room for flows with guaranteed bit rates.
    pub no_guaranteed: bool,
    /// The gNB does not answer changes of flows.
    pub no_modifications: bool,
    /// The gNB refuses changes of flows and of keys for this cause.
    pub refuses_changes: Option<Cause>,
    /// Sessions for which it has no room when a UE comes by handover.
    pub refuses: BTreeSet<u8>,
    /// The gNB reports other algorithms of a UE than it was given.
    pub lies: bool,
    /// The gNB does not answer handover requests.
    pub is_silent: bool,
    pub(crate) commanded: Vec<RanUeId>,
    pub(crate) answers: Vec<HandoverAnswer>,
    pub(crate) transfers: Vec<Vec<u8>>,
    pub(crate) confirms: Vec<SessionResults>,
    /// Address of the gNB's tunnels.
    pub address: IpAddr,
    /// The TEID of its next tunnel; they count up.
    pub next_teid: u32,
    /// Radio capability that the gNB reports for each UE with a new context.
    pub radio_capability: Option<Vec<u8>>,
    /// Radio capability for paging that the gNB reports.
    pub paging_capability: Option<PagingCapability>,
    paged: Vec<Paging>,
    /// The AMF is about to go.
    pub is_left: bool,
    /// The AMF is overloaded: these UEs are to be rejected here.
    pub overload: Option<Overload>,
}

impl Gnb {
    /// UEs are in this area.
    pub fn new(setup: NgSetupRequest, tai: Tai) -> Self {
        Self {
            setup,
            tai,
            ues: BTreeMap::new(),
            connections: 0,
            response: None,
            refused: None,
            indications: Vec::new(),
            indicated: 0,
            retains_ues: false,
            no_contexts: false,
            no_releases: false,
            no_sessions: false,
            no_integrity: false,
            no_confidentiality: false,
            denies_protection: false,
            tells_policy: None,
            no_guaranteed: false,
            no_modifications: false,
            refuses_changes: None,
            refuses: BTreeSet::new(),
            lies: false,
            is_silent: false,
            commanded: Vec::new(),
            answers: Vec::new(),
            transfers: Vec::new(),
            confirms: Vec::new(),
            address: Ipv4Addr::new(192, 0, 2, 51).into(),
            next_teid: 1,
            radio_capability: None,
            paging_capability: None,
            paged: Vec::new(),
            overload: None,
            is_left: false,
        }
    }

    pub fn response(&self) -> Option<&NgSetupResponse> {
        self.response.as_ref()
    }

    /// Why the AMF refused its setup.
    pub fn refused(&self) -> Option<Cause> {
        self.refused
    }

    /// How many Error Indications have come.
    pub fn indicated(&self) -> u64 {
        self.indicated
    }

    /// Causes of the last Error Indications.
    pub fn indications(&self) -> &[Cause] {
        &self.indications
    }

    /// UEs that the AMF had it call since the last call.
    pub fn take_paged(&mut self) -> Vec<Paging> {
        std::mem::take(&mut self.paged)
    }

    /// Context of a UE, as the AMF set it up.
    pub fn context(&self, ue: RanUeId) -> Option<&InitialContext> {
        self.ues.get(&ue)?.context.as_ref()
    }

    /// A session of a UE; none while its user plane is down.
    pub fn session(&self, ue: RanUeId, session: u8) -> Option<RadioSession> {
        self.ues.get(&ue)?.sessions.get(&session).cloned()
    }

    /// The AMF's name of a UE's connection.
    pub fn amf_id(&self, ue: RanUeId) -> Option<AmfUeId> {
        self.ues.get(&ue)?.amf
    }

    /// How many UEs it has, or expects.
    pub fn connections(&self) -> usize {
        self.ues.len()
    }

    /// Forgets a UE without a message.
    pub fn forget_ue(&mut self, ue: RanUeId) {
        self.ues.remove(&ue);
    }

    /// Forgets UEs that have gone while the gNB had no association.
    pub fn forget_gone(&mut self, is_there: impl Fn(RanUeId) -> bool) {
        self.ues.retain(|ran, _| is_there(*ran));
    }

    /// Ends the association, and all UEs with it, unless the gNB retains them. UEs whose contexts the AMF has not set
    /// up yet cannot be retained.
    pub fn forget(&mut self) {
        self.ues
            .retain(|_, ue| self.retains_ues && ue.context.is_some());
        self.response = None;
        self.refused = None;
    }

    /// Restarts the gNB without UEs.
    pub fn restart(&mut self) {
        self.ues.clear();
        self.forget();
    }

    /// Whether it has a UE of this name, or expects it.
    pub fn has(&self, ue: RanUeId) -> bool {
        self.ues.contains_key(&ue)
    }

    /// NG Setup Request, with the UEs that the gNB wants to retain (TS 38.413, 8.7.1.2).
    pub fn setup(&self) -> Vec<u8> {
        let name = self.setup.name.clone();
        FromRan::NgSetupRequest(NgSetupRequest {
            name: name.or_else(|| Some("gnb".to_owned())),
            retains_ues: self.retains_ues && !self.ues.is_empty(),
            ..self.setup.clone()
        })
        .encode()
    }

    /// The AMF has answered: UEs that it does not retain are released.
    fn is_set_up(&mut self, response: NgSetupResponse) -> Vec<FromGnb> {
        let mut released = Vec::new();
        if !response.retains_ues {
            released = std::mem::take(&mut self.ues).into_keys().collect();
        }
        self.response = Some(response);
        released.into_iter().map(FromGnb::Released).collect()
    }

    /// The AMF serves something else.
    fn is_updated(&mut self, update: AmfConfigurationUpdate) {
        let Some(response) = &mut self.response else {
            return;
        };
        response.name = update.name.unwrap_or(std::mem::take(&mut response.name));
        response.capacity = update.capacity.unwrap_or(response.capacity);
        if let Some(guamis) = update.guamis {
            response.guamis = guamis;
        }
        if let Some(plmns) = update.plmns {
            response.plmns = plmns;
        }
    }

    /// Forgets all UEs, and returns the NG Reset.
    pub fn reset(&mut self) -> Vec<u8> {
        self.ues.clear();
        FromRan::NgReset(NgReset {
            cause: Cause::UNSPECIFIED,
            connections: None,
        })
        .encode()
    }

    /// The AMF has forgotten UEs, all if none are named: they are released (TS 38.413, 8.7.4.2.1).
    fn is_reset(&mut self, connections: Option<Vec<Connection>>) -> Vec<FromGnb> {
        let named = connections.as_ref();
        let is_meant = |ran: &RanUeId, ue: &mut UeContext| {
            let by_either = |one: &Connection| {
                one.ran == Some(*ran) || (one.amf.is_some() && one.amf == ue.amf)
            };
            named.is_none_or(|list| list.iter().any(by_either))
        };
        let gone = self.ues.extract_if(.., is_meant);
        let mut told: Vec<FromGnb> = gone.map(|(ran, _)| FromGnb::Released(ran)).collect();
        let answer = FromRan::NgResetAcknowledge(NgResetAcknowledge { connections });
        told.push(FromGnb::ToAmf(answer.encode()));
        told
    }

    /// A UE comes with its first message.
    pub fn connect(&mut self, nas: Vec<u8>, s_tmsi: Option<STmsi>) -> (RanUeId, Vec<u8>) {
        let ran = self.new_name();
        self.ues.insert(ran, UeContext::default());
        let message = InitialUeMessage {
            ran,
            nas,
            location: self.location(),
            // mo-Signalling
            establishment_cause: 3,
            s_tmsi,
            context_requested: true,
        };
        (ran, FromRan::InitialUeMessage(message).encode())
    }

    /// A UE's further message; none if the AMF has not said a word of it.
    pub fn uplink(&self, ran: RanUeId, nas: Vec<u8>) -> Option<Vec<u8>> {
        let ids = (self.ues.get(&ran)?.amf?, ran);
        let location = Some(self.location());
        Some(FromRan::UplinkNasTransport(UplinkNasTransport { ids, nas, location }).encode())
    }

    /// The gNB wants a UE released.
    pub fn ask_release(&self, ran: RanUeId) -> Option<Vec<u8>> {
        let ids = (self.ues.get(&ran)?.amf?, ran);
        let cause = Cause::USER_INACTIVITY;
        Some(FromRan::UeContextReleaseRequest(UeContextReleaseRequest { ids, cause }).encode())
    }

    /// New RAN UE NGAP ID.
    pub(crate) fn new_name(&mut self) -> RanUeId {
        self.connections += 1;
        RanUeId(self.connections)
    }

    /// New tunnel end of the gNB.
    pub(crate) fn new_tunnel(&mut self) -> Tunnel {
        let teid = self.next_teid;
        // 0 is no TEID (TS 29.281, 5.1).
        self.next_teid = self.next_teid.checked_add(1).unwrap_or(1);
        Tunnel {
            ipv4: match self.address {
                IpAddr::V4(ipv4) => Some(ipv4),
                IpAddr::V6(_) => None,
            },
            ipv6: match self.address {
                IpAddr::V4(_) => None,
                IpAddr::V6(ipv6) => Some(ipv6),
            },
            teid,
        }
    }

    pub(crate) fn location(&self) -> Location {
        Location {
            plmn: self.tai.plmn,
            cell: cell(&self.setup.gnb),
            tai: self.tai,
        }
    }

    /// Takes a message of the AMF.
    pub fn receive(&mut self, octets: &[u8]) -> Vec<FromGnb> {
        self.receive_about(octets).1
    }

    /// The same, with the UE that the message is about.
    pub fn receive_about(&mut self, octets: &[u8]) -> (Option<RanUeId>, Vec<FromGnb>) {
        let Ok(message) = FromAmf::decode(octets) else {
            return (None, Vec::new());
        };
        match message {
            FromAmf::DownlinkNasTransport(DownlinkNasTransport { ids, nas }) => {
                let Some(ue) = self.ues.get_mut(&ids.1) else {
                    return (Some(ids.1), self.unknown(ids));
                };
                ue.amf = Some(ids.0);
                (Some(ids.1), vec![FromGnb::ToUe(ids.1, nas)])
            }
            FromAmf::InitialContextSetupRequest(context) => {
                (Some(context.ids.1), self.set_up(*context))
            }
            FromAmf::PduSessionSetupRequest(PduSessionSetupRequest { ids, sessions, .. }) => {
                (Some(ids.1), self.set_up_sessions(ids, sessions))
            }
            FromAmf::PduSessionModifyRequest(PduSessionModifyRequest { ids, sessions }) => {
                (Some(ids.1), self.modify_sessions(ids, sessions))
            }
            FromAmf::PduSessionModifyConfirm(PduSessionModifyConfirm { ids, sessions }) => {
                (Some(ids.1), self.moved(ids, sessions))
            }
            FromAmf::PduSessionReleaseCommand(PduSessionReleaseCommand { ids, nas, sessions }) => {
                (Some(ids.1), self.release_sessions(ids, nas, &sessions))
            }
            FromAmf::UeContextModificationRequest(change) => {
                (Some(change.ids.1), self.change(&change))
            }
            FromAmf::UeContextReleaseCommand(UeContextReleaseCommand {
                ue: (amf, ran), ..
            }) => self.release(amf, ran),
            FromAmf::Handover(told) => self.hand_over(told),
            other => (None, self.receive_for_itself(other)),
        }
    }

    /// Handles a message without UE.
    fn receive_for_itself(&mut self, message: FromAmf) -> Vec<FromGnb> {
        match message {
            FromAmf::NgSetupResponse(response) => return self.is_set_up(response),
            FromAmf::NgSetupFailure(NgSetupFailure { cause })
            | FromAmf::RanConfigurationUpdateFailure(RanConfigurationUpdateFailure { cause }) => {
                self.refused = Some(cause);
            }
            FromAmf::NgReset(NgReset { connections, .. }) => return self.is_reset(connections),
            FromAmf::Paging(paging) => self.paged.push(*paging),
            FromAmf::AmfConfigurationUpdate(update) => {
                self.is_updated(update);
                let answer = FromRan::AmfConfigurationUpdateAcknowledge;
                return vec![FromGnb::ToAmf(answer.encode())];
            }
            FromAmf::AmfStatusIndication(_) => self.is_left = true,
            FromAmf::OverloadStart(overload) => self.overload = Some(overload),
            FromAmf::OverloadStop => self.overload = None,
            FromAmf::ConfigurationTransfer(DownlinkConfigurationTransfer { transfer }) => {
                self.transfers.push(transfer)
            }
            FromAmf::ErrorIndication(ErrorIndication { cause, .. }) => {
                self.indicated += 1;
                if self.indications.len() >= INDICATIONS {
                    self.indications.remove(0);
                }
                self.indications.extend(cause);
            }
            // Acknowledgements, and what was read before.
            _ => {}
        }
        Vec::new()
    }

    pub(crate) fn unknown(&self, ids: (AmfUeId, RanUeId)) -> Vec<FromGnb> {
        let connection = Connection {
            amf: Some(ids.0),
            ran: Some(ids.1),
        };
        let cause = Cause::UNKNOWN_LOCAL_ID;
        vec![FromGnb::ToAmf(
            FromRan::ErrorIndication(ErrorIndication::new(connection, cause)).encode(),
        )]
    }

    /// Changes the supported areas, and returns the RAN Configuration Update.
    pub fn update(&mut self, areas: Vec<SupportedArea>) -> Vec<u8> {
        let areas = Some(areas);
        FromRan::RanConfigurationUpdate(RanConfigurationUpdate { name: None, areas }).encode()
    }

    /// A UE's key is another from now on.
    fn change(&mut self, change: &ContextModification) -> Vec<FromGnb> {
        let ids = change.ids;
        if let Some(cause) = self.refuses_changes {
            let failure =
                FromRan::UeContextModificationFailure(UeContextModificationFailure { ids, cause });
            return vec![FromGnb::ToAmf(failure.encode())];
        }
        let ue = self.ues.get_mut(&ids.1);
        let Some(context) = ue.and_then(|ue| ue.context.as_mut()) else {
            return self.unknown(ids);
        };
        if let Some(key) = &change.key {
            context.key = key.clone();
        }
        context.capability = change.capability.unwrap_or(context.capability);
        let response =
            FromRan::UeContextModificationResponse(UeContextModificationResponse { ids });
        vec![FromGnb::ToAmf(response.encode())]
    }

    fn set_up(&mut self, mut context: InitialContext) -> Vec<FromGnb> {
        let (ids, nas) = (context.ids, context.nas.take());
        let asked = std::mem::take(&mut context.sessions);
        let Some(ue) = self.ues.get_mut(&ids.1) else {
            return self.unknown(ids);
        };
        ue.amf = Some(ids.0);
        if self.no_contexts {
            let cause = Cause::RADIO_LOST;
            let failure =
                FromRan::InitialContextSetupFailure(InitialContextSetupFailure { ids, cause });
            return vec![FromGnb::ToAmf(failure.encode())];
        }
        ue.context = Some(context);
        let (sessions, messages) = self.set_up_each(ids.1, asked);
        let response =
            FromRan::InitialContextSetupResponse(InitialContextSetupResponse { ids, sessions })
                .encode();
        let mut done = vec![FromGnb::ToAmf(response)];
        if let Some(capability) = self.radio_capability.clone() {
            let told = FromRan::UeRadioCapability(UeRadioCapability {
                ids,
                capability,
                for_paging: self.paging_capability.clone(),
            });
            done.push(FromGnb::ToAmf(told.encode()));
        }
        done.extend(nas.map(|nas| FromGnb::ToUe(ids.1, nas)));
        done.extend(messages);
        done
    }

    fn release(&mut self, amf: AmfUeId, ran: Option<RanUeId>) -> (Option<RanUeId>, Vec<FromGnb>) {
        // Not all AMFs tell the gNB's own name.
        let known = || {
            let mut ues = self.ues.iter();
            let found = ues.find(|(_, ue)| ue.amf == Some(amf));
            found.map(|(ran, _)| *ran)
        };
        let Some(ran) = ran.or_else(known).filter(|_| !self.no_releases) else {
            return (ran, Vec::new());
        };
        self.ues.remove(&ran);
        let complete =
            FromRan::UeContextReleaseComplete(UeContextReleaseComplete { ids: (amf, ran) })
                .encode();
        let done = vec![FromGnb::ToAmf(complete), FromGnb::Released(ran)];
        (Some(ran), done)
    }
}

/// Cell number 1, the gNB's only one: 36 bits, of which the gNB's identity comes first (TS 38.413, 9.3.1.7).
pub(crate) fn cell(gnb: &sluice_n2::Gnb) -> NrCellIdentity {
    let bits = u32::from(gnb.bits).clamp(22, 32);
    let identity = u64::from(gnb.id) << (36 - bits) | 1;
    let octets = (identity << 4).to_be_bytes();
    NrCellIdentity([octets[3], octets[4], octets[5], octets[6], octets[7]])
}
