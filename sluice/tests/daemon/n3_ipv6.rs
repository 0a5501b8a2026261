//! N3 over IPv6: sessions of both families, paging, fragments, a handover to another family, and signalling.

use std::net::IpAddr;

use sluice::cli::args::CtlQuery;
use sluice_host::capture::Capture;
use sluice_host::process::Process;
use sluice_host::tool;
use sluice_host::tshark::judge;
use sluice_ran::{GnbHandle, HandoverTarget};
use sluice_smf_emulator::{Dialect, Report, SessionPlan, SmfHandle, UeAddresses, UplinkTeid};

use super::kit::*;

const PAGE: u64 = 300_000;

/// A laboratory with IPv6 everywhere.
fn lab(label: &str) -> Option<Lab> {
    let lab = Lab::new(label)?;
    lab.add_ipv6();
    lab.add_ipv6_on_n3();
    Some(lab)
}

fn plan(gnb: IpAddr) -> SessionPlan {
    let mut plan = Ue::plan(gnb, 0);
    plan.ue = UeAddresses::V4V6(ue_address(0), ue_ipv6(0));
    plan
}

/// Downlink Data Reports since the last look.
fn pages_of(smf: &SmfHandle) -> usize {
    let (reports, lost) = smf.take_reports().unwrap();
    assert_eq!(lost, 0);
    let of_session = |report: &Report| match report {
        Report::Session(report) => report.downlink_data.len(),
        Report::Node(report) => panic!("{report:?}"),
    };
    reports.iter().map(of_session).sum()
}

#[test]
fn sessions_of_both_families_talk_by_tunnels_over_ipv6() {
    let Some(lab) = lab("n3six") else { return };
    let pcap = lab.path("n3.pcap");
    let judged = tool::is_installed("tcpdump") && tool::is_installed("tshark");
    let capture = judged.then(|| Capture::start(&lab.gnb, "n3", "ip6", &pcap).unwrap());
    let daemon = Daemon::start(&lab, &Config::with_ipv6().n3_is_ipv6());
    let (smf, gnb) = (lab.smf(), lab.gnb_at("gnb", N3_GNB_V6.into()));
    let mut plan = plan(N3_GNB_V6.into());
    plan.uplink = UplinkTeid::ChosenByUpAtIpv6;
    let addresses = plan.ue;
    let ue = Ue::attach_planned(&lab, &smf, gnb.handle(), 0, 1500, plan);
    assert_eq!(ue.session.uplink.address, N3_UPF_V6);
    let _pages = pages(&lab, &[SERVER.into(), SERVER_V6.into()], PAGE);
    talks(&lab, addresses, PAGE);
    // With its tunnel such a packet is longer than the link's MTU: both ends cut and join.
    assert_eq!(ue.ping(&lab, 3, 1500), 3);
    gnb.handle().echo(N3_UPF_V6, SOON).unwrap();
    is_paged(&lab, &daemon, &smf, gnb.handle(), &ue);
    talks(&lab, addresses, PAGE);
    assert_eq!(gnb.handle().counters().unwrap().drops.total(), 0);
    // The session ends, and the UPF does not know its tunnel any more.
    smf.delete(ue.cp_seid()).unwrap();
    assert_eq!(ue.ping_in_vain(&lab, 1, 84), 0);
    eventually("the gNB is told", || {
        let counters = gnb.handle().counters().unwrap();
        counters.signalling.error_indications > 0
    });
    assert_eq!(daemon.ledger()["balances"], true);
    if let Some(capture) = capture {
        capture.stop().unwrap();
        let verdict = judge(&pcap).unwrap();
        assert!(verdict.frames > 200, "{verdict:?}");
        assert!(verdict.is_clean(), "{:?}", verdict.complaints);
    }
}

/// The UE is idle; a packet of the server's is held, told of, and arrives.
fn is_paged(lab: &Lab, daemon: &Daemon, smf: &SmfHandle, gnb: &GnbHandle, ue: &Ue) {
    smf.idle(ue.cp_seid()).unwrap();
    pages_of(smf);
    let mut command = lab.dn.command("ping");
    command.args(["-q", "-c1", "-W25", &ue.address.to_string()]);
    let mut ping = Process::spawn(&mut command).unwrap();
    eventually("the SMF is told", || pages_of(smf) > 0);
    let held = daemon.ask(&CtlQuery::Counters)["held_for_ues"].take();
    assert_eq!(held["packets"], 1);
    smf.activate(ue.cp_seid(), ue.downlink(gnb)).unwrap();
    assert!(ping.child().wait().unwrap().success(), "the first packet");
}

#[test]
fn a_ue_moves_between_gnbs_of_two_families_and_keeps_its_session() {
    let Some(lab) = lab("n3dual") else { return };
    let daemon = Daemon::start(&lab, &Config::with_ipv6().n3_is_dual());
    // It asks for endpoints of both families.
    let smf = lab.smf_of(Dialect::Open5gs);
    let gnbs = [IpAddr::from(N3_GNB), N3_GNB_V6.into()];
    let names = ["gnb4", "gnb6"];
    let gnbs = [0, 1].map(|at| lab.gnb_at(names[at], gnbs[at]));
    let [four, six] = gnbs.each_ref().map(|gnb| gnb.handle());
    let plan = plan(four.n3());
    let addresses = plan.ue;
    let ue = Ue::attach_planned(&lab, &smf, four, 0, 1400, plan);
    assert_eq!(ue.session.uplink.address, N3_UPF);
    let _pages = pages(&lab, &[SERVER.into(), SERVER_V6.into()], PAGE);
    talks(&lab, addresses, PAGE);
    for (from, to, upf) in [
        (four, six, IpAddr::from(N3_UPF_V6)),
        (six, four, N3_UPF.into()),
    ] {
        let at = ue.downlink(to);
        let mut uplink = ue.session.uplink;
        uplink.address = upf;
        let target = HandoverTarget {
            downlink_teid: at.teid,
            uplink: endpoint(uplink),
        };
        ue.hand_over(from, to, target);
        smf.path_switch(ue.cp_seid(), at).unwrap();
        talks(&lab, addresses, PAGE);
        let old = from.tunnel(at.teid).unwrap();
        assert_eq!(old.end_markers, 1, "to {upf}");
    }
    assert_eq!(daemon.ledger()["balances"], true);
}
