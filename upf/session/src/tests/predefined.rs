//! Predefined rules: they match in the place of PDRs that activate them by name.

use super::bench::*;
use super::sdf_filters::{establish, modify, rules, sdf, tunnel};
use crate::{PredefinedError, PredefinedRule, PredefinedRules};
use sluice_datapath::session::rule::Flags;
use sluice_wire::ids::{PdrId, QerId};
use sluice_wire::pfcp::group::{RemovePdr, UpdatePdr};
use sluice_wire::pfcp::message::{AssociationSetupResponse, SessionEstablishmentRequest};
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Header, IeType};

const DNS: &str = "permit out 17 from any 53 to assigned";

/// Rules "dns" (a QFI), "slow" (a rate) and "shut" (closed, all packets).
fn configured() -> PredefinedRules {
    let dns = PredefinedRule {
        flows: vec![DNS.to_owned()],
        qfi: Some(7),
        ..PredefinedRule::named("dns")
    };
    let slow = PredefinedRule {
        flows: vec!["permit out 6 from any 80 to assigned".to_owned()],
        mbr: Some(BitRate {
            uplink_kbps: 1000,
            downlink_kbps: 2000,
        }),
        ..PredefinedRule::named("slow")
    };
    let mut shut = PredefinedRule::named("shut");
    shut.gate.uplink = Gate::Closed;
    PredefinedRules::new(&[dns, slow, shut]).unwrap()
}

fn bench() -> Bench {
    Bench::with(|c| c.predefined = configured())
}

fn active(names: &[&'static str]) -> SessionEstablishmentRequest<'static> {
    let mut request = default_session(UE, 1);
    let texts = names.iter().map(|name| Text(name.as_bytes()));
    request.create_pdr[0]
        .activate_predefined_rules
        .extend(texts);
    request
}

fn update(on: &[&'static str], off: &[&'static str]) -> UpdatePdr<'static> {
    let texts = |names: &[&'static str]| names.iter().map(|n| Text(n.as_bytes())).collect();
    UpdatePdr {
        pdr_id: PdrId(1),
        activate_predefined_rules: texts(on),
        deactivate_predefined_rules: texts(off),
        ..UpdatePdr::default()
    }
}

#[test]
fn a_predefined_rule_matches_in_the_place_of_its_pdr() {
    let mut bench = bench();
    let seid = establish(&mut bench, &active(&["dns"]));
    assert!(tunnel(&bench).head.flags.has(Flags::EXTENDED));
    let found = rules(&bench);
    assert_eq!(found.len(), 1, "the PDR itself stands back");
    let run = found[0].filters;
    let met: Vec<_> = bench.up.flow_filters().run(run).collect();
    assert_eq!(met.len(), 1);
    assert_eq!(
        (met[0].protocol, met[0].remote_ports),
        (Some(17), Some((53, 53)))
    );
    let view = bench.up.session(seid.0).unwrap();
    let pdrs: Vec<_> = view
        .pdr
        .iter()
        .map(|p| (p.id, p.live, p.precedence))
        .collect();
    let expected = [(1, false, 100), (1, true, 100), (2, true, 100)];
    assert_eq!(pdrs, expected, "the PDR itself stands back");
    let names = view.pdr.iter().map(|p| p.predefined_rule.as_deref());
    assert!(names.eq([None, Some("dns"), None]));
    assert_eq!(bench.delete(CP, seid).0, Cause::REQUEST_ACCEPTED);
    bench.assert_vacant();
}

#[test]
fn activation_and_deactivation_change_what_matches_and_leave_nothing() {
    let mut bench = bench();
    let seid = establish(&mut bench, &default_session(UE, 1));
    let mut change = path_switch(77);
    change.update_far.clear();
    change.update_pdr.push(update(&["slow", "shut"], &[]));
    bench.ops.clear();
    modify(&mut bench, seid, &change);
    let found = rules(&bench);
    assert_eq!(found.len(), 2);
    assert!(!found[0].head.flags.has(Flags::GATE_CLOSED));
    assert!(found[1].head.flags.has(Flags::GATE_CLOSED));
    // The other one of two stays as it is, and so does what a PDR's rules are when its FAR changes.
    change.update_pdr[0] = update(&[], &["shut"]);
    modify(&mut bench, seid, &change);
    modify(&mut bench, seid, &path_switch(0x5000));
    let of_slow = bench.up.session(seid.0).unwrap();
    assert_eq!(of_slow.qer.len(), 2);
    assert_eq!(of_slow.pdr.len(), 3);
    change.update_pdr[0] = update(&["dns"], &["slow"]);
    modify(&mut bench, seid, &change);
    change.update_pdr[0] = update(&[], &["dns"]);
    modify(&mut bench, seid, &change);
    modify(&mut bench, seid, &path_switch(0x5000));
    let back = bench.up.session(seid.0).unwrap();
    assert_eq!((back.pdr.len(), back.qer.len()), (2, 1));
    assert!(back.pdr.iter().all(|p| p.live));
    // A PDR that goes takes its rules along.
    change.update_pdr[0] = update(&["dns"], &[]);
    modify(&mut bench, seid, &change);
    let mut change = path_switch(77);
    change.update_far.clear();
    change.remove_pdr.push(RemovePdr { pdr_id: PdrId(1) });
    modify(&mut bench, seid, &change);
    assert_eq!(bench.up.session(seid.0).unwrap().pdr.len(), 1);
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn names_filters_and_qers_that_do_not_go_together_are_refused() {
    let mut bench = bench();
    let seid = establish(&mut bench, &active(&["dns"]));
    let before = bench.fingerprint();
    let mut change = path_switch(77);
    change.update_far.clear();
    let unknown = Cause::UNKNOWN_PREDEFINED_RULE;
    let failed = Cause::RULE_CREATION_MODIFICATION_FAILURE;
    let with_filters = UpdatePdr {
        pdi: Some(sluice_wire::pfcp::group::Pdi {
            source_interface: SourceInterface(0),
            sdf_filter: [sdf(DNS)].into_iter().collect(),
            ..Default::default()
        }),
        ..update(&[], &[])
    };
    let with_qer = UpdatePdr {
        qer_id: [Edit::Set(QerId(1 << 31))].into_iter().collect(),
        ..update(&[], &[])
    };
    for (update, cause, ie) in [
        (
            update(&["gold"], &[]),
            unknown,
            IeType::ACTIVATE_PREDEFINED_RULES,
        ),
        (
            update(&[], &["gold"]),
            unknown,
            IeType::DEACTIVATE_PREDEFINED_RULES,
        ),
        (with_filters, failed, IeType::SDF_FILTER),
        (with_qer, failed, IeType::QER_ID),
    ] {
        change.update_pdr.clear();
        change.update_pdr.push(update);
        let done = bench.modify(CP, seid, &change);
        assert_eq!((done.cause, done.offending), (cause, Some(ie)));
        assert_eq!(bench.fingerprint(), before);
    }
    change.update_pdr.clear();
    change.create_qer.push(qer(1 << 31, None, None));
    assert_eq!(bench.modify(CP, seid, &change).cause, failed);
    bench.delete(CP, seid);
    bench.assert_vacant();
}

#[test]
fn predefined_rules_are_announced_where_there_are_any() {
    let up = |bench: Bench| {
        let (_, body) = Header::parse(&bench.spoken[0].1).unwrap();
        let response = AssociationSetupResponse::parse(body).unwrap();
        let features = response.up_function_features.unwrap();
        features.contains(UpFunctionFeatures::ADPDP)
    };
    assert!(!up(Bench::new()));
    assert!(up(bench()));
}

#[test]
fn rules_that_cannot_be_are_not_had() {
    let of = |rules: &[PredefinedRule]| PredefinedRules::new(rules).unwrap_err();
    let one = PredefinedRule::named("one");
    assert_eq!(
        of(&[one.clone(), one.clone()]),
        PredefinedError::Twice("one".to_owned())
    );
    let wrong = PredefinedRule {
        flows: vec!["deny out ip from any to any".to_owned()],
        ..one.clone()
    };
    let said = PredefinedError::Flow("one".to_owned(), wrong.flows[0].clone());
    assert_eq!(of(&[wrong]), said);
    let many = vec![one; crate::limits::PREDEFINED + 1];
    assert_eq!(of(&many), PredefinedError::TooMany);
}
