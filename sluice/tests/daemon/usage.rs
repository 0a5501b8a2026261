//! Usage with real traffic: a quota stops a download until more is granted, and a UE that stays silent is told of.

use std::time::Duration;

use sluice_smf_emulator::{Change, Report, SessionReport, SmfHandle};
use sluice_wire::pfcp::value::{ReportType, UsageReportTrigger};

use super::kit::*;

/// Of a download of three times as much.
const QUOTA: u64 = 500_000;
const PAGE: u64 = 3 * QUOTA;

/// Reports that came since the last look.
fn reports(smf: &SmfHandle) -> Vec<SessionReport> {
    let (reports, _) = smf.take_reports().unwrap();
    let of_sessions = reports.into_iter().map(|report| match report {
        Report::Session(report) => report,
        Report::Node(report) => panic!("{report:?}"),
    });
    of_sessions.collect()
}

#[test]
fn a_quota_stops_a_download_until_more_is_granted() {
    let Some(lab) = Lab::new("quota") else { return };
    let daemon = Daemon::start(&lab, &Config::new());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let mut plan = Ue::plan(gnb.handle().n3(), 0);
    plan.quota_octets = Some(QUOTA);
    let ue = Ue::attach_planned(&lab, &smf, gnb.handle(), 0, 1400, plan);
    let _server = pages(&lab, &[SERVER.into()], PAGE);
    let mut curl = download(&lab, ue.address.into(), SERVER.into());
    let mut told = Vec::new();
    eventually("the SMF is told", || {
        told.extend(
            reports(&smf)
                .into_iter()
                .flat_map(|report| report.usage.urrs),
        );
        !told.is_empty()
    });
    assert_eq!(told.len(), 1, "{told:?}");
    let used_up = told[0].trigger;
    assert!(used_up.contains(UsageReportTrigger::VOLQU), "{used_up:?}");
    // A packet passes while less is used, however long it is.
    let octets = told[0].volume.total.unwrap();
    assert!((QUOTA..QUOTA + 1400).contains(&octets), "{octets}");
    eventually("packets stop", || daemon.dropped("quota_exhausted") > 0);
    // What the UPF has sent may be on its way still.
    eventually("nothing passes", || {
        let came = ue.counters().rx_packets;
        std::thread::sleep(Duration::from_millis(300));
        ue.counters().rx_packets == came
    });
    assert!(curl.status().is_none(), "the download waits");
    smf.change(ue.cp_seid(), Change::Grant(100 * PAGE)).unwrap();
    assert_eq!(said(curl), (PAGE.to_string(), true));
    // All that came is in the reports.
    let rest = smf.delete(ue.cp_seid()).unwrap();
    let rest: u64 = rest.urrs.iter().filter_map(|urr| urr.volume.total).sum();
    assert!(rest > PAGE - QUOTA - 1400, "{rest}");
    assert_eq!(daemon.ledger()["balances"], true);
}

#[test]
fn packets_that_an_idle_ue_loses_are_told_of() {
    let Some(lab) = Lab::new("lost") else { return };
    let mut config = Config::new();
    config.limits += ", held_packets_of_ue: 2, held_s: 300";
    let daemon = Daemon::start(&lab, &config);
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let mut plan = Ue::plan(gnb.handle().n3(), 0);
    plan.lost_packets = Some(3);
    let ue = Ue::attach_planned(&lab, &smf, gnb.handle(), 0, 1400, plan);
    assert_eq!(ue.ping(&lab, 1, 84), 1);
    smf.idle(ue.cp_seid()).unwrap();
    let told = || {
        let reports = reports(&smf).into_iter();
        let urrs = reports.flat_map(|report| report.usage.urrs);
        urrs.collect::<Vec<_>>()
    };
    // Two are held, two find no room.
    let server_pings = |count: &str| {
        let mut command = lab.dn.command("ping");
        command.args(["-q", "-i5", "-W1", "-l", count, "-c", count]);
        command.arg(ue.address.to_string()).output().unwrap();
    };
    server_pings("4");
    eventually("two are lost", || daemon.dropped("hold_full") == 2);
    assert!(told().is_empty());
    server_pings("1");
    let mut reports = Vec::new();
    eventually("the SMF is told", || {
        reports.extend(told());
        !reports.is_empty()
    });
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(reports[0].trigger, UsageReportTrigger::DROTH);
    assert_eq!(daemon.dropped("hold_full"), 3);
    // What was held arrives.
    let before = ue.counters().rx_packets;
    smf.activate(ue.cp_seid(), ue.downlink(gnb.handle()))
        .unwrap();
    eventually("both arrive", || ue.counters().rx_packets == before + 2);
    assert_eq!(daemon.ledger()["balances"], true);
}

#[test]
fn a_ue_that_stays_silent_is_told_of_once_until_it_speaks() {
    let Some(lab) = Lab::new("silent") else {
        return;
    };
    let _daemon = Daemon::start(&lab, &Config::new());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let mut plan = Ue::plan(gnb.handle().n3(), 0);
    // Longer than both directions of a ping lie apart where others have the CPU.
    plan.inactivity_s = Some(4);
    let ue = Ue::attach_planned(&lab, &smf, gnb.handle(), 0, 1400, plan);
    for _ in 0..2 {
        assert_eq!(ue.ping(&lab, 1, 84), 1);
        let mut told = Vec::new();
        eventually("the SMF is told", || {
            told.extend(reports(&smf));
            !told.is_empty()
        });
        std::thread::sleep(Duration::from_secs(5));
        told.extend(reports(&smf));
        let of = told
            .iter()
            .map(|report| (report.cp_seid, report.report_type));
        assert_eq!(of.collect::<Vec<_>>(), [(ue.cp_seid(), ReportType::UPIR)]);
    }
}
