//! One sample and more of each message.

use sluice_ids::{
    AmfId, Guami, NrCellIdentity, Plmn, Snssai, Tac, Tai, Tmsi, UpProtection, UpSecurity,
};
use sluice_n2::notify::{self, Notified};
use sluice_n2::{
    AmfConfigurationUpdate, AmfConfigurationUpdateFailure, AmfStatusIndication, AmfUeId, Cause,
    Connection, ContextModification, DownlinkConfigurationTransfer, DownlinkNasTransport,
    ErrorIndication, FlowRates, FromAmf, FromRan, Gnb, InitialContext, InitialContextSetupFailure,
    InitialContextSetupResponse, InitialUeMessage, Location, ModifyRequest, ModifyResponse,
    NasNonDelivery, NgReset, NgResetAcknowledge, NgSetupFailure, NgSetupRequest, NgSetupResponse,
    Overload, OverloadAction, PacketType, Paging, PagingCapability, PduSessionModifyConfirm,
    PduSessionModifyIndication, PduSessionModifyRequest, PduSessionModifyResponse,
    PduSessionNotify, PduSessionReleaseCommand, PduSessionReleaseResponse, PduSessionSetupRequest,
    PduSessionSetupResponse, PlmnSlices, ProtectedRate, QosFlow, RanConfigurationUpdate,
    RanConfigurationUpdateFailure, RanUeId, Rfsp, SecurityIndication, SecurityResult,
    SessionModification, SessionResults, SessionSetup, SetupRequest, SetupResponse, SupportedArea,
    Tunnel, UeContextModificationFailure, UeContextModificationResponse, UeContextReleaseCommand,
    UeContextReleaseComplete, UeContextReleaseRequest, UeRadioCapability,
    UplinkConfigurationTransfer, UplinkNasTransport, session,
};
use sluice_security::{Kgnb, SecurityCapability};

pub fn plmn() -> Plmn {
    Plmn::new("208", "93").expect("digits")
}

pub fn guami() -> Guami {
    Guami {
        plmn: plmn(),
        amf: AmfId::new(2, 5, 1).expect("small"),
    }
}

pub fn slices() -> Vec<PlmnSlices> {
    let slices = vec![Snssai::new(1, None), Snssai::new(2, Some([0, 0, 10]))];
    vec![PlmnSlices {
        plmn: plmn(),
        slices,
    }]
}

pub fn location() -> Location {
    let tai = Tai {
        plmn: plmn(),
        tac: Tac([0, 0, 1]),
    };
    Location {
        plmn: plmn(),
        cell: NrCellIdentity([0, 0, 0x12, 0x34, 0x50]),
        tai,
    }
}

pub fn setup() -> NgSetupRequest {
    NgSetupRequest {
        gnb: Gnb {
            plmn: plmn(),
            id: 0x123456,
            bits: 24,
        },
        name: Some("gnb-1".to_owned()),
        areas: vec![SupportedArea {
            tac: Tac([0, 0, 1]),
            plmns: slices(),
        }],
        retains_ues: false,
    }
}

pub const IDS: (AmfUeId, RanUeId) = (AmfUeId(0xff_0000_0001), RanUeId(7));

pub fn connection() -> Connection {
    Connection {
        amf: Some(IDS.0),
        ran: Some(IDS.1),
    }
}

pub fn tunnel() -> Tunnel {
    Tunnel {
        ipv4: Some([192, 0, 2, 1].into()),
        ipv6: None,
        teid: 7,
    }
}

pub fn transfer_response() -> SetupResponse {
    SetupResponse {
        downlink: tunnel(),
        qfis: vec![1],
        failed: Vec::new(),
        security: Some(SecurityResult {
            integrity: false,
            confidentiality: true,
        }),
    }
}

/// How fast is told of both directions apart.
pub fn security() -> SecurityIndication {
    SecurityIndication {
        policy: UpSecurity {
            integrity: UpProtection::Required,
            confidentiality: UpProtection::Preferred,
        },
        rates: Some((ProtectedRate::Kbps64, ProtectedRate::MaximumUeRate)),
    }
}

pub fn setup_request() -> SetupRequest {
    SetupRequest {
        ambr_bps: (1_000_000_000, 500_000_000),
        uplink: tunnel(),
        packets: PacketType::Ipv4v6,
        security: Some(security()),
        flows: vec![QosFlow::new(1, 9, 8)],
    }
}

fn session_setup(nas: Option<Vec<u8>>) -> SessionSetup {
    SessionSetup {
        session: 5,
        nas,
        slice: Snssai::new(1, None),
        transfer: setup_request().encode(),
    }
}

pub fn modify_request() -> ModifyRequest {
    let rates = FlowRates {
        guaranteed_bps: (128_000, 64_000),
        maximum_bps: (256_000, 128_000),
    };
    let guaranteed = QosFlow {
        may_preempt: true,
        rates: Some(rates),
        ..QosFlow::new(2, 1, 5)
    };
    ModifyRequest {
        ambr_bps: Some((2_000, 1_000)),
        flows: vec![guaranteed, QosFlow::new(3, 7, 9)],
        released: vec![4, 5],
    }
}

fn modify_response() -> ModifyResponse {
    ModifyResponse {
        done: vec![2],
        failed: vec![3],
    }
}

fn modification(nas: Option<Vec<u8>>, request: &ModifyRequest) -> SessionModification {
    SessionModification {
        session: 5,
        nas,
        transfer: request.encode(),
    }
}

pub fn notified() -> Notified {
    Notified {
        released: vec![2, 63],
        unfulfilled: vec![3],
        fulfilled: vec![4],
    }
}

pub fn xn_wanted() -> Vec<u8> {
    let (gnb, tai) = (setup().gnb, location().tai);
    sluice_n2::xn_addresses_wanted((&Gnb { id: 1, ..gnb }, &tai), (&gnb, &tai))
}

/// Of sessions, and what has several forms.
pub fn sessions_from_ran() -> Vec<FromRan> {
    let ids = IDS;
    let results = SessionResults {
        done: vec![(5, transfer_response().encode())],
        failed: vec![(6, session::setup_failure(Cause::RADIO_LOST))],
    };
    vec![
        FromRan::InitialContextSetupResponse(InitialContextSetupResponse {
            ids,
            sessions: results.clone(),
        }),
        FromRan::PduSessionSetupResponse(PduSessionSetupResponse {
            ids,
            sessions: results,
        }),
        FromRan::PduSessionModifyResponse(PduSessionModifyResponse {
            ids,
            sessions: SessionResults {
                done: vec![(5, modify_response().encode())],
                failed: vec![(6, session::modify_failure(Cause::RADIO_LOST))],
            },
        }),
        FromRan::PduSessionReleaseResponse(PduSessionReleaseResponse {
            ids,
            sessions: vec![(5, session::release_response())],
        }),
        FromRan::PduSessionNotify(PduSessionNotify {
            ids,
            sessions: vec![(5, notified().encode())],
            released: vec![(6, notify::notify_released(Cause::RADIO_LOST))],
        }),
        FromRan::PduSessionModifyIndication(PduSessionModifyIndication {
            ids,
            sessions: vec![(5, vec![1, 2, 3]), (6, vec![4])],
        }),
        FromRan::ConfigurationTransfer(UplinkConfigurationTransfer {
            transfer: xn_wanted(),
        }),
        FromRan::UeRadioCapability(UeRadioCapability {
            ids,
            capability: vec![1, 2, 3],
            for_paging: Some(PagingCapability {
                nr: Some(vec![4, 5]),
                eutra: Some(vec![6]),
            }),
        }),
    ]
}

pub fn sessions_from_amf() -> Vec<FromAmf> {
    vec![
        FromAmf::ConfigurationTransfer(DownlinkConfigurationTransfer {
            transfer: xn_wanted(),
        }),
        FromAmf::PduSessionSetupRequest(PduSessionSetupRequest {
            ids: IDS,
            ambr_bps: Some((1_000_000_000, 500_000_000)),
            sessions: vec![session_setup(Some(vec![0x7e, 2]))],
        }),
        FromAmf::PduSessionSetupRequest(PduSessionSetupRequest {
            ids: IDS,
            ambr_bps: None,
            sessions: vec![session_setup(None)],
        }),
        FromAmf::PduSessionModifyRequest(PduSessionModifyRequest {
            ids: IDS,
            sessions: vec![
                modification(Some(vec![0x7e, 2]), &modify_request()),
                modification(None, &ModifyRequest::default()),
            ],
        }),
        FromAmf::PduSessionModifyConfirm(PduSessionModifyConfirm {
            ids: IDS,
            sessions: SessionResults {
                done: vec![(5, vec![1, 2, 3])],
                failed: vec![(6, vec![4])],
            },
        }),
        FromAmf::PduSessionReleaseCommand(PduSessionReleaseCommand {
            ids: IDS,
            nas: Some(vec![0x7e, 2]),
            sessions: vec![(5, session::release_command(Cause::NORMAL_RELEASE))],
        }),
        FromAmf::PduSessionReleaseCommand(PduSessionReleaseCommand {
            ids: IDS,
            nas: None,
            sessions: vec![(5, session::release_command(Cause::NORMAL_RELEASE))],
        }),
    ]
}

/// Of configuration, overload and keys.
pub fn of_configuration() -> (Vec<FromRan>, Vec<FromAmf>) {
    let (ids, cause) = (IDS, Cause::UNSPECIFIED);
    let update = |name: Option<&str>, areas| {
        FromRan::RanConfigurationUpdate(RanConfigurationUpdate {
            name: name.map(str::to_owned),
            areas,
        })
    };
    let from_ran = vec![
        update(None, Some(setup().areas)),
        update(Some("gnb-2"), None),
        FromRan::AmfConfigurationUpdateAcknowledge,
        FromRan::AmfConfigurationUpdateFailure(AmfConfigurationUpdateFailure { cause }),
        FromRan::UeContextModificationResponse(UeContextModificationResponse { ids }),
        FromRan::UeContextModificationFailure(UeContextModificationFailure { ids, cause }),
    ];
    let from_amf = vec![
        FromAmf::AmfConfigurationUpdate(AmfConfigurationUpdate {
            name: Some("amf".to_owned()),
            guamis: Some(vec![guami()]),
            capacity: Some(17),
            plmns: Some(slices()),
        }),
        FromAmf::RanConfigurationUpdateAcknowledge,
        FromAmf::RanConfigurationUpdateFailure(RanConfigurationUpdateFailure { cause }),
        FromAmf::AmfStatusIndication(AmfStatusIndication {
            unavailable: vec![guami()],
        }),
        FromAmf::OverloadStart(Overload::default()),
        FromAmf::OverloadStart(Overload {
            action: OverloadAction::PermitHighPriority,
            percent: Some(30),
        }),
        FromAmf::OverloadStop,
        FromAmf::UeContextModificationRequest(Box::new(ContextModification {
            ids,
            key: Some(Kgnb::new([9; 32])),
            capability: SecurityCapability::from_octets(&[0x70, 0x70, 0, 0]),
        })),
    ];
    (from_ran, from_amf)
}

pub fn paging(is_whole: bool) -> FromAmf {
    let guti = sluice_ids::Guti {
        guami: guami(),
        tmsi: Tmsi([1, 2, 3, 4]),
    };
    let capability = PagingCapability {
        nr: Some(vec![1, 2]),
        eutra: Some(vec![3]),
    };
    FromAmf::Paging(Box::new(Paging {
        s_tmsi: guti.s_tmsi(),
        drx: is_whole.then_some(3),
        areas: vec![location().tai; 1 + usize::from(is_whole)],
        capability: is_whole.then_some(capability),
        attempt: (2, 3),
    }))
}

pub fn from_ran() -> Vec<FromRan> {
    let s_tmsi = sluice_ids::Guti {
        guami: guami(),
        tmsi: Tmsi([1, 2, 3, 4]),
    }
    .s_tmsi();
    let initial = |s_tmsi| InitialUeMessage {
        ran: IDS.1,
        nas: vec![0x7e, 0, 0x41],
        location: location(),
        establishment_cause: 3,
        s_tmsi,
        context_requested: true,
    };
    let (ids, nas) = (IDS, vec![0x7e, 0, 0x43]);
    vec![
        FromRan::NgSetupRequest(setup()),
        FromRan::NgSetupRequest(NgSetupRequest {
            retains_ues: true,
            ..setup()
        }),
        FromRan::InitialUeMessage(initial(None)),
        FromRan::InitialUeMessage(initial(Some(s_tmsi))),
        FromRan::UplinkNasTransport(UplinkNasTransport {
            ids,
            nas: nas.clone(),
            location: Some(location()),
        }),
        FromRan::UplinkNasTransport(UplinkNasTransport {
            ids,
            nas: nas.clone(),
            location: None,
        }),
        FromRan::NasNonDelivery(NasNonDelivery {
            ids,
            nas,
            cause: Cause::RADIO_LOST,
        }),
        FromRan::InitialContextSetupResponse(InitialContextSetupResponse {
            ids,
            sessions: SessionResults::default(),
        }),
        FromRan::InitialContextSetupFailure(InitialContextSetupFailure {
            ids,
            cause: Cause::Transport(1),
        }),
        FromRan::UeContextReleaseRequest(UeContextReleaseRequest {
            ids,
            cause: Cause::USER_INACTIVITY,
        }),
        FromRan::UeContextReleaseComplete(UeContextReleaseComplete { ids }),
        FromRan::UeRadioCapability(UeRadioCapability {
            ids,
            capability: vec![1, 2, 3],
            for_paging: None,
        }),
        FromRan::NgReset(NgReset {
            cause: Cause::UNSPECIFIED,
            connections: None,
        }),
        FromRan::NgReset(NgReset {
            cause: Cause::UNSPECIFIED,
            connections: Some(vec![connection()]),
        }),
        FromRan::NgResetAcknowledge(NgResetAcknowledge { connections: None }),
        FromRan::ErrorIndication(ErrorIndication {
            amf: Some(IDS.0),
            ran: Some(IDS.1),
            cause: Some(Cause::SEMANTIC_ERROR),
        }),
    ]
}

pub fn from_amf() -> Vec<FromAmf> {
    let response = NgSetupResponse {
        name: "amf".to_owned(),
        guamis: vec![guami()],
        capacity: 255,
        plmns: slices(),
        retains_ues: false,
    };
    let context = InitialContext {
        ids: IDS,
        guami: guami(),
        ambr_bps: Some((1_000_000_000, 500_000_000)),
        sessions: vec![session_setup(None), session_setup(Some(vec![0x7e, 2]))],
        allowed_nssai: vec![Snssai::new(1, None)],
        capability: SecurityCapability::from_octets(&[0x70, 0x70, 0x70, 0x70]).expect("four"),
        key: Kgnb::new([7; 32]),
        rfsp: Rfsp::new(256),
        masked_imeisv: Some([0x12, 0x34, 0x56, 0x78, 0x90, 0xff, 0xff, 0x56]),
        radio_capability: Some(vec![1, 2, 3]),
        nas: Some(vec![0x7e, 2, 1, 2, 3, 4, 0, 9]),
    };
    let bare = InitialContext {
        ambr_bps: None,
        sessions: Vec::new(),
        rfsp: None,
        masked_imeisv: None,
        radio_capability: None,
        nas: None,
        ..context.clone()
    };
    vec![
        FromAmf::NgSetupResponse(response),
        FromAmf::NgSetupFailure(NgSetupFailure {
            cause: Cause::UNKNOWN_PLMN,
        }),
        FromAmf::DownlinkNasTransport(DownlinkNasTransport {
            ids: IDS,
            nas: vec![0x7e, 0, 0x5b, 1],
        }),
        FromAmf::InitialContextSetupRequest(Box::new(context)),
        FromAmf::InitialContextSetupRequest(Box::new(bare)),
        FromAmf::UeContextReleaseCommand(UeContextReleaseCommand {
            ue: (IDS.0, Some(IDS.1)),
            cause: Cause::NORMAL_RELEASE,
        }),
        FromAmf::UeContextReleaseCommand(UeContextReleaseCommand {
            ue: (IDS.0, None),
            cause: Cause::DEREGISTER,
        }),
        FromAmf::NgReset(NgReset {
            cause: Cause::UNSPECIFIED,
            connections: None,
        }),
        FromAmf::NgResetAcknowledge(NgResetAcknowledge { connections: None }),
        FromAmf::NgResetAcknowledge(NgResetAcknowledge {
            connections: Some(vec![connection()]),
        }),
        FromAmf::ErrorIndication(ErrorIndication {
            amf: Some(IDS.0),
            ran: Some(IDS.1),
            cause: Some(Cause::UNKNOWN_LOCAL_ID),
        }),
        FromAmf::ErrorIndication(ErrorIndication {
            amf: None,
            ran: None,
            cause: Some(Cause::TRANSFER_SYNTAX),
        }),
    ]
}
