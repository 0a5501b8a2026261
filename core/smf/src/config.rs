//! Configuration of an SMF.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use sluice_ids::{Dnn, Snssai, Tai, UpSecurity};
use sluice_n1::SESSION_BACK_OFF_MOST_S;
use sluice_n1::options::Settings;

use crate::leases::pools::Pool;
use crate::limits;

/// Configuration of an SMF.
#[derive(Clone, Debug)]
pub struct Config {
    /// Address on N4, which is the Node ID as well.
    pub n4: IpAddr,
    /// Seconds since 1970 when it started, for its recovery time stamp.
    pub started_unix_s: u64,
    /// UPFs; the first that serves a data network and is there is taken.
    pub upfs: Vec<UpfConfig>,
    /// Data networks.
    pub networks: Vec<NetworkConfig>,
    /// How long a UPF may be away until its sessions are released.
    pub upf_return_ms: u64,
    /// How long a UE asks for no session of a data network that is refused for want of room (T3396), in seconds: any
    /// time of this range, both ends included.
    pub back_off_s: (u32, u32),
}

/// How long UEs stay away by default that are refused for want of room: those that were refused together do not come
/// back together.
pub const BACK_OFF_S: (u32, u32) = (60, 600);

/// How long a UPF may be away by default.
pub const UPF_RETURN_MS: u64 = limits::UPF_GRACE_MS;

/// A UPF.
#[derive(Clone, Debug)]
pub struct UpfConfig {
    /// N4 address of the UPF. Other hosts' messages on N4 are ignored.
    pub n4: SocketAddr,
    /// Network Instance of its interfaces towards gNBs; none names none.
    pub access: Option<String>,
    /// Whether its tunnels towards gNBs end at addresses of IPv4 and IPv6 (TS 38.414, 5.1).
    pub n3: [bool; 2],
    /// Addresses of its tunnels; a UPF that chooses F-TEIDs, or says where it has them, needs none here.
    pub n3_addresses: (Option<Ipv4Addr>, Option<Ipv6Addr>),
    /// Pools of data networks that lead to it, where it gives no addresses; none are all.
    pub pools: Vec<Pool>,
    /// How Network Instances are written to it.
    pub instance_coding: InstanceCoding,
    /// Data networks that it leads to; none are all.
    pub networks: Vec<Dnn>,
    /// Slices that it serves; none are all.
    pub slices: Vec<Snssai>,
    /// Tracking areas whose gNBs it serves; none are all.
    pub areas: Vec<Tai>,
    /// Most bits per second that are guaranteed to flows at it, down and up; none for no limit.
    pub guaranteed_bps: Option<(u64, u64)>,
}

/// How a Network Instance is written (TS 29.244, 8.2.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum InstanceCoding {
    /// As it stands: `internet`.
    #[default]
    Text,
    /// As labels of a domain name, each behind its length: for UPFs that read APNs.
    Labels,
}

impl InstanceCoding {
    /// Octets of a name.
    pub fn octets(self, name: &str) -> Vec<u8> {
        let label = |label: &str| [&[label.len() as u8], label.as_bytes()].concat();
        match self {
            Self::Text => name.as_bytes().to_vec(),
            Self::Labels => name.split('.').flat_map(label).collect(),
        }
    }
}

/// A data network.
#[derive(Clone, Debug)]
pub struct NetworkConfig {
    /// Name of the data network (DNN).
    pub dnn: Dnn,
    /// Network Instance at UPFs.
    pub instance: String,
    /// Whether there are addresses for the types IPv4 and IPv6.
    pub families: [bool; 2],
    /// Addresses that UEs are given at UPFs that give none.
    pub pools: Vec<Pool>,
    /// Protocol configuration options for UEs: name servers, P-CSCFs, and the MTU.
    pub settings: Settings,
    /// A charging record after each so many octets, and one at the end of a session; none for no
    /// records.
    pub charging_octets: Option<u64>,
    /// Most bits per second that are guaranteed to flows in it, down and up; none for no limit.
    pub guaranteed_bps: Option<(u64, u64)>,
    /// How the user plane of new sessions is to be protected of which the subscription does not say so; none leaves it
    /// to gNBs.
    pub up_security: Option<UpSecurity>,
}

impl NetworkConfig {
    /// Both families, no name servers, and what fits into a tunnel of 1500 octets.
    pub fn new(dnn: Dnn) -> Self {
        Self {
            dnn,
            instance: dnn.to_string(),
            families: [true; 2],
            pools: Vec::new(),
            settings: Settings {
                // 1500 less IPv6, UDP, GTP-U with a PDU Session Container (TS 29.281, 5.1).
                mtu_octets: Some(1_400),
                ..Settings::default()
            },
            charging_octets: None,
            guaranteed_bps: None,
            up_security: None,
        }
    }
}

impl Config {
    /// Checks the configuration; returns the fault.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let is_mtu =
            |one: &NetworkConfig| one.settings.mtu_octets.is_none_or(|octets| octets >= 1_280);
        let is_short = |one: &NetworkConfig| {
            let told = &one.settings;
            let ipv4 = [&told.servers_ipv4, &told.p_cscfs_ipv4];
            let ipv6 = [&told.servers_ipv6, &told.p_cscfs_ipv6];
            ipv4.iter().all(|all| all.len() <= 4) && ipv6.iter().all(|all| all.len() <= 4)
        };
        let is_name = |text: &String| (1..=100).contains(&text.len());
        let checks = [
            (
                (1..=limits::UPFS).contains(&self.upfs.len()),
                "1 to 64 UPFs are used",
            ),
            (
                self.upfs.iter().all(|one| one.n3 != [false; 2]),
                "a UPF has addresses of a family towards gNBs",
            ),
            (!self.networks.is_empty(), "a data network is needed"),
            (
                self.networks.iter().all(|one| one.families != [false; 2]),
                "a data network has addresses of a family",
            ),
            (
                self.networks.iter().all(is_mtu),
                "an MTU has 1280 octets at least",
            ),
            (
                self.networks.iter().all(|one| is_name(&one.instance)),
                "a Network Instance has 1 to 100 octets",
            ),
            (
                self.networks.iter().all(is_short),
                "4 name servers and 4 P-CSCFs of a family at the most",
            ),
            (
                self.networks
                    .iter()
                    .all(|one| one.charging_octets != Some(0)),
                "a charging record is made of one octet at least",
            ),
            (
                self.pools().all(|(_, pool)| pool.is_sound()),
                "a pool has no host bits; IPv4 of 8 to 32 bits, IPv6 of 32 to 64",
            ),
            (
                self.meeting_pools().is_none(),
                "an address is in one pool alone",
            ),
            (
                is_back_off(self.back_off_s),
                "a back-off is 2 to 1116000 seconds long, the least no longer than the most",
            ),
        ];
        match checks.iter().find(|(holds, _)| !holds) {
            Some((_, what)) => Err(what),
            None => Ok(()),
        }
    }

    /// Pools of all data networks.
    pub(crate) fn pools(&self) -> impl Iterator<Item = (Dnn, Pool)> {
        let of = |one: &NetworkConfig| {
            let dnn = one.dnn;
            one.pools.clone().into_iter().map(move |pool| (dnn, pool))
        };
        self.networks.iter().flat_map(of)
    }

    fn meeting_pools(&self) -> Option<(Pool, Pool)> {
        let all: Vec<Pool> = self.pools().map(|(_, pool)| pool).collect();
        let pairs = all.iter().enumerate();
        let mut pairs =
            pairs.flat_map(|(at, one)| all[..at].iter().map(move |other| (*one, *other)));
        pairs.find(|(one, other)| one.meets(*other))
    }

    /// Slices, data networks and areas of each UPF, without UPFs that serve no data network.
    pub(crate) fn served(&self) -> Vec<(Vec<Snssai>, Vec<Dnn>, Vec<Tai>)> {
        let of_upf = |upf: &UpfConfig| {
            let all = self.networks.iter().map(|one| one.dnn);
            let dnns = all.filter(|dnn| upf.networks.is_empty() || upf.networks.contains(dnn));
            (upf.slices.clone(), dnns.collect(), upf.areas.clone())
        };
        let all = self.upfs.iter().map(of_upf);
        all.filter(|(_, dnns, _): &(_, Vec<Dnn>, _)| !dnns.is_empty())
            .collect()
    }

    pub(crate) fn network(&self, dnn: &Dnn) -> Option<&NetworkConfig> {
        self.networks.iter().find(|one| one.dnn == *dnn)
    }
}

/// Whether UEs can be told so.
fn is_back_off((least_s, most_s): (u32, u32)) -> bool {
    (2..=most_s).contains(&least_s) && most_s <= SESSION_BACK_OFF_MOST_S
}

impl UpfConfig {
    /// Of all data networks, slices and areas.
    pub fn new(n4: SocketAddr) -> Self {
        Self {
            n4,
            access: None,
            n3: [true, false],
            n3_addresses: (None, None),
            pools: Vec::new(),
            instance_coding: InstanceCoding::default(),
            networks: Vec::new(),
            slices: Vec::new(),
            areas: Vec::new(),
            guaranteed_bps: None,
        }
    }

    /// A Network Instance as it is written to it.
    pub(crate) fn instance(&self, name: &str) -> Vec<u8> {
        self.instance_coding.octets(name)
    }

    /// Network Instance of its interfaces towards gNBs.
    pub(crate) fn access_instance(&self) -> Option<Vec<u8>> {
        self.access.as_deref().map(|name| self.instance(name))
    }

    pub(crate) fn serves(&self, dnn: &Dnn, slice: &Snssai, area: &Tai) -> bool {
        (self.areas.is_empty() || self.areas.contains(area))
            && (self.networks.is_empty() || self.networks.contains(dnn))
            && (self.slices.is_empty() || self.slices.contains(slice))
    }
}
