//! Sessions of the emulated SMFs, in all dialects, and their next procedures.
//!
//! A request is chosen and encoded on the assumption that all before it are accepted; the answers
//! are read afterwards and prove it. So whole series are made before the clock runs.

use super::lifecycle::{Act, RequestInfo, SessionProgress};
use crate::path::smf::{CpSide, cp_seid};
use crate::path::topology::Peers;
use crate::path::topology::{self, GNBS, QFI, UPF_N3};
use crate::path::traffic::Flow;
use crate::stats::Random;
use sluice_smf_emulator::encode::{encode_deletion, encode_establishment, encode_modification};
use sluice_smf_emulator::{
    Dialect, FlowPackets, SessionPlan, SessionView, Tunnel, UeAddresses, UplinkTeid,
};
use sluice_wire::ids::{Precedence, Qfi, Seid, Teid};
use sluice_wire::pfcp::message::HeartbeatRequest;
use sluice_wire::pfcp::value::{BitRate, NtpTime};
use sluice_wire::pfcp::{Full, Header, MessageType, Writer, write_message};
use std::net::Ipv4Addr;

/// First TEID that dialects choose themselves: below all of ours, which have the top bit set.
const CP_TEID: u32 = 0x2000_0000;

/// One session, in 16 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Subscriber {
    /// The UPF's SEID; 0 until it is told.
    pub up_seid: u64,
    /// The UPF's TEID for the uplink.
    pub teid: u32,
    /// Which of the session's gNBs, and so its TEID.
    pub gnb: u8,
    /// How often the rules were made anew.
    pub generation: u8,
    pub state: SessionProgress,
}

#[derive(Debug)]
pub struct Subscribers {
    pub cp: CpSide,
    pub variety: Variety,
    pub recovery: NtpTime,
    pub all: Vec<Subscriber>,
    /// Subscribers without session.
    pub absent: Vec<u32>,
    random: Random,
}

/// The dialects that are measured; figures of other runs compare as long as they stay the same.
pub const DIALECTS: [Dialect; 5] = [
    Dialect::Ts,
    Dialect::Open5gs,
    Dialect::Free5gc,
    Dialect::Oai,
    Dialect::SdCore,
];

/// The dialect of subscriber `index`.
pub fn dialect(index: u32) -> Dialect {
    DIALECTS[index as usize % DIALECTS.len()]
}

impl Subscribers {
    /// `count` subscribers without sessions, of an SMF at `address` that started at `recovery`.
    pub fn new(count: u32, variety: Variety, address: Ipv4Addr, recovery: NtpTime) -> Self {
        Self {
            cp: CpSide::new(address),
            variety,
            recovery,
            all: vec![Subscriber::default(); count as usize],
            absent: Vec::with_capacity(count as usize),
            random: Random::new(0x9e37_79b9_7f4a_7c15),
        }
    }

    /// Below `bound`, every run the same.
    pub fn random(&mut self, bound: usize) -> usize {
        self.random.below(bound)
    }

    /// Writes the request of `act` for subscriber `index`, and takes it for accepted.
    pub fn write(
        &mut self,
        out: &mut [u8],
        index: u32,
        act: Act,
    ) -> Result<(usize, RequestInfo), Full> {
        let sequence = self.cp.next_sequence();
        let number = sequence.get();
        let asked = |act| RequestInfo {
            sequence: number,
            index,
            act,
        };
        if act == Act::Heartbeat {
            let beat = HeartbeatRequest {
                recovery_time_stamp: self.recovery,
                ..HeartbeatRequest::default()
            };
            let header = Header::node(MessageType::HEARTBEAT_REQUEST, sequence);
            let len = write_message(out, &header, |w: &mut Writer<'_>| beat.emit(w))?;
            return Ok((len, asked(act)));
        }
        let new_gnb = self.random(GNBS) as u8;
        let before = self.all[index as usize];
        let tunnel = |gnb| self.tunnel(index, gnb);
        let (after, step) = before.after(dialect(index), act, new_gnb, tunnel);
        self.all[index as usize] = after;
        let plan = self.plan(index);
        let seid = cp_seid(index);
        let view = SessionView {
            plan: &plan,
            cp_seid: seid,
            up_seid: Seid(before.up_seid),
            gnb: before
                .has_gnb()
                .then(|| self.tunnel(index, before.gnb))
                .flatten(),
            generation: u32::from(after.generation),
        };
        let (dialect, node) = (dialect(index), &self.cp.node);
        let len = match step {
            Some(step) => encode_modification(out, dialect, node, &view, step, sequence)?,
            None if act == Act::Delete => {
                self.absent.push(index);
                encode_deletion(out, dialect, node, &view, sequence)?
            }
            None => encode_establishment(out, dialect, node, &plan, seid, sequence)?,
        };
        Ok((len, asked(act)))
    }

    fn plan(&self, index: u32) -> SessionPlan {
        let mut plan = SessionPlan::new(topology::ue_address(index), self.cp.network.clone(), QFI);
        let rate = Some(self.variety.rate(index));
        (plan.ambr, plan.flow_mbr, plan.measured) = (rate, rate, true);
        match self.variety.armed {
            Armed::No => {}
            Armed::Usage => arm(&mut plan, index),
            Armed::Live => {
                arm(&mut plan, index);
                add_flow(&mut plan, index);
            }
        }
        if let Some(teid) = Teid::new(CP_TEID + index).filter(|_| dialect(index).chooses_teids()) {
            plan.uplink = UplinkTeid::ChosenByCp(Tunnel::v4(teid, UPF_N3));
        }
        plan
    }

    /// A gNB's tunnel of a subscriber: its TEID tells the gNB, too.
    fn tunnel(&self, index: u32, gnb: u8) -> Option<Tunnel> {
        let (teid, peers) = (gnb_teid(index, gnb), self.variety.peers);
        let address = peers.address(peers.number(teid));
        Some(Tunnel::v4(Teid::new(teid)?, address))
    }

    /// The packets of all sessions that stand; every one of them must be connected.
    pub fn flows(&self) -> Result<Vec<Flow>, String> {
        self.flows_below(self.all.len())
    }

    /// The same of the sessions with numbers below `end`.
    pub fn flows_below(&self, end: usize) -> Result<Vec<Flow>, String> {
        let numbered = (0..).zip(self.all.iter().take(end));
        let standing = numbered.filter(|(_, s)| s.state != SessionProgress::Absent);
        let flows = standing.map(|(index, s)| match s.state {
            SessionProgress::Connected => {
                let teid = match dialect(index).chooses_teids() {
                    true => CP_TEID + index,
                    false => s.teid,
                };
                let ue = topology::ue_address(index);
                Ok(Flow::new(teid, gnb_teid(index, s.gnb), ue))
            }
            state => Err(format!("session {index} is {state:?}, not connected")),
        });
        flows.collect()
    }
}

/// Spreads what sessions have of their own.
fn mixed(index: u32) -> u32 {
    index.wrapping_mul(0x85eb_ca6b)
}

/// A report each MiB and in a period, quota and threshold of its own so high that nothing is used up.
fn arm(plan: &mut SessionPlan, index: u32) {
    let mixed = mixed(index);
    plan.threshold_octets = Some(THRESHOLD_OCTETS);
    plan.report_period_s = Some(FIRST_PERIOD_S + mixed % PERIODS);
    plan.quota_octets = Some((1 << 40) + u64::from(mixed));
    plan.lost_packets = Some(1_000_000 + u64::from(mixed >> 16));
}

/// Adds IPv6 and a flow that no packet matches, as live cores do.
fn add_flow(plan: &mut SessionPlan, index: u32) {
    let ue = topology::ue_address(index);
    plan.ue = UeAddresses::V4V6(ue, topology::ue_ipv6(ue));
    let style = &dialect(index).profile().flow;
    if !style.as_ref().is_some_and(|flow| flow.with_session) {
        return;
    }
    let port = FIRST_PORT + mixed(index) % PORTS;
    let to = format!("permit out 17 from 192.0.2.1/32 {port} to assigned");
    plan.flow = Some(sluice_smf_emulator::Flow {
        packets: FlowPackets::Described(to.into()),
        precedence: Precedence(100),
        qfi: Qfi::new(5).unwrap_or_default(),
        mbr: plan.flow_mbr,
        gbr: plan.flow_mbr.map(|mbr| BitRate {
            uplink_kbps: mbr.uplink_kbps / 2,
            downlink_kbps: mbr.downlink_kbps / 2,
        }),
    });
}

fn gnb_teid(index: u32, gnb: u8) -> u32 {
    0x1000_0000 + index * GNBS as u32 + u32::from(gnb)
}

/// Ports of flows' filters, which many sessions share.
const FIRST_PORT: u32 = 20_000;
const PORTS: u32 = 1_000;

/// Usage after which a session reports.
const THRESHOLD_OCTETS: u64 = 1 << 20;
/// Periods of reports, so long that none ends while the clock runs: what is measured is what their rules cost.
const FIRST_PERIOD_S: u32 = 3_600;
const PERIODS: u32 = 1_000;

/// The highest rate, and the only one where all are the same.
const TOP_KBPS: f64 = 10_000_000.0;
/// The highest rate by the lowest. The lowest is enough for whatever is sent through a session here,
/// so that nothing is policed.
const SPAN: f64 = 100.0;

/// How many gNBs and rates there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variety {
    pub peers: Peers,
    /// Values of session AMBR and flow MBR.
    ambrs: u32,
    armed: Armed,
}

/// Rules of sessions beside rates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Armed {
    /// A URR that reports nothing by itself.
    No,
    /// Quotas, thresholds and a period.
    Usage,
    /// The same, both families and a filtered flow, as with live cores.
    Live,
}

impl Variety {
    /// A variety with these numbers of gNBs and bit rates.
    pub fn new(peers: u32, ambrs: u32) -> Self {
        Self {
            peers: Peers::new(peers),
            ambrs: ambrs.max(1),
            armed: Armed::No,
        }
    }

    /// The same with sessions that have this beside.
    #[must_use]
    pub fn with(self, armed: Armed) -> Self {
        Self { armed, ..self }
    }

    /// Rules of sessions beside rates.
    pub fn armed(self) -> Armed {
        self.armed
    }

    /// All sessions alike: 16 gNBs and one rate.
    pub fn uniform() -> Self {
        Self::new(1, 1)
    }

    /// How many gNBs and rates there are.
    pub fn counts(self) -> (u32, u32) {
        (self.peers.count(), self.ambrs)
    }

    /// Whether all sessions are alike but for their addresses: 16 gNBs and one rate.
    pub fn is_all_alike(self) -> bool {
        self.counts() == Self::uniform().counts()
    }

    /// Session AMBR and MBR of the flow of subscriber `index`: from 10 Gbit/s down to a hundredth, each
    /// the same part of the one before. Most are no round numbers, and all but the first have another
    /// rate for the uplink.
    pub fn rate(self, index: u32) -> BitRate {
        let mixed = u64::from(mixed(index));
        let nth = (mixed * u64::from(self.ambrs)) >> 32;
        let downlink = TOP_KBPS * SPAN.powf(-(nth as f64) / f64::from(self.ambrs));
        let uplink = if nth == 0 { downlink } else { downlink / 3.0 };
        BitRate {
            uplink_kbps: uplink.round() as u64,
            downlink_kbps: downlink.round() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn there_are_as_many_rates_as_asked_for() {
        for count in [1, 17, 200] {
            let variety = Variety::new(5_000, count);
            let all = (0..20_000).map(|i| variety.rate(i));
            let all: BTreeSet<_> = all.map(|r| (r.downlink_kbps, r.uplink_kbps)).collect();
            assert_eq!(all.len(), count as usize);
            let odd = all.iter().filter(|(down, _)| down % 2 == 1).count();
            assert!(odd * 4 >= all.len() - 1, "{odd} of {}", all.len());
            let (down, up) = all.first().unwrap();
            assert!(*down >= 100_000 && *up >= 30_000);
            assert_eq!(all.last().unwrap().0, 10_000_000);
        }
    }

    #[test]
    fn sixteen_gnbs_and_one_rate_are_uniform() {
        assert!(Variety::new(16, 1).is_all_alike());
        assert!(!Variety::new(16, 2).is_all_alike() && !Variety::new(17, 1).is_all_alike());
    }
}
