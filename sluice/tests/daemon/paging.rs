//! An idle UE is paged: its first packet is held, the SMF hears of it, and the packet arrives when the UE is back.

use std::process::Child;
use std::time::Duration;

use sluice::cli::args::CtlQuery;
use sluice_host::capture::Capture;
use sluice_host::tshark::judge;
use sluice_smf_emulator::{Report, SmfHandle};
use sluice_wire::ids::PdrId;
use sluice_wire::pfcp::value::ReportType;

use super::kit::*;

/// One ping of the server's to a UE, with time enough to be paged.
fn server_pings(lab: &Lab, ue: &Ue) -> Child {
    let mut command = lab.dn.command("ping");
    command.args(["-q", "-c1", "-W15", &ue.address.to_string()]);
    command.spawn().unwrap()
}

/// PDRs of Downlink Data Reports.
fn paged(smf: &SmfHandle) -> Vec<PdrId> {
    let (reports, _) = smf.take_reports().unwrap();
    let of_sessions = reports.iter().map(|report| match report {
        Report::Session(report) => report,
        Report::Node(report) => panic!("{report:?}"),
    });
    of_sessions
        .inspect(|report| assert_eq!(report.report_type, ReportType::DLDR))
        .flat_map(|report| report.downlink_data.clone())
        .collect()
}

#[test]
fn the_first_packet_for_an_idle_ue_arrives_when_it_has_been_paged() {
    let Some(lab) = Lab::new("paging") else {
        return;
    };
    let mut daemon = Daemon::start(&lab, &Config::new());
    let pcap = lab.path("n4.pcap");
    let n4 = Capture::start(&lab.smf, "n4", "udp", &pcap).unwrap();
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    assert_eq!(ue.ping(&lab, 1, 84), 1);
    for _ in 0..2 {
        let before = ue.counters().rx_packets;
        smf.idle(ue.cp_seid()).unwrap();
        let mut ping = server_pings(&lab, &ue);
        let mut told = Vec::new();
        eventually("the SMF is told", || {
            told.extend(paged(&smf));
            !told.is_empty()
        });
        assert_eq!(told.len(), 1);
        let held = || daemon.ask(&CtlQuery::Counters)["held_for_ues"]["packets"].clone();
        assert_eq!(held(), 1);
        assert_eq!(ue.counters().rx_packets, before, "it waits");
        // Paging takes its time.
        std::thread::sleep(Duration::from_millis(300));
        smf.activate(ue.cp_seid(), Ue::plan(N3_GNB, 0).gnb.unwrap())
            .unwrap();
        assert!(ping.wait().unwrap().success(), "the first packet arrives");
        assert_eq!((ue.counters().rx_packets, held()), (before + 1, 0.into()));
        assert!(paged(&smf).is_empty(), "one report for an episode");
    }
    let drops = daemon.ask(&CtlQuery::Drops);
    assert!(!drops.to_string().contains("hold_"), "{drops}");
    smf.delete(ue.cp_seid()).unwrap();
    smf.release().unwrap();
    smf.stop().unwrap();
    daemon.process.terminate();
    n4.stop().unwrap();
    let verdict = judge(&pcap).unwrap();
    assert!(verdict.is_clean(), "{:?}", verdict.complaints);
}
