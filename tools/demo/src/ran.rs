//! Two gNBs and the UEs that they serve, each UE with a TUN device in its own namespace.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use sluice_host::link::{Link, LinkCounters};
use sluice_host::netns::Ns;
use sluice_host::tun::{Tun, TunConfig, TunRoute};
use sluice_ran::{ByFamily, FTeid, Gnb, GnbConfig, GnbHandle, HandoverTarget, UeConfig, UeId};
use sluice_wire::ids::{Qfi, Teid};

use super::child::Stop;
use super::error::DemoError;
use super::plan;
use super::topology::Topology;

/// Devices that stand still for so long have nothing under way.
const QUIET: Duration = Duration::from_millis(300);
const QUIET_LIMIT: Duration = Duration::from_secs(10);
/// First TEIDs of the gNBs; the UE's number is added.
const TEID_BASE: [u32; 2] = [0x000a_0001, 0x000b_0001];

/// The radio access network.
#[derive(Debug)]
pub(super) struct Ran {
    gnbs: [Gnb; 2],
    pub(super) ues: Vec<Ue>,
}

/// A UE that is attached.
#[derive(Debug)]
pub(super) struct Ue {
    pub(super) name: String,
    pub(super) address: Ipv4Addr,
    /// What its kernel is to make of its prefix.
    pub(super) ipv6: Ipv6Addr,
    pub(super) ns: Ns,
    /// Which gNB serves it.
    pub(super) gnb: usize,
    id: UeId,
    tun: Link,
}

impl Ran {
    /// Starts the gNBs, which serve nobody yet.
    pub(super) fn start(topology: &Topology) -> Result<Self, DemoError> {
        let [first, second] = plan::N3_GNBS;
        let start = |name, n3| Gnb::start(&GnbConfig::new(name, &topology.gnb, n3));
        Ok(Self {
            gnbs: [start("gnb-a", first)?, start("gnb-b", second)?],
            ues: Vec::new(),
        })
    }

    /// A gNB, by its number.
    pub(super) fn gnb(&self, number: usize) -> &GnbHandle {
        let [first, second] = &self.gnbs;
        if number == 0 {
            first.handle()
        } else {
            second.handle()
        }
    }

    /// Both gNBs.
    pub(super) fn gnbs(&self) -> [&GnbHandle; 2] {
        [self.gnb(0), self.gnb(1)]
    }

    /// Attaches the next UE to its first gNB, with a TUN device in `ns`.
    pub(super) fn attach(&mut self, ns: &Ns, uplink: FTeid, qfi: Qfi) -> Result<(), DemoError> {
        let index = self.ues.len();
        let (address, gnb) = (plan::ue_address(index), first_gnb(index));
        let tun = Tun::create(
            ns,
            &TunConfig {
                name: "ue".to_owned(),
                address: Some(address),
                mtu: plan::UE_MTU,
                route: TunRoute::Default,
            },
        )?;
        let link = tun.link().clone();
        let id = self.gnb(gnb).attach(UeConfig {
            addresses: plan::ue_addresses(index),
            uplink,
            downlink_teid: downlink_endpoint(gnb, index).teid,
            qfi,
            rules: Default::default(),
            tun,
            has_framed_routes: false,
        })?;
        self.ues.push(Ue {
            name: format!("ue{}", index + 1),
            address,
            ipv6: plan::ue_ipv6(index),
            ns: ns.clone(),
            gnb,
            id,
            tun: link,
        });
        Ok(())
    }

    /// Has a UE's kernel ask for a router.
    pub(super) fn start_ipv6(&self, index: usize) -> Result<(), DemoError> {
        let ue = self.ue(index)?;
        // The lower half.
        Ok(ue.tun.autoconfigure_ipv6(ue.ipv6.to_bits() as u64)?)
    }

    /// How many UEs have the address that their prefix leads to.
    pub(super) fn with_ipv6(&self) -> Result<usize, DemoError> {
        let mut count = 0;
        for ue in &self.ues {
            count += usize::from(ue.tun.global_ipv6()? == Some(ue.ipv6));
        }
        Ok(count)
    }

    /// What IPv6 there was among a UE's packets.
    pub(super) fn by_family(&self, index: usize) -> Result<ByFamily, DemoError> {
        let ue = self.ue(index)?;
        Ok(self.gnb(ue.gnb).ue(ue.id)?.counters.by_family)
    }

    /// Moves a UE to the other gNB; gives the endpoints that it left and found there.
    pub(super) fn hand_over(
        &mut self,
        index: usize,
        uplink: FTeid,
    ) -> Result<(FTeid, FTeid), DemoError> {
        let (id, from) = self.ue(index).map(|ue| (ue.id, ue.gnb))?;
        let to = 1 - from;
        let (old, new) = (downlink_endpoint(from, index), downlink_endpoint(to, index));
        let target = HandoverTarget {
            downlink_teid: new.teid,
            uplink,
        };
        self.gnb(from).hand_over(id, self.gnb(to), target)?;
        if let Some(ue) = self.ues.get_mut(index) {
            ue.gnb = to;
        }
        Ok((old, new))
    }

    /// Error Indications that a UE's gNB got for its uplink.
    pub(super) fn error_indications(&self, index: usize) -> Result<u64, DemoError> {
        let ue = self.ue(index)?;
        Ok(self.gnb(ue.gnb).ue(ue.id)?.counters.error_indications)
    }

    /// Waits until no UE has anything under way.
    pub(super) fn wait_until_quiet(&self, stop: &Stop) -> Result<(), DemoError> {
        let mut last = self.counters()?;
        let mut since = Instant::now();
        stop.wait_until("traffic of the UEs stands still", QUIET_LIMIT, || {
            let now = self.counters()?;
            if now != last {
                (last, since) = (now, Instant::now());
            }
            Ok(since.elapsed() >= QUIET)
        })
    }

    /// The kernel's counters of all UEs' devices.
    pub(super) fn counters(&self) -> Result<Vec<LinkCounters>, DemoError> {
        self.ues.iter().map(Ue::counters).collect()
    }

    fn ue(&self, index: usize) -> Result<&Ue, DemoError> {
        self.ues
            .get(index)
            .ok_or_else(|| DemoError::answer("the RAN", format!("there is no UE {index}")))
    }
}

impl Ue {
    /// The kernel's counters of its device. Seen from the UE: `tx` is uplink.
    pub(super) fn counters(&self) -> Result<LinkCounters, DemoError> {
        Ok(self.tun.counters()?)
    }

    /// The device.
    pub(super) fn tun(&self) -> &Link {
        &self.tun
    }
}

/// The gNB to which a UE attaches: the two take turns.
pub(super) fn first_gnb(index: usize) -> usize {
    index % 2
}

/// The endpoint at a gNB for the downlink of a UE.
pub(super) fn downlink_endpoint(gnb: usize, index: usize) -> FTeid {
    let [base_a, base_b] = TEID_BASE;
    let [address_a, address_b] = plan::N3_GNBS;
    let (base, address) = if gnb == 0 {
        (base_a, address_a)
    } else {
        (base_b, address_b)
    };
    let offset = u32::try_from(index).unwrap_or(u32::MAX);
    let teid = Teid::new(base.saturating_add(offset));
    FTeid {
        address: address.into(),
        teid: teid.unwrap_or_else(|| unreachable!("a sum with a base above 0 is not 0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_differ_between_gnbs_and_ues() {
        let all = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(gnb, ue)| downlink_endpoint(gnb, ue));
        for (number, endpoint) in all.iter().enumerate() {
            assert!(!all[..number].contains(endpoint));
        }
        assert_eq!(all[0].address, plan::N3_GNBS[0]);
        assert_ne!(first_gnb(0), first_gnb(1));
    }
}
