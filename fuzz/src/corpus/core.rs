//! NGAP, NAS and EAP of a core: a message of each kind that a gNB, a UE, an AMF and an SMF say.

use sluice_ids::{AmfId, Guami, Guti, NrCellIdentity, Plmn, Snssai, Suci, Tac, Tai, Tmsi};
use sluice_n1::{
    Cause as NasCause, DeregistrationRequest, Downlink, EstablishmentRequest, IdentityKind,
    IntegrityRates, MobileIdentity, RegistrationAccept, RegistrationRequest, ServiceRequest,
    SessionCause, SessionDownlink, SessionType, SessionUplink, Transaction, Uplink, UplinkPayload,
};
use sluice_n2::notify::Notified;
use sluice_n2::{
    AmfUeId, Cause, Connection, DownlinkNasTransport, ErrorIndication, FromAmf, FromRan, Gnb,
    InitialUeMessage, Location, ModifyIndication, NgReset, NgSetupRequest, NgSetupResponse, Paging,
    PagingCapability, PduSessionModifyIndication, PduSessionNotify, PduSessionSetupResponse,
    PlmnSlices, RanConfigurationUpdate, RanUeId, SecurityResult, SessionResults, SetupResponse,
    SupportedArea, Tunnel, UeContextReleaseCommand, UeContextReleaseRequest, UeRadioCapability,
    UplinkConfigurationTransfer, UplinkNasTransport, notify, session, xn_addresses_wanted,
};
use sluice_security::SecurityCapability;

use super::Entry;
use crate::targets::eap::Ends;

const IDS: (AmfUeId, RanUeId) = (AmfUeId(0x0001_0000_0002), RanUeId(3));

fn guti() -> Option<Guti> {
    let (plmn, amf) = (Plmn::new("001", "01")?, AmfId::new(1, 1, 1)?);
    Some(Guti {
        guami: Guami { plmn, amf },
        tmsi: Tmsi([1, 2, 3, 4]),
    })
}

fn entry((name, bytes): (&str, Vec<u8>)) -> Entry {
    Entry::new(&name.to_lowercase().replace(' ', "_"), bytes)
}

/// Samples of NGAP; none if a constant of these makes no sense, which a test would notice.
pub(super) fn ngap() -> Vec<Entry> {
    let Some(guti) = guti() else {
        return Vec::new();
    };
    let from_ran = from_ran(guti);
    let from_ran = from_ran.iter().map(|one| (one.name(), one.encode()));
    let from_amf = from_amf(guti);
    let from_amf = from_amf.iter().map(|one| (one.name(), one.encode()));
    from_ran.chain(from_amf).map(entry).collect()
}

/// Samples of EAP: packets one after the other, each with its length before it.
pub(super) fn eap() -> Vec<Entry> {
    let Some(mut ends) = Ends::new() else {
        return Vec::new();
    };
    let challenge = ends.server.request().to_vec();
    let answer = ends.respond(&challenge).unwrap_or_default();
    let mut wrong = answer.clone();
    if let Some(last) = wrong.last_mut() {
        *last ^= 1;
    }
    let mut wrong_challenge = challenge.clone();
    if let Some(last) = wrong_challenge.last_mut() {
        *last ^= 1;
    }
    let auts = [
        &[2, 1, 0, 28, 50, 4, 0, 0, 4, 4][..],
        &[7; 14],
        &[24, 1, 0, 1],
    ]
    .concat();
    let notified = vec![2, 2, 0, 8, 50, 12, 0, 0];
    let notification = vec![1, 2, 0, 12, 50, 12, 0, 0, 12, 1, 0x40, 0];
    let joined = |packets: &[&[u8]]| {
        let one = |packet: &&[u8]| [&[packet.len() as u8][..], packet].concat();
        packets.iter().flat_map(one).collect::<Vec<u8>>()
    };
    [
        ("challenge and answer", joined(&[&challenge, &answer])),
        ("wrong answer", joined(&[&challenge, &wrong, &notified])),
        ("wrong challenge", joined(&[&wrong_challenge])),
        ("synchronization failure", joined(&[&auts])),
        ("notification", joined(&[&notification, &notification])),
        (
            "success and failure",
            joined(&[&[3, 1, 0, 4], &[4, 1, 0, 4]]),
        ),
        (
            "identity",
            joined(&[&[1, 1, 0, 5, 1], &[2, 1, 0, 6, 3, 50]]),
        ),
        ("reject", joined(&[&[2, 1, 0, 8, 50, 2, 0, 0]])),
        (
            "client error",
            joined(&[&[2, 1, 0, 12, 50, 14, 0, 0, 22, 1, 0, 0]]),
        ),
    ]
    .map(entry)
    .into()
}

fn areas(plmn: Plmn) -> Vec<SupportedArea> {
    let slices = vec![Snssai::new(1, None), Snssai::new(2, Some([0, 0, 10]))];
    vec![SupportedArea {
        tac: Tac([0, 0, 1]),
        plmns: vec![PlmnSlices { plmn, slices }],
    }]
}

fn location(plmn: Plmn) -> Location {
    let tac = Tac([0, 0, 1]);
    Location {
        plmn,
        cell: NrCellIdentity([0, 0, 0, 1, 0x10]),
        tai: Tai { plmn, tac },
    }
}

/// What a gNB says when nobody has asked.
fn notices(gnb: Gnb, tai: Tai) -> Vec<FromRan> {
    let notified = Notified {
        released: vec![2],
        unfulfilled: vec![3],
        fulfilled: Vec::new(),
    };
    let tunnel = |teid| Tunnel {
        ipv4: Some([192, 0, 2, 1].into()),
        ipv6: None,
        teid,
    };
    let indication = ModifyIndication {
        first: (tunnel(7), vec![1]),
        others: vec![(tunnel(8), vec![2])],
        security: Some(SecurityResult {
            integrity: false,
            confidentiality: true,
        }),
    };
    vec![
        FromRan::PduSessionNotify(PduSessionNotify {
            ids: IDS,
            sessions: vec![(5, notified.encode())],
            released: vec![(6, notify::notify_released(Cause::RADIO_LOST))],
        }),
        FromRan::PduSessionModifyIndication(PduSessionModifyIndication {
            ids: IDS,
            sessions: vec![(5, indication.encode())],
        }),
        FromRan::ConfigurationTransfer(UplinkConfigurationTransfer {
            transfer: xn_addresses_wanted((&gnb, &tai), (&gnb, &tai)),
        }),
        FromRan::ErrorIndication(ErrorIndication {
            amf: Some(IDS.0),
            ran: None,
            cause: Some(Cause::USER_INACTIVITY),
        }),
    ]
}

fn from_ran(guti: Guti) -> Vec<FromRan> {
    let plmn = guti.guami.plmn;
    let (ids, cause, location) = (IDS, Cause::USER_INACTIVITY, location(plmn));
    let response = SetupResponse {
        downlink: Tunnel {
            ipv4: Some([192, 0, 2, 1].into()),
            ipv6: None,
            teid: 7,
        },
        qfis: vec![1],
        failed: Vec::new(),
        security: Some(SecurityResult {
            integrity: true,
            confidentiality: false,
        }),
    };
    let gnb = Gnb {
        plmn,
        id: 1,
        bits: 24,
    };
    let mut all = vec![
        FromRan::NgSetupRequest(NgSetupRequest {
            gnb,
            name: Some("gnb-1".to_owned()),
            areas: areas(plmn),
            retains_ues: true,
        }),
        FromRan::InitialUeMessage(InitialUeMessage {
            ran: ids.1,
            nas: vec![0x7e, 0, 0x41, 0x79, 0, 1, 1],
            location,
            establishment_cause: 3,
            s_tmsi: Some(guti.s_tmsi()),
            context_requested: true,
        }),
        FromRan::UplinkNasTransport(UplinkNasTransport {
            ids,
            nas: vec![0x7e, 0, 0x43],
            location: Some(location),
        }),
        FromRan::PduSessionSetupResponse(PduSessionSetupResponse {
            ids,
            sessions: SessionResults {
                done: vec![(5, response.encode())],
                failed: vec![(6, session::setup_failure(cause))],
            },
        }),
        FromRan::UeContextReleaseRequest(UeContextReleaseRequest { ids, cause }),
        FromRan::UeRadioCapability(UeRadioCapability {
            ids,
            capability: vec![1; 40],
            for_paging: Some(PagingCapability {
                nr: Some(vec![2; 8]),
                eutra: None,
            }),
        }),
        FromRan::RanConfigurationUpdate(RanConfigurationUpdate {
            name: None,
            areas: Some(areas(plmn)),
        }),
        FromRan::NgReset(NgReset {
            cause,
            connections: Some(vec![Connection {
                amf: Some(ids.0),
                ran: Some(ids.1),
            }]),
        }),
    ];
    all.extend(notices(gnb, location.tai));
    all
}

fn from_amf(guti: Guti) -> Vec<FromAmf> {
    let plmn = guti.guami.plmn;
    let plmns = areas(plmn).remove(0).plmns;
    vec![
        FromAmf::NgSetupResponse(NgSetupResponse {
            name: "amf".to_owned(),
            guamis: vec![guti.guami],
            capacity: 255,
            plmns,
            retains_ues: true,
        }),
        FromAmf::DownlinkNasTransport(DownlinkNasTransport {
            ids: IDS,
            nas: vec![0x7e, 0, 0x5b, 1],
        }),
        FromAmf::UeContextReleaseCommand(UeContextReleaseCommand {
            ue: (IDS.0, Some(IDS.1)),
            cause: Cause::NORMAL_RELEASE,
        }),
        FromAmf::Paging(Box::new(Paging {
            s_tmsi: guti.s_tmsi(),
            drx: Some(2),
            areas: vec![Tai {
                plmn,
                tac: Tac([0, 0, 1]),
            }],
            capability: None,
            attempt: (1, 3),
        })),
        FromAmf::OverloadStart(sluice_n2::Overload::default()),
    ]
}

/// Samples of NAS.
pub(super) fn nas() -> Vec<Entry> {
    let known = guti().zip(SecurityCapability::from_octets(&[0xf0, 0x70]));
    let Some((guti, capability)) = known else {
        return Vec::new();
    };
    let uplink = uplink(guti, capability);
    let uplink = uplink.iter().map(|one| (one.name(), one.encode()));
    let downlink = downlink(guti);
    let downlink = downlink.iter().map(|one| (one.name(), one.encode()));
    let of = Transaction {
        session: 5,
        procedure: 1,
    };
    let sessions = [
        SessionUplink::ModificationRequest(Box::default()),
        SessionUplink::ReleaseRequest(Some(SessionCause::REGULAR_DEACTIVATION)),
    ];
    let sessions = sessions.map(|one| (one.name(), one.encode(of)));
    let reject = SessionDownlink::EstablishmentReject {
        cause: SessionCause::UNKNOWN_DNN,
        allows_ssc_mode_1: false,
        back_off_s: None,
    };
    let all = uplink.chain(downlink).chain(sessions);
    let all = all.chain([(reject.name(), reject.encode(of))]);
    let mut entries: Vec<Entry> = all.map(entry).collect();
    // In a security header of its own, unciphered.
    let service = [&[0x7e, 1, 1, 2, 3, 4, 0][..], &[0x7e, 0, 0x4d, 1]].concat();
    entries.push(Entry::new("protected", service));
    entries
}

fn uplink(guti: Guti, capability: SecurityCapability) -> Vec<Uplink> {
    let suci = Suci::new(guti.guami.plmn, 0, 0, &[0, 0, 0, 0, 0x10]);
    let identity = suci.map_or(MobileIdentity::None, MobileIdentity::Suci);
    let of = Transaction {
        session: 5,
        procedure: 1,
    };
    let wanted = SessionUplink::EstablishmentRequest(EstablishmentRequest {
        integrity: IntegrityRates::default(),
        session_type: Some(SessionType::Ipv4v6),
        ssc_mode: Some(1),
        always_on: false,
        options: Some(sluice_n1::options::ask()),
    });
    vec![
        Uplink::RegistrationRequest(Box::new(RegistrationRequest::initial(identity, capability))),
        Uplink::DeregistrationRequest(DeregistrationRequest {
            switch_off: true,
            ngksi: 1,
            identity: MobileIdentity::Guti(guti),
        }),
        Uplink::ServiceRequest(ServiceRequest {
            ngksi: 1,
            kind: 1,
            identity: MobileIdentity::STmsi(guti.s_tmsi()),
            session_status: Some(0x20),
            uplink_data: Some(0x20),
            container: Some(vec![1, 2, 3]),
        }),
        Uplink::AuthenticationFailure {
            cause: NasCause::SYNCH_FAILURE,
            auts: Some([7; 14]),
        },
        Uplink::UlNasTransport(Box::new(UplinkPayload {
            kind: 1,
            session: Some(5),
            payload: wanted.encode(of),
            ..UplinkPayload::default()
        })),
    ]
}

fn downlink(guti: Guti) -> Vec<Downlink> {
    vec![
        Downlink::RegistrationAccept(Box::new(RegistrationAccept {
            guti: Some(guti),
            allowed_nssai: vec![Snssai::new(1, None)],
            t3512_s: Some(3_000),
            ..RegistrationAccept::default()
        })),
        Downlink::IdentityRequest(IdentityKind::Suci),
        Downlink::Status(NasCause::MESSAGE_TYPE),
    ]
}
