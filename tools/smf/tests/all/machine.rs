//! The SMF without socket, against a UPF that keeps books.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::common;
use crate::common::net::{Net, Sent};
use crate::common::{N3, flow, gnb, plan, tunnel};
use sluice_n4::FailReason;
use sluice_smf_emulator::{Change, Dialect, Done, Report, SmfError, UplinkTeid};
use sluice_wire::ids::{PdrId, Seid, UrrId};
use sluice_wire::pfcp::message::SessionModificationRequest;
use sluice_wire::pfcp::value::{ApplyAction, ReportType};
use sluice_wire::pfcp::{Cause, Header, IeType, MessageType, Reject};

const FORW: u16 = ApplyAction::FORW.flags();
const DROP: u16 = ApplyAction::DROP.flags();
const BUFFER: u16 = ApplyAction::BUFF.union(ApplyAction::NOCP).flags();

/// Actions and peers of all FARs.
fn fars(net: &Net) -> Vec<(u16, Option<u32>)> {
    let fars = net.upf.session().fars.values();
    fars.map(|far| (far.action, far.peer.map(|teid| teid.get())))
        .collect()
}

#[test]
fn every_dialect_does_every_procedure_and_its_rules_always_fit_together() {
    for dialect in Dialect::ALL {
        let (mut net, session) = Net::with_session(dialect);
        let seid = session.cp_seid;
        let did = |net: &mut Net, change| {
            net.change(seid, change)
                .unwrap_or_else(|error| panic!("{dialect} {change:?}: {error}"))
        };
        did(&mut net, Change::Connect(gnb(1)));
        did(&mut net, Change::SwitchPath(gnb(2)));
        did(&mut net, Change::Idle);
        did(&mut net, Change::Activate(gnb(3)));
        did(&mut net, Change::DropDownlink);
        did(&mut net, Change::Activate(gnb(4)));
        if !dialect.profile().urr.is_empty() {
            did(&mut net, Change::Query);
        }
        net.delete(seid).unwrap();
        assert!(net.upf.sessions.is_empty(), "{dialect}");
        let released = net.run(|smf, now, out| smf.release(now, out));
        assert!(matches!(released, Ok(Done::Released)), "{dialect}");
        assert!(net.upf.associations.is_empty(), "{dialect}");
    }
}

#[test]
fn the_uplink_f_teid_is_the_one_that_the_chooser_chose() {
    for dialect in Dialect::ALL {
        let (net, session) = Net::with_session(dialect);
        let expected = match plan(dialect, 2).uplink {
            UplinkTeid::ChosenByCp(tunnel) => tunnel,
            UplinkTeid::ChosenByUp | UplinkTeid::ChosenByUpAtIpv6 => {
                let uplink = if dialect == Dialect::Open5gs {
                    PdrId(2)
                } else {
                    PdrId(1)
                };
                let pdr = &net.upf.session().pdrs[&uplink];
                tunnel(pdr.teid.unwrap().get(), N3)
            }
        };
        assert_eq!(session.uplink, expected, "{dialect}");
        assert_eq!(
            net.upf.sessions.keys().collect::<Vec<_>>(),
            [&session.up_seid]
        );
    }
}

#[test]
fn open5gs_shares_a_teid_between_uplink_and_solicitations_and_has_one_for_advertisements() {
    let (net, _) = Net::with_session(Dialect::Open5gs);
    let teid = |id| net.upf.session().pdrs[&PdrId(id)].teid;
    assert_eq!(teid(2), teid(4));
    assert_ne!(teid(2), teid(3));
    assert_eq!(teid(1), None);
}

#[test]
fn the_downlink_begins_as_the_dialect_has_it_and_ends_at_the_gnb() {
    let before = [
        (Dialect::Ts, vec![(FORW, None), (DROP, None)]),
        (
            Dialect::Open5gs,
            vec![(BUFFER, None), (FORW, None), (FORW, Some(1))],
        ),
        (Dialect::Free5gc, vec![(FORW, None), (FORW, None)]),
        (Dialect::Oai, vec![(FORW, None)]),
        (Dialect::SdCore, vec![(FORW, None), (DROP, None)]),
        (Dialect::Marking, vec![(FORW, None), (DROP, None)]),
    ];
    for (dialect, before) in before {
        let (mut net, session) = Net::with_session(dialect);
        assert_eq!(fars(&net), before, "{dialect}");
        net.change(session.cp_seid, Change::Connect(gnb(1)))
            .unwrap();
        let peer = Some(gnb(1).teid.get());
        // SD-Core's parameters are in an IE that an Update FAR does not have.
        let expected = if dialect == Dialect::SdCore {
            (FORW, None)
        } else {
            (FORW, peer)
        };
        assert!(
            fars(&net).contains(&expected),
            "{dialect}: {:?}",
            fars(&net)
        );
    }
}

#[test]
fn a_path_switch_asks_for_end_markers_except_by_oai() {
    for (dialect, asked) in [
        (Dialect::Ts, 1),
        (Dialect::Open5gs, 1),
        (Dialect::Free5gc, 1),
        (Dialect::Oai, 0),
        (Dialect::Marking, 1),
    ] {
        let (mut net, session) = Net::with_session(dialect);
        net.change(session.cp_seid, Change::Connect(gnb(1)))
            .unwrap();
        net.change(session.cp_seid, Change::SwitchPath(gnb(2)))
            .unwrap();
        assert_eq!(net.upf.session().end_markers, asked, "{dialect}");
        let peers: Vec<_> = fars(&net).iter().filter_map(|far| far.1).collect();
        assert!(peers.contains(&gnb(2).teid.get()), "{dialect}: {peers:x?}");
    }
}

#[test]
fn oai_removes_rules_when_idle_and_gets_another_teid_afterwards() {
    let (mut net, session) = Net::with_session(Dialect::Oai);
    net.change(session.cp_seid, Change::Connect(gnb(1)))
        .unwrap();
    net.change(session.cp_seid, Change::Idle).unwrap();
    assert!(net.upf.session().pdrs.is_empty() && net.upf.session().fars.is_empty());
    let changed = net
        .change(session.cp_seid, Change::Activate(gnb(2)))
        .unwrap();
    let pdrs: Vec<_> = net.upf.session().pdrs.keys().copied().collect();
    assert_eq!(pdrs, [PdrId(3), PdrId(4)]);
    let teid = net.upf.session().pdrs[&PdrId(3)].teid;
    assert_eq!(changed.uplink, teid.map(|teid| tunnel(teid.get(), N3)));
    assert_ne!(changed.uplink, Some(session.uplink));
}

#[test]
fn usage_comes_with_queries_and_with_the_deletion() {
    let (mut net, session) = Net::with_session(Dialect::Free5gc);
    let queried = net.change(session.cp_seid, Change::Query).unwrap().usage;
    assert_eq!(queried.urrs.len(), 2);
    assert_eq!(queried.traffic(UrrId(2)).uplink_octets, 2000);
    let last = net.delete(session.cp_seid).unwrap();
    let traffic = last.traffic(UrrId(1));
    assert_eq!(
        (traffic.uplink_octets, traffic.downlink_octets),
        (1000, 2000)
    );
    assert_eq!((traffic.uplink_packets, traffic.downlink_packets), (10, 20));
    assert_eq!((traffic.total_octets, traffic.total_packets), (3000, 30));
}

#[test]
fn rules_for_the_whole_upf_have_other_numbers_in_each_session() {
    let (mut net, _) = Net::with_session(Dialect::SdCore);
    net.establish(Dialect::SdCore, 3).unwrap();
    let mut pdrs: Vec<_> = net
        .upf
        .sessions
        .values()
        .flat_map(|s| s.pdrs.keys())
        .collect();
    pdrs.sort();
    assert_eq!(pdrs, [&PdrId(1), &PdrId(2), &PdrId(3), &PdrId(4)]);
}

#[test]
fn a_rejection_names_cause_and_offending_ie_and_leaves_no_session() {
    let mut net = Net::associated(Dialect::Ts);
    net.upf.refuse_next = Some(Reject::mandatory_missing(IeType::PDR_ID));
    let error = net.establish(Dialect::Ts, 2).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("Session Establishment Request: Mandatory IE missing (66)"),
        "{text}"
    );
    assert!(text.contains("PDR ID (56)"), "{text}");
    assert_eq!(net.smf.session_count(), 0);
}

#[test]
fn a_session_stays_usable_after_a_rejected_change() {
    let (mut net, session) = Net::with_session(Dialect::Ts);
    net.upf.refuse_next = Some(Reject::incorrect(IeType::FAR_ID));
    let refused = net
        .change(session.cp_seid, Change::Connect(gnb(1)))
        .unwrap_err();
    assert_eq!(refused.cause(), Some(Cause::MANDATORY_IE_INCORRECT));
    net.change(session.cp_seid, Change::Connect(gnb(1)))
        .unwrap();
    net.delete(session.cp_seid).unwrap();
}

#[test]
fn an_acceptance_without_f_teid_or_with_another_seid_is_an_error() {
    let mut net = Net::associated(Dialect::Ts);
    net.upf.hides_f_teids = true;
    let error = net.establish(Dialect::Ts, 2).unwrap_err();
    assert!(matches!(error, SmfError::NoFTeid(_)), "{error}");
    net.upf.hides_f_teids = false;
    net.upf.wrong_seid = Some(Seid(77));
    let error = net.establish(Dialect::Ts, 3).unwrap_err();
    assert!(
        matches!(
            error,
            SmfError::WrongSeid {
                answered: Some(Seid(77)),
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn lost_requests_and_responses_are_sent_again_octet_for_octet() {
    let (mut net, session) = Net::with_session(Dialect::Free5gc);
    net.lose = 1;
    net.change(session.cp_seid, Change::Connect(gnb(1)))
        .unwrap();
    let sent = net.sent_by_smf(MessageType::SESSION_MODIFICATION_REQUEST.0);
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0], sent[1], "with the priority of the first");
    assert_eq!((sent[0][0], sent[0][15]), (0x23, 12 << 4));
}

#[test]
fn a_silent_upf_is_given_up() {
    let (mut net, session) = Net::with_session(Dialect::Ts);
    net.lose = 100;
    let error = net
        .change(session.cp_seid, Change::Connect(gnb(1)))
        .unwrap_err();
    let timed_out = matches!(
        &error,
        SmfError::NoAnswer {
            reason: FailReason::TimedOut,
            ..
        }
    );
    assert!(timed_out, "{error}");
    net.lose = 0;
    net.change(session.cp_seid, Change::Connect(gnb(1)))
        .unwrap();
}

#[test]
fn an_association_with_nobody_fails_and_can_be_tried_again() {
    let mut net = Net::new(Dialect::Ts);
    net.lose = 100;
    let failed = net
        .run(|smf, now, out| smf.associate(now, out))
        .unwrap_err();
    assert!(matches!(failed, SmfError::NoAnswer { .. }), "{failed}");
    net.lose = 0;
    let done = net.run(|smf, now, out| smf.associate(now, out)).unwrap();
    let Done::Associated(peer) = done else {
        panic!("{done:?}")
    };
    assert!(peer.features.up.is_some());
    let again = net.run(|smf, now, out| smf.associate(now, out)).unwrap();
    assert_eq!(again, Done::Associated(peer));
}

#[test]
fn nothing_is_asked_without_association_or_session_or_urr() {
    let mut net = Net::new(Dialect::Ts);
    let error = net.establish(Dialect::Ts, 2).unwrap_err();
    assert!(matches!(error, SmfError::NotAssociated), "{error}");
    let error = net.delete(Seid(9)).unwrap_err();
    assert!(matches!(error, SmfError::NoSuchSession(Seid(9))), "{error}");
    let (mut net, session) = Net::with_session(Dialect::SdCore);
    let error = net.change(session.cp_seid, Change::Query).unwrap_err();
    assert!(matches!(error, SmfError::NotMeasured(_)), "{error}");
}

#[test]
fn a_session_has_one_request_on_its_way() {
    let (mut net, session) = Net::with_session(Dialect::Ts);
    let mut sent = Sent::default();
    let now = net.now;
    net.smf
        .change(now, session.cp_seid, Change::Connect(gnb(1)), &mut sent);
    let second = net.smf.delete(now, session.cp_seid, &mut sent);
    let (ticket, outcome) = net.smf.next_outcome().unwrap();
    assert_eq!(ticket, second);
    assert!(matches!(outcome, Err(SmfError::Busy(_))), "{outcome:?}");
    assert_eq!(sent.0.len(), 1);
    let third = net.smf.delete(now, session.cp_seid, &mut sent);
    let (ticket, outcome) = net.smf.next_outcome().unwrap();
    assert_eq!(ticket, third, "the refused one did not free the session");
    assert!(matches!(outcome, Err(SmfError::Busy(_))), "{outcome:?}");
}

#[test]
fn reports_are_recorded_and_answered() {
    for dialect in [Dialect::Ts, Dialect::SdCore] {
        let (mut net, session) = Net::with_session(dialect);
        let old = gnb(1).f_teid();
        net.upf_does(|upf, now, out| upf.report(now, session.cp_seid, old, out));
        net.upf_does(|upf, now, out| upf.report(now, Seid(99), old, out));
        let (reports, lost) = net.smf.take_reports();
        assert_eq!(lost, 0);
        let [Report::Session(known), Report::Session(unknown)] = reports.as_slice() else {
            panic!("{reports:?}");
        };
        assert_eq!((known.cp_seid, known.is_known), (session.cp_seid, true));
        assert_eq!(known.report_type, ReportType::USAR | ReportType::ERIR);
        assert_eq!(known.error_indications, [gnb(1)]);
        assert_eq!(known.usage.traffic(UrrId(1)).downlink_octets, 2000);
        assert_eq!((unknown.cp_seid, unknown.is_known), (Seid(99), false));
        let causes: Vec<_> = net.upf.answers.iter().map(|(_, body)| body[4]).collect();
        assert_eq!(causes, [1, 65], "{dialect}");
        let with_flags = net.upf.answers[0].1.len() > 5;
        assert_eq!(with_flags, dialect == Dialect::SdCore);
    }
}

#[test]
fn sessions_end_with_a_upf_that_was_restarted() {
    let (mut net, session) = Net::with_session(Dialect::Ts);
    net.upf = common::upf::FakeUpf::new(common::UPF, 0xe000_0100);
    for _ in 0..4 {
        net.pass_time();
    }
    assert_eq!(net.smf.session_count(), 0);
    assert!(net.smf.peer().is_some(), "associated again");
    let error = net.delete(session.cp_seid).unwrap_err();
    assert!(matches!(error, SmfError::NoSuchSession(_)), "{error}");
    net.establish(Dialect::Ts, 3).unwrap();
}

#[test]
fn a_dedicated_flow_is_added_and_follows_the_gnb() {
    let mut net = Net::associated(Dialect::Open5gs);
    let mut wanted = plan(Dialect::Open5gs, 2);
    wanted.flow = Some(flow());
    let done = net.run(|smf, now, out| smf.establish(now, wanted, out));
    let Ok(Done::Established(session)) = done else {
        panic!("{done:?}");
    };
    net.change(session.cp_seid, Change::Connect(gnb(1)))
        .unwrap();
    net.change(session.cp_seid, Change::AddFlow).unwrap();
    let again = net.change(session.cp_seid, Change::AddFlow);
    assert!(matches!(again, Err(SmfError::NoFlow(_))), "{again:?}");
    net.change(session.cp_seid, Change::SwitchPath(gnb(2)))
        .unwrap();
    let sent = net.sent_by_smf(MessageType::SESSION_MODIFICATION_REQUEST.0);
    let fars: Vec<Vec<u32>> = sent
        .iter()
        .map(|bytes| {
            let (_, body) = Header::parse(bytes).unwrap();
            let request = SessionModificationRequest::parse(body).unwrap();
            request.update_far.iter().map(|far| far.far_id.0).collect()
        })
        .collect();
    // The radio, the flow (with FARs of its own) and its radio, the other gNB.
    assert_eq!(fars, [vec![1], vec![], vec![1, 4], vec![1, 4]]);
}

#[test]
fn a_flow_that_the_dialect_has_no_words_for_is_not_asked_for() {
    let mut net = Net::associated(Dialect::Oai);
    let mut wanted = plan(Dialect::Oai, 2);
    wanted.flow = Some(flow());
    let refused = net.run(|smf, now, out| smf.establish(now, wanted, out));
    assert!(
        matches!(refused, Err(SmfError::FlowNotPossible { .. })),
        "{refused:?}"
    );
}
