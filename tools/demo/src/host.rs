//! Losses of the host: packets that found a queue of the kernel full, because whoever empties it did
//! not get a CPU in time.
//!
//! They are nobody's fault here, and say nothing of Sluice. So they are told apart from all other
//! losses, shown by place, and what they disturbed is done again ([`super::phase`]).

use std::collections::BTreeMap;
use std::path::PathBuf;

use sluice_host::link::Link;
use sluice_host::netns::Ns;

use super::error::DemoError;
use super::topology::Topology;
use super::upf::Ctl;

/// Packets by the place where they got lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub(super) struct HostLosses(BTreeMap<String, u64>);

impl HostLosses {
    pub(super) fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Increase since `before`.
    pub(super) fn since(&self, before: &Self) -> Self {
        let news = self.0.iter().map(|(place, now)| {
            let before = before.0.get(place).copied().unwrap_or(0);
            (place.clone(), now.saturating_sub(before))
        });
        Self(news.filter(|(_, packets)| *packets > 0).collect())
    }

    /// "3 in the ring of port n3, 4 at ...".
    pub(super) fn text(&self) -> String {
        let each = self.0.iter();
        let texts: Vec<_> = each.map(|(place, n)| format!("{n} {place}")).collect();
        texts.join(", ")
    }

    fn add(&mut self, place: String, packets: u64) {
        *self.0.entry(place).or_default() += packets;
    }
}

/// A UE as far as the host may lose its packets.
#[derive(Clone, Debug)]
pub(super) struct UePlace {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) ns: Ns,
    pub(super) tun: Link,
}

/// Places where the host may lose packets of the demo.
#[derive(Debug)]
pub(super) struct Host<'a> {
    ctl: &'a Ctl,
    links: Vec<(String, Link)>,
    /// Namespaces with receiving UDP sockets.
    sockets: Vec<(String, Ns)>,
    /// The file in which the bridge to memif tells what it lost.
    bridge: Option<PathBuf>,
    first: HostLosses,
}

impl<'a> Host<'a> {
    /// From now on.
    ///
    /// # Errors
    /// Counters that cannot be read.
    pub(super) fn watch(
        topology: &Topology,
        ues: &[UePlace],
        ctl: &'a Ctl,
        bridge: Option<PathBuf>,
    ) -> Result<Self, DemoError> {
        let veths = [("N3", &topology.n3), ("N6", &topology.n6)];
        let ends = veths.into_iter().flat_map(|(name, veth)| {
            [("far", veth.a()), ("UPF's", veth.b())]
                .map(|(end, link)| (format!("at the {end} end of {name}"), link.clone()))
        });
        let tuns = ues.iter().map(|ue| {
            let place = format!("in the queue of {}'s TUN device", ue.name);
            (place, ue.tun.clone())
        });
        let ues = ues.iter().map(|ue| (ue.name.clone(), ue.ns.clone()));
        let others = [("gNBs", &topology.gnb), ("the data network", &topology.dn)];
        let others = others.map(|(name, ns)| (name.to_owned(), (**ns).clone()));
        let mut this = Self {
            ctl,
            links: ends.chain(tuns).collect(),
            sockets: ues.chain(others).collect(),
            bridge,
            first: HostLosses::default(),
        };
        this.first = this.losses()?;
        Ok(this)
    }

    /// Packets lost since the watch began.
    pub(super) fn lost(&self) -> Result<HostLosses, DemoError> {
        Ok(self.losses()?.since(&self.first))
    }

    fn losses(&self) -> Result<HostLosses, DemoError> {
        let mut losses = HostLosses::default();
        for port in self.ctl.ports()? {
            losses.add(format!("in the ring of port {}", port.name), port.rx_missed);
        }
        for (place, link) in &self.links {
            let counted = link.counters()?;
            losses.add(place.clone(), counted.rx_dropped + counted.tx_dropped);
        }
        for (whose, ns) in &self.sockets {
            let place = format!("in socket buffers of {whose}");
            losses.add(place, receive_buffer_errors(ns)?);
        }
        if let Some(path) = &self.bridge {
            let told = std::fs::read_to_string(path).unwrap_or_default();
            let packets = told.trim().parse().unwrap_or(0);
            losses.add("in the rings of the bridge to memif".to_owned(), packets);
        }
        Ok(losses)
    }
}

/// Datagrams for which the buffers of their sockets had no room (RFC 4113's counters as Linux
/// extends them).
fn receive_buffer_errors(ns: &Ns) -> Result<u64, DemoError> {
    let path = "/proc/thread-self/net/snmp";
    let text = ns.run(|| std::fs::read_to_string(path))?;
    let text = text.map_err(DemoError::io(format!("read {path}")))?;
    Ok(udp_counter(&text, "RcvbufErrors").unwrap_or(0))
}

/// A line of names, and one of values in the same order.
fn udp_counter(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (lines.next()?, lines.next()?);
    let mut pairs = names.split(' ').zip(values.split(' '));
    pairs.find(|(n, _)| *n == name)?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_found_by_its_name() {
        let text = "Ip: Forwarding\nIp: 1\nUdp: InDatagrams NoPorts RcvbufErrors\nUdp: 5 2 7\n";
        assert_eq!(udp_counter(text, "RcvbufErrors"), Some(7));
        assert_eq!(udp_counter(text, "SndbufErrors"), None);
        assert_eq!(udp_counter("", "RcvbufErrors"), None);
    }

    #[test]
    fn only_what_is_new_counts() {
        let mut before = HostLosses::default();
        before.add("here".to_owned(), 3);
        let mut now = before.clone();
        assert_eq!(now.since(&before).total(), 0);
        now.add("there".to_owned(), 2);
        assert_eq!(now.since(&before).text(), "2 there");
    }
}
