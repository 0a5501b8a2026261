//! Messages of handovers: written and read by both ends, and octets that are none.

use proptest::prelude::*;
use sluice_ids::{AmfId, Guami, NrCellIdentity, Plmn, Snssai, Tac, Tai, UpProtection, UpSecurity};
use sluice_n2::mobility as transfer;
use sluice_n2::{
    Admitted, AmfUeId, Cause, DownlinkStatus, FromAmf, FromRan, Gnb, HandoverCancel,
    HandoverCancelAcknowledge, HandoverCommand, HandoverFailure, HandoverFromAmf, HandoverFromRan,
    HandoverNotify, HandoverPreparationFailure, HandoverRequest, HandoverRequestAcknowledge,
    HandoverRequired, Location, PathSwitch, PathSwitchAcknowledge, PathSwitchRequest,
    PathSwitchRequestAcknowledge, PathSwitchRequestFailure, ProtectedRate, RanStatus, RanUeId,
    SecurityIndication, SecurityResult, SessionSetup, Tunnel, UpSecurityInformation, UplinkStatus,
};
use sluice_security::{Kgnb, NextHop, SecurityCapability};

const IDS: (AmfUeId, RanUeId) = (AmfUeId(0xff_0000_0001), RanUeId(7));

fn plmn() -> Plmn {
    Plmn::new("208", "93").expect("digits")
}

fn tai() -> Tai {
    Tai {
        plmn: plmn(),
        tac: Tac([0, 0, 1]),
    }
}

fn location() -> Location {
    Location {
        plmn: plmn(),
        cell: NrCellIdentity([0, 0, 0x12, 0x34, 0x50]),
        tai: tai(),
    }
}

fn tunnel(teid: u32) -> Tunnel {
    Tunnel {
        ipv4: Some([192, 0, 2, 1].into()),
        ipv6: None,
        teid,
    }
}

fn next_hop() -> NextHop {
    NextHop {
        key: Kgnb::new([9; 32]),
        ncc: 7,
    }
}

fn performed() -> SecurityResult {
    SecurityResult {
        integrity: true,
        confidentiality: false,
    }
}

fn security() -> SecurityIndication {
    SecurityIndication {
        policy: UpSecurity {
            integrity: UpProtection::Required,
            confidentiality: UpProtection::NotNeeded,
        },
        rates: Some((ProtectedRate::MaximumUeRate, ProtectedRate::MaximumUeRate)),
    }
}

pub fn from_ran() -> Vec<HandoverFromRan> {
    let (ids, cause) = (IDS, Cause::DESIRABLE_FOR_RADIO);
    let switch = PathSwitch {
        downlink: tunnel(1),
        qfis: vec![1, 2],
        security: Some(UpSecurityInformation {
            result: performed(),
            indication: security(),
        }),
    };
    let path_switch = |failed: bool| PathSwitchRequest {
        ran: IDS.1,
        source: IDS.0,
        location: Some(location()),
        capability: [0x70, 0x60, 0, 0x40],
        switched: vec![(5, switch.encode())],
        failed: match failed {
            true => vec![(6, transfer::path_switch_failed(cause))],
            false => Vec::new(),
        },
    };
    let gnb = Gnb {
        plmn: plmn(),
        id: 0x12_3456,
        bits: 24,
    };
    let required = |is_direct| HandoverRequired {
        ids,
        cause,
        is_within_5gs: true,
        target: Some((gnb, tai())),
        is_direct,
        sessions: vec![(5, transfer::handover_required(is_direct))],
        container: transfer::source_container(&location(), &location(), 4000),
    };
    let admitted = Admitted {
        downlink: tunnel(2),
        forwarding: Some(tunnel(3)),
        qfis: vec![1],
        security: Some(performed()),
    };
    let acknowledge = HandoverRequestAcknowledge {
        ids,
        admitted: vec![(5, admitted.encode())],
        failed: vec![(6, transfer::not_admitted(cause))],
        container: transfer::target_container(),
    };
    vec![
        HandoverFromRan::PathSwitchRequest(Box::new(path_switch(false))),
        HandoverFromRan::PathSwitchRequest(Box::new(path_switch(true))),
        HandoverFromRan::Required(Box::new(required(true))),
        HandoverFromRan::Required(Box::new(required(false))),
        HandoverFromRan::RequestAcknowledge(Box::new(acknowledge)),
        HandoverFromRan::Failure(HandoverFailure { amf: IDS.0, cause }),
        HandoverFromRan::Notify(HandoverNotify {
            ids,
            location: Some(location()),
        }),
        HandoverFromRan::Cancel(HandoverCancel { ids, cause }),
        HandoverFromRan::UplinkStatus(UplinkStatus {
            ids,
            status: RanStatus::new(1, 2, 3),
        }),
    ]
}

pub fn from_amf() -> Vec<HandoverFromAmf> {
    let (ids, cause) = (IDS, Cause::HANDOVER_FAILED);
    let capability = SecurityCapability::from_octets(&[0x70, 0x70, 0, 0]);
    let acknowledged = PathSwitchAcknowledge {
        uplink: None,
        security: Some(security()),
    };
    let switched = |capability| PathSwitchRequestAcknowledge {
        ids,
        capability,
        next_hop: next_hop(),
        is_new_context: capability.is_some(),
        switched: vec![(5, acknowledged.encode())],
        released: vec![(6, transfer::path_switch_unsuccessful(cause))],
        allowed_nssai: vec![Snssai::new(1, None)],
    };
    let request = |is_new_context| HandoverRequest {
        amf: IDS.0,
        cause,
        ambr_bps: (1_000_000_000, 500_000_000),
        capability: capability.expect("two"),
        next_hop: next_hop(),
        is_new_context,
        sessions: vec![SessionSetup {
            session: 5,
            nas: None,
            slice: Snssai::new(1, None),
            transfer: vec![1, 2, 3],
        }],
        allowed_nssai: vec![Snssai::new(1, None)],
        masked_imeisv: Some([0x12; 8]),
        container: transfer::source_container(&location(), &location(), 1),
        guami: Guami {
            plmn: plmn(),
            amf: AmfId::new(2, 5, 1).expect("small"),
        },
    };
    let command = HandoverCommand {
        ids,
        sessions: vec![(5, transfer::handover_command(Some(tunnel(4)), &[1]))],
        released: vec![(6, transfer::not_prepared(cause))],
        container: transfer::target_container(),
    };
    vec![
        HandoverFromAmf::PathSwitchRequestAcknowledge(Box::new(switched(None))),
        HandoverFromAmf::PathSwitchRequestAcknowledge(Box::new(switched(capability))),
        HandoverFromAmf::PathSwitchRequestFailure(PathSwitchRequestFailure {
            ids,
            released: vec![(5, transfer::path_switch_unsuccessful(cause))],
        }),
        HandoverFromAmf::Request(Box::new(request(false))),
        HandoverFromAmf::Request(Box::new(request(true))),
        HandoverFromAmf::Command(Box::new(command)),
        HandoverFromAmf::PreparationFailure(HandoverPreparationFailure { ids, cause }),
        HandoverFromAmf::CancelAcknowledge(HandoverCancelAcknowledge { ids }),
        HandoverFromAmf::DownlinkStatus(DownlinkStatus {
            ids,
            status: RanStatus::new(32, u32::MAX, 0),
        }),
    ]
}

#[test]
fn messages_of_handovers_are_read_as_they_were_written() {
    for message in from_ran().into_iter().map(FromRan::Handover) {
        assert_eq!(FromRan::decode(&message.encode()), Ok(message));
    }
    for message in from_amf().into_iter().map(FromAmf::Handover) {
        assert_eq!(FromAmf::decode(&message.encode()), Ok(message));
    }
}

#[test]
fn a_target_is_told_where_the_phone_was() {
    let container = transfer::source_container(&location(), &location(), 77);
    let read = transfer::read_source_container(&container);
    assert_eq!(read, Some((location().cell, 77)));
    assert_eq!(transfer::read_source_container(&[0xff; 4]), None);
}

proptest! {
    #[test]
    fn spoiled_messages_of_handovers_do_no_harm(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..8),
    ) {
        let from_ran = from_ran().into_iter().map(|one| FromRan::Handover(one).encode());
        let from_amf = from_amf().into_iter().map(|one| FromAmf::Handover(one).encode());
        let messages: Vec<Vec<u8>> = from_ran.chain(from_amf).collect();
        let mut octets = which.get(&messages).clone();
        for (at, value) in changes {
            let at = at % octets.len();
            octets[at] = value;
        }
        // What is read can be said again.
        if let Ok(FromRan::Handover(HandoverFromRan::UplinkStatus(UplinkStatus { ids, status }))) =
            FromRan::decode(&octets)
        {
            let passed = HandoverFromAmf::DownlinkStatus(DownlinkStatus { ids, status });
            let passed = FromAmf::Handover(passed);
            prop_assert_eq!(FromAmf::decode(&passed.encode()), Ok(passed));
        }
        let _ = FromAmf::decode(&octets);
    }
}
