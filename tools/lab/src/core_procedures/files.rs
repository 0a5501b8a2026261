//! Files of core, UPF and RAN.

use super::place::{Addresses, FUNCTIONS, Place, SERVER, UES, UPF_N3, UPF_N6};
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

const K: &str = "46464646464646464646464646464646";
const OPC: &str = "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd";
/// First subscriber; the others follow.
const FIRST_IMSI: u64 = 1_010_000_000_001;
/// First of the ports of service-based interfaces.
const SBI_PORT: u16 = 7777;
/// Packets that UEs need here are few.
const DPDK: &str = "{memory_mb: 128, mbufs: 16383}";

/// Procedures of UEs between registration and deregistration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// A session is created.
    Sessions,
    /// A session is created; then N2 handover, idle and paging by a packet.
    Mobility,
}

/// Configuration of a core.
pub struct CoreFile<'a> {
    pub wiring: &'a str,
    pub subscribers: u32,
    /// The AMF asks the NRF for an SMF before each session.
    pub discovers_each: bool,
    /// Folder of stored contexts of UEs and sessions; none is without.
    pub contexts: Option<&'a Path>,
}

impl CoreFile<'_> {
    pub fn text(&self, socket: &Path, place: &Place) -> String {
        let Addresses {
            amf,
            smf,
            upf,
            gnb_n2,
            ..
        } = place.addresses;
        let validity_s = if self.discovers_each { 0 } else { 60 };
        format!(
            "# Written by `sluice lab`.\n\
             control_socket: {socket}\n\
             {wiring}{contexts}\
             nrf: {{validity_s: {validity_s}}}\n\
             plmns: {{plmn: 001-01, slices: 1}}\n\
             tracking_areas: {{tac: 1}}\n\
             n2: {{listen: {amf}, over: udp, sctp: userspace, gnbs: {gnbs}}}\n\
             n4: {{listen: {smf}}}\n\
             upfs: {{n4: {upf}, access_instance: access}}\n\
             data_networks: {{name: internet, ipv6: false}}\n\
             subscribers:\n{subscribers}",
            socket = socket.display(),
            wiring = self.wiring(place),
            contexts = self.contexts(),
            gnbs = network_of(gnb_n2),
            subscribers = self.subscribers(),
        )
    }

    fn wiring(&self, place: &Place) -> String {
        let wiring = self.wiring;
        if place.is_apart() {
            let of = |name: &str| {
                let address = Place::address_apart(name);
                format!("{{functions: [{name}], sbi: '{address}:{SBI_PORT}'}}")
            };
            let programs = FUNCTIONS.map(of).join(", ");
            let sbi = sbi(Place::address_apart("nrf"));
            return format!("wiring: {{transport: {wiring}, programs: [{programs}]}}\n{sbi}");
        }
        let sbi = match wiring {
            "http2" => sbi(place.addresses.smf),
            _ => String::new(),
        };
        format!("wiring: {{transport: {wiring}}}\n{sbi}")
    }

    fn contexts(&self) -> String {
        let folder = self.contexts.map(Path::display);
        folder.map_or(String::new(), |folder| {
            format!("contexts: {{folder: {folder}, most_mib: 64}}\n")
        })
    }

    fn subscribers(&self) -> String {
        let subscriber = |number: u64| {
            let imsi = FIRST_IMSI + number;
            format!(
                "  - {{imsi: '{imsi:015}', k: {K}, opc: {OPC}, networks: {{name: internet}}}}\n"
            )
        };
        (0..u64::from(self.subscribers)).map(subscriber).collect()
    }
}

/// Nobody else is in the namespaces.
fn sbi(listen: Ipv4Addr) -> String {
    format!("sbi: {{listen: '{listen}:{SBI_PORT}', cleartext: true}}\n")
}

/// The network of 256 addresses that has this one.
fn network_of(address: Ipv4Addr) -> String {
    let [a, b, c, _] = address.octets();
    format!("{a}.{b}.{c}.0/24")
}

/// Configuration of a UPF whose ports are `n3` and `n6`, and that admits the SMF of these addresses.
pub fn upf(socket: &Path, addresses: &Addresses) -> String {
    let Addresses { smf, upf, .. } = addresses;
    format!(
        "# Written by `sluice lab`.\n\
         control_socket: {socket}\n\
         n4: {{listen: {upf}, peers: {smf}}}\n\
         ports:\n\
         \x20 - {{name: n3, device: 'net_af_packet0,iface=n3'}}\n\
         \x20 - {{name: n6, device: 'net_af_packet1,iface=n6'}}\n\
         interfaces:\n\
         \x20 - {{name: n3, port: n3, addresses: {UPF_N3}/24, n3: {{network_instance: access}}}}\n\
         \x20 - {{name: n6, port: n6, addresses: {UPF_N6}/24, gateway: {SERVER}, n6: {{network_instance: internet}}}}\n\
         pools:\n\
         \x20 - {{network_instance: internet, prefix: {UES}, allocate: true}}\n\
         dpdk: {DPDK}\n\
         limits: {{sessions: 4096}}\n",
        socket = socket.display(),
    )
}

/// A step in which all UEs are busy for so long, all at a time; paged ones get packets from the namespace `data_network`.
pub fn cycle(ues: u32, lasts: Duration, data_network: Option<&str>) -> String {
    let procedures = match data_network {
        Some(name) => format!("[establish, n2_handover, page], data_network: {name}"),
        None => "[establish]".to_owned(),
    };
    let ms = lasts.as_millis();
    format!("\x20 - cycle: {{at_once: {ues}, procedures: {procedures}, for: {ms}ms}}\n")
}

/// Scenario of gNBs and UEs with these steps. With `ran`, a namespace, there are two gNBs in it, and UEs have devices.
pub fn scenario(addresses: &Addresses, ues: u32, ran: Option<&str>, steps: &str) -> String {
    let Addresses {
        amf,
        gnb_n2,
        gnb_n3,
        ..
    } = addresses;
    let (namespace, devices) = (ran.unwrap_or("current"), ran.is_some());
    let gnbs = if devices { 2 } else { 1 };
    format!(
        "# Written by `sluice lab`.\n\
         gnbs:\n\
         \x20 count: {gnbs}\n\
         \x20 n3: {gnb_n3}\n\
         \x20 namespace: {namespace}\n\
         \x20 n2: {{amf: {amf}, local: {gnb_n2}, plmn: '00101', over: udp, sctp: userspace}}\n\
         ues:\n\
         \x20 count: {ues}\n\
         \x20 imsi: '{FIRST_IMSI:015}'\n\
         \x20 sim: {{k: {K}, opc: {OPC}, devices: {devices}, sessions: {{dnn: internet, type: ipv4}}}}\n\
         steps:\n{steps}"
    )
}
