//! Applications: a UE's packets meet their flows, also when these change beside its session.

use super::kit::*;
use sluice_wire::pfcp::{Cause, MessageType};

/// The UE's pings are of the application, or not.
const PINGS: &str = "permit out 1 from any to assigned";
const OTHERS: &str = "permit out 17 from any to assigned";

fn config(flow: &str) -> Config {
    let mut config = Config::new();
    let list = format!("applications: [{{name: echo, flows: ['{flow}']}}]\n");
    config.more.push_str(&list);
    config
}

#[test]
fn packets_meet_an_application_as_its_flows_are_by_then() {
    let Some(lab) = Lab::new("applications") else {
        return;
    };
    let daemon = Daemon::start(&lab, &config(PINGS));
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let mut plan = Ue::plan(gnb.handle().n3(), 0);
    plan.application = Some("echo".into());
    let ue = Ue::attach_planned(&lab, &smf, gnb.handle(), 0, 1400, plan);
    assert_eq!(ue.ping(&lab, 5, 84), 5);
    let has = |flow: &str| {
        let rules = daemon.ctl(&["rules", &ue.seid(), "--json"]).out;
        rules.contains(flow)
    };
    assert!(has(PINGS) && has("\"application\": \"echo\""));
    // upf.yaml has other flows, and the session has them soon.
    let file = lab.path("upf.yaml");
    std::fs::write(&file, config(OTHERS).text(&daemon.socket)).unwrap();
    let said = daemon.ctl(&["reload"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    eventually("other flows", || has(OTHERS));
    assert_eq!(ue.ping_in_vain(&lab, 3, 84), 0);
    assert!(daemon.dropped("no_pdr") >= 3);
    // Another CP function tells the flows of all.
    let other = PfcpSocket::open(&lab, N4_SMFS[1]);
    other.send(&association_setup(N4_SMFS[1], 1));
    let set_up = MessageType::ASSOCIATION_SETUP_RESPONSE;
    assert_eq!(other.cause_in(set_up), Cause::REQUEST_ACCEPTED);
    let managed = MessageType::PFD_MANAGEMENT_RESPONSE;
    other.send(&pfd_management("echo", Some(PINGS), 2));
    assert_eq!(other.cause_in(managed), Cause::REQUEST_ACCEPTED);
    eventually("told flows", || has(PINGS));
    assert_eq!(ue.ping(&lab, 5, 84), 5);
    let shown = daemon.ctl(&["applications"]).out;
    assert!(shown.contains("PFD management"), "{shown}");
    // And takes them back.
    other.send(&pfd_management("echo", None, 3));
    assert_eq!(other.cause_in(managed), Cause::REQUEST_ACCEPTED);
    eventually("flows of upf.yaml", || has(OTHERS));
    assert_eq!(ue.ping_in_vain(&lab, 3, 84), 0);
    assert_eq!(daemon.ledger()["balances"], true);
}
