//! User planes of UEs with SIMs: devices and tunnels follow what network and gNB have told.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_host::link::{global_ipv6_addresses, link_local};
use sluice_host::tun::Tun;
use sluice_n1::{PduAddress, QosRule};
use sluice_smf_emulator::{Tunnel, UeAddresses};
use sluice_ue::RadioSession;
use sluice_wire::ids::{Qfi, Teid};

use super::super::Network;
use super::super::sessions::f_teid;
use super::super::ues::{Served, State, Stranded, Ue};
use crate::Failure;
use crate::scenario::{NO_ADDRESS, Scenario};
use crate::{FTeid, Forwarding, HandoverTarget, UeConfig};

/// From a session's tunnel to the first Router Solicitation: meanwhile the UPF hears of the gNB's
/// end. A solicitation that is lost is said again after seconds.
const SOLICIT_AFTER: Duration = Duration::from_millis(200);
/// Packets of an idle UE that are kept until it has come back.
const HELD: usize = 32;

/// A user plane as network and gNB have it.
struct Wanted {
    addresses: UeAddresses,
    /// None while the user plane is down.
    radio: Option<RadioSession>,
    /// By which uplink packets are marked.
    rules: Arc<[QosRule]>,
}

impl Network {
    /// Gives the further sessions of UEs with SIMs lines of their own.
    pub(in crate::network) fn add_lines(&mut self) -> Result<(), Failure> {
        let scenario = std::sync::Arc::clone(&self.scenario);
        for (index, group) in scenario.ues.iter().enumerate() {
            let Some(sims) = group.sims.as_ref().filter(|sims| sims.devices) else {
                continue;
            };
            for ue in scenario.names.group(index) {
                for (at, (session, _)) in sims.sessions.iter().enumerate() {
                    let line = match at {
                        0 => ue,
                        _ => self.add_line(ue, *session),
                    };
                    if let Some(n2) = &mut self.n2 {
                        n2.lines.insert((ue, *session), line);
                    }
                }
            }
        }
        self.expect_rules(&scenario)
    }

    fn add_line(&mut self, ue: usize, session: u8) -> usize {
        let line = self.ues.len();
        let further = self.ues.get(ue).map(|first| first.further(session, line));
        self.ues.extend(further);
        line
    }

    /// Rules of these UEs come and go with their addresses; what a killed run has left goes now.
    fn expect_rules(&mut self, scenario: &Scenario) -> Result<(), Failure> {
        for line in 0..self.ues.len() {
            let Some(ue) = self.ues.get(line) else {
                continue;
            };
            let group = scenario.ues.get(ue.group);
            let is_ours = group.is_some_and(|group| group.sims.is_some() && group.has_devices());
            if let Some(table) = ue.table().filter(|_| is_ours) {
                let undo = format!("rule del lookup {table}\n-6 rule del lookup {table}\n");
                let ns = ue.ns.clone();
                self.places.undo_later(&ns, undo);
            }
        }
        Ok(())
    }

    /// Brings devices and tunnels of all UEs that have heard something to where they should be.
    pub(super) fn keep_bearers(&mut self) {
        let touched = self.n2.as_mut().map(|n2| n2.fleet.take_touched());
        for fleet_ue in touched.unwrap_or_default() {
            self.keep_bearers_of(fleet_ue);
        }
    }

    fn keep_bearers_of(&mut self, fleet_ue: usize) {
        let Some(n2) = &self.n2 else { return };
        let Some(ue) = n2.ue_of.get(fleet_ue).copied() else {
            return;
        };
        let sessions: Vec<_> = n2
            .lines
            .range((ue, 0)..=(ue, u8::MAX))
            .map(|((_, session), line)| (*session, *line))
            .collect();
        for (session, line) in sessions {
            let wanted = self.wanted(fleet_ue, session);
            if let Err(why) = self.keep_bearer((fleet_ue, session), line, wanted) {
                self.fail_for("user plane", line, &why);
            }
        }
    }

    fn wanted(&self, fleet_ue: usize, session: u8) -> Option<Wanted> {
        let fleet = &self.n2.as_ref()?.fleet;
        let accept = fleet.ues().get(fleet_ue)?.ue.sessions().get(session)?;
        Some(Wanted {
            addresses: addresses(accept.address)?,
            radio: fleet.radio(fleet_ue, session),
            rules: accept.rules.as_slice().into(),
        })
    }

    fn keep_bearer(
        &mut self,
        (fleet_ue, session): (usize, u8),
        line: usize,
        wanted: Option<Wanted>,
    ) -> Result<(), String> {
        let Some(ue) = self.ues.get(line) else {
            return Ok(());
        };
        let Some(wanted) = wanted else {
            self.end_bearer(line);
            return Ok(());
        };
        let is_same = match (&ue.state, &wanted.radio) {
            (State::On(served), Some(radio)) => served.teid.get() == radio.downlink.teid,
            (State::Stranded(_), None) => true,
            (State::Off, None) => true,
            _ => false,
        };
        if is_same {
            return self.keep_rules(line, wanted.rules);
        }
        if let Some(radio) = &wanted.radio
            && self.move_bearer((fleet_ue, session), line, radio)?
        {
            return self.keep_rules(line, wanted.rules);
        }
        let device = self.take_device(line);
        if wanted.radio.is_some() {
            let tun = device.map(|(tun, _)| tun);
            return self.begin_bearer(fleet_ue, line, wanted, tun);
        }
        if let (Some(ue), Some((tun, uplink))) = (self.ues.get_mut(line), device) {
            let session = None;
            ue.state = State::Stranded(Stranded {
                tun,
                session,
                uplink,
            });
        }
        Ok(())
    }

    /// The UE marks its packets by these rules from now on.
    fn keep_rules(&mut self, line: usize, rules: Arc<[QosRule]>) -> Result<(), String> {
        let served = self.ues.get_mut(line).and_then(Ue::served_mut);
        let Some(served) = served.filter(|served| served.rules != rules) else {
            return Ok(());
        };
        served.rules = Arc::clone(&rules);
        let station = self.stations.get(served.gnb).ok_or("no such gNB")?;
        let told = station.handle().set_rules(served.id, rules);
        told.map_err(|error| error.to_string())
    }

    /// A UE that was handed over takes its device along, and packets follow it. False if it is where it
    /// was.
    fn move_bearer(
        &mut self,
        (fleet_ue, session): (usize, u8),
        line: usize,
        radio: &RadioSession,
    ) -> Result<bool, String> {
        let gnb = self.gnb_of_fleet_ue(fleet_ue)?;
        let (uplink, downlink_teid) = self.ends(radio)?;
        let n2 = self.n2.as_ref().ok_or("no N2")?;
        let (to, takes) = n2.fleet.forwarding(fleet_ue, session);
        let is_ipv6 = self.scenario.is_n3_ipv6();
        let served = self.ues.get(line).and_then(Ue::served);
        if served.is_none_or(|served| served.gnb == gnb) {
            return Ok(false);
        }
        let forwarding = Forwarding {
            to: to.and_then(|to| endpoint(&to, is_ipv6)),
            takes: takes.and_then(|takes| Teid::new(takes.teid)),
        };
        let target = HandoverTarget {
            downlink_teid,
            uplink: f_teid(uplink),
        };
        let moved = self.move_ue(line, gnb, (target, forwarding), false);
        moved.map_err(|error| error.to_string())?;
        if let Some(ue) = self.ues.get_mut(line) {
            ue.handovers = ue.handovers.saturating_add(1);
            if let Some(served) = ue.served_mut() {
                served.uplink = uplink;
            }
        }
        Ok(true)
    }

    /// gNB of a connected UE, by index in the scenario.
    fn gnb_of_fleet_ue(&self, fleet_ue: usize) -> Result<usize, String> {
        let n2 = self.n2.as_ref().ok_or("no N2")?;
        let at = n2.fleet.ues().get(fleet_ue).and_then(|one| one.at());
        let gnb = at.and_then(|(at, _)| n2.gnb_of.get(at)).copied();
        Ok(gnb.ok_or("the UE is idle")?)
    }

    /// The ends of a session's tunnel: the UPF's, and the gNB's.
    fn ends(&self, radio: &RadioSession) -> Result<(Tunnel, Teid), String> {
        let told = endpoint(&radio.request.uplink, self.scenario.is_n3_ipv6());
        let told =
            told.ok_or("the UPF has no address on N3 of the gNB's family, or a TEID of 0")?;
        let downlink = Teid::new(radio.downlink.teid).ok_or("a TEID of 0")?;
        let FTeid { address, teid } = told;
        Ok((Tunnel { teid, address }, downlink))
    }

    /// The device of a UE, whose tunnel ends, and where its packets went.
    fn take_device(&mut self, line: usize) -> Option<(Tun, Tunnel)> {
        let state = std::mem::replace(&mut self.ues.get_mut(line)?.state, State::Off);
        match state {
            State::Off => None,
            State::Stranded(stranded) => Some((stranded.tun, stranded.uplink)),
            State::On(served) => {
                let detached = self.leave(&served)?;
                let link_local = detached.report.counters.by_family.link_local_uplink;
                if let Some(ue) = self.ues.get_mut(line) {
                    ue.link_local_bytes += link_local.bytes;
                }
                Some((detached.tun, served.uplink))
            }
        }
    }

    fn begin_bearer(
        &mut self,
        fleet_ue: usize,
        line: usize,
        wanted: Wanted,
        tun: Option<Tun>,
    ) -> Result<(), String> {
        let Wanted {
            addresses,
            radio,
            rules,
        } = wanted;
        let radio = radio.ok_or("the user plane is down")?;
        let (uplink, downlink_teid) = self.ends(&radio)?;
        let qfi = Qfi::new(radio.default_qfi()).ok_or("a QFI above 63")?;
        let gnb = self.gnb_of_fleet_ue(fleet_ue)?;
        let ue = self.ues.get_mut(line).ok_or("no such UE")?;
        let is_new = tun.is_none();
        let group = self.scenario.ues.get(ue.group).ok_or("no such group")?;
        let tun = match tun {
            Some(tun) => tun,
            None => {
                (ue.addresses, ue.kept) = (addresses, None);
                ue.make_tun(group.mtu).map_err(|error| error.to_string())?
            }
        };
        let held = std::mem::take(&mut ue.held);
        let station = self.stations.get_mut(gnb).ok_or("no such gNB")?;
        let config = UeConfig {
            addresses: ue.addresses,
            uplink: f_teid(uplink),
            downlink_teid,
            qfi,
            rules: Arc::clone(&rules),
            tun,
            has_framed_routes: false,
        };
        let handle = station.handle().clone();
        let id = handle.attach(config).map_err(|error| error.to_string())?;
        station.served += 1;
        self.totals.attaches += 1;
        ue.handovers = 0;
        ue.state = State::On(Served {
            gnb,
            id,
            teid: downlink_teid,
            uplink,
            session: None,
            rules,
        });
        if is_new {
            self.begin_addresses(line)?;
        }
        if !held.is_empty() {
            handle
                .send_uplink(id, held)
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Rules for the addresses of a new device, and its router if it has IPv6.
    fn begin_addresses(&mut self, line: usize) -> Result<(), String> {
        let ue = self.ues.get(line).ok_or("no such UE")?;
        if let (Some(table), Some(ipv4)) = (ue.table(), ue.addresses.ipv4()) {
            let rule = format!("rule add from {ipv4} lookup {table}\n");
            ue.ns.ip_batch(&rule).map_err(|error| error.to_string())?;
        }
        if ue.addresses.ipv6().is_some()
            && let Some(n2) = &mut self.n2
        {
            n2.solicit.push((Instant::now() + SOLICIT_AFTER, line));
        }
        Ok(())
    }

    /// The session is gone: so is its device, with its rules.
    fn end_bearer(&mut self, line: usize) {
        let Some(ue) = self.ues.get(line) else { return };
        if matches!(ue.state, State::Off) {
            return;
        }
        if let Some(table) = ue.table() {
            let rules = format!("rule del lookup {table}\n-6 rule del lookup {table}\n");
            // There may be one family alone.
            let _ = ue.ns.ip_batch_all(&rules);
        }
        let device = self.take_device(line);
        self.totals.detaches += 1;
        if let Some(ue) = self.ues.get_mut(line) {
            ue.kept = device.map(|(tun, _)| tun).filter(|_| self.keeps_devices);
            ue.addresses = NO_ADDRESS;
            ue.held.clear();
        }
    }

    /// Handles what is due: Router Solicitations, addresses that kernels have made, packets of idle UEs.
    pub(in crate::network) fn look_after_bearers(&mut self, now: Instant) {
        let Some(n2) = &mut self.n2 else { return };
        let due: Vec<_> = n2.solicit.extract_if(.., |(at, _)| *at <= now).collect();
        for (_, line) in due {
            self.start_ipv6(line);
        }
        for line in 0..self.ues.len() {
            self.learn_prefix(line);
            self.look_for_packets(line);
        }
    }

    /// A UE's prefix comes by Router Advertisement, to its kernel.
    fn learn_prefix(&mut self, line: usize) {
        let Some(ue) = self.ues.get(line) else { return };
        let Some(served) = ue.served() else { return };
        let (ipv4, Some(ipv6)) = (ue.addresses.ipv4(), ue.addresses.ipv6()) else {
            return;
        };
        if !ipv6.is_unicast_link_local() {
            return;
        }
        let device = ue.device();
        let found = global_ipv6_addresses(&ue.ns).unwrap_or_default();
        let mut ours = found.into_iter().filter(|(name, _)| *name == device);
        let Some((_, global)) = ours.next() else {
            return;
        };
        let addresses = match ipv4 {
            Some(ipv4) => UeAddresses::V4V6(ipv4, global),
            None => UeAddresses::V6(global),
        };
        let rule = ue.table().map(|table| {
            let prefix = Ipv6Addr::from_bits(global.to_bits() >> 64 << 64);
            ue.ns
                .ip_batch(&format!("-6 rule add from {prefix}/64 lookup {table}\n"))
        });
        let (gnb, id) = (served.gnb, served.id);
        let told = self
            .stations
            .get(gnb)
            .map(|station| station.handle().set_addresses(id, addresses));
        if let Some(Err(error)) = rule {
            self.fail_for("IPv6", line, &error);
        }
        if let Some(Err(error)) = told {
            self.fail_for("IPv6", line, &error);
        }
        if let Some(ue) = self.ues.get_mut(line) {
            ue.addresses = addresses;
        }
    }

    /// An idle UE comes back when its device has a packet that is not of its own link alone.
    fn look_for_packets(&mut self, line: usize) {
        let Some(ue) = self.ues.get_mut(line) else {
            return;
        };
        let State::Stranded(stranded) = &ue.state else {
            return;
        };
        let mut room = [0; 9000];
        while let Ok(Some(length)) = stranded.tun.recv(&mut room) {
            let packet = room.get(..length).unwrap_or_default();
            if !is_for_others(packet) {
                ue.link_local_bytes += length as u64;
            } else if ue.held.len() < HELD {
                ue.held.push(packet.to_vec());
            }
        }
        let (number, has_data) = (ue.number, !ue.held.is_empty());
        let Some(n2) = &self.n2 else { return };
        let fleet_ue = number.checked_sub(1).and_then(|ue| n2.fleet_ue_of.get(&ue));
        if let Some(fleet_ue) = fleet_ue.copied().filter(|_| has_data) {
            self.wake(fleet_ue, false);
        }
    }
}

/// An end of a tunnel, by its address of this family.
fn endpoint(tunnel: &sluice_n2::Tunnel, is_ipv6: bool) -> Option<FTeid> {
    let address = match is_ipv6 {
        true => tunnel.ipv6.map(IpAddr::V6),
        false => tunnel.ipv4.map(IpAddr::V4),
    };
    let (address, teid) = address.zip(Teid::new(tunnel.teid))?;
    Some(FTeid { address, teid })
}

/// Router Solicitations and multicast are repeated by the kernel, and no reason to come back.
fn is_for_others(packet: &[u8]) -> bool {
    match packet.first().map(|octet| octet >> 4) {
        Some(6) => {
            let octets = packet.get(24..40).and_then(|o| o.first_chunk::<16>());
            let to = octets.map_or(Ipv6Addr::UNSPECIFIED, |octets| Ipv6Addr::from(*octets));
            !(to.is_multicast() || to.is_unicast_link_local())
        }
        Some(4) => packet.len() >= 20,
        _ => false,
    }
}

/// Addresses of a session; the prefix comes from the router. None for a session without addresses.
fn addresses(told: PduAddress) -> Option<UeAddresses> {
    let ipv6 = told
        .interface_identifier
        .map(|octets| link_local(u64::from_be_bytes(octets)));
    match (told.ipv4, ipv6) {
        (Some(ipv4), Some(ipv6)) => Some(UeAddresses::V4V6(ipv4, ipv6)),
        (Some(ipv4), None) => Some(UeAddresses::V4(ipv4)),
        (None, Some(ipv6)) => Some(UeAddresses::V6(ipv6)),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn what_a_ue_says_on_its_own_link_does_not_wake_it() {
        let mut packet = vec![0x60; 40];
        packet[24..40].copy_from_slice(&"ff02::2".parse::<Ipv6Addr>().expect("address").octets());
        assert!(!is_for_others(&packet));
        packet[24..40]
            .copy_from_slice(&"2001:db8::2".parse::<Ipv6Addr>().expect("address").octets());
        assert!(is_for_others(&packet));
        assert!(is_for_others(&[0x45; 28]) && !is_for_others(&[]));
    }

    #[test]
    fn a_ue_has_the_addresses_that_it_was_told() {
        let ipv4 = Ipv4Addr::new(10, 45, 0, 2);
        let identifier = [0, 0, 0, 0, 0, 0, 0, 7];
        let told = |ipv4, interface_identifier| {
            addresses(PduAddress {
                ipv4,
                interface_identifier,
            })
        };
        let ipv6 = "fe80::7".parse().expect("address");
        assert_eq!(told(Some(ipv4), None), Some(UeAddresses::V4(ipv4)));
        assert_eq!(told(None, Some(identifier)), Some(UeAddresses::V6(ipv6)));
        assert_eq!(
            told(Some(ipv4), Some(identifier)),
            Some(UeAddresses::V4V6(ipv4, ipv6))
        );
        assert_eq!(told(None, None), None);
    }
}
