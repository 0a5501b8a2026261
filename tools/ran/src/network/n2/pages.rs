//! Packets from the data network for idle UEs, which are paged for them (TS 23.502, 4.2.3.3).

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use sluice_host::clock;
use sluice_host::netns::Ns;
use sluice_smf_emulator::UeAddresses;

use super::super::Network;
use crate::Failure;
use crate::scenario::NetnsPlace;

/// From the AN release to the first packet: the UPF hears of it after the gNB has let the UE go (TS 23.502, 4.2.6), and
/// what comes between is lost.
const FIRST_AFTER: Duration = Duration::from_millis(100);
/// From one packet to the next while the UE is not paged: the first may have been lost all the same.
const AGAIN_AFTER: Duration = Duration::from_millis(200);
/// UDP port of the packets (discard, RFC 863).
const PORT: u16 = 9;
const PAYLOAD: [u8; 8] = *b"sluice\r\n";

/// A UE that is to be paged.
struct Page {
    to: IpAddr,
    /// Time of the next packet; none while the UE is connected.
    next: Option<Instant>,
    is_first: bool,
}

/// UEs that are to be paged, and sockets of the data network.
#[derive(Default)]
pub struct Pages {
    sockets: Vec<UdpSocket>,
    /// By index in the fleet.
    by_ue: BTreeMap<usize, Page>,
}

impl Pages {
    /// A UE is to be paged when it is idle.
    pub fn expect(&mut self, fleet_ue: usize, to: IpAddr) {
        let page = Page {
            to,
            next: None,
            is_first: true,
        };
        self.by_ue.insert(fleet_ue, page);
    }

    /// The UE is idle: packets begin.
    pub fn begin(&mut self, fleet_ue: usize, now: Instant) {
        if let Some(page) = self.by_ue.get_mut(&fleet_ue) {
            page.next = Some(now + FIRST_AFTER);
        }
    }

    /// The UE is paged, or not to be paged any more.
    pub fn end(&mut self, fleet_ue: usize) {
        self.by_ue.remove(&fleet_ue);
    }

    /// Next packets that are due: for which UE, to which address, and whether it is the first.
    fn due(&mut self, now: Instant) -> Vec<(usize, IpAddr, bool)> {
        let is_due = |page: &Page| page.next.is_some_and(|next| next <= now);
        let due = self.by_ue.iter_mut().filter(|(_, page)| is_due(page));
        let taken = due.map(|(fleet_ue, page)| {
            page.next = Some(now + AGAIN_AFTER);
            (*fleet_ue, page.to, std::mem::take(&mut page.is_first))
        });
        taken.collect()
    }

    fn send(&self, to: IpAddr) -> std::io::Result<()> {
        let is_of_family = |socket: &&UdpSocket| {
            let local = socket.local_addr();
            local.is_ok_and(|local| local.is_ipv4() == to.is_ipv4())
        };
        let socket = self.sockets.iter().find(is_of_family);
        let socket = socket.ok_or(std::io::ErrorKind::AddrNotAvailable)?;
        socket.send_to(&PAYLOAD, SocketAddr::from((to, PORT)))?;
        Ok(())
    }
}

/// Sockets of a namespace, of each family that it has.
fn sockets(ns: &Ns) -> Result<Vec<UdpSocket>, Failure> {
    let any = [
        IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    ];
    let open = || any.map(|any| UdpSocket::bind((any, 0)));
    let [ipv4, ipv6] = ns.run(open).map_err(Failure::lacking)?;
    // A host may be without IPv6.
    let sockets = [Some(ipv4.map_err(Failure::lacking)?), ipv6.ok()];
    Ok(sockets.into_iter().flatten().collect())
}

/// Address that the data network knows: IPv6 from when the router has told the prefix. None without a session.
fn known_address(addresses: UeAddresses) -> Option<IpAddr> {
    let is_known = |address: &IpAddr| match address {
        IpAddr::V4(_) => !address.is_unspecified(),
        IpAddr::V6(ipv6) => !address.is_unspecified() && !ipv6.is_unicast_link_local(),
    };
    let ipv4 = addresses.ipv4().map(IpAddr::V4);
    let all = [ipv4, addresses.ipv6().map(IpAddr::V6)];
    all.into_iter().flatten().find(is_known)
}

impl Network {
    /// Packets for UEs that are paged come from this namespace from now on.
    pub fn page_from(&mut self, data_network: Option<&NetnsPlace>) {
        let Some(place) = data_network else { return };
        let opened = self.places.existing(place).and_then(|ns| sockets(&ns));
        let opened = opened.map_err(|error| self.fail(format!("data_network: {error}")));
        if let Some(n2) = &mut self.n2 {
            n2.pages.sockets = opened.unwrap_or_default();
        }
    }

    /// Address of a UE's first session that has one which the data network knows.
    pub(super) fn page_address(&self, ue: usize) -> Option<IpAddr> {
        let lines = self.n2.as_ref()?.lines.range((ue, 0)..=(ue, u8::MAX));
        let mut sessions = lines.filter_map(|(_, line)| self.ues.get(*line));
        sessions.find_map(|session| known_address(session.addresses))
    }

    /// Sends the packets that are due.
    pub(super) fn send_pages(&mut self) {
        let Some(n2) = &mut self.n2 else { return };
        for (fleet_ue, to, is_first) in n2.pages.due(Instant::now()) {
            let now_ns = clock::monotonic_ns();
            if is_first {
                n2.fleet.packet_comes(now_ns, fleet_ue);
            }
            if n2.pages.send(to).is_err() {
                let why = "the namespace data_network cannot send to the UE's address";
                n2.fleet.give_up_paging(now_ns, fleet_ue, why);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_begin_when_the_ue_is_idle_and_are_repeated_until_it_is_paged() {
        let (mut pages, begun) = (Pages::default(), Instant::now());
        let to = IpAddr::from([10, 60, 0, 2]);
        let after = |ms| begun + Duration::from_millis(ms);
        pages.expect(7, to);
        assert!(pages.due(after(5_000)).is_empty(), "it is connected");
        pages.begin(7, begun);
        assert!(pages.due(after(99)).is_empty());
        assert_eq!(pages.due(after(100)), [(7, to, true)]);
        assert!(pages.due(after(299)).is_empty());
        assert_eq!(pages.due(after(300)), [(7, to, false)]);
        pages.end(7);
        assert!(pages.due(after(5_000)).is_empty());
    }

    #[test]
    fn packets_go_to_addresses_that_the_data_network_knows() {
        use crate::scenario::NO_ADDRESS;
        let ipv4 = Ipv4Addr::new(10, 60, 0, 2);
        let ipv6: Ipv6Addr = "2001:db8:60::7".parse().expect("address");
        let link_local: Ipv6Addr = "fe80::7".parse().expect("address");
        for (addresses, known) in [
            (NO_ADDRESS, None),
            (UeAddresses::V6(link_local), None),
            (UeAddresses::V6(ipv6), Some(ipv6.into())),
            (UeAddresses::V4V6(ipv4, link_local), Some(ipv4.into())),
        ] {
            assert_eq!(known_address(addresses), known, "{addresses:?}");
        }
    }

    #[test]
    fn packets_are_sent_whether_anybody_listens_or_not() {
        let mut pages = Pages::default();
        assert!(pages.send(IpAddr::from([127, 0, 0, 1])).is_err());
        pages.sockets = sockets(&Ns::current().expect("namespace")).expect("sockets");
        // A Port Unreachable of the first would fail the second on a connected socket.
        for _ in 0..2 {
            pages.send(IpAddr::from([127, 0, 0, 1])).expect("sent");
        }
    }
}
