//! Places of an experiment's programs: network namespaces, links between them, and addresses.

use crate::experiments::Problem;
use sluice_host::HostError;
use sluice_host::netns::{Netns, Ns};
use sluice_host::veth::{Veth, VethEnd};
use std::net::Ipv4Addr;

/// Functions, each with a program and a namespace of its own.
pub const FUNCTIONS: [&str; 8] = ["nrf", "amf", "ausf", "udm", "udr", "nssf", "smf", "pcf"];
/// Room for headers of tunnels.
const LINK_MTU: u16 = 1600;
const LINK_PREFIX: u8 = 24;
/// Name of an interface in a namespace of a program.
const LINK: &str = "lan";
/// Data network of the UPF's sessions.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 6, 2);
/// UPF's own addresses.
pub const UPF_N3: Ipv4Addr = Ipv4Addr::new(198, 18, 3, 1);
pub const UPF_N6: Ipv4Addr = Ipv4Addr::new(198, 18, 6, 1);
/// Addresses of UEs.
pub const UES: &str = "10.60.0.0/16";

/// Addresses that files of core, UPF and gNBs name.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    pub amf: Ipv4Addr,
    pub smf: Ipv4Addr,
    /// UPF on N4.
    pub upf: Ipv4Addr,
    /// First gNB; others follow.
    pub gnb_n2: Ipv4Addr,
    pub gnb_n3: Ipv4Addr,
}

/// Namespaces and links, which go with the value.
pub struct Place {
    // Before the namespaces, so that they go first.
    _links: Vec<Veth>,
    namespaces: Vec<(String, Netns)>,
    pub addresses: Addresses,
}

impl Place {
    /// One namespace for all programs, on its loopback.
    pub fn one() -> Result<Self, Problem> {
        let net = Netns::create("lab-net").map_err(failed)?;
        let on_loopback = |third, last| Ipv4Addr::new(127, 0, third, last);
        Ok(Self {
            _links: Vec::new(),
            namespaces: vec![("net".to_owned(), net)],
            addresses: Addresses {
                amf: on_loopback(1, 1),
                smf: on_loopback(1, 1),
                upf: on_loopback(1, 3),
                gnb_n2: on_loopback(2, 1),
                gnb_n3: on_loopback(2, 1),
            },
        })
    }

    /// A namespace for core and UPF, one for gNBs, and one for a data network; N3 and N6 are the UPF's ports.
    pub fn with_data_network() -> Result<Self, Problem> {
        let [net, ran, data] = ["lab-net", "lab-ran", "lab-data"].map(Netns::create);
        let [net, ran, data] = [
            net.map_err(failed)?,
            ran.map_err(failed)?,
            data.map_err(failed)?,
        ];
        let near = |last| Ipv4Addr::new(198, 18, 2, last);
        let gnb_n3 = Ipv4Addr::new(198, 18, 3, 11);
        let end = |ns: &Ns, name: &str, address| {
            VethEnd::bare(ns, name).with_address(address, LINK_PREFIX)
        };
        let n2 = Veth::create(
            &end(&net, "n2", near(1)),
            &end(&ran, "n2", near(11)),
            LINK_MTU,
        );
        let n3 = Veth::create(
            &end(&ran, "n3", gnb_n3),
            &VethEnd::bare(&net, "n3"),
            LINK_MTU,
        );
        let n6 = Veth::create(
            &end(&data, "n6", SERVER),
            &VethEnd::bare(&net, "n6"),
            LINK_MTU,
        );
        let [n2, n3, n6] = [
            n2.map_err(failed)?,
            n3.map_err(failed)?,
            n6.map_err(failed)?,
        ];
        let second = |address: Ipv4Addr| Ipv4Addr::from_bits(address.to_bits() + 1);
        n2.b()
            .add_address(second(near(11)), LINK_PREFIX)
            .map_err(failed)?;
        n3.a()
            .add_address(second(gnb_n3), LINK_PREFIX)
            .map_err(failed)?;
        data.ip_batch(&format!("route add {UES} via {UPF_N6} dev n6\n"))
            .map_err(failed)?;
        let names = ["net", "ran", "data"].map(str::to_owned);
        Ok(Self {
            _links: vec![n2, n3, n6],
            namespaces: names.into_iter().zip([net, ran, data]).collect(),
            addresses: Addresses {
                amf: near(1),
                smf: Ipv4Addr::new(127, 0, 1, 1),
                upf: Ipv4Addr::new(127, 0, 1, 3),
                gnb_n2: near(11),
                gnb_n3,
            },
        })
    }

    /// A namespace for each function, for gNBs and for the UPF, all on one switch.
    pub fn apart() -> Result<Self, Problem> {
        let switch = Netns::create("lab-switch").map_err(failed)?;
        switch
            .ip_batch("link add name lan type bridge\nlink set dev lan up\n")
            .map_err(failed)?;
        let (mut links, mut namespaces) = (Vec::new(), Vec::new());
        for name in FUNCTIONS.into_iter().chain(["ran", "upf"]) {
            let ns = Netns::create(&format!("lab-{name}")).map_err(failed)?;
            let near =
                VethEnd::bare(&ns, LINK).with_address(Self::address_apart(name), LINK_PREFIX);
            let far = VethEnd::bare(&switch, name);
            links.push(Veth::create(&near, &far, LINK_MTU).map_err(failed)?);
            let line = format!("link set dev {name} master lan\n");
            switch.ip_batch(&line).map_err(failed)?;
            namespaces.push((name.to_owned(), ns));
        }
        namespaces.push(("switch".to_owned(), switch));
        Ok(Self {
            _links: links,
            namespaces,
            addresses: Addresses {
                amf: Self::address_apart("amf"),
                smf: Self::address_apart("smf"),
                upf: Self::address_apart("upf"),
                gnb_n2: Self::address_apart("ran"),
                gnb_n3: Self::address_apart("ran"),
            },
        })
    }

    /// Address of a program with a namespace of its own.
    pub fn address_apart(name: &str) -> Ipv4Addr {
        let all = FUNCTIONS.into_iter().chain(["ran", "upf"]);
        let number = (1..).zip(all).find(|(_, one)| *one == name);
        Ipv4Addr::new(198, 18, 7, number.map_or(0, |(number, _)| number))
    }

    /// Namespace of a program: its own, or that of all.
    pub fn of(&self, name: &str) -> Result<&Ns, Problem> {
        let find = |name: &str| self.namespaces.iter().find(|(one, _)| one == name);
        let found = find(name).or_else(|| find("net"));
        let found = found.map(|(_, ns)| ns.ns());
        found.ok_or_else(|| Problem::Failed(format!("{name} has no place")))
    }

    /// Whether each function has a namespace of its own.
    pub fn is_apart(&self) -> bool {
        self.namespaces.iter().any(|(name, _)| name == "switch")
    }
}

fn failed(error: HostError) -> Problem {
    Problem::Failed(error.to_string())
}
