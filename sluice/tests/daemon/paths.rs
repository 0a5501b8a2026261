//! Echo Requests to gNBs: one that answers and one that is not there, as SMF, operator and tshark see them.

use std::net::Ipv4Addr;

use serde_json::Value;
use sluice::cli::args::CtlQuery;
use sluice_host::capture::Capture;
use sluice_host::tshark::judge;
use sluice_smf::Report;
use sluice_wire::pfcp::value::NodeReportType;

use super::kit::*;

/// On the link of N3, and nobody's.
const ABSENT_GNB: Ipv4Addr = Ipv4Addr::new(198, 18, 3, 77);

fn path(daemon: &Daemon, gnb: Ipv4Addr) -> Option<Value> {
    let peers = daemon.ask(&CtlQuery::Peers);
    let mut paths = peers["gtpu_paths"].as_array()?.iter();
    paths
        .find(|path| path["address"] == gnb.to_string())
        .cloned()
}

#[test]
fn a_gnb_that_does_not_answer_is_told_to_the_smf() {
    let Some(lab) = Lab::new("paths") else { return };
    let mut config = Config::new();
    config.more = "echo: {t3_ms: 300, n3: 2}\n".to_owned();
    let daemon = Daemon::start(&lab, &config);
    let (n4_pcap, n3_pcap) = (lab.path("n4.pcap"), lab.path("n3.pcap"));
    let n4 = Capture::start(&lab.smf, "n4", "udp", &n4_pcap).unwrap();
    let n3 = Capture::start(&lab.gnb, "n3", "udp", &n3_pcap).unwrap();
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    assert_eq!(ue.ping(&lab, 3, 84), 3);
    eventually("the gNB has answered", || {
        path(&daemon, N3_GNB).is_some_and(|path| path["state"] == "answers")
    });
    let answers = path(&daemon, N3_GNB).unwrap();
    assert_eq!(
        (&answers["used"], &answers["failed_for_s"]),
        (&Value::Bool(true), &Value::Null)
    );
    assert!(smf.take_reports().unwrap().0.is_empty());
    // A session that leads to nobody.
    let seid = smf.establish(Ue::plan(ABSENT_GNB, 1)).unwrap().cp_seid;
    eventually("the path has failed", || {
        path(&daemon, ABSENT_GNB).is_some_and(|path| path["state"] == "failed")
    });
    let mut reports = Vec::new();
    eventually("the SMF is told", || {
        reports.extend(smf.take_reports().unwrap().0);
        !reports.is_empty()
    });
    let [Report::Node(told)] = &reports[..] else {
        panic!("{reports:?}")
    };
    assert_eq!(told.report_type, NodeReportType::UPFR);
    assert_eq!(
        (&told.failed_peers[..], told.recovered_peers.len()),
        (&[ABSENT_GNB][..], 0)
    );
    let words = format!("GTP-U peer {ABSENT_GNB} does not answer Echo Requests");
    assert!(daemon.log().contains(&words), "{}", daemon.log());
    // Its sessions are the SMF's to end; the path is asked on, for it may come back.
    assert_eq!(ue.ping(&lab, 3, 84), 3);
    smf.delete(seid).unwrap();
    let unused = path(&daemon, ABSENT_GNB).unwrap();
    assert_eq!(
        (&unused["used"], &unused["state"]),
        (&Value::Bool(false), &"failed".into())
    );
    smf.stop().unwrap();
    for (capture, pcap) in [(n4, n4_pcap), (n3, n3_pcap)] {
        capture.stop().unwrap();
        let verdict = judge(&pcap).unwrap();
        assert!(verdict.is_clean(), "{:?}", verdict.complaints);
    }
}
