//! A UE: a TUN device and the two ends of its tunnel.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sluice_host::tun::Tun;
use sluice_n1::QosRule;
use sluice_smf_emulator::UeAddresses;
use sluice_ue::qfi_by_rules;
use sluice_wire::ids::{Qfi, Teid};

use crate::{Forwarding, HandoverTarget, UeCounters};

/// A tunnel endpoint: an address on N3 and a TEID there (TS 29.244, 8.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FTeid {
    /// Address of the node that has the endpoint.
    pub address: IpAddr,
    pub teid: Teid,
}

/// Names a UE in this process, whichever gNB serves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UeId(u32);

impl UeId {
    fn next() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn get(self) -> u32 {
        self.0
    }

    pub(crate) fn from_token(token: u64) -> Option<Self> {
        u32::try_from(token).ok().map(Self)
    }
}

impl fmt::Display for UeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UE {}", self.0)
    }
}

/// A UE as it attaches.
#[derive(Debug)]
pub struct UeConfig {
    /// Addresses of the UE in the data network.
    pub addresses: UeAddresses,
    /// Uplink endpoint, at the UPF.
    pub uplink: FTeid,
    /// Downlink endpoint, at the gNB.
    pub downlink_teid: Teid,
    /// The QoS flow of its uplink packets that none of `rules` knows.
    pub qfi: Qfi,
    /// QoS rules that the network gave it, in the order of their precedence (TS 24.501, 9.11.4.13):
    /// the flow of an uplink packet is that of the first one with a filter that the packet meets.
    pub rules: Arc<[QosRule]>,
    /// TUN device of the UE.
    pub tun: Tun,
    /// Whether other addresses lie behind it, so that any inner destination is its own
    /// (framed routes, TS 23.501, 5.6.14).
    pub has_framed_routes: bool,
}

/// State of a UE at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UeReport {
    /// Uplink endpoint, at the UPF.
    pub uplink: FTeid,
    /// Downlink endpoint, at the gNB.
    pub downlink_teid: Teid,
    /// The QoS flow of its uplink packets that no QoS rule knows.
    pub qfi: Qfi,
    pub counters: UeCounters,
    /// Whether the TUN device has failed or gone; nothing more is read from it.
    pub tun_lost: bool,
}

/// State of a UE after its detach.
#[derive(Debug)]
pub struct Detached {
    /// TUN device of the UE.
    pub tun: Tun,
    /// The state at the end.
    pub report: UeReport,
}

/// A UE that some gNB serves, or that is on its way to one.
#[derive(Debug)]
pub(crate) struct Ue {
    pub(crate) id: UeId,
    pub(crate) config: UeConfig,
    /// A further end of its tunnel, where its last gNB forwards packets to.
    pub(crate) takes: Option<Teid>,
    pub(crate) counters: UeCounters,
    pub(crate) tun_lost: bool,
}

impl Ue {
    pub(crate) fn new(config: UeConfig) -> Self {
        Self {
            id: UeId::next(),
            config,
            takes: None,
            counters: UeCounters::default(),
            tun_lost: false,
        }
    }

    /// Whether an IP packet is addressed to it. Multicast and link-local addresses of IPv6 are its
    /// link's; what is no IP packet its own kernel must judge.
    pub(crate) fn is_destination(&self, packet: &[u8]) -> bool {
        let addresses = self.config.addresses;
        match packet.first().map(|octet| octet >> 4) {
            _ if self.config.has_framed_routes => true,
            Some(4) => {
                let octets = packet
                    .get(16..20)
                    .and_then(|octets| octets.first_chunk::<4>());
                let destination = octets.map(|octets| Ipv4Addr::from(*octets));
                destination.is_some() && destination == addresses.ipv4()
            }
            Some(6) => {
                let octets = packet
                    .get(24..40)
                    .and_then(|octets| octets.first_chunk::<16>());
                let destination = octets.map(|octets| Ipv6Addr::from(*octets));
                destination.zip(addresses.ipv6()).is_some_and(|(to, ours)| {
                    // Whose prefix is not known yet, takes all.
                    let is_ours =
                        to.to_bits() >> 64 == ours.to_bits() >> 64 || ours.is_unicast_link_local();
                    is_ours || to.is_multicast() || to.is_unicast_link_local()
                })
            }
            _ => true,
        }
    }

    pub(crate) fn set_tunnel(&mut self, target: HandoverTarget, forwarding: Forwarding) {
        self.config.downlink_teid = target.downlink_teid;
        self.config.uplink = target.uplink;
        self.takes = forwarding.takes;
    }

    /// The ends of its tunnel at its gNB.
    pub(crate) fn teids(&self) -> impl Iterator<Item = Teid> {
        [Some(self.config.downlink_teid), self.takes]
            .into_iter()
            .flatten()
    }

    /// The QoS flow of a packet from it (TS 24.501, 6.2.5.1.1.4).
    pub(crate) fn qfi_of(&self, packet: &[u8]) -> Qfi {
        let by_rule = qfi_by_rules(&self.config.rules, packet);
        by_rule.and_then(Qfi::new).unwrap_or(self.config.qfi)
    }

    pub(crate) fn report(&self) -> UeReport {
        UeReport {
            uplink: self.config.uplink,
            downlink_teid: self.config.downlink_teid,
            qfi: self.config.qfi,
            counters: self.counters.clone(),
            tun_lost: self.tun_lost,
        }
    }

    pub(crate) fn into_detached(self) -> Detached {
        let report = self.report();
        Detached {
            tun: self.config.tun,
            report,
        }
    }
}
