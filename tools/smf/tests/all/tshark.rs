//! tshark as the outside judge of every message of every dialect, in every procedure.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::process::Command;

use crate::common::net::Net;
use crate::common::{gnb, pcap, plan};
use sluice_host::{tool, tshark};
use sluice_smf_emulator::{Change, Dialect};
use sluice_wire::pfcp::value::BitRate;

/// Every message of a session's life, the UPF's answers included.
fn life(dialect: Dialect) -> Net {
    let mut net = Net::associated(dialect);
    let mut plan = plan(dialect, 2);
    plan.flow_mbr = Some(BitRate {
        uplink_kbps: 10_000,
        downlink_kbps: 20_000,
    });
    net.run(|smf, now, out| smf.establish(now, plan, out))
        .unwrap();
    let session = net.establish(dialect, 3).unwrap();
    for change in [
        Change::Connect(gnb(1)),
        Change::SwitchPath(gnb(2)),
        Change::Idle,
        Change::Activate(gnb(3)),
        Change::DropDownlink,
    ] {
        net.change(session.cp_seid, change).unwrap();
    }
    if !dialect.profile().urr.is_empty() {
        net.change(session.cp_seid, Change::Query).unwrap();
    }
    let old = gnb(1).f_teid();
    net.upf_does(|upf, now, out| upf.report(now, session.cp_seid, old, out));
    // The next deadline is a heartbeat's.
    net.pass_time();
    net.delete(session.cp_seid).unwrap();
    net.run(|smf, now, out| smf.release(now, out)).unwrap();
    net
}

#[test]
fn tshark_finds_nothing_to_complain_of() {
    if !tool::is_installed("tshark") {
        println!("skipped: needs tshark");
        return;
    }
    for dialect in Dialect::ALL {
        let net = life(dialect);
        let name = format!("sluice-smf-{dialect}-{}.pcap", std::process::id());
        let path = std::env::temp_dir().join(name);
        pcap::write(&path, &net.log);
        let verdict = tshark::judge(&path).unwrap();
        let seen = fields(&path, &["pfcp.msg_type", "pfcp.flow_desc"]);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(verdict.complaints, Vec::<String>::new(), "{dialect}");
        assert_eq!(verdict.frames, net.log.len() as u64, "{dialect}");
        check_types(dialect, &seen);
        let flow = dialect.profile().pdr.flow_description;
        assert_eq!(
            flow.is_some_and(|flow| seen.contains(flow)),
            matches!(dialect, Dialect::Ts | Dialect::Marking)
        );
    }
}

/// tshark saw each kind of request.
fn check_types(dialect: Dialect, seen: &str) {
    let types = seen.lines().filter_map(|line| line.split('\t').next());
    let seen: Vec<_> = types.collect();
    for wanted in ["1", "5", "9", "50", "52", "54", "56", "57"] {
        assert!(
            seen.contains(&wanted),
            "{dialect}: type {wanted} in {seen:?}"
        );
    }
}

fn fields(path: &std::path::Path, fields: &[&str]) -> String {
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(path).args(["-T", "fields"]);
    for field in fields {
        command.args(["-e", field]);
    }
    tool::run(&mut command).unwrap()
}
