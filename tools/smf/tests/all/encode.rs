//! The pure encoders: any plan in any dialect, any room.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::common;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::common::net::Net;
use crate::common::{SMF, flow, gnb, plan, tunnel};
use proptest::prelude::*;
use sluice_smf_emulator::encode::{encode_deletion, encode_establishment, encode_modification};
use sluice_smf_emulator::{
    Change, CpNode, Dialect, SessionChange, SessionPlan, SessionView, UeAddresses, UplinkTeid,
};
use sluice_wire::ids::{Qfi, Seid};
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::{BitRate, Gate, GateStatus};
use sluice_wire::pfcp::{Full, Header, MessageType, SequenceNumber};

fn rates() -> impl Strategy<Value = Option<BitRate>> {
    let rate = (0..=BitRate::MAX_KBPS, 0..=BitRate::MAX_KBPS);
    let rate = rate.prop_map(|(uplink_kbps, downlink_kbps)| BitRate {
        uplink_kbps,
        downlink_kbps,
    });
    proptest::option::of(rate)
}

fn gates() -> impl Strategy<Value = GateStatus> {
    let gate = || prop_oneof![Just(Gate::Open), Just(Gate::Closed)];
    (gate(), gate()).prop_map(|(uplink, downlink)| GateStatus { uplink, downlink })
}

fn dialects() -> impl Strategy<Value = Dialect> {
    proptest::sample::select(Dialect::ALL.to_vec())
}

prop_compose! {
    fn plans()(
        dialect in dialects(),
        (ue, prefix, family) in any::<(u32, u128, u8)>(),
        qfi in 0..=Qfi::MAX,
        (ambr, flow_mbr) in (rates(), rates()),
        gates in gates(),
        (measured, has_imsi, has_gnb, has_flow) in any::<(bool, bool, bool, bool)>(),
        teid in proptest::option::of(1..=u32::MAX),
    ) -> (Dialect, SessionPlan) {
        let mut plan = plan(dialect, 2);
        let ipv4 = Ipv4Addr::from_bits(ue);
        let ipv6 = Ipv6Addr::from_bits(prefix);
        plan.ue = match family % 3 {
            0 => UeAddresses::V4(ipv4),
            1 => UeAddresses::V6(ipv6),
            _ => UeAddresses::V4V6(ipv4, ipv6),
        };
        plan.flow = has_flow.then(flow);
        plan.qfi = Qfi::new(qfi).unwrap();
        (plan.ambr, plan.flow_mbr, plan.gates, plan.measured) = (ambr, flow_mbr, gates, measured);
        plan.imsi = plan.imsi.filter(|_| has_imsi);
        plan.gnb = has_gnb.then(|| gnb(1));
        plan.uplink = teid.map_or(UplinkTeid::ChosenByUp, |teid| {
            UplinkTeid::ChosenByCp(tunnel(teid, SMF))
        });
        (dialect, plan)
    }
}

fn steps() -> impl Strategy<Value = SessionChange> {
    prop_oneof![
        any::<bool>().prop_map(|end_marker| SessionChange::Connect {
            gnb: gnb(1),
            end_marker
        }),
        Just(SessionChange::SwitchPath { gnb: gnb(2) }),
        Just(SessionChange::Buffer),
        Just(SessionChange::Drop),
        Just(SessionChange::RemoveRules),
        Just(SessionChange::MakeUplink),
        Just(SessionChange::AddFlow),
        Just(SessionChange::Query),
    ]
}

/// The message, by two readers; the buffer is one octet too small before it is large enough.
fn written(encode: impl Fn(&mut [u8]) -> Result<usize, Full>) -> Vec<u8> {
    let mut room = vec![0; 2048];
    let length = encode(&mut room).unwrap();
    assert_eq!(encode(&mut vec![0; length - 1]), Err(Full));
    room.truncate(length);
    common::outline::outline(&room);
    room
}

proptest! {
    #[test]
    fn any_establishment_is_read_as_planned(
        (dialect, plan) in plans(),
        seid in 1..u64::MAX,
        sequence in 0..=SequenceNumber::MAX,
    ) {
        let sequence = SequenceNumber::new(sequence).unwrap();
        let cp = CpNode::new(SMF);
        let bytes = written(|room| {
            encode_establishment(room, dialect, &cp, &plan, Seid(seid), sequence)
        });
        let (header, body) = Header::parse(&bytes).unwrap();
        prop_assert_eq!(header.sequence, sequence);
        prop_assert_eq!(header.seid, Some(Seid(0)));
        let request = SessionEstablishmentRequest::parse(body).unwrap();
        prop_assert_eq!(request.cp_f_seid.seid, Seid(seid));
        let mut ues = request.create_pdr.iter().flat_map(|pdr| &pdr.pdi.ue_ip_address);
        let prefix = |ipv6: Ipv6Addr| ipv6.to_bits() >> 64;
        let planned = (plan.ue.ipv4(), plan.ue.ipv6().map(prefix));
        let as_planned = ues.all(|ue| (ue.ipv4, ue.ipv6.map(prefix)) == planned);
        prop_assert!(as_planned);
        prop_assert!(request.create_qer.iter().all(|qer| qer.gate_status == plan.gates));
        let flows = request.create_qer.iter().filter_map(|qer| qer.qos_flow_identifier);
        prop_assert!(flows.into_iter().any(|qfi| qfi == plan.qfi));
        prop_assert_eq!(request.create_urr.is_empty(),
            !plan.measured || dialect == Dialect::SdCore);
    }

    #[test]
    fn any_modification_and_deletion_can_be_read(
        (dialect, plan) in plans(),
        step in steps(),
        generation in 0..1000u32,
        connected in any::<bool>(),
    ) {
        let session = SessionView {
            plan: &plan,
            cp_seid: Seid(3),
            up_seid: Seid(4),
            gnb: connected.then(|| gnb(1)),
            generation,
        };
        let (cp, sequence) = (CpNode::new(SMF), SequenceNumber::wrapping(5));
        let bytes = written(|room| {
            encode_modification(room, dialect, &cp, &session, step, sequence)
        });
        let (header, body) = Header::parse(&bytes).unwrap();
        prop_assert_eq!(header.seid, Some(Seid(4)));
        SessionModificationRequest::parse(body).unwrap();
        let bytes = written(|room| encode_deletion(room, dialect, &cp, &session, sequence));
        let (header, _) = Header::parse(&bytes).unwrap();
        prop_assert_eq!(header.message_type, MessageType::SESSION_DELETION_REQUEST);
    }
}

#[test]
fn the_encoders_write_what_the_machine_sends() {
    for dialect in Dialect::ALL {
        let (mut net, session) = Net::with_session(dialect);
        net.change(session.cp_seid, Change::Connect(gnb(1)))
            .unwrap();
        net.delete(session.cp_seid).unwrap();
        let sent = |message_type: MessageType| net.sent_by_smf(message_type.0)[0].to_vec();
        let sequence = |bytes: &[u8]| Header::parse(bytes).unwrap().0.sequence;
        let (cp, plan, mut room) = (CpNode::new(SMF), plan(dialect, 2), [0; 1024]);

        let expected = sent(MessageType::SESSION_ESTABLISHMENT_REQUEST);
        let number = sequence(&expected);
        let length =
            encode_establishment(&mut room, dialect, &cp, &plan, session.cp_seid, number).unwrap();
        assert_eq!(room[..length], expected, "{dialect}");

        let (cp_seid, up_seid) = (session.cp_seid, session.up_seid);
        let view = SessionView {
            plan: &plan,
            cp_seid,
            up_seid,
            gnb: None,
            generation: 0,
        };
        let expected = sent(MessageType::SESSION_MODIFICATION_REQUEST);
        let step = SessionChange::Connect {
            gnb: gnb(1),
            end_marker: false,
        };
        let number = sequence(&expected);
        let length = encode_modification(&mut room, dialect, &cp, &view, step, number).unwrap();
        assert_eq!(room[..length], expected, "{dialect}");

        let expected = sent(MessageType::SESSION_DELETION_REQUEST);
        let length = encode_deletion(&mut room, dialect, &cp, &view, sequence(&expected)).unwrap();
        assert_eq!(room[..length], expected, "{dialect}");
    }
}
