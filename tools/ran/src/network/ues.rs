//! UEs and their states.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::Arc;

use crate::{Flow, UeId};
use sluice_host::HostError;
use sluice_host::link::Link;
use sluice_host::netns::Ns;
use sluice_host::tun::{Tun, TunConfig, TunRoute};
use sluice_n1::QosRule;
use sluice_smf_emulator::{Traffic, Tunnel, UeAddresses};
use sluice_wire::ids::{Seid, Teid, UrrId};

use super::namespaces::Namespaces;
use crate::Failure;
use crate::scenario::{NO_ADDRESS, NetnsPlace, Scenario, Ues};

/// The first UE's routing table, where UEs share a namespace.
const FIRST_TABLE: u32 = 10_000;

pub struct Ue {
    /// From 1.
    pub number: usize,
    /// Index of its group.
    pub group: usize,
    /// Index in its group, from 0.
    pub member: usize,
    pub addresses: UeAddresses,
    /// Namespace of the TUN device.
    pub ns: Ns,
    route: TunRoute,
    /// Whether the UE has a SIM: when idle it then resumes by itself to send packets.
    pub has_sim: bool,
    /// Which session of a UE with a SIM, where it is not the first.
    pub session: Option<u8>,
    /// Packets that it sent while it was idle.
    pub held: Vec<Vec<u8>>,
    /// Of what its device sent, octets of its own link, at gNBs that serve it no more and while it was idle.
    pub link_local_bytes: u64,
    /// Handovers since it is connected, which its keys count.
    pub handovers: u8,
    /// How often it came back as it was called.
    pub pages_answered: u64,
    /// A call has ended the session: nobody sets it up again.
    pub is_given_up: bool,
    /// The device of a session that has ended, where such devices are kept.
    pub kept: Option<Tun>,
    pub state: State,
}

pub enum State {
    Off,
    /// A gNB serves it.
    On(Served),
    /// The gNB has forgotten the UE; session and device exist.
    Stranded(Stranded),
}

/// A UE that a gNB serves.
pub struct Served {
    /// Index of the gNB.
    pub gnb: usize,
    /// Number of the UE at its gNB.
    pub id: UeId,
    /// The gNB's end of its tunnel.
    pub teid: Teid,
    pub uplink: Tunnel,
    /// At the UPF; `None`: somebody else's, or lost.
    pub session: Option<Session>,
    /// By which its uplink packets are marked.
    pub rules: Arc<[QosRule]>,
}

/// A UE without a gNB.
pub struct Stranded {
    /// TUN device, which nobody reads.
    pub tun: Tun,
    pub session: Option<Session>,
    /// Last uplink tunnel.
    pub uplink: Tunnel,
}

/// A PFCP session with what was measured.
#[derive(Clone, Debug)]
pub struct Session {
    pub cp_seid: Seid,
    pub reported: Vec<(UrrId, Traffic)>,
    /// Octets that earlier gNBs counted, uplink and downlink; negative for those from before the session.
    pub carried: [i64; 2],
}

impl Session {
    /// A session of a UE that has nothing under way, with what its gNB counted so far.
    pub fn new(cp_seid: Seid, counted: [Flow; 2]) -> Self {
        Self {
            cp_seid,
            reported: Vec::new(),
            carried: counted.map(|flow| -flow.bytes.cast_signed()),
        }
    }

    /// Adds what the UPF reported; says how many reports that were.
    pub fn add(&mut self, usage: &sluice_smf_emulator::Usage) -> u64 {
        for urr in &usage.urrs {
            let known = self.reported.iter_mut().find(|(id, _)| *id == urr.urr_id);
            match known {
                Some((_, traffic)) => *traffic = traffic.plus(urr.traffic()),
                None => self.reported.push((urr.urr_id, urr.traffic())),
            }
        }
        usage.urrs.len() as u64
    }

    /// Octets by which the URR that saw most and the gNBs disagree.
    pub fn difference(&self, counted: [Flow; 2]) -> u64 {
        let most = |of: fn(&Traffic) -> u64| {
            let all = self.reported.iter().map(|(_, traffic)| of(traffic));
            all.max().unwrap_or(0).cast_signed()
        };
        let reported = [most(|t| t.uplink_octets), most(|t| t.downlink_octets)];
        let now = counted.map(|flow| flow.bytes.cast_signed());
        let parts = (0..2).map(|way| {
            let counted = self.carried[way].saturating_add(now[way]);
            reported[way].abs_diff(counted)
        });
        parts.sum()
    }
}

impl Ue {
    /// Name of the UE, for people.
    pub fn name(&self) -> String {
        match self.session {
            None => format!("UE {}", self.number),
            Some(session) => format!("UE {}, session {session}", self.number),
        }
    }

    /// Name of the TUN device.
    pub fn device(&self) -> String {
        match self.session {
            None => format!("ue{}", self.number),
            Some(session) => format!("ue{}s{session}", self.number),
        }
    }

    /// The same UE's further session, which has a device of its own; `line` is its index.
    pub fn further(&self, session: u8, line: usize) -> Self {
        // Also where the first session has the default route.
        let table = FIRST_TABLE + line as u32 + 1;
        Self {
            number: self.number,
            group: self.group,
            member: self.member,
            addresses: NO_ADDRESS,
            ns: self.ns.clone(),
            route: TunRoute::Table { table },
            has_sim: self.has_sim,
            session: Some(session),
            held: Vec::new(),
            link_local_bytes: 0,
            handovers: 0,
            pages_answered: 0,
            is_given_up: false,
            kept: None,
            state: State::Off,
        }
    }

    /// The device as the kernel sees it.
    pub fn link(&self) -> Result<Link, HostError> {
        Link::new(&self.ns, &self.device())
    }

    /// Routing table of the UE, if it has its own.
    pub fn table(&self) -> Option<u32> {
        match self.route {
            TunRoute::Table { table } => Some(table),
            _ => None,
        }
    }

    /// Makes its device.
    pub fn make_tun(&self, mtu: u16) -> Result<Tun, HostError> {
        Tun::create(
            &self.ns,
            &TunConfig {
                name: self.device(),
                address: self.addresses.ipv4(),
                mtu,
                route: self.route,
            },
        )
    }

    /// Has the kernel give its device a link-local address and ask for a router; what the kernel
    /// then makes of the answer is the address of [`Ue::addresses`].
    pub fn start_ipv6(&self) -> Result<(), HostError> {
        let Some(ipv6) = self.addresses.ipv6() else {
            return Ok(());
        };
        let device = self.device();
        // The lower half.
        self.link()?.autoconfigure_ipv6(ipv6.to_bits() as u64)?;
        match self.route {
            TunRoute::Table { table } => self.ns.ip_batch(&format!(
                "-6 route replace default dev {device} table {table}\n"
            )),
            _ => Ok(()),
        }
    }

    /// UE address of the same family as a peer.
    pub fn address_for(&self, peer: IpAddr) -> Option<IpAddr> {
        match peer {
            IpAddr::V4(_) => self.addresses.ipv4().map(IpAddr::V4),
            IpAddr::V6(_) => self.addresses.ipv6().map(IpAddr::V6),
        }
    }

    /// Lines that lead what comes from its addresses to its table.
    fn rules(&self, table: u32) -> String {
        let mut lines = String::new();
        // Writing to a String cannot fail.
        if let Some(ipv4) = self.addresses.ipv4() {
            let _ = writeln!(lines, "rule add from {ipv4} lookup {table}");
        }
        if let Some(ipv6) = self.addresses.ipv6() {
            let prefix = std::net::Ipv6Addr::from_bits(ipv6.to_bits() >> 64 << 64);
            let _ = writeln!(lines, "-6 rule add from {prefix}/64 lookup {table}");
        }
        lines
    }

    /// Whether programs can send from its device: a gNB serves it, or will when it comes back.
    pub fn can_send(&self) -> bool {
        match self.state {
            State::Off => false,
            State::On(_) => true,
            State::Stranded(_) => self.has_sim,
        }
    }

    pub fn served(&self) -> Option<&Served> {
        match &self.state {
            State::On(served) => Some(served),
            _ => None,
        }
    }

    pub fn served_mut(&mut self) -> Option<&mut Served> {
        match &mut self.state {
            State::On(served) => Some(served),
            _ => None,
        }
    }

    /// Session of the UE, if the emulated SMF established it.
    pub fn session(&self) -> Option<&Session> {
        match &self.state {
            State::Off => None,
            State::On(served) => served.session.as_ref(),
            State::Stranded(stranded) => stranded.session.as_ref(),
        }
    }

    /// Slot of the UE's session.
    pub fn session_mut(&mut self) -> Option<&mut Option<Session>> {
        match &mut self.state {
            State::Off => None,
            State::On(served) => Some(&mut served.session),
            State::Stranded(stranded) => Some(&mut stranded.session),
        }
    }
}

/// All UEs, each with its namespace and its routes, none attached.
pub fn all(scenario: &Scenario, places: &mut Namespaces) -> Result<Vec<Ue>, Failure> {
    let mut ues = Vec::new();
    let mut rules: HashMap<Option<String>, (Ns, String)> = HashMap::new();
    for (index, group) in scenario.ues.iter().enumerate() {
        let shared = match group.namespace {
            // Nobody needs one for what has no device.
            _ if !group.has_devices() => Some(Ns::current().map_err(Failure::lacking)?),
            NetnsPlace::Each => None,
            NetnsPlace::Group => Some(places.make(&format!("ran-{}", group.name))?),
            _ => Some(places.existing(&group.namespace)?),
        };
        for member in 0..group.count {
            let ue = ue(group, index, member, ues.len(), shared.as_ref(), places)?;
            if let TunRoute::Table { table } = ue.route
                && group.sims.is_none()
            {
                let name = ue.ns.name().map(str::to_owned);
                let entry = rules.entry(name).or_insert((ue.ns.clone(), String::new()));
                entry.1.push_str(&ue.rules(table));
            }
            ues.push(ue);
        }
    }
    for (ns, lines) in rules.into_values() {
        let undo = lines.replace("rule add", "rule del");
        places.set_anew(&ns, &lines, undo)?;
    }
    Ok(ues)
}

fn ue(
    group: &Ues,
    index: usize,
    member: usize,
    before: usize,
    shared: Option<&Ns>,
    places: &mut Namespaces,
) -> Result<Ue, Failure> {
    let number = before + 1;
    let (ns, route) = match shared {
        Some(ns) => {
            let table = FIRST_TABLE + number as u32;
            (ns.clone(), TunRoute::Table { table })
        }
        None => {
            let label = format!("ran-{}{}", group.name, member + 1);
            (places.make(&label)?, TunRoute::Default)
        }
    };
    Ok(Ue {
        number,
        group: index,
        member,
        addresses: group.addresses_of(member),
        ns,
        route,
        has_sim: group.sims.is_some(),
        session: None,
        held: Vec::new(),
        link_local_bytes: 0,
        handovers: 0,
        pages_answered: 0,
        is_given_up: false,
        kept: None,
        state: State::Off,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_smf_emulator::{UrrUsage, Usage};
    use sluice_wire::pfcp::value::{UsageReportTrigger, VolumeMeasurement};

    fn usage(urr: u32, up: u64, down: u64) -> Usage {
        Usage {
            urrs: vec![UrrUsage {
                urr_id: UrrId(urr),
                sequence: 0,
                trigger: UsageReportTrigger::default(),
                volume: VolumeMeasurement {
                    uplink: Some(up),
                    downlink: Some(down),
                    ..VolumeMeasurement::default()
                },
                duration_s: None,
            }],
        }
    }

    fn flows(up: u64, down: u64) -> [Flow; 2] {
        [up, down].map(|bytes| Flow { packets: 1, bytes })
    }

    #[test]
    fn usage_is_compared_over_gnbs_and_urrs_that_see_the_same() {
        let mut session = Session::new(Seid(1), flows(100, 50));
        session.add(&usage(1, 30, 20));
        session.add(&usage(1, 10, 0));
        // A second URR measures the same packets.
        session.add(&usage(2, 40, 20));
        assert_eq!(session.difference(flows(140, 70)), 0);
        assert_eq!(session.difference(flows(141, 68)), 3);
    }
}
