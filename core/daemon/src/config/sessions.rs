//! Sections of the SMF: N4, UPFs, data networks, charging records.

use super::access::none_or;
use super::kinds;
use super::policies::{PolicySection, read_access};
use sluice_ids::{Dnn, Plmn, Snssai, Tac, UpSecurity};
use sluice_pcf::AccessPolicy;
use sluice_program::config::fields::{At, Fields};
use sluice_program::config::ip::Prefix;
use sluice_program::config::kind::{
    Kind, boolean, dns_ipv6, ip, network_instance, number, socket_address, socket_path, word,
};
use sluice_smf::{Family, InstanceCoding, Pool, Settings};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;

/// Port of PFCP (TS 29.244, 6.1).
const PFCP_PORT: u16 = 8805;

/// PDU sessions.
#[derive(Clone, Debug)]
pub struct Sessions {
    /// Our address on N4; none if it could not be read.
    pub n4: Option<At<SocketAddrV4>>,
    /// How long a UPF may be away until its sessions are released.
    pub upf_return_s: u32,
    /// At least one.
    pub upfs: Vec<Upf>,
    /// At least one.
    pub networks: Vec<DataNetwork>,
    /// Which QoS flows sessions have beside the default one.
    pub policies: Vec<PolicySection>,
    /// Policies of UEs.
    pub access_policies: Vec<At<AccessPolicy>>,
    /// Where charging records go.
    pub charging: Charging,
}

/// Where charging records go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Charging {
    /// Nowhere: there are none.
    None,
    /// Standard output.
    Stdout,
    /// To the end of a file.
    File(PathBuf),
}

impl Sessions {
    /// Sockets of UPFs that give rings, and the addresses of these UPFs.
    pub fn rings(&self) -> Vec<(PathBuf, SocketAddr)> {
        let of = |upf: &Upf| Some((upf.rings.clone()?, upf.n4.value));
        self.upfs.iter().filter_map(of).collect()
    }

    /// None where the file has neither N4 nor UPFs nor data networks.
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let keys = ["n4", "upfs", "data_networks"];
        let is_there = keys.iter().any(|key| fields.has(key));
        let mut upf_return_s = 0;
        let n4 = fields.section("n4", |f| {
            let away = number(1, 86_400, "seconds");
            upf_return_s = f.or("upf_return_s", "30", &away).value;
            read_n4(f, is_there)
        });
        let (upfs, networks) = if is_there {
            let upfs = fields.required_sections("upfs", "a list of n4", Upf::read);
            let expected = "a list of name";
            let networks = fields.required_sections("data_networks", expected, DataNetwork::read);
            (upfs, networks)
        } else {
            (Vec::new(), Vec::new())
        };
        let policies = fields.sections("policies", PolicySection::read);
        let access_policies = fields.sections("access_policies", read_access);
        let charging = fields.or("charging_records", "none", &charging());
        if !is_there {
            let line = fields.line();
            let what = "missing: UEs register, and have no PDU sessions";
            let expected = "n4, upfs and data_networks";
            fields.report().warning(line, "upfs", what, expected);
            return None;
        }
        let is_recorded = networks.iter().any(|one| one.charging_octets.is_some());
        if charging.value == Charging::None && is_recorded {
            let what = "none, but a data network has charging_octets";
            let expected = "where the records go: stdout, or an absolute path";
            fields
                .report()
                .warning(charging.line, "charging_records", what, expected);
        }
        Some(Self {
            n4,
            upf_return_s,
            upfs,
            networks,
            policies,
            access_policies,
            charging: charging.value,
        })
    }
}

/// What becomes of PDU sessions when the core ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtEnd {
    /// Their UPFs delete them.
    Release,
    /// Their UPFs have them until they miss the core.
    Keep,
}

/// How the core ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct End {
    /// What becomes of sessions.
    pub sessions: AtEnd,
    /// How long their release may take.
    pub within_s: u32,
}

impl End {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let kind = word(&[("release", AtEnd::Release), ("keep", AtEnd::Keep)]);
        let sessions = fields.or("sessions", "release", &kind).value;
        let within = number(1, 60, "seconds");
        let within_s = fields.or("within_s", "5", &within).value;
        Self { sessions, within_s }
    }
}

fn read_n4(fields: &mut Fields<'_, '_>, is_needed: bool) -> Option<At<SocketAddrV4>> {
    let kind = socket_address(PFCP_PORT);
    let listen = match is_needed {
        true => fields.required("listen", &kind)?,
        false => return None,
    };
    let SocketAddr::V4(address) = listen.value else {
        return None;
    };
    if address.ip().is_unspecified() {
        let (what, key) = (format!("got '{address}'"), fields.key("listen"));
        let expected = "the address of one interface: UPFs know us by it";
        fields.report().problem(listen.line, key, what, expected);
        return None;
    }
    Some(listen.map(|_| address))
}

fn charging() -> Kind<Charging> {
    Kind::new("none, stdout, or an absolute path", |text| match text {
        "none" => Some(Charging::None),
        "stdout" => Some(Charging::Stdout),
        text => kinds::file().parse(text).map(Charging::File),
    })
}

/// A UPF.
#[derive(Clone, PartialEq, Debug)]
pub struct Upf {
    /// Its address on N4.
    pub n4: At<SocketAddr>,
    /// Socket at which it gives rings in place of UDP; none where it does not.
    pub rings: Option<PathBuf>,
    /// Network Instance of its interfaces towards gNBs; none names none.
    pub access: Option<String>,
    /// Whether its tunnels towards gNBs have addresses of IPv4 and IPv6.
    pub n3: [bool; 2],
    /// Addresses of these tunnels; none where the UPF tells them.
    pub n3_addresses: (Option<Ipv4Addr>, Option<Ipv6Addr>),
    /// Pools that lead to it; none are all of its data networks.
    pub pools: Vec<At<Pool>>,
    /// How Network Instances are written to it.
    pub instance_coding: InstanceCoding,
    /// Data networks that it leads to; none are all.
    pub networks: Vec<At<Dnn>>,
    /// Slices that it serves; none are all.
    pub slices: Vec<At<Snssai>>,
    /// Tracking areas whose gNBs it serves, of the first PLMN where none is named; none are all.
    pub areas: Vec<At<(Option<Plmn>, Tac)>>,
    /// Most bits per second that are guaranteed to flows at it, down and up; none for no limit.
    pub guaranteed_bps: Option<(u64, u64)>,
}

impl Upf {
    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let n4 = fields.required("n4", &socket_address(PFCP_PORT));
        let rings = fields.optional("rings", &socket_path());
        let access = fields.optional("access_instance", &network_instance());
        let (n3, n3_addresses) = read_n3(fields);
        let codings = word(&[
            ("text", InstanceCoding::Text),
            ("labels", InstanceCoding::Labels),
        ]);
        let instance_coding = fields.or("instance_coding", "text", &codings).value;
        let pools = fields.list("pools", &pool());
        let networks = fields.list("data_networks", &kinds::dnn());
        let slices = fields.list("slices", &kinds::slice());
        let areas = fields.list("tais", &kinds::tai());
        let guaranteed_bps = read_budget(fields);
        Some(Self {
            n4: n4?,
            rings: rings.map(|at| at.value),
            access: access.map(|at| at.value),
            n3,
            n3_addresses,
            pools,
            instance_coding,
            networks,
            slices,
            areas,
            guaranteed_bps,
        })
    }
}

/// A value of N3 of a UPF.
#[derive(Clone, Copy)]
enum N3 {
    /// Families, of which the UPF tells the addresses.
    Families([bool; 2]),
    /// An address.
    At(IpAddr),
}

fn n3() -> Kind<N3> {
    let expected = "ipv4, ipv6, ipv4v6, or an address of each family";
    Kind::new(expected, |text| match text {
        "ipv4" => Some(N3::Families([true, false])),
        "ipv6" => Some(N3::Families([false, true])),
        "ipv4v6" => Some(N3::Families([true; 2])),
        text => ip().parse(text).filter(is_station).map(N3::At),
    })
}

fn is_station(address: &IpAddr) -> bool {
    !(address.is_unspecified() || address.is_multicast())
}

/// Families of a UPF's tunnels, and their addresses as far as the file has them.
type Tunnels = ([bool; 2], (Option<Ipv4Addr>, Option<Ipv6Addr>));

fn read_n3(fields: &mut Fields<'_, '_>) -> Tunnels {
    let (mut families, mut ipv4, mut ipv6) = (None, None, None);
    let all = fields.list("n3", &n3());
    for at in &all {
        let is_repeated = match at.value {
            N3::Families(told) => families.replace(told).is_some() || all.len() > 1,
            N3::At(IpAddr::V4(address)) => ipv4.replace(address).is_some(),
            N3::At(IpAddr::V6(address)) => ipv6.replace(address).is_some(),
        };
        if is_repeated {
            let (key, what) = (fields.key("n3"), "more than one of a kind");
            let expected = "one word, or an address of each family";
            fields.report().problem(at.line, key, what, expected);
            break;
        }
    }
    let told = [ipv4.is_some(), ipv6.is_some()];
    let default = if told == [false; 2] {
        [true, false]
    } else {
        told
    };
    (families.unwrap_or(default), (ipv4, ipv6))
}

/// Most that is guaranteed in all; none where neither direction has a limit.
fn read_budget(fields: &mut Fields<'_, '_>) -> Option<(u64, u64)> {
    let down = fields.or("guaranteed_down", "none", &none_or(kinds::bit_rate()));
    let up = fields.or("guaranteed_up", "none", &none_or(kinds::bit_rate()));
    let most = (down.value, up.value);
    let is_limited = most != (None, None);
    is_limited.then(|| (most.0.unwrap_or(u64::MAX), most.1.unwrap_or(u64::MAX)))
}

/// A data network.
#[derive(Clone, PartialEq, Debug)]
pub struct DataNetwork {
    /// Its name.
    pub dnn: At<Dnn>,
    /// Its Network Instance at UPFs.
    pub instance: String,
    /// Whether there are addresses of IPv4 and IPv6.
    pub families: [bool; 2],
    /// Addresses for UEs at UPFs that give none.
    pub pools: Vec<At<Pool>>,
    /// What UEs are told that ask for it: name servers, the IMS, and the longest packet.
    pub settings: Settings,
    /// A charging record after each so many octets, and one at the end of a session; none for no
    /// records.
    pub charging_octets: Option<u64>,
    /// Most bits per second that are guaranteed to flows in it, down and up; none for no limit.
    pub guaranteed_bps: Option<(u64, u64)>,
    /// How the user plane is to be protected where the subscriber's data does not say so; none leaves it to gNBs.
    pub up_security: Option<UpSecurity>,
}

/// A user plane security policy: both of it.
pub(super) fn read_up_security(fields: &mut Fields<'_, '_>) -> Option<UpSecurity> {
    let integrity = fields.required("integrity", &kinds::protection());
    let confidentiality = fields.required("confidentiality", &kinds::protection());
    Some(UpSecurity {
        integrity: integrity?.value,
        confidentiality: confidentiality?.value,
    })
}

/// Name servers, and P-CSCFs, of a family that a UE is told.
const SERVERS_MAX: usize = 4;

impl DataNetwork {
    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let dnn = fields.required("name", &kinds::dnn());
        let instance = fields.optional("network_instance", &network_instance());
        let ipv4 = fields.or("ipv4", "true", &boolean());
        let ipv6 = fields.or("ipv6", "true", &boolean());
        if !ipv4.value && !ipv6.value {
            let key = fields.key("ipv6");
            let what = "false, and ipv4 is false";
            fields
                .report()
                .problem(ipv6.line, key, what, "addresses of a family");
        }
        let pools = read_pools(fields, [ipv4.value, ipv6.value]);
        let (servers_ipv4, servers_ipv6) = servers(fields, "dns", "name servers");
        let (p_cscfs_ipv4, p_cscfs_ipv6) = servers(fields, "p_cscf", "P-CSCFs");
        let mtu = fields.or("mtu", "1400", &number(1_280, 9_000, "octets"));
        let charging = none_or(number(1, u64::MAX, "octets"));
        let charging = fields.or("charging_octets", "none", &charging);
        let guaranteed_bps = read_budget(fields);
        let up_security = fields.optional_section("user_plane_security", read_up_security);
        let dnn = dnn?;
        let name = dnn.value.to_string();
        Some(Self {
            dnn,
            instance: instance.map_or(name, |at| at.value),
            families: [ipv4.value, ipv6.value],
            pools,
            settings: Settings {
                servers_ipv4,
                servers_ipv6,
                p_cscfs_ipv4,
                p_cscfs_ipv6,
                mtu_octets: Some(mtu.value),
            },
            charging_octets: charging.value,
            guaranteed_bps,
            up_security,
        })
    }
}

/// Pools, of families that the data network has.
fn read_pools(fields: &mut Fields<'_, '_>, [ipv4, ipv6]: [bool; 2]) -> Vec<At<Pool>> {
    let pools = fields.list("pools", &pool());
    for (place, at) in pools.iter().enumerate() {
        let family = at.value.family();
        let is_there = match family {
            Family::Ipv4 => ipv4,
            Family::Ipv6 => ipv6,
        };
        if !is_there {
            let key = format!("{}[{place}]", fields.key("pools"));
            let what = format!(
                "{} is of {family}, which the data network has not",
                at.value
            );
            let expected = "a pool of a family that it has";
            fields.report().problem(at.line, key, what, expected);
        }
    }
    pools
}

fn pool() -> Kind<Pool> {
    let expected = "an IPv4 prefix of 8 to 32 bits without host bits, such as 10.45.0.0/16, \
                    or an IPv6 prefix of 32 to 64 bits";
    Kind::new(expected, |text| match text.parse().ok()? {
        Prefix::V4(prefix) => {
            let pool = Pool::Ipv4(prefix.base(), prefix.prefix_len());
            (prefix.prefix_len() >= 8).then_some(pool)
        }
        Prefix::V6(prefix) => {
            let base = prefix.base();
            let is_global = is_station(&base.into()) && !base.is_unicast_link_local();
            let pool = Pool::Ipv6(base, prefix.prefix_len());
            ((32..=64).contains(&prefix.prefix_len()) && is_global).then_some(pool)
        }
    })
}

/// Servers that UEs are told, by family.
fn servers(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    what: &str,
) -> (Vec<Ipv4Addr>, Vec<Ipv6Addr>) {
    let (mut servers_ipv4, mut servers_ipv6) = (Vec::new(), Vec::new());
    for at in fields.list(key, &server()) {
        match at.value {
            IpAddr::V4(server) => servers_ipv4.push(server),
            IpAddr::V6(server) => servers_ipv6.push(server),
        }
        if servers_ipv4.len().max(servers_ipv6.len()) > SERVERS_MAX {
            let key = fields.key(key);
            let expected = format!("{SERVERS_MAX} {what} of a family at the most");
            fields
                .report()
                .problem(at.line, key, "more than UEs are told", expected);
            break;
        }
    }
    (servers_ipv4, servers_ipv6)
}

fn server() -> Kind<IpAddr> {
    Kind::new(
        "the IP address of a server that UEs can reach",
        |text| match ip().parse(text)? {
            IpAddr::V6(_) => dns_ipv6().parse(text).map(IpAddr::V6),
            IpAddr::V4(ipv4) => {
                let is_reached =
                    !(ipv4.is_unspecified() || ipv4.is_multicast() || ipv4.is_loopback());
                is_reached.then_some(IpAddr::V4(ipv4))
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::super::CoreConfig;
    use super::InstanceCoding;
    use sluice_ids::{UpProtection, UpSecurity};
    use std::path::Path;

    /// The policies of the data network and of the subscriber, or all that is wrong.
    fn policies(network: &str, subscriber: &str) -> Result<[Option<UpSecurity>; 2], String> {
        let keys = "000102030405060708090a0b0c0d0e0f";
        let text = format!(
            "plmns: {{plmn: 001-01, slices: 1}}\ntracking_areas: {{tac: 1}}\n\
             n2: {{listen: 192.0.2.20, gnbs: 192.0.2.0/24}}\nn4: {{listen: 192.0.2.20}}\n\
             upfs: {{n4: 192.0.2.10}}\ndata_networks: {{name: internet{network}}}\n\
             subscribers: {{imsi: '001010000000001', k: {keys}, opc: {keys}, networks: {{name: internet{subscriber}}}}}\n"
        );
        let loaded = CoreConfig::from_text(Path::new("core.yaml"), &text);
        let config = loaded.map_err(|refused| refused.to_string())?.config;
        let sessions = config.sessions.ok_or("no sessions")?;
        let of_subscriber = config.subscribers[0].networks[0].up_security;
        Ok([sessions.networks[0].up_security, of_subscriber])
    }

    #[test]
    fn a_upf_that_does_not_choose_is_read_with_its_addresses_and_the_pools_of_its_networks() {
        let n3 = "n3: [192.0.2.1, '2001:db8::1'], instance_coding: labels";
        let text = |n3: &str| {
            format!(
                "plmns: {{plmn: 001-01, slices: 1}}\ntracking_areas: {{tac: 1}}\n\
                 n2: {{listen: 192.0.2.20, gnbs: 192.0.2.0/24}}\nn4: {{listen: 192.0.2.20}}\n\
                 upfs: {{n4: 192.0.2.10, {n3}}}\n\
                 data_networks: {{name: internet, pools: [10.45.0.0/16, '2001:db8:45::/48']}}\n"
            )
        };
        let read = |n3: &str| {
            let loaded = CoreConfig::from_text(Path::new("core.yaml"), &text(n3));
            let config = loaded
                .map_err(|refused| refused.to_string())
                .expect("right")
                .config;
            crate::convert::smf(&config, 0).expect("sessions")
        };
        let smf = read(n3);
        let upf = &smf.upfs[0];
        let addresses = ("192.0.2.1".parse().ok(), "2001:db8::1".parse().ok());
        assert_eq!((upf.n3, upf.n3_addresses), ([true; 2], addresses));
        assert_eq!(upf.instance_coding, InstanceCoding::Labels);
        let pools: Vec<String> = smf.networks[0]
            .pools
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(pools, ["10.45.0.0/16", "2001:db8:45::/48"]);
        for (n3, families, ipv4) in [
            ("n3: 192.0.2.1", [true, false], "192.0.2.1".parse().ok()),
            ("n3: ipv4v6", [true; 2], None),
            ("slices: 1", [true, false], None),
        ] {
            let upf = &read(n3).upfs[0];
            assert_eq!((upf.n3, upf.n3_addresses), (families, (ipv4, None)), "{n3}");
        }
    }

    #[test]
    fn a_user_plane_security_policy_is_whole_or_none() {
        let policy = |integrity, confidentiality| {
            Some(UpSecurity {
                integrity,
                confidentiality,
            })
        };
        assert_eq!(policies("", ""), Ok([None, None]));
        let both = policies(
            ", user_plane_security: {integrity: preferred, confidentiality: not_needed}",
            ", user_plane_security: {integrity: required, confidentiality: preferred}",
        );
        let expected = [
            policy(UpProtection::Preferred, UpProtection::NotNeeded),
            policy(UpProtection::Required, UpProtection::Preferred),
        ];
        assert_eq!(both, Ok(expected));
        for (network, subscriber, told) in [
            (
                ", user_plane_security: {integrity: required}",
                "",
                "core.yaml:6: data_networks.user_plane_security.confidentiality: missing; expected required",
            ),
            (
                "",
                ", user_plane_security: {integrity: REQUIRED, confidentiality: required}",
                "core.yaml:7: subscribers.networks.user_plane_security.integrity: got 'REQUIRED'; expected required",
            ),
        ] {
            let refused = policies(network, subscriber).expect_err("a mistake");
            assert!(refused.contains(told), "{refused}");
        }
    }
}
