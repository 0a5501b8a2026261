//! Scenario sections for the UPF, gNBs and UEs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};

use sluice_smf_emulator::{Dialect, Network, NetworkName, UeAddresses};
use sluice_wire::ids::Qfi;
use sluice_wire::pfcp;
use sluice_wire::pfcp::value::BitRate;

use super::kinds::{self, NetnsPlace, PduType};
use super::n2::{N2, Sims};
use super::names::Names;
use sluice_program::config::fields::Fields;
use sluice_program::config::kind::{self, Kind};

/// The first UE's interface identifier: none that routers have.
const FIRST_INTERFACE_IDENTIFIER: u128 = 0x100;

/// Of a UE that the network has told none yet.
pub const NO_ADDRESS: UeAddresses = UeAddresses::V4(Ipv4Addr::UNSPECIFIED);

/// Of a gNB that has none in the file.
const NOWHERE: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Keys for UEs whose sessions the scenario plans.
const PLANNED: [&str; 8] = [
    "pdu_type",
    "address",
    "prefix",
    "tunnels",
    "qfi",
    "ambr_kbps",
    "mbr_kbps",
    "measured",
];

/// Our SMF and the UPF.
#[derive(Clone, Debug)]
pub struct N4 {
    pub smf: SocketAddrV4,
    pub upf: SocketAddrV4,
    /// Namespace of the SMF's address.
    pub namespace: NetnsPlace,
    /// PFCP dialect of the SMF.
    pub dialect: Dialect,
    pub network: Network,
    /// The UPF's address on N3, for dialects that choose TEIDs.
    pub n3_upf: Option<IpAddr>,
    /// From one heartbeat to the next, in seconds.
    pub heartbeat_s: u32,
    /// T1, in milliseconds.
    pub t1_ms: u32,
    /// N1: how often a request is sent again.
    pub n1: u8,
}

/// gNBs whose addresses follow each other.
#[derive(Clone, Debug)]
pub struct Gnbs {
    pub line: u32,
    /// Name of the gNB, with a number behind it if they are several.
    pub name: String,
    pub count: usize,
    /// The first one's address on N3; the others follow.
    pub n3: IpAddr,
    /// Namespace of the N3 addresses.
    pub namespace: NetnsPlace,
    /// The interface that gets the addresses, if it does not have them.
    pub interface: Option<String>,
    /// Towards an AMF; without it they have no signalling of their own.
    pub n2: Option<N2>,
}

/// UEs that are alike.
#[derive(Clone, Debug)]
pub struct Ues {
    pub line: u32,
    pub name: String,
    pub count: usize,
    /// The first one's addresses; the others follow.
    pub first: UeAddresses,
    /// gNBs to which they attach in turn, by index.
    pub gnbs: Vec<usize>,
    /// Namespace of the TUN devices.
    pub namespace: NetnsPlace,
    pub mtu: u16,
    pub qfi: Qfi,
    /// The first one's IMSI; the others follow.
    pub imsi: u64,
    pub ambr: Option<BitRate>,
    /// The flow's maximum rate.
    pub mbr: Option<BitRate>,
    /// Whether the UPF measures usage.
    pub measured: bool,
    /// Tunnels that somebody else's SMF has made.
    pub tunnels: Option<StaticTunnels>,
    /// Their SIMs; without them they have no signalling of their own.
    pub sims: Option<Sims>,
}

/// Tunnels that are there without us; TEIDs count up from UE to UE.
#[derive(Clone, Copy, Debug)]
pub struct StaticTunnels {
    /// The UPF's address on N3.
    pub upf: IpAddr,
    /// The first UE's TEID at the UPF.
    pub uplink_teid: u32,
    /// The first UE's TEID at its gNB.
    pub downlink_teid: u32,
}

impl N4 {
    pub(super) fn read(f: &mut Fields<'_, '_>) -> Option<Self> {
        let line = f.line();
        let smf = f.required("smf", &socket());
        let upf = f.required("upf", &socket());
        let dialect = f.or("dialect", "ts", &dialect());
        let n3_upf = f.optional("n3_upf", &kind::ip());
        if dialect.value.chooses_teids() && n3_upf.is_none() {
            let what = format!("missing, and the SMF of {} chooses TEIDs", dialect.value);
            let key = f.key("n3_upf");
            f.report()
                .problem(line, key, what, "the UPF's address on N3");
        }
        Some(Self {
            namespace: f.or("namespace", "current", &kinds::namespace()).value,
            dialect: dialect.value,
            network: Network {
                dnn: f.or("dnn", "internet", &network_name()).value,
                access: f.or("access", "access", &network_name()).value,
                core: f.or("core", "core", &network_name()).value,
            },
            n3_upf: n3_upf.map(|at| at.value),
            heartbeat_s: f
                .or("heartbeat_s", "5", &kind::number(1, 3600, "seconds"))
                .value,
            t1_ms: f
                .or("t1_ms", "1000", &kind::number(10, 60_000, "milliseconds"))
                .value,
            n1: f.or("n1", "3", &kind::number(1, 20, "")).value,
            smf: smf?.value,
            upf: upf?.value,
        })
    }
}

impl Gnbs {
    pub(super) fn read(f: &mut Fields<'_, '_>) -> Option<Self> {
        let line = f.line();
        let name = f.or("name", "gnb", &kind::name()).value;
        let count = f.or("count", "1", &kind::number(1, super::GNBS_MAX, ""));
        let n3 = f.required("n3", &kind::ip());
        let namespace = f.or("namespace", "current", &kinds::namespace());
        let interface = f.optional("interface", &kind::name());
        let first = n3.as_ref().map_or(NOWHERE, |at| at.value);
        let n2 = f.optional_section("n2", |f| N2::read(f, first, count.value));
        let n3 = n3?.value;
        if kinds::following(n3, count.value).is_none() {
            let key = f.key("n3");
            let what = format!("no room for {} addresses after {n3}", count.value);
            f.report().problem(line, key, what, "a lower address");
        }
        Some(Self {
            line,
            name,
            count: count.value,
            n3,
            namespace: namespace.value,
            interface: interface.map(|at| at.value),
            n2,
        })
    }

    pub fn n3_of(&self, member: usize) -> IpAddr {
        kinds::following(self.n3, member).unwrap_or(self.n3)
    }

    pub fn names(&self) -> Vec<String> {
        match self.count {
            1 => vec![self.name.clone()],
            count => (1..=count).map(|n| format!("{}{n}", self.name)).collect(),
        }
    }
}

impl Ues {
    pub(super) fn read(f: &mut Fields<'_, '_>, names: &Names) -> Option<Self> {
        let line = f.line();
        let name = f.or("name", "ue", &group_name()).value;
        let count = f.or("count", "1", &kind::number(1, super::N2_UES_MAX, ""));
        let first = addresses(f, count.value);
        let gnbs = f.or("gnbs", "all", &names.gnbs());
        let namespace = f.or("namespace", "group", &kinds::ue_namespace());
        let mtu = f.or("mtu", "1400", &kind::number(576, 9000, "octets"));
        let qfi = f.or("qfi", "9", &qfi());
        let imsi = f.or("imsi", "001010000000001", &imsi());
        let ambr = f.optional("ambr_kbps", &bit_rate());
        let mbr = f.optional("mbr_kbps", &bit_rate());
        let measured = f.or("measured", "true", &kind::boolean());
        let tunnels = f.optional_section("tunnels", StaticTunnels::read);
        let sims = f.optional_section("sim", |f| Sims::read(f, imsi.value, count.value));
        if f.has("sim") {
            refuse_plan(f);
        }
        Some(Self {
            line,
            name,
            count: count.value,
            first: first?,
            gnbs: gnbs.value,
            namespace: namespace.value,
            mtu: mtu.value,
            qfi: qfi.value,
            imsi: imsi.value,
            ambr: ambr.map(|at| at.value),
            mbr: mbr.map(|at| at.value),
            measured: measured.value,
            tunnels,
            sims,
        })
    }
}

/// A network with an AMF plans its UEs' sessions itself.
fn refuse_plan(f: &mut Fields<'_, '_>) {
    for key in PLANNED {
        if f.has(key) {
            let (line, key) = (f.line(), f.key(key));
            let expected = "only one of both: the network tells a UE with a SIM what it gets";
            f.report()
                .problem(line, key, "given together with sim", expected);
        }
    }
}

impl Ues {
    /// Whether each session has a TUN device.
    pub fn has_devices(&self) -> bool {
        let sims = self.sims.as_ref();
        sims.is_none_or(|sims| sims.devices && !sims.sessions.is_empty())
    }

    /// Whether numbers can count up without touching the home network's digits.
    pub(super) fn is_room_for(imsi: u64, count: usize, home_digits: usize) -> bool {
        let msins = 10_u64.pow(15 - home_digits.min(15) as u32);
        imsi % msins + count as u64 <= msins
    }

    /// The addresses of one of them: address and prefix count up, and so does the interface
    /// identifier.
    pub fn addresses_of(&self, member: usize) -> UeAddresses {
        let ipv4 = |first: Ipv4Addr| Ipv4Addr::from_bits(first.to_bits() + member as u32);
        let ipv6 = |first: Ipv6Addr| {
            let prefix = (first.to_bits() >> 64) + member as u128;
            Ipv6Addr::from_bits(prefix << 64 | (FIRST_INTERFACE_IDENTIFIER + member as u128))
        };
        match self.first {
            UeAddresses::V4(first) => UeAddresses::V4(ipv4(first)),
            UeAddresses::V6(first) => UeAddresses::V6(ipv6(first)),
            UeAddresses::V4V6(v4, v6) => UeAddresses::V4V6(ipv4(v4), ipv6(v6)),
        }
    }
}

/// The first UE's addresses, as its PDU session type wants them.
fn addresses(f: &mut Fields<'_, '_>, count: usize) -> Option<UeAddresses> {
    let line = f.line();
    let pdu_type = f.or("pdu_type", "ipv4", &kinds::pdu_type()).value;
    let address = f.optional("address", &kind::ipv4());
    let prefix = f.optional("prefix", &kinds::prefix64());
    let address = address.map(|at| at.value);
    let prefix = prefix.map(|at| at.value);
    let (wants_v4, wants_v6) = (pdu_type != PduType::Ipv6, pdu_type != PduType::Ipv4);
    if f.has("sim") {
        return Some(NO_ADDRESS);
    }
    let mut lacks = |key: &str, expected: &str| {
        if !f.has(key) {
            let (key, what) = (f.key(key), "missing".to_owned());
            f.report().problem(line, key, what, expected);
        }
    };
    if wants_v4 && address.is_none() {
        lacks("address", "the first UE's IPv4 address");
    }
    if wants_v6 && prefix.is_none() {
        lacks(
            "prefix",
            "the first UE's IPv6 prefix, such as 2001:db8:60::/64",
        );
    }
    if let Some(first) = address
        && first.to_bits().checked_add(count as u32).is_none()
    {
        let key = f.key("address");
        let what = format!("no room for {count} addresses after {first}");
        f.report().problem(line, key, what, "a lower address");
    }
    match pdu_type {
        PduType::Ipv4 => address.map(UeAddresses::V4),
        PduType::Ipv6 => prefix.map(UeAddresses::V6),
        PduType::Ipv4v6 => Some(UeAddresses::V4V6(address?, prefix?)),
    }
}

impl StaticTunnels {
    fn read(f: &mut Fields<'_, '_>) -> Option<Self> {
        let teid = kind::number(1, u32::MAX - super::UES_MAX as u32, "");
        let upf = f.required("upf", &kind::ip());
        let uplink = f.required("uplink_teid", &teid);
        let downlink = f.required("downlink_teid", &teid);
        Some(Self {
            upf: upf?.value,
            uplink_teid: uplink?.value,
            downlink_teid: downlink?.value,
        })
    }
}

/// A tunnel has two ends of one family, and UEs go from gNB to gNB.
pub(super) fn check_families(n4: Option<&N4>, gnbs: &[Gnbs], ues: &[Ues], f: &mut Fields<'_, '_>) {
    let Some(first) = gnbs.first() else { return };
    let is_ipv6 = first.n3.is_ipv6();
    let is_other = |address: &IpAddr| address.is_ipv6() != is_ipv6;
    let upf = n4.and_then(|n4| n4.n3_upf).filter(is_other);
    let of_gnbs = gnbs.iter().map(|group| (group.line, "gnbs.n3", group.n3));
    let tunnels = |group: &Ues| Some((group.line, "ues.tunnels.upf", group.tunnels?.upf));
    let all = of_gnbs.chain(ues.iter().filter_map(tunnels));
    let upf = upf.map(|upf| (first.line, "n4.n3_upf", upf));
    for (line, key, address) in all.filter(|(.., address)| is_other(address)).chain(upf) {
        let what = format!("{address} and the gNB {} are of two families", first.n3);
        let expected = "addresses on N3 of one family";
        f.report().problem(line, key, what, expected);
    }
}

/// Without an SMF of ours, tunnels must be given.
pub(super) fn check_tunnels(n4: Option<&N4>, ues: &[Ues], f: &mut Fields<'_, '_>) {
    if !f.report().is_clean("ues") {
        // Something is wrong with them already.
        return;
    }
    let needy = |group: &&Ues| group.tunnels.is_none() && group.sims.is_none();
    for group in ues.iter().filter(needy) {
        if n4.is_none() && !f.has("n4") {
            let what = format!("group {} has no tunnels, and there is no n4", group.name);
            let expected = "n4 with smf and upf, tunnels that another SMF has made, or sim";
            f.report().problem(group.line, "ues", what, expected);
        }
    }
}

fn socket() -> Kind<SocketAddrV4> {
    let kind = kind::socket_address(pfcp::PORT);
    Kind::new(kind.expected.clone(), move |text| {
        match kind.parse(text)? {
            SocketAddr::V4(address) => Some(address),
            SocketAddr::V6(_) => None,
        }
    })
}

fn dialect() -> Kind<Dialect> {
    Kind::new("ts, open5gs, free5gc, oai, sdcore or marking", |text| {
        text.parse().ok()
    })
}

fn network_name() -> Kind<NetworkName> {
    Kind::new("a network name, such as internet", |text| {
        NetworkName::new(text).ok()
    })
}

fn qfi() -> Kind<Qfi> {
    Kind::new("a QFI from 0 to 63", |text| Qfi::new(text.parse().ok()?))
}

fn imsi() -> Kind<u64> {
    Kind::new("an IMSI of 15 digits", |text| {
        let good = text.len() == 15 && text.bytes().all(|c| c.is_ascii_digit());
        good.then(|| text.parse().ok())?
    })
}

/// Part of namespaces' names.
fn group_name() -> Kind<String> {
    let expected = "a name of 1 to 20 letters, digits and '-', beginning with a letter, not all";
    Kind::new(expected, |text| {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let good = (1..=20).contains(&text.len())
            && text.chars().all(fits)
            && text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text != "all";
        good.then(|| text.to_owned())
    })
}

fn bit_rate() -> Kind<BitRate> {
    let expected = "uplink/downlink in kbit/s, such as 100000/500000";
    Kind::new(expected, |text| {
        let (uplink, downlink) = text.split_once('/')?;
        let rate = |text: &str| text.trim().parse().ok().filter(|kbps| *kbps < 1 << 40);
        Some(BitRate {
            uplink_kbps: rate(uplink)?,
            downlink_kbps: rate(downlink)?,
        })
    })
}
