//! Echo Requests to gNBs: one that answers and one that is not there, as SMF, operator and tshark see them.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use serde_json::Value;
use sluice::cli::args::CtlQuery;
use sluice_host::capture::Capture;
use sluice_host::tshark::judge;
use sluice_smf_emulator::{Report, SmfHandle, UplinkTeid};
use sluice_wire::pfcp::value::NodeReportType;

use super::kit::*;

/// On the link of N3, and nobody's.
const ABSENT_GNB: Ipv4Addr = Ipv4Addr::new(198, 18, 3, 77);

/// A peer is asked every 60 s (no sooner: TS 29.281, 7.2.1), and up to an eighth later.
const UNTIL_ASKED: Duration = Duration::from_secs(68 + SOON.as_secs());

fn path(daemon: &Daemon, gnb: impl Into<IpAddr>) -> Option<Value> {
    let gnb = gnb.into();
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
        (&[IpAddr::from(ABSENT_GNB)][..], 0)
    );
    let words = format!("GTP-U peer {ABSENT_GNB} does not answer Echo Requests");
    eventually("the log says so", || daemon.log().contains(&words));
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

/// What an SMF has been told of paths.
#[derive(Debug, Default, PartialEq)]
struct Told {
    failed: Vec<IpAddr>,
    recovered: Vec<IpAddr>,
}

impl Told {
    /// With what came since the last look. Each report says of what kind it is.
    fn hear(&mut self, smf: &SmfHandle) -> &Self {
        let (reports, lost) = smf.take_reports().unwrap();
        assert_eq!(lost, 0);
        for report in reports {
            let Report::Node(report) = report else {
                panic!("{report:?}")
            };
            let kinds = [
                (NodeReportType::UPFR, report.failed_peers.is_empty()),
                (NodeReportType::UPRR, report.recovered_peers.is_empty()),
            ];
            for (kind, is_empty) in kinds {
                assert_ne!(report.report_type.contains(kind), is_empty, "{report:?}");
            }
            self.failed.extend(report.failed_peers);
            self.recovered.extend(report.recovered_peers);
        }
        self
    }
}

#[test]
fn a_gnb_that_goes_and_one_that_comes_are_told_to_all_smfs() {
    let Some(lab) = Lab::new("pathsboth") else {
        return;
    };
    let mut config = Config::new().n3_is_dual();
    config.more = "echo: {t3_ms: 500, n3: 6}\n".to_owned();
    let daemon = Daemon::start(&lab, &config);
    let n4_pcap = lab.path("n4.pcap");
    let n4 = Capture::start(&lab.smf, "n4", "udp", &n4_pcap).unwrap();
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let (goes, comes) = (IpAddr::from(N3_GNB), IpAddr::from(N3_GNB_V6));
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    assert_eq!(ue.ping(&lab, 3, 84), 3);
    let is = |peer, state: &str| path(&daemon, peer).is_some_and(|path| path["state"] == state);
    eventually("one gNB has answered", || is(goes, "answers"));
    // The link knows nobody at the other's address.
    let plan = |number| {
        let mut plan = Ue::plan(comes, number);
        plan.uplink = UplinkTeid::ChosenByUpAtIpv6;
        plan
    };
    smf.establish(plan(1)).unwrap();
    eventually("the other one is missed", || is(comes, "failed"));
    let mut told = [Told::default(), Told::default()];
    eventually("the SMF is told", || told[0].hear(&smf).failed == [comes]);
    // An SMF that comes now is told what it has not heard.
    let second = lab.smf_at(1);
    second.associate().unwrap();
    eventually("so is the second", || {
        told[1].hear(&second).failed == [comes]
    });
    // One gNB goes with its socket, the other one comes.
    gnb.stop().unwrap();
    lab.add_ipv6_on_n3();
    let gnb = lab.gnb_at("six", comes);
    for (told, smf) in told.iter_mut().zip([&smf, &second]) {
        eventually_within(UNTIL_ASKED, "an SMF is told of both", || {
            told.hear(smf).failed.len() == 2 && !told.recovered.is_empty()
        });
        assert_eq!(told.failed, [comes, goes]);
        assert_eq!(told.recovered, [comes]);
    }
    assert!(is(goes, "failed") && is(comes, "answers"));
    assert!(
        daemon
            .log()
            .contains(&format!("GTP-U peer {comes} answers"))
    );
    let ue = Ue::attach_planned(&lab, &smf, gnb.handle(), 2, 1400, plan(2));
    assert_eq!(ue.ping(&lab, 3, 84), 3);
    // What is known is not told again.
    for (told, smf) in told.iter_mut().zip([&smf, &second]) {
        let before = told.failed.len() + told.recovered.len();
        let now = told.hear(smf);
        assert_eq!(now.failed.len() + now.recovered.len(), before, "{now:?}");
    }
    smf.stop().unwrap();
    second.stop().unwrap();
    n4.stop().unwrap();
    let verdict = judge(&n4_pcap).unwrap();
    assert!(verdict.frames > 20, "{verdict:?}");
    assert!(verdict.is_clean(), "{:?}", verdict.complaints);
}
