//! Forwarding Action, QoS Enforcement and Buffering Action Rules, and their octets in a session's record.

use crate::names::NameId;
use crate::network::Side;
use crate::rules::octets::{Kinds, OctetReader, OctetWriter, bit, bit8, fits};
use core::net::IpAddr;
use sluice_datapath::forward::marking::Marking;
use sluice_datapath::ids::BlockId;
use sluice_datapath::limits::BLOCK_BUCKETS;
use sluice_datapath::session::rule::BucketRef;
use sluice_datapath::tables::{EgressId, PeerId};
use sluice_wire::ids::{BarId, FarId, QerId};
use sluice_wire::pfcp::value::{ApplyAction, BitRate, Gate, GateStatus};

/// A Buffering Action Rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bar {
    /// BAR ID.
    pub id: BarId,
    /// Downlink Data Notification Delay in units of 50 ms.
    pub delay: u8,
    /// Suggested Buffering Packets Count.
    pub packets: Option<u8>,
}

/// A QoS Enforcement Rule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Qer {
    /// QER ID.
    pub id: QerId,
    /// Gate Status.
    pub gate: GateStatus,
    /// Maximum Bitrate.
    pub mbr: Option<BitRate>,
    /// Guaranteed Bitrate: kept, nothing is reserved for it.
    pub gbr: Option<BitRate>,
    /// QFI that packets are marked with.
    pub qfi: Option<u8>,
    /// Shared buckets, uplink and downlink.
    pub buckets: [BucketRef; 2],
    /// It came with the message at hand.
    pub is_new: bool,
}

impl Qer {
    /// It guarantees a bit rate, which only a GBR flow has (TS 23.501, 5.7.2.5).
    pub fn is_of_gbr_flow(&self) -> bool {
        self.gbr
            .is_some_and(|rate| rate.uplink_kbps > 0 || rate.downlink_kbps > 0)
    }

    /// It has no shared buckets any more.
    pub fn drop_buckets(&mut self) {
        self.buckets = [BucketRef::NONE; 2];
    }
}

/// What a FAR does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// DROP.
    Drop,
    /// FORW.
    Forward,
    /// BUFF: packets are held.
    Buffer,
}

/// A Forwarding Action Rule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Far {
    /// FAR ID.
    pub id: FarId,
    /// Apply Action.
    pub action: Action,
    /// Apply Action as received.
    pub flags: u16,
    /// BAR ID.
    pub bar: Option<BarId>,
    /// Forwarding Parameters.
    pub forwarding: Option<Forwarding>,
    /// The peer that is held for the outer header, if a live PDR needs one.
    pub peer: Option<PeerId>,
    /// The way out without outer header.
    pub egress: Option<EgressId>,
    /// Whether the CP function knows of the peer's Error Indication.
    pub indicated: Indicated,
    /// QoS flows whose packets were reported and the FAR not updated since, a bit for each QFI; 0 is of those
    /// without.
    pub paged: u64,
    /// The message at hand updates it: what stands on the path is written anew.
    pub is_updated: bool,
}

/// How far the report of an Error Indication about a FAR's tunnel is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Indicated {
    /// There was none since the FAR was changed, or its report was refused.
    #[default]
    No,
    /// A report is due.
    Due,
    /// It is under way.
    Sent,
    /// The CP function has taken it: more indications say nothing new.
    Told,
}

/// Forwarding Parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forwarding {
    /// Destination Interface.
    pub side: Side,
    /// Network Instance.
    pub instance: NameId,
    /// Outer Header Creation GTP-U/UDP/IPv4 or GTP-U/UDP/IPv6.
    pub tunnel: Option<RemoteTunnel>,
    /// Transport Level Marking.
    pub marking: Marking,
}

impl Forwarding {
    /// True for packets to the CP function without a tunnel (N4-u) that leads there.
    pub fn is_lost(&self) -> bool {
        self.side == Side::Control && self.tunnel.is_none()
    }
}

/// A tunnel endpoint of a peer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RemoteTunnel {
    /// Its TEID.
    pub teid: u32,
    /// Its address.
    pub address: IpAddr,
}

impl Far {
    /// True if the CP function wants to hear of the first packet.
    pub fn notifies(&self) -> bool {
        self.action == Action::Buffer && self.flags & ApplyAction::NOCP.flags() != 0
    }

    /// True if outer headers are marked.
    pub fn marks(&self) -> bool {
        self.forwarding.is_some_and(|f| !f.marking.is_none())
    }

    /// The peer's tunnel, if packets go into one.
    pub fn tunnel(&self) -> Option<RemoteTunnel> {
        self.forwarding.and_then(|f| f.tunnel)
    }
}

/// The record of a FAR.
impl Far {
    /// Writes the rule.
    pub fn write(&self, kinds: Kinds, pen: &mut OctetWriter<'_>) {
        let action = match self.action {
            Action::Drop => 0,
            Action::Forward => 1,
            Action::Buffer => 2,
        };
        let side = self.forwarding.map_or(0, |f| f.side.bits());
        let bits = side
            | action << FAR_ACTION
            | bit(FAR_FORWARDING, self.forwarding.is_some())
            | bit(FAR_TUNNEL, self.tunnel().is_some())
            | bit(
                FAR_IPV6_TUNNEL,
                self.tunnel().is_some_and(|t| t.address.is_ipv6()),
            )
            | bit(FAR_PEER, self.peer.is_some())
            | bit(FAR_EGRESS, self.egress.is_some())
            | (self.indicated as u16) << FAR_INDICATED
            | bit(FAR_PAGED, self.paged != 0)
            | bit(FAR_BAR, self.bar.is_some())
            | bit(FAR_ONE_FLAG, self.flags == one_flag(self.action))
            | bit(FAR_MARKING, self.marks());
        kinds.put_id(pen, self.id.0);
        pen.u16(bits);
        if self.flags != one_flag(self.action) {
            kinds.put_short(pen, self.flags);
        }
        if let Some(forwarding) = self.forwarding {
            kinds.put_short(pen, forwarding.instance.number());
        }
        if let Some(tunnel) = self.tunnel() {
            pen.u32(tunnel.teid);
            match tunnel.address {
                IpAddr::V4(address) => pen.u32(address.into()),
                IpAddr::V6(address) => pen.u128(address.into()),
            }
        }
        if let Some(forwarding) = self.forwarding.filter(|_| self.marks()) {
            pen.put(forwarding.marking.octets());
        }
        if let Some(peer) = self.peer {
            pen.u16(peer.0);
        }
        if let Some(egress) = self.egress {
            kinds.put_short(pen, egress.0);
        }
        if self.paged != 0 {
            pen.u64(self.paged);
        }
        if let Some(bar) = self.bar {
            pen.u8(bar.0);
        }
    }

    /// Reads a rule.
    pub fn read(kinds: Kinds, eye: &mut OctetReader<'_>) -> Self {
        let id = FarId(kinds.id(eye));
        let bits = eye.u16();
        let has = |bit| bits & bit != 0;
        let action = match bits >> FAR_ACTION & 3 {
            0 => Action::Drop,
            1 => Action::Forward,
            _ => Action::Buffer,
        };
        let flags = if has(FAR_ONE_FLAG) {
            one_flag(action)
        } else {
            kinds.short(eye)
        };
        let instance = has(FAR_FORWARDING).then(|| NameId::from_number(kinds.short(eye)));
        let tunnel = has(FAR_TUNNEL).then(|| RemoteTunnel {
            teid: eye.u32(),
            address: if has(FAR_IPV6_TUNNEL) {
                IpAddr::V6(eye.u128().into())
            } else {
                IpAddr::V4(eye.u32().into())
            },
        });
        let marking = if has(FAR_MARKING) {
            Marking::new(eye.u8(), eye.u8())
        } else {
            Marking::default()
        };
        Self {
            id,
            action,
            flags,
            forwarding: instance.map(|instance| Forwarding {
                side: Side::from_bits(bits),
                instance,
                tunnel,
                marking,
            }),
            peer: has(FAR_PEER).then(|| PeerId(eye.u16())),
            egress: has(FAR_EGRESS).then(|| EgressId(kinds.short(eye))),
            indicated: match bits >> FAR_INDICATED & 3 {
                0 => Indicated::No,
                1 => Indicated::Due,
                2 => Indicated::Sent,
                _ => Indicated::Told,
            },
            paged: if has(FAR_PAGED) { eye.u64() } else { 0 },
            bar: has(FAR_BAR).then(|| BarId(eye.u8())),
            is_updated: false,
        }
    }
}

/// The record of a QER.
impl Qer {
    /// Writes the rule.
    pub fn write(&self, kinds: Kinds, pen: &mut OctetWriter<'_>) {
        let shared = self.buckets.iter().any(|b| *b != BucketRef::NONE);
        let bits = bit8(QER_UPLINK_CLOSED, self.gate.uplink == Gate::Closed)
            | bit8(QER_DOWNLINK_CLOSED, self.gate.downlink == Gate::Closed)
            | bit8(QER_MBR, self.mbr.is_some())
            | bit8(QER_GBR, self.gbr.is_some())
            | bit8(QER_QFI, self.qfi.is_some())
            | bit8(QER_BUCKETS, shared);
        let rates = self.mbr.into_iter().chain(self.gbr);
        let rates = rates.flat_map(|rate| [rate.uplink_kbps, rate.downlink_kbps]);
        let are_short = rates.clone().all(fits::<3>);
        kinds.put_id(pen, self.id.0);
        pen.u8(bits | bit8(QER_SHORT_RATES, are_short));
        rates.for_each(|kbps| {
            if are_short {
                pen.low::<3>(kbps)
            } else {
                pen.low::<5>(kbps)
            }
        });
        if let Some(qfi) = self.qfi {
            pen.u8(qfi);
        }
        if shared {
            for bucket in self.buckets {
                match bucket.get() {
                    Some((block, at)) => {
                        pen.u8(at as u8);
                        pen.u32(block.0);
                    }
                    None => pen.u8(NO_BUCKET),
                }
            }
        }
    }

    /// Reads a rule.
    pub fn read(kinds: Kinds, eye: &mut OctetReader<'_>) -> Self {
        let id = QerId(kinds.id(eye));
        let bits = eye.u8();
        let has = |bit| bits & bit != 0;
        let gate = |closed| if closed { Gate::Closed } else { Gate::Open };
        let mut rate = || rate(eye, has(QER_SHORT_RATES));
        let mbr = has(QER_MBR).then(&mut rate);
        let gbr = has(QER_GBR).then(&mut rate);
        let qfi = has(QER_QFI).then(|| eye.u8());
        let buckets = if has(QER_BUCKETS) {
            [(); 2].map(|()| bucket(eye))
        } else {
            [BucketRef::NONE; 2]
        };
        Self {
            id,
            gate: GateStatus {
                uplink: gate(has(QER_UPLINK_CLOSED)),
                downlink: gate(has(QER_DOWNLINK_CLOSED)),
            },
            mbr,
            gbr,
            qfi,
            buckets,
            is_new: false,
        }
    }
}

/// The record of a BAR.
impl Bar {
    /// Writes the rule.
    pub fn write(&self, pen: &mut OctetWriter<'_>) {
        pen.u8(self.id.0);
        pen.u8(self.delay);
        pen.u8(u8::from(self.packets.is_some()));
        pen.u8(self.packets.unwrap_or(0));
    }

    /// Reads a rule.
    pub fn read(eye: &mut OctetReader<'_>) -> Self {
        let (id, delay) = (BarId(eye.u8()), eye.u8());
        let (is_told, packets) = (eye.u8() != 0, eye.u8());
        Self {
            id,
            delay,
            packets: is_told.then_some(packets),
        }
    }
}

/// Octets of a FAR with a tunnel over IPv4 at the most. It has a peer or a way out without one, never both.
pub const FAR_MIN: usize = 4 + 2 + 2 + 2 + 8 + 2 + 8 + 1;
/// What the rest of an IPv6 address adds.
pub const FAR_IPV6: usize = 12;
/// What a FAR has more that marks.
pub const FAR_MARKED: usize = 2;
pub const FAR_MAX: usize = FAR_MIN + FAR_IPV6 + FAR_MARKED;
pub const BAR_MAX: usize = 4;
pub const QER_MAX: usize = 4 + 1 + 10 + 10 + 1 + 2 * (1 + 4);

/// Bits of a FAR's word: two of the side, two of the action, then these.
const FAR_ACTION: u32 = 2;
const FAR_FORWARDING: u16 = 1 << 4;
const FAR_TUNNEL: u16 = 1 << 5;
const FAR_PEER: u16 = 1 << 6;
const FAR_EGRESS: u16 = 1 << 7;
/// Two bits.
const FAR_INDICATED: u32 = 8;
const FAR_PAGED: u16 = 1 << 10;
const FAR_BAR: u16 = 1 << 11;
/// Of one with a tunnel: it goes over IPv6.
const FAR_IPV6_TUNNEL: u16 = 1 << 12;
/// Apply Action has the one flag of the action.
const FAR_ONE_FLAG: u16 = 1 << 13;
/// Outer headers are marked: value and mask follow the tunnel.
const FAR_MARKING: u16 = 1 << 14;

/// Bits of a QER's octet.
const QER_UPLINK_CLOSED: u8 = 1;
const QER_DOWNLINK_CLOSED: u8 = 1 << 1;
const QER_MBR: u8 = 1 << 2;
const QER_GBR: u8 = 1 << 3;
const QER_QFI: u8 = 1 << 4;
const QER_BUCKETS: u8 = 1 << 5;
/// Bit rates take three octets each (16 Gbit/s), otherwise five.
const QER_SHORT_RATES: u8 = 1 << 6;

/// In place of a bucket's number in its block: there is none.
const NO_BUCKET: u8 = u8::MAX;
const _: () = assert!(BLOCK_BUCKETS < NO_BUCKET as usize);
/// No block has a higher number: with any place in it a reference to its bucket has 32 bits.
const LAST_BLOCK: u32 = (u32::MAX - NO_BUCKET as u32) / BLOCK_BUCKETS as u32;

/// The flag of Apply Action that an action has as a rule alone (TS 29.244, 8.2.26).
fn one_flag(action: Action) -> u16 {
    match action {
        Action::Drop => ApplyAction::DROP.flags(),
        Action::Forward => ApplyAction::FORW.flags(),
        Action::Buffer => ApplyAction::BUFF.flags(),
    }
}

fn rate(eye: &mut OctetReader<'_>, is_short: bool) -> BitRate {
    let mut kbps = || {
        if is_short {
            eye.low::<3>()
        } else {
            eye.low::<5>()
        }
    };
    BitRate {
        uplink_kbps: kbps(),
        downlink_kbps: kbps(),
    }
}

fn bucket(eye: &mut OctetReader<'_>) -> BucketRef {
    match eye.u8() {
        NO_BUCKET => BucketRef::NONE,
        at => BucketRef::new(BlockId(eye.u32().min(LAST_BLOCK)), at),
    }
}
