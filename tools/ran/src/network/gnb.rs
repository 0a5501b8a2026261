//! A scenario's gNB, across restarts.

use std::fmt::Write as _;
use std::net::IpAddr;

use crate::{Gnb, GnbConfig, GnbHandle, Mute, RanError};
use sluice_host::link::{Link, global_ipv6_addresses};
use sluice_host::netns::Ns;
use sluice_host::udp::UdpSocket;
use sluice_wire::gtpu;
use sluice_wire::ids::Teid;

use super::Network;
use super::namespaces::Namespaces;
use crate::Failure;
use crate::metrics::{self, OF_GNB};
use crate::scenario::Scenario;

/// A UE's packet, and what a new one's header may be: the longest MTU of UEs.
const LARGEST_PDU_BYTES: u16 = 9000;
/// Prefix length of addresses that we add to an interface.
const ADDED_PREFIX: u8 = 24;
const ADDED_PREFIX_IPV6: u8 = 64;

pub struct NetworkGnb {
    config: GnbConfig,
    gnb: Option<Gnb>,
    handle: GnbHandle,
    /// Counters of the gNB before its last restart.
    past: [f64; OF_GNB],
    next_teid: u32,
    pub served: usize,
    /// Messages that the gNB does not send.
    pub mute: Mute,
    /// Lives after the first.
    pub restarts: u64,
}

/// Starts all gNBs.
pub fn all(scenario: &Scenario, places: &mut Namespaces) -> Result<Vec<NetworkGnb>, Failure> {
    let mut stations = Vec::new();
    for group in &scenario.gnbs {
        let ns = places.existing(&group.namespace)?;
        let address = |n: usize| group.n3_of(n);
        if let Some(interface) = &group.interface {
            let (mut add, mut delete) = (String::new(), String::new());
            let label = own_label(interface);
            let theirs = foreign_addresses(interface, &ns)?;
            for address in (0..group.count).map(address) {
                if theirs.contains(&address) {
                    continue;
                }
                let (prefix, how) = match address {
                    IpAddr::V4(_) => (ADDED_PREFIX, format!("label {label}")),
                    // Used at once: nobody else is asked whether he has it.
                    IpAddr::V6(_) => (ADDED_PREFIX_IPV6, "nodad".to_owned()),
                };
                let what = format!("{address}/{prefix} dev {interface}");
                // A killed run may have left it. Writing to a String cannot fail.
                let _ = writeln!(add, "addr replace {what} {how}");
                let _ = writeln!(delete, "addr del {what}");
            }
            // Not those of a run that lives: with the end of this one they would go.
            (0..group.count).try_for_each(|n| must_be_free(address(n), &ns))?;
            let set = places.set(&ns, &add, delete);
            set.map_err(|failure| no_interface(interface, &ns).unwrap_or(failure))?;
        }
        for (n, name) in group.names().iter().enumerate() {
            let number = stations.len();
            let station = NetworkGnb::start(name, &ns, address(n), number);
            let station = station.map_err(|error| match &error {
                RanError::Host(host) if host.is_not_our_address() => Failure::lacking(format!(
                    "gNB {name}: {error}\ngive the address to an interface there, or name one: \
                     gnbs.interface; if another namespace has it, name that one: gnbs.namespace"
                )),
                _ => Failure::lacking(error),
            })?;
            stations.push(station);
        }
    }
    Ok(stations)
}

/// Whether nobody else plays a gNB at this address.
fn must_be_free(n3: IpAddr, ns: &Ns) -> Result<(), Failure> {
    match UdpSocket::bind(ns, (n3, gtpu::PORT)) {
        Err(error) if !error.is_not_our_address() => Err(Failure::lacking(error)),
        _ => Ok(()),
    }
}

/// The label of addresses that a run adds: the next run knows by it what a killed one has left. The
/// kernel takes 15 octets; of an interface with a longer name what is left stays.
fn own_label(interface: &str) -> String {
    match interface.len() {
        ..=11 => format!("{interface}:ran"),
        _ => interface.to_owned(),
    }
}

/// Addresses that the interface has, and not from a run: they stay when this one ends. IPv6 addresses
/// have no labels, so those that a killed run has left stay, too.
fn foreign_addresses(interface: &str, ns: &Ns) -> Result<Vec<IpAddr>, Failure> {
    let found = Link::new(ns, interface).and_then(|link| link.addresses());
    let found = found
        .map_err(|error| no_interface(interface, ns).unwrap_or_else(|| Failure::lacking(error)))?;
    let marked = format!("{interface}:ran");
    let theirs = found.into_iter().filter(|found| found.label != marked);
    let mut all: Vec<_> = theirs.map(|found| IpAddr::V4(found.address)).collect();
    let ipv6 = global_ipv6_addresses(ns).map_err(Failure::lacking)?;
    let ours = ipv6.into_iter().filter(|(name, _)| name == interface);
    all.extend(ours.map(|(_, address)| IpAddr::V6(address)));
    Ok(all)
}

/// In words of the scenario, if that is why addresses could not be given.
fn no_interface(interface: &str, ns: &Ns) -> Option<Failure> {
    let link = Link::new(ns, interface).ok()?;
    (!link.exists().ok()?).then(|| {
        Failure::lacking(format!(
            "gnbs.interface: no interface {interface} in {}; if another namespace has it (ip \
             netns list), name that one: gnbs.namespace",
            ns.describe()
        ))
    })
}

impl NetworkGnb {
    fn start(name: &str, ns: &Ns, n3: IpAddr, number: usize) -> Result<Self, RanError> {
        let mut config = GnbConfig::new(name, ns, n3);
        config.largest_pdu_bytes = LARGEST_PDU_BYTES;
        let gnb = Gnb::start(&config)?;
        Ok(Self {
            handle: gnb.handle().clone(),
            gnb: Some(gnb),
            config,
            past: [0.0; OF_GNB],
            // gNBs' TEIDs differ, so that one that went astray is seen.
            next_teid: ((number as u32 + 1) << 20) + 1,
            served: 0,
            mute: Mute::No,
            restarts: 0,
        })
    }

    /// Name of the gNB.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// N3 address of the gNB.
    pub fn n3(&self) -> IpAddr {
        self.config.n3
    }

    /// Controls the gNB of now.
    pub fn handle(&self) -> &GnbHandle {
        &self.handle
    }

    /// A TEID that was not given for long.
    pub fn teid(&mut self) -> Teid {
        loop {
            let teid = Teid::new(self.next_teid);
            self.next_teid = self.next_teid.wrapping_add(1);
            if let Some(teid) = teid {
                return teid;
            }
        }
    }

    /// Counters of all lives.
    pub fn figures(&self) -> [f64; OF_GNB] {
        let counters = self.handle.counters().unwrap_or_default();
        let mut figures = metrics::of_gnb(&counters, self.served);
        for (figure, past) in figures.iter_mut().zip(self.past) {
            *figure += past;
        }
        figures
    }

    fn restart(&mut self) -> Result<(), RanError> {
        let counters = match self.gnb.take() {
            Some(gnb) => gnb.stop()?,
            None => return Err(RanError::Stopped(self.name().to_owned())),
        };
        let figures = metrics::of_gnb(&counters, 0);
        for (past, figure) in self.past.iter_mut().zip(figures) {
            *past += figure;
        }
        let gnb = Gnb::start(&self.config)?;
        self.handle = gnb.handle().clone();
        self.gnb = Some(gnb);
        self.restarts += 1;
        self.mute = Mute::No;
        Ok(())
    }
}

impl Network {
    /// A gNB stops and starts again; it has forgotten its UEs, and nobody is told.
    pub fn restart_gnb(&mut self, index: usize) {
        self.strand_ues_of(index);
        let Some(station) = self.stations.get_mut(index) else {
            return;
        };
        if let Err(error) = station.restart() {
            self.fail(format!("restart: {error}"));
        }
        self.left.retain(|left| left.gnb != index);
        self.restart_n2(index);
    }

    /// A gNB keeps things to itself.
    pub fn mute_gnb(&mut self, index: usize, mute: Mute) {
        let Some(station) = self.stations.get_mut(index) else {
            return;
        };
        station.mute = mute;
        if let Err(error) = station.handle.set_mute(mute) {
            self.fail(error);
        }
    }
}
