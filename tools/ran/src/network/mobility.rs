//! UE mobility: attach, handover, detach.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::{Detached, FTeid, Flow, Forwarding, HandoverTarget, RanError, UeConfig};
use sluice_smf_emulator::{Change, Tunnel};
use sluice_wire::ids::Teid;

use super::Network;
use super::sessions::f_teid;
use super::ues::{Served, Session, State, Stranded, Ue};

/// How long an End Marker is waited for at the gNB that the UE left.
const END_MARKER_LIMIT: Duration = Duration::from_secs(5);
/// How long a tunnel is kept at least that a UE left, for what comes late.
const LEFT_KEPT: Duration = Duration::from_secs(1);
/// UEs whose procedures go together when no rate is asked for.
pub const TOGETHER: usize = 32;

/// A tunnel that a UE left by a handover.
#[derive(Clone, Copy, Debug)]
pub struct LeftTunnel {
    /// Index of the UE.
    pub ue: usize,
    /// Index of the gNB.
    pub gnb: usize,
    /// The gNB's end.
    pub teid: Teid,
    since: Instant,
    /// End Markers that had come before: those that the gNB before had forwarded.
    end_markers: u64,
    /// Our SMF has asked for an End Marker; the UPF of another one may send none.
    marked: bool,
}

impl Network {
    /// Attaches those of these UEs that are not: sessions, devices, tunnels. At `gnb`, or in turn
    /// at those of their group.
    pub fn attach(&mut self, ues: &[usize], gnb: Option<usize>) {
        let (mut fresh, mut stranded) = (Vec::new(), Vec::new());
        for ue in ues {
            match self.ues.get(*ue).map(|ue| &ue.state) {
                Some(State::Off) => fresh.push(*ue),
                Some(State::Stranded(_)) => stranded.push(*ue),
                _ => {}
            }
        }
        let (ours, given): (Vec<_>, Vec<_>) = fresh
            .into_iter()
            .partition(|ue| self.has_session_of_ours(*ue));
        let mut connected = Vec::new();
        for (ue, established) in self.establish(&ours) {
            let session = Session::new(established.cp_seid, [Flow::default(); 2]);
            if self.serve(ue, gnb, established.uplink, None, Some(session)) {
                connected.push(ue);
            }
        }
        for ue in given {
            if let Some(uplink) = self.given_uplink(ue) {
                self.serve(ue, gnb, uplink, None, None);
            }
        }
        for ue in stranded {
            connected.extend(self.serve_again(ue, gnb).then_some(ue));
        }
        self.connect("attach", &connected, Change::Activate);
        // Now that a Router Advertisement finds its way back.
        for ue in ues {
            self.start_ipv6(*ue);
        }
    }

    /// Has the UE's kernel ask for a router, if the session has IPv6.
    pub(super) fn start_ipv6(&mut self, index: usize) {
        let Some(ue) = self.ues.get(index).filter(|ue| ue.served().is_some()) else {
            return;
        };
        if let Err(error) = ue.start_ipv6() {
            self.fail_for("IPv6", index, &error);
        }
    }

    /// Tells the UPF where these UEs are now.
    pub(super) fn connect(&mut self, what: &str, ues: &[usize], change: fn(Tunnel) -> Change) {
        let place = |ue: usize| {
            let served = self.ues.get(ue)?.served()?;
            let address = self.stations.get(served.gnb)?.n3();
            let teid = served.teid;
            Some((ue, change(Tunnel { teid, address })))
        };
        let changes: Vec<_> = ues.iter().filter_map(|ue| place(*ue)).collect();
        self.change(what, &changes);
    }

    /// Detaches those of these UEs that are attached; their devices go, their sessions end.
    pub fn detach(&mut self, ues: &[usize]) {
        let mut ended = Vec::new();
        for index in ues {
            let Some(ue) = self.ues.get_mut(*index) else {
                continue;
            };
            let (session, counted) = match std::mem::replace(&mut ue.state, State::Off) {
                State::Off => continue,
                State::On(served) => {
                    let detached = self.leave(&served);
                    (served.session, counted_of(detached.as_ref()))
                }
                State::Stranded(stranded) => (stranded.session, [Flow::default(); 2]),
            };
            self.totals.detaches += 1;
            if let Some(session) = session {
                ended.push((*index, session, counted));
            }
        }
        self.delete(ended);
    }

    /// Moves those of these UEs that are attached elsewhere to the gNB `to`, or each to the next
    /// one, and tells the UPF.
    pub fn hand_over(&mut self, ues: &[usize], from: Option<usize>, to: Option<usize>) {
        let mut moved = Vec::new();
        for index in ues {
            match self.hand_over_one(*index, from, to) {
                Ok(true) => moved.push(*index),
                Ok(false) => {}
                Err(error) => self.fail_for("handover", *index, &error),
            }
        }
        self.connect("path switch", &moved, Change::SwitchPath);
    }

    /// How many of these UEs a handover would move, and how many are at its gNB already.
    pub fn movable(&self, ues: &[usize], from: Option<usize>, to: Option<usize>) -> (usize, usize) {
        let served = ues.iter().filter_map(|ue| self.ues.get(*ue)?.served());
        let (there, elsewhere): (Vec<_>, Vec<_>) =
            served.partition(|served| to == Some(served.gnb));
        let meant = elsewhere
            .iter()
            .filter(|served| from.is_none_or(|from| from == served.gnb));
        (meant.count(), there.len())
    }

    fn hand_over_one(
        &mut self,
        index: usize,
        from: Option<usize>,
        to: Option<usize>,
    ) -> Result<bool, RanError> {
        let is_given = self.given_uplink(index).is_some();
        let count = self.stations.len();
        let Some(served) = self.ues.get_mut(index).and_then(Ue::served_mut) else {
            return Ok(false);
        };
        let (old_gnb, old_teid) = (served.gnb, served.teid);
        let new_gnb = to.unwrap_or((old_gnb + 1) % count.max(1));
        if new_gnb == old_gnb || from.is_some_and(|from| from != old_gnb) {
            return Ok(false);
        }
        let Some(there) = self.stations.get_mut(new_gnb) else {
            return Ok(false);
        };
        // Whoever else runs the SMF knows the TEIDs that were told to him.
        let teid = match is_given {
            true => old_teid,
            false => there.teid(),
        };
        let target = HandoverTarget {
            downlink_teid: teid,
            uplink: f_teid(served.uplink),
        };
        self.move_ue(index, new_gnb, (target, Forwarding::default()), !is_given)?;
        self.totals.handovers += 1;
        Ok(true)
    }

    /// A gNB gives a UE with its device to another one, and its packets follow it.
    pub(super) fn move_ue(
        &mut self,
        index: usize,
        gnb: usize,
        (target, forwarding): (HandoverTarget, Forwarding),
        marked: bool,
    ) -> Result<(), RanError> {
        let served = self.ues.get_mut(index).and_then(Ue::served_mut);
        let served = served.ok_or_else(|| RanError::Stopped("of this UE".to_owned()))?;
        let [old, new] = self
            .stations
            .get_disjoint_mut([served.gnb, gnb])
            .map_err(|_| RanError::Stopped("to which the UE goes".to_owned()))?;
        let end_markers = old.handle().tunnel(served.teid)?.end_markers;
        old.handle()
            .hand_over_with(served.id, new.handle(), target, forwarding)?;
        old.served = old.served.saturating_sub(1);
        new.served += 1;
        self.left.push(LeftTunnel {
            ue: index,
            gnb: served.gnb,
            teid: served.teid,
            since: Instant::now(),
            end_markers,
            marked,
        });
        (served.gnb, served.teid) = (gnb, target.downlink_teid);
        Ok(())
    }

    /// The tunnel that a UE left last, which nobody else forgets from now on.
    pub fn take_left(&mut self, ue: usize) -> Option<LeftTunnel> {
        let at = self.left.iter().rposition(|left| left.ue == ue)?;
        Some(self.left.remove(at))
    }

    /// Whether an End Marker has come to a tunnel since the UE left it.
    pub fn has_ended(&self, left: &LeftTunnel) -> Result<bool, RanError> {
        let stopped = || RanError::Stopped("that the UE left".to_owned());
        let station = self.stations.get(left.gnb).ok_or_else(stopped)?;
        Ok(station.handle().tunnel(left.teid)?.end_markers > left.end_markers)
    }

    /// Forgets tunnels whose End Markers have come, or will not any more.
    pub(super) fn forget_left(&mut self, now: Instant) {
        let (stations, totals) = (&self.stations, &mut self.totals);
        self.left.retain(|left| {
            let age = now.duration_since(left.since);
            let Some(station) = stations.get(left.gnb).filter(|_| age >= LEFT_KEPT) else {
                return true;
            };
            let came = station
                .handle()
                .tunnel(left.teid)
                .is_ok_and(|tunnel| tunnel.end_markers > left.end_markers);
            if !came && age < END_MARKER_LIMIT {
                return true;
            }
            totals.end_markers_missing += u64::from(!came && left.marked);
            // A gNB that was restarted has forgotten it already.
            let _ = station.handle().forget_tunnel(left.teid);
            false
        });
    }

    /// A gNB forgets its UEs: their devices stay, their sessions too.
    pub(super) fn strand_ues_of(&mut self, gnb: usize) {
        let here = |ue: &Ue| ue.served().is_some_and(|served| served.gnb == gnb);
        let there: Vec<_> = (0..self.ues.len())
            .filter(|ue| self.ues.get(*ue).is_some_and(here))
            .collect();
        for index in there {
            let Some(ue) = self.ues.get_mut(index) else {
                continue;
            };
            let State::On(mut served) = std::mem::replace(&mut ue.state, State::Off) else {
                continue;
            };
            let Some(detached) = self.leave(&served) else {
                continue;
            };
            if let Some(session) = &mut served.session {
                let counted = counted_of(Some(&detached));
                for (carried, flow) in session.carried.iter_mut().zip(counted) {
                    *carried += flow.bytes.cast_signed();
                }
            }
            if let Some(ue) = self.ues.get_mut(index) {
                ue.state = State::Stranded(Stranded {
                    tun: detached.tun,
                    session: served.session,
                    uplink: served.uplink,
                });
            }
        }
    }

    fn serve_again(&mut self, index: usize, gnb: Option<usize>) -> bool {
        let Some(ue) = self.ues.get_mut(index) else {
            return false;
        };
        match std::mem::replace(&mut ue.state, State::Off) {
            State::Stranded(stranded) => self.serve(
                index,
                gnb,
                stranded.uplink,
                Some(stranded.tun),
                stranded.session,
            ),
            other => {
                ue.state = other;
                false
            }
        }
    }

    /// Gives a UE its device and its gNB. What fails is counted, and the session deleted again.
    fn serve(
        &mut self,
        index: usize,
        gnb: Option<usize>,
        uplink: Tunnel,
        tun: Option<sluice_host::tun::Tun>,
        session: Option<Session>,
    ) -> bool {
        match self.try_serve(index, gnb, uplink, tun) {
            Ok(mut served) => {
                served.session = session;
                if let Some(station) = self.stations.get_mut(served.gnb) {
                    station.served += 1;
                }
                self.totals.attaches += 1;
                if let Some(ue) = self.ues.get_mut(index) {
                    (ue.state, ue.is_given_up) = (State::On(served), false);
                }
                true
            }
            Err(error) => {
                self.fail_for("attach", index, &error);
                if let Some(session) = session {
                    self.delete(vec![(index, session, [Flow::default(); 2])]);
                }
                false
            }
        }
    }

    fn try_serve(
        &mut self,
        index: usize,
        gnb: Option<usize>,
        uplink: Tunnel,
        tun: Option<sluice_host::tun::Tun>,
    ) -> Result<Served, RanError> {
        let given = self.given_downlink(index);
        let stopped = || RanError::Stopped("of this UE".to_owned());
        let ue = self.ues.get(index).ok_or_else(stopped)?;
        let group = self.scenario.ues.get(ue.group).ok_or_else(stopped)?;
        let turn = group.gnbs.get(ue.member % group.gnbs.len().max(1));
        let gnb = gnb.or(turn.copied()).ok_or_else(stopped)?;
        let station = self.stations.get_mut(gnb).ok_or_else(stopped)?;
        let tun = match tun {
            Some(tun) => tun,
            None => ue.make_tun(group.mtu)?,
        };
        let teid = given.unwrap_or_else(|| station.teid());
        let id = station.handle().attach(UeConfig {
            addresses: ue.addresses,
            uplink: f_teid(uplink),
            downlink_teid: teid,
            qfi: group.qfi,
            rules: Default::default(),
            tun,
            has_framed_routes: false,
        })?;
        Ok(Served {
            gnb,
            id,
            teid,
            uplink,
            session: None,
            rules: Default::default(),
        })
    }

    /// Takes a UE from its gNB. A gNB that has died has nothing left of it.
    pub(super) fn leave(&mut self, served: &Served) -> Option<Detached> {
        let station = self.stations.get_mut(served.gnb)?;
        station.served = station.served.saturating_sub(1);
        let detached = station.handle().detach(served.id);
        match detached {
            Ok(detached) => Some(detached),
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    /// The UPF's end where another SMF has made the session.
    fn given_uplink(&self, ue: usize) -> Option<Tunnel> {
        let ue = self.ues.get(ue)?;
        let tunnels = self.scenario.ues.get(ue.group)?.tunnels?;
        let teid = Teid::new(tunnels.uplink_teid + ue.member as u32)?;
        let address = tunnels.upf;
        Some(Tunnel { teid, address })
    }

    fn given_downlink(&self, ue: usize) -> Option<Teid> {
        let ue = self.ues.get(ue)?;
        let tunnels = self.scenario.ues.get(ue.group)?.tunnels?;
        Teid::new(tunnels.downlink_teid + ue.member as u32)
    }

    /// Addresses of UPFs that UEs of a gNB send to.
    pub(super) fn upfs_of(&self, gnb: usize) -> Vec<IpAddr> {
        let served = self.ues.iter().filter_map(Ue::served);
        let here = served.filter(|served| served.gnb == gnb);
        let mut upfs: Vec<_> = here
            .map(|served| f_teid(served.uplink))
            .map(|FTeid { address, .. }| address)
            .collect();
        upfs.sort_unstable();
        upfs.dedup();
        upfs
    }
}

/// Uplink and downlink that a gNB counted for a UE.
fn counted_of(detached: Option<&Detached>) -> [Flow; 2] {
    detached.map_or([Flow::default(); 2], |detached| {
        detached.report.counters.usage()
    })
}
