//! Default sessions of live cores as their SMFs ask for them, with real traffic: Open5GS' is of type IPv4v6, free5GC's
//! has a filter and reports each thousand octets.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use sluice::cli::args::CtlQuery;
use sluice_host::process::Process;
use sluice_ran::Gnb;
use sluice_smf_emulator::{
    Dialect, Flow, FlowPackets, Network, Report, SessionPlan, SessionReport, Smf, Tunnel,
    UeAddresses, UplinkTeid, UrrUsage,
};
use sluice_wire::ids::{Precedence, Qfi, Teid, UrrId};
use sluice_wire::pfcp::value::{BitRate, UsageReportTrigger};

use super::kit::*;

const PAGE: u64 = 300_000;
/// The far end of free5GC's default filter.
const FILTERED: &str = "1.1.1.1";

fn rate(kbps: u64) -> Option<BitRate> {
    Some(BitRate {
        uplink_kbps: kbps,
        downlink_kbps: kbps,
    })
}

/// A subscriber with the DNN as all names, whose gNB is told after the session is made.
fn plan(ue: UeAddresses) -> SessionPlan {
    let network = Network::new("internet", "internet", "internet").unwrap();
    let mut plan = SessionPlan::new(ue, Arc::new(network), Qfi::new(9).unwrap());
    plan.imsi = Ue::plan(N3_GNB, 0).imsi;
    plan.ambr = rate(1_000_000);
    plan.measured = true;
    plan
}

fn open5gs() -> SessionPlan {
    plan(UeAddresses::V4V6(ue_address(0), ue_ipv6(0)))
}

fn free5gc() -> SessionPlan {
    let mut plan = plan(UeAddresses::V4(ue_address(0)));
    plan.uplink = UplinkTeid::ChosenByCp(Tunnel::v4(Teid::new(0x1001).unwrap(), N3_UPF));
    plan.flow = Some(Flow {
        packets: FlowPackets::Described(format!("permit out ip from {FILTERED}/32 to any").into()),
        precedence: Precedence(128),
        // The gNB of this test sends all by one flow.
        qfi: plan.qfi,
        mbr: rate(208_000),
        gbr: rate(108_000),
    });
    plan
}

/// Octets that each URR told of, in all.
fn by_urr(usage: &[UrrUsage]) -> BTreeMap<UrrId, u64> {
    let mut octets = BTreeMap::new();
    for urr in usage {
        *octets.entry(urr.urr_id).or_default() += urr.traffic().total_octets;
    }
    octets
}

/// A core's SMF and gNB beside the daemon.
struct Core<'a> {
    lab: &'a Lab,
    daemon: Daemon,
    smf: Smf,
    gnb: Gnb,
    /// What the UPF reported by itself.
    told: Vec<SessionReport>,
}

impl<'a> Core<'a> {
    fn start(lab: &'a Lab, dialect: Dialect) -> Self {
        lab.add_ipv6();
        Self {
            daemon: Daemon::start(lab, &Config::with_ipv6()),
            lab,
            smf: lab.smf_of(dialect),
            gnb: lab.gnb(),
            told: Vec::new(),
        }
    }

    fn hear(&mut self) {
        let (reports, lost) = self.smf.take_reports().unwrap();
        assert_eq!(lost, 0);
        self.told
            .extend(reports.into_iter().filter_map(|report| match report {
                Report::Session(report) => Some(report),
                // The gNB answers Echo Requests while the test looks at it: on a busy machine too late, which is told.
                Report::Node(_) => None,
            }));
    }

    /// PDRs of all Downlink Data Reports so far.
    fn pages(&mut self) -> usize {
        self.hear();
        self.told
            .iter()
            .map(|report| report.downlink_data.len())
            .sum()
    }

    /// All usage that was told so far.
    fn usage(&mut self) -> Vec<UrrUsage> {
        self.hear();
        let urrs = self.told.iter().flat_map(|report| &report.usage.urrs);
        urrs.copied().collect()
    }

    /// A session, its traffic, paging and traffic again.
    fn lives(&mut self, plan: SessionPlan) -> Ue {
        let addresses = plan.ue;
        let handle = self.gnb.handle();
        let ue = Ue::attach_planned(self.lab, &self.smf, handle, 0, 1400, plan);
        let at = ue.downlink(handle);
        self.smf.modify(ue.cp_seid(), at).unwrap();
        let servers = [SERVER.into(), SERVER_V6.into()];
        let _pages = pages(self.lab, &servers, PAGE);
        talks(self.lab, addresses, PAGE);
        self.is_paged(&ue, addresses, at);
        talks(self.lab, addresses, PAGE);
        ue
    }

    /// The UE is idle; to each of its addresses a packet of the server's is held, told of once, and arrives.
    fn is_paged(&mut self, ue: &Ue, addresses: UeAddresses, at: Tunnel) {
        let v4 = addresses.ipv4().map(IpAddr::from);
        let v6 = addresses.ipv6().map(IpAddr::from);
        for to in v4.into_iter().chain(v6) {
            self.smf.idle(ue.cp_seid()).unwrap();
            let before = self.pages();
            let mut command = self.lab.dn.command("ping");
            command.args(["-q", "-c1", "-W25", &to.to_string()]);
            let mut ping = Process::spawn(&mut command).unwrap();
            eventually("the SMF is told", || self.pages() > before);
            let held = self.daemon.ask(&CtlQuery::Counters)["held_for_ues"].take();
            // Beside it, on a busy machine, what a connection of before still sends at its end.
            assert!(held["packets"].as_u64() >= Some(1), "{held}");
            self.smf.activate(ue.cp_seid(), at).unwrap();
            let ended = ping.child().wait().unwrap();
            assert!(ended.success(), "{to}: the first packet");
            assert_eq!(self.pages(), before + 1, "one report for an episode");
        }
        let drops = self.daemon.ask(&CtlQuery::Drops);
        assert!(!drops.to_string().contains("hold_"), "{drops}");
    }

    /// Ends the session; what its URRs told in all must be what its device counted.
    fn ends(&mut self, ue: &Ue, counted: u64) {
        let mut usage = self.usage();
        usage.extend(self.smf.delete(ue.cp_seid()).unwrap().urrs);
        let octets = by_urr(&usage);
        assert!(!octets.is_empty());
        for (urr, octets) in octets {
            assert_eq!(octets, counted, "{urr:?}");
        }
        assert_eq!(self.daemon.ledger()["balances"], true);
    }
}

#[test]
fn open5gs_default_session_has_both_families_and_is_paged_by_either() {
    let Some(lab) = Lab::new("open5gs") else {
        return;
    };
    let mut core = Core::start(&lab, Dialect::Open5gs);
    let ue = core.lives(open5gs());
    // Its URR counts the downlink, less than the threshold.
    assert!(core.usage().is_empty());
    let counted = ue.counters().rx_bytes;
    assert!(counted > 4 * PAGE, "{counted}");
    core.ends(&ue, counted);
}

#[test]
fn free5gc_default_session_has_its_filter_is_paged_and_reports_each_thousand_octets() {
    let Some(lab) = Lab::new("free5gc") else {
        return;
    };
    let mut core = Core::start(&lab, Dialect::Free5gc);
    lab.dn
        .ip_batch(&format!("addr add {FILTERED}/32 dev n6\n"))
        .unwrap();
    let ue = core.lives(free5gc());
    // By the flow of the filter.
    assert_eq!(pings(&lab, ue.address.into(), FILTERED.parse().unwrap()), 3);
    for trigger in [UsageReportTrigger::VOLTH, UsageReportTrigger::PERIO] {
        eventually("reports come", || {
            let usage = core.usage();
            usage.iter().any(|urr| urr.trigger.contains(trigger))
        });
    }
    let counted = ue.counters();
    core.ends(&ue, counted.rx_bytes + counted.tx_bytes);
}
