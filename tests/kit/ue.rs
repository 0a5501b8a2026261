//! A UE with its session and what must have been counted of it.

use std::sync::Arc;

use sluice_datapath::drop::DropReason;
use sluice_smf_emulator::{
    Change, Changed, Dialect, Established, GateStatus, Network, SessionPlan, Traffic, Tunnel,
    UplinkTeid, Usage,
};
use sluice_wire::ids::{Qfi, UrrId};
use sluice_wire::pfcp::value::{BitRate, MeasurementInformation};

use super::frames::{self, N3Frame};
use super::world::{SmfId, World};
use super::{N3, SERVER, gnb, tunnel, ue_address};

pub const QFI: u8 = 9;

/// Octets and packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Count {
    pub octets: u64,
    pub packets: u64,
}

impl Count {
    pub fn add(&mut self, octets: usize) {
        self.octets += octets as u64;
        self.packets += 1;
    }

    fn plus(self, other: Self) -> Self {
        Self {
            octets: self.octets + other.octets,
            packets: self.packets + other.packets,
        }
    }
}

/// See the module's page.
pub struct Ue {
    pub n: u16,
    pub dialect: Dialect,
    pub smf: SmfId,
    pub session: Established,
    /// The UPF's end of the tunnel.
    pub uplink: Option<Tunnel>,
    /// The gNB's number.
    pub at: u8,
    /// What left the UPF.
    pub sent: Count,
    pub received: Count,
    /// What gates and bit rates dropped of it, uplink and downlink: URRs with MBQE count it, too.
    stopped: [Count; 2],
    /// A packet that is held for it.
    pub waiting: Option<Vec<u8>>,
    /// What the SMF was told.
    reported: Usage,
}

/// A measured session with session AMBR and a flow of QFI 9, as the dialect wants it.
pub fn plan(dialect: Dialect, n: u16) -> SessionPlan {
    let network = Network::new("internet", "access.example", "internet").unwrap();
    let mut plan = SessionPlan::new(ue_address(n), Arc::new(network), Qfi::new(QFI).unwrap());
    plan.gates = GateStatus::OPEN;
    plan.ambr = Some(BitRate {
        uplink_kbps: 100_000,
        downlink_kbps: 200_000,
    });
    plan.measured = true;
    if dialect.chooses_teids() {
        plan.uplink = UplinkTeid::ChosenByCp(tunnel(0x0500_0000 + u32::from(n), N3));
    }
    plan
}

impl Ue {
    /// Its session, before a gNB is known.
    pub fn establish(world: &mut World, smf: SmfId, dialect: Dialect, n: u16) -> Self {
        Self::with(world, smf, dialect, n, plan(dialect, n))
    }

    pub fn with(
        world: &mut World,
        smf: SmfId,
        dialect: Dialect,
        n: u16,
        plan: SessionPlan,
    ) -> Self {
        let session = world.establish(smf, plan);
        let session = session.unwrap_or_else(|error| panic!("{dialect}: {error}"));
        Self {
            n,
            dialect,
            smf,
            session,
            uplink: Some(session.uplink),
            at: 1,
            sent: Count::default(),
            stopped: Default::default(),
            received: Count::default(),
            waiting: None,
            reported: Usage::default(),
        }
    }

    /// The gNB's end of its tunnel now.
    pub fn gnb(&self) -> Tunnel {
        gnb(self.at, self.n)
    }

    pub fn change(&mut self, world: &mut World, change: Change) -> Changed {
        self.change_while(world, change, |_| {})
    }

    pub fn change_while(
        &mut self,
        world: &mut World,
        change: Change,
        each: impl FnMut(&mut World),
    ) -> Changed {
        let changed = world.change_while(self.smf, self.session.cp_seid, change, each);
        let changed = changed.unwrap_or_else(|e| panic!("{} {change:?}: {e}", self.dialect));
        self.reported
            .urrs
            .extend(changed.usage.urrs.iter().copied());
        self.uplink = changed.uplink;
        changed
    }

    /// Deletes the session: the SMF must have been told all.
    pub fn delete(mut self, world: &mut World) {
        self.ends(world);
        self.assert_reported();
    }

    /// Deletes a session that the SMF wanted no usage of.
    pub fn delete_unmeasured(mut self, world: &mut World) {
        self.ends(world);
        assert_eq!(self.reported, Usage::default(), "{}", self.dialect);
    }

    fn ends(&mut self, world: &mut World) {
        let seen = world.seen_by_operator(self.session.up_seid);
        let count = |c: Count| (c.octets, c.packets);
        assert_eq!(
            seen,
            [count(self.sent), count(self.received)],
            "{}",
            self.dialect
        );
        let by_itself = world.usage_by_itself(self.smf, self.session.cp_seid);
        self.reported.urrs.extend(by_itself);
        let last = world.delete(self.smf, self.session.cp_seid);
        let last = last.unwrap_or_else(|error| panic!("{}: {error}", self.dialect));
        self.reported.urrs.extend(last.urrs.iter().copied());
    }

    /// A packet that reaches the data network.
    pub fn sends(&mut self, world: &mut World, len: usize) {
        let inner = self.injects(world, len);
        world.settle();
        let out = world.n6_output();
        assert_eq!(
            out.len(),
            1,
            "{}: {}",
            self.dialect,
            world.upf.core.ledger()
        );
        assert!(frames::is_one_hop_on(&inner, &out[0]), "{}", self.dialect);
        self.sent.add(len);
    }

    /// So many packets each way at once. Returns how many left the UPF, uplink and downlink.
    pub fn floods(&mut self, world: &mut World, packets: usize, len: usize) -> [usize; 2] {
        for _ in 0..packets {
            self.injects(world, len);
            world.inject_downlink(&self.packet_to(len));
        }
        world.settle();
        let left = [world.n6_output().len(), world.n3_output().len()];
        (0..left[0]).for_each(|_| self.sent.add(len));
        (0..left[1]).for_each(|_| self.received.add(len));
        for (stopped, left) in self.stopped.iter_mut().zip(left) {
            (left..packets).for_each(|_| stopped.add(len));
        }
        left
    }

    /// A packet that ends in the UPF.
    pub fn sends_in_vain(&mut self, world: &mut World, len: usize, reason: DropReason) {
        let before = world.dropped(reason);
        self.injects(world, len);
        world.settle();
        let now = world.dropped(reason);
        assert_eq!(
            now,
            before + 1,
            "{}: {}",
            self.dialect,
            world.upf.core.ledger()
        );
        assert!(world.n6_output().is_empty(), "{}", self.dialect);
        self.note_stopped(0, len, reason);
    }

    fn note_stopped(&mut self, direction: usize, len: usize, reason: DropReason) {
        if matches!(reason, DropReason::GateClosed | DropReason::MbrExceeded) {
            self.stopped[direction].add(len);
        }
    }

    fn injects(&self, world: &mut World, len: usize) -> Vec<u8> {
        let inner = frames::packet(ue_address(self.n), SERVER, len, self.n as u8);
        let to = self.uplink.expect("an uplink tunnel");
        world.inject_uplink(self.at, to, Qfi::new(QFI).unwrap(), &inner);
        inner
    }

    /// A packet of the data network that reaches the gNB.
    pub fn receives(&mut self, world: &mut World, len: usize) {
        let packet = self.packet_to(len);
        world.inject_downlink(&packet);
        world.settle();
        let mut out = world.n3_output();
        assert_eq!(
            out.len(),
            1,
            "{}: {}",
            self.dialect,
            world.upf.core.ledger()
        );
        self.assert_is_data(out.pop(), &packet);
        self.received.add(len);
    }

    /// The frame carries this packet to the UE's gNB.
    pub fn assert_is_data(&self, frame: Option<N3Frame>, packet: &[u8]) {
        let Some(N3Frame::Data {
            to,
            qfi,
            dscp,
            inner,
        }) = frame
        else {
            panic!("{}: no data", self.dialect);
        };
        let marked = Qfi::new(QFI).and_then(|qfi| self.dialect.profile().far.dscp_of(qfi));
        assert_eq!(dscp, marked.unwrap_or(0), "{}", self.dialect);
        assert_eq!((to, qfi), (self.gnb(), Some(QFI)), "{}", self.dialect);
        assert!(frames::is_one_hop_on(packet, &inner), "{}", self.dialect);
    }

    /// A packet of the data network that is held, as the UE is idle.
    pub fn waits(&mut self, world: &mut World, len: usize) {
        let before = world.upf.core.ledger();
        let packet = self.packet_to(len);
        world.inject_downlink(&packet);
        world.settle();
        let now = world.upf.core.ledger();
        assert_eq!(now.held, before.held + 1, "{}: {now}", self.dialect);
        assert_eq!(now.dropped, before.dropped, "{}", self.dialect);
        assert!(world.n3_output().is_empty(), "{}", self.dialect);
        self.waiting = Some(packet);
    }

    /// A packet of the data network that ends in the UPF.
    pub fn misses(&mut self, world: &mut World, len: usize, reason: DropReason) {
        let before = world.dropped(reason);
        world.inject_downlink(&self.packet_to(len));
        world.settle();
        let now = world.dropped(reason);
        assert_eq!(
            now,
            before + 1,
            "{}: {}",
            self.dialect,
            world.upf.core.ledger()
        );
        assert!(world.n3_output().is_empty(), "{}", self.dialect);
        self.note_stopped(1, len, reason);
    }

    /// A packet for it as the data network makes it.
    pub fn packet_to(&self, len: usize) -> Vec<u8> {
        frames::packet(SERVER, ue_address(self.n), len, self.n as u8)
    }

    /// All that every URR of the dialect should have measured, and nothing more.
    fn assert_reported(&self) {
        let styles = self.dialect.profile().urr;
        for (index, style) in styles.iter().enumerate() {
            let mut ids: Vec<UrrId> = self.reported.urrs.iter().map(|urr| urr.urr_id).collect();
            ids.sort_unstable();
            ids.dedup();
            // URRs that were made anew have higher numbers.
            let ours = ids
                .iter()
                .filter(|id| (id.0 as usize - 1) % styles.len() == index);
            let total = ours.fold(Traffic::default(), |sum, id| {
                sum.plus(self.reported.traffic(*id))
            });
            let of = |counts: bool, count: Count| if counts { count } else { Count::default() };
            let information = style.information.unwrap_or_default();
            let stopped = match information.contains(MeasurementInformation::MBQE) {
                true => self.stopped,
                false => Default::default(),
            };
            let up = of(style.of_uplink, self.sent.plus(stopped[0]));
            let down = of(style.of_downlink, self.received.plus(stopped[1]));
            let octets = (
                total.uplink_octets,
                total.downlink_octets,
                total.total_octets,
            );
            let expected = (up.octets, down.octets, up.octets + down.octets);
            assert_eq!(octets, expected, "{} URR {index}", self.dialect);
            if information.contains(MeasurementInformation::MNOP) {
                let packets = (total.uplink_packets, total.downlink_packets);
                assert_eq!(
                    packets,
                    (up.packets, down.packets),
                    "{} URR {index}",
                    self.dialect
                );
            }
        }
    }
}
