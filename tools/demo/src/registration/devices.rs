//! TUN devices of UEs, and their tunnels at the gNBs: they follow what network and gNBs have told.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use sluice_host::link::{Link, LinkCounters};
use sluice_host::netns::Ns;
use sluice_host::tun::{Tun, TunConfig, TunRoute};
use sluice_n1::QosRule;
use sluice_n2::Tunnel;
use sluice_ran::{FTeid, Forwarding, HandoverTarget, UeConfig, UeId, UeReport};
use sluice_smf_emulator::UeAddresses;
use sluice_ue::{Procedure, RadioSession};
use sluice_wire::ids::{Qfi, Teid};

use super::ran::{Ran, SESSION, gnb_name};
use crate::error::DemoError;
use crate::host::UePlace;
use crate::plan;

/// Where a UE's programs run.
pub(super) struct Place {
    pub(super) ns: Ns,
    device: Device,
    /// What of its uplink stayed on its own link, in tunnels that it has no more.
    link_local_bytes: u64,
    /// Handovers since it is connected, which its keys count.
    pub(super) handovers: u8,
    /// The last endpoint that it left by a handover.
    left: Option<Left>,
    /// How often it came back as it was called.
    pub(super) answered_pages: u64,
}

/// A tunnel endpoint that a UE has left.
struct Left {
    /// The gNB that has it.
    gnb: usize,
    teid: Teid,
    /// End Markers that had come before: those that the gNB before had forwarded.
    end_markers: u64,
}

/// A UE's TUN device.
enum Device {
    /// There is no session yet.
    None,
    /// The UE is idle, and its packets wait in the device.
    Idle(Tun),
    /// Its packets go through a tunnel.
    Up(Up),
}

struct Up {
    gnb: usize,
    id: UeId,
    link: Link,
    teid: Teid,
    rules: Arc<[QosRule]>,
}

impl Place {
    /// Without a device.
    pub(super) fn new(ns: Ns) -> Self {
        Self {
            ns,
            device: Device::None,
            link_local_bytes: 0,
            handovers: 0,
            left: None,
            answered_pages: 0,
        }
    }

    fn link(&self) -> Result<&Link, DemoError> {
        match &self.device {
            Device::None => Err(DemoError::answer("the RAN", "no device")),
            Device::Idle(tun) => Ok(tun.link()),
            Device::Up(up) => Ok(&up.link),
        }
    }
}

impl Ran<'_> {
    /// A UE has its gNB ask for a session of both families, and gets a TUN device.
    pub(super) fn establish(&mut self, phone: usize) -> Result<(), DemoError> {
        self.play(phone, Procedure::Establish(SESSION))?;
        let no_session = || DemoError::answer("the SMF", "no session");
        let address = self.accept(phone).ok_or_else(no_session)?.address;
        let config = TunConfig {
            name: "ue".to_owned(),
            address: address.ipv4,
            mtu: plan::UE_MTU,
            route: TunRoute::Default,
        };
        let place = &mut self.places[phone];
        let tun = Tun::create(&place.ns, &config)?;
        let link = tun.link().clone();
        place.device = Device::Idle(tun);
        self.keep_device(phone)?;
        // Its kernel asks for a router, and makes an address of the prefix that it is told.
        if let Some(identifier) = address.interface_identifier {
            link.autoconfigure_ipv6(u64::from_be_bytes(identifier))?;
        }
        Ok(())
    }

    /// Brings a UE's device and tunnel to where they should be.
    pub(super) fn keep_device(&mut self, phone: usize) -> Result<(), DemoError> {
        let rules = self.accept(phone).map(|accept| &accept.rules);
        let rules: Option<Arc<[QosRule]>> = rules.map(|rules| rules.as_slice().into());
        let wanted = rules.zip(self.fleet.radio(phone, SESSION));
        let radio_teid = wanted.as_ref().map(|(_, radio)| radio.downlink.teid);
        match (&self.places[phone].device, wanted) {
            (Device::Idle(_), Some((rules, radio))) => self.attach(phone, rules, &radio),
            (Device::Up(_), None) => self.detach(phone),
            (Device::Up(up), Some((_, radio))) if Some(up.teid.get()) != radio_teid => {
                self.hand_over(phone, &radio)
            }
            (Device::Up(up), Some((rules, _))) if up.rules != rules => {
                let told = self.stations[up.gnb]
                    .handle()
                    .set_rules(up.id, Arc::clone(&rules));
                if let Device::Up(up) = &mut self.places[phone].device {
                    up.rules = rules;
                }
                Ok(told?)
            }
            _ => Ok(()),
        }
    }

    /// From now on a UE's packets go through the tunnel that its gNB has for its session.
    fn attach(
        &mut self,
        phone: usize,
        rules: Arc<[QosRule]>,
        radio: &RadioSession,
    ) -> Result<(), DemoError> {
        let no_session = || DemoError::answer("the gNB", "no session");
        let gnb = self.gnb_of(phone).ok_or_else(no_session)?;
        let address = self.accept(phone).and_then(|accept| accept.address.ipv4);
        let ipv4 = address.ok_or_else(no_session)?;
        let qfi = Qfi::new(radio.default_qfi()).ok_or_else(no_session)?;
        let (uplink, teid) = ends(radio)?;
        let place = &mut self.places[phone];
        let device = std::mem::replace(&mut place.device, Device::None);
        let Device::Idle(tun) = device else {
            place.device = device;
            return Ok(());
        };
        let link = tun.link().clone();
        let id = self.stations[gnb].handle().attach(UeConfig {
            addresses: UeAddresses::V4(ipv4),
            uplink,
            downlink_teid: teid,
            qfi,
            rules: Arc::clone(&rules),
            tun,
            // Its prefix is told by the UPF, to the UE alone.
            has_framed_routes: true,
        })?;
        place.handovers = 0;
        place.device = Device::Up(Up {
            gnb,
            id,
            link,
            teid,
            rules,
        });
        Ok(())
    }

    /// A UE goes to another gNB with its device, and its packets follow it.
    fn hand_over(&mut self, phone: usize, radio: &RadioSession) -> Result<(), DemoError> {
        let no_session = || DemoError::answer("the gNB", "no session");
        let gnb = self.gnb_of(phone).ok_or_else(no_session)?;
        let (uplink, downlink_teid) = ends(radio)?;
        let (to, takes) = self.fleet.forwarding(phone, SESSION);
        let forwarding = Forwarding {
            to: to.and_then(|to| endpoint(&to)),
            takes: takes.and_then(|takes| Teid::new(takes.teid)),
        };
        let place = &mut self.places[phone];
        let Device::Up(up) = &mut place.device else {
            return Ok(());
        };
        let target = HandoverTarget {
            downlink_teid,
            uplink,
        };
        let (from, to) = (self.stations[up.gnb].handle(), self.stations[gnb].handle());
        place.left = Some(Left {
            gnb: up.gnb,
            teid: up.teid,
            end_markers: from.tunnel(up.teid)?.end_markers,
        });
        from.hand_over_with(up.id, to, target, forwarding)?;
        (up.gnb, up.teid) = (gnb, downlink_teid);
        place.handovers += 1;
        Ok(())
    }

    /// Waits for the End Marker in the tunnel that a UE has left, which is forgotten then.
    pub(super) fn end_of_tunnel(&mut self, phone: usize) -> Result<(), DemoError> {
        let Some(left) = self.places[phone].left.take() else {
            return Err(DemoError::answer("the RAN", "no handover"));
        };
        let Left { gnb, teid, .. } = left;
        self.wait_for("an End Marker", |ran| {
            let tunnel = ran.stations[gnb].handle().tunnel(teid)?;
            Ok(tunnel.end_markers > left.end_markers)
        })?;
        self.stations[gnb].handle().forget_tunnel(teid)?;
        Ok(())
    }

    /// The tunnel of a UE is no more; its device stays.
    fn detach(&mut self, phone: usize) -> Result<(), DemoError> {
        let place = &mut self.places[phone];
        if let Device::Up(up) = &place.device {
            let detached = self.stations[up.gnb].handle().detach(up.id)?;
            place.device = Device::Idle(detached.tun);
            let by_family = detached.report.counters.by_family;
            place.link_local_bytes += by_family.link_local_uplink.bytes;
        }
        Ok(())
    }

    /// A UE as its gNB has it on N3.
    pub(super) fn report(&self, phone: usize) -> Result<UeReport, DemoError> {
        match &self.places[phone].device {
            Device::Up(up) => Ok(self.stations[up.gnb].handle().ue(up.id)?),
            _ => Err(DemoError::answer("the RAN", "the UE is idle")),
        }
    }

    /// What a UE's device counted, and what of its uplink stayed on its own link.
    pub(super) fn counted(&self, phone: usize) -> Result<(LinkCounters, u64), DemoError> {
        let place = &self.places[phone];
        let now = match &place.device {
            Device::Up(_) => {
                let by_family = self.report(phone)?.counters.by_family;
                by_family.link_local_uplink.bytes
            }
            Device::None | Device::Idle(_) => 0,
        };
        let counters = place.link()?.counters()?;
        Ok((counters, place.link_local_bytes + now))
    }

    /// The IPv6 address that a UE's kernel has made.
    pub(super) fn ipv6(&self, phone: usize) -> Result<Option<Ipv6Addr>, DemoError> {
        match &self.places[phone].device {
            Device::Up(up) => Ok(up.link.global_ipv6()?),
            _ => Ok(None),
        }
    }

    /// The IPv4 address of a UE's session.
    pub(super) fn ipv4(&self, phone: usize) -> Option<Ipv4Addr> {
        self.accept(phone)?.address.ipv4
    }

    /// UEs with their devices.
    pub(super) fn ue_places(&self) -> Vec<UePlace> {
        let place = |(number, place): (usize, &Place)| {
            let tun = place.link().ok()?.clone();
            Some(UePlace {
                name: format!("ue{number}"),
                ns: place.ns.clone(),
                tun,
            })
        };
        (1..).zip(&self.places).filter_map(place).collect()
    }

    /// Packets that each gNB dropped, by reason, and those that the gNBs forwarded to each other.
    pub(super) fn drops_and_forwarded(&self) -> Result<(Vec<String>, u64), DemoError> {
        let (mut drops, mut forwarded) = (Vec::new(), 0);
        for (number, station) in self.stations.iter().enumerate() {
            let counters = station.handle().counters()?;
            let by_reason = counters
                .drops
                .iter()
                .map(|(reason, count)| (reason.name(), count));
            let errors = [("receive_errors", counters.receive_errors)];
            let lost = by_reason.chain(errors).filter(|(_, count)| *count > 0);
            let gnb = gnb_name(number);
            drops.extend(lost.map(|(reason, count)| format!("{gnb} {reason}: {count}")));
            forwarded += counters.forwarded.packets;
        }
        Ok((drops, forwarded))
    }
}

/// The ends of a session's tunnel: the UPF's, and the gNB's.
fn ends(radio: &RadioSession) -> Result<(FTeid, Teid), DemoError> {
    let ends = endpoint(&radio.request.uplink).zip(Teid::new(radio.downlink.teid));
    ends.ok_or_else(|| DemoError::answer("the SMF", format!("{radio:?}")))
}

fn endpoint(tunnel: &Tunnel) -> Option<FTeid> {
    let (ipv4, teid) = tunnel.ipv4.zip(Teid::new(tunnel.teid))?;
    let address = ipv4.into();
    Some(FTeid { address, teid })
}
