//! Rules in a record. Of each a word of bits comes first that tells what follows.

use super::{Eye, Kinds, Pen};
use crate::network::Side;
use crate::session::limits::ENDPOINTS;
use crate::session::names::NameId;
use crate::session::rules::{
    Action, Endpoint, Far, Filter, Forwarding, IdList, Key, LocalTunnel, Origin, Pdr, Qer,
    RemoteTunnel, Rules, UeAddress, Urr,
};
use arrayvec::ArrayVec;
use core::net::Ipv4Addr;
use sluice_path::limits::{BLOCK_BUCKETS, BLOCK_CHAIN};
use sluice_path::rule::BucketRef;
use sluice_wire::ids::{FarId, PdrId, QerId, UrrId};
use sluice_wire::limits::{QERS_PER_PDR, URRS_PER_PDR};
use sluice_wire::pfcp::value::{
    BitRate, Gate, GateStatus, MeasurementInformation, MeasurementMethod, ReportingTriggers,
};

/// Octets of each at the most.
pub const URR_MAX: usize = 4 + 1 + 2 + 4 + 4;
pub const ENDPOINT_MAX: usize = ENDPOINT_MIN + 4 * BLOCK_CHAIN;
pub const PDR_MAX: usize = PDR_MIN + 4 * (QERS_PER_PDR + URRS_PER_PDR);
pub const FAR_MAX: usize = 4 + 2 + 2 + 2 + 8 + 2 + 2;
pub const QER_MAX: usize = 4 + 1 + 10 + 10 + 1 + 8;
/// The same without lists: PDR ID, bits, precedence, instance, FAR, tunnel, UE address, QFIs.
pub const PDR_MIN: usize = 2 + 2 + 4 + 2 + 4 + 10 + 5 + 8;
/// The same without blocks.
pub const ENDPOINT_MIN: usize = 1 + 5 + 4;

/// In place of an endpoint's number: the tunnel is none of the session's endpoints.
const NO_ENDPOINT: u8 = u8::MAX;
const _: () = assert!(ENDPOINTS < NO_ENDPOINT as usize);

/// Bits of a PDR's word: two of the side, then these, then the lengths of its lists.
const PDR_NOTHING: u16 = 1 << 2;
const PDR_REMOVES: u16 = 1 << 3;
const PDR_TUNNEL: u16 = 1 << 4;
const PDR_UE: u16 = 1 << 5;
const PDR_OWN_UE: u16 = 1 << 6;
const PDR_QFIS: u16 = 1 << 7;
const PDR_QERS: u32 = 8;
const PDR_URRS: u32 = 12;
const _: () = assert!(QERS_PER_PDR < 16 && URRS_PER_PDR < 16);

/// Bits of a FAR's word: two of the side, two of the action, then these.
const FAR_ACTION: u32 = 2;
const FAR_FORWARDING: u16 = 1 << 4;
const FAR_TUNNEL: u16 = 1 << 5;
const FAR_PEER: u16 = 1 << 6;
const FAR_EGRESS: u16 = 1 << 7;
const FAR_REPORTED: u16 = 1 << 8;

/// Bits of a QER's octet.
const QER_UPLINK_CLOSED: u8 = 1;
const QER_DOWNLINK_CLOSED: u8 = 1 << 1;
const QER_MBR: u8 = 1 << 2;
const QER_GBR: u8 = 1 << 3;
const QER_QFI: u8 = 1 << 4;
const QER_BUCKETS: u8 = 1 << 5;

/// Bits of an endpoint's octet: two of the key's kind, two of the origin, then the blocks.
const KEY_SPARE: u8 = 0;
const KEY_TUNNEL: u8 = 1;
const KEY_UE: u8 = 2;
/// The session's own UE address.
const KEY_OWN_UE: u8 = 3;
const ENDPOINT_ORIGIN: u32 = 2;
const ENDPOINT_BLOCKS: u32 = 4;

/// Writes rules.
pub struct Scribe<'r> {
    pub kinds: Kinds,
    pub ue: Option<UeAddress>,
    pub rules: &'r Rules,
}

impl Scribe<'_> {
    #[inline(always)]
    fn id(&self, pen: &mut Pen<'_>, id: u32) {
        match self.kinds.has(Kinds::WIDE) {
            true => pen.u32(id),
            false => pen.u16(id as u16),
        }
    }

    pub fn urr(&self, pen: &mut Pen<'_>, urr: &Urr) {
        self.id(pen, urr.id.0);
        pen.u8(urr.method.0);
        pen.u16(urr.information.0);
        pen.u32(urr.triggers.0);
        pen.u32(urr.meter);
    }

    pub fn endpoint(&self, pen: &mut Pen<'_>, endpoint: &Endpoint) {
        let origin = match endpoint.origin {
            Origin::Slot => 0,
            Origin::Pool => 1,
            Origin::Foreign => 2,
            Origin::None => 3,
        };
        let blocks = endpoint.blocks().count() as u8;
        let rest = origin << ENDPOINT_ORIGIN | blocks << ENDPOINT_BLOCKS;
        match endpoint.key {
            Key::Spare => pen.u8(KEY_SPARE | rest),
            Key::Tunnel { local, teid } => {
                pen.u8(KEY_TUNNEL | rest);
                pen.u8(local);
                pen.u32(teid);
            }
            key if self.ue.is_some_and(|ue| key == ue_key(ue)) => pen.u8(KEY_OWN_UE | rest),
            Key::Ue { instance, address } => {
                pen.u8(KEY_UE | rest);
                pen.u8(instance);
                pen.u32(address);
            }
        }
        pen.u32(endpoint.line);
        endpoint.blocks().for_each(|block| pen.u32(block));
    }

    pub fn pdr(&self, pen: &mut Pen<'_>, pdr: &Pdr) {
        let other_ue = pdr.ue.filter(|ue| Some(*ue) != self.ue);
        let (qers, urrs) = (pdr.qers.as_slice(), pdr.urrs.as_slice());
        let bits = side_bits(pdr.source)
            | bit(PDR_NOTHING, pdr.filter == Filter::Nothing)
            | bit(PDR_REMOVES, pdr.removes_outer)
            | bit(PDR_TUNNEL, pdr.tunnel.is_some())
            | bit(PDR_UE, pdr.ue.is_some())
            | bit(PDR_OWN_UE, other_ue.is_some())
            | bit(PDR_QFIS, pdr.qfis != 0)
            | (qers.len() as u16) << PDR_QERS
            | (urrs.len() as u16) << PDR_URRS;
        pen.u16(pdr.id.0);
        pen.u16(bits);
        self.id(pen, pdr.precedence);
        pen.u16(pdr.instance.number());
        self.id(pen, pdr.far.0);
        if let Some(tunnel) = pdr.tunnel {
            self.tunnel(pen, tunnel);
        }
        if let Some(ue) = other_ue {
            write_ue(pen, ue);
        }
        if pdr.qfis != 0 {
            pen.u64(pdr.qfis);
        }
        qers.iter().chain(urrs).for_each(|id| self.id(pen, *id));
    }

    /// TEID and number of the address stand in the endpoint.
    fn tunnel(&self, pen: &mut Pen<'_>, tunnel: LocalTunnel) {
        let LocalTunnel {
            teid,
            address,
            local,
        } = tunnel;
        let key = Key::Tunnel { local, teid };
        let endpoint = self.rules.endpoints.iter().position(|e| e.key == key);
        match endpoint {
            Some(at) => pen.u8(at as u8),
            None => {
                pen.u8(NO_ENDPOINT);
                pen.u8(local);
                pen.u32(teid);
            }
        }
        pen.put(address.octets());
    }

    pub fn far(&self, pen: &mut Pen<'_>, far: &Far) {
        let action = match far.action {
            Action::Drop => 0,
            Action::Forward => 1,
            Action::Buffer => 2,
        };
        let side = far.forwarding.map_or(0, |f| side_bits(f.side));
        let bits = side
            | action << FAR_ACTION
            | bit(FAR_FORWARDING, far.forwarding.is_some())
            | bit(FAR_TUNNEL, far.tunnel().is_some())
            | bit(FAR_PEER, far.peer.is_some())
            | bit(FAR_EGRESS, far.egress.is_some())
            | bit(FAR_REPORTED, far.reported);
        self.id(pen, far.id.0);
        pen.u16(bits);
        pen.u16(far.flags);
        if let Some(forwarding) = far.forwarding {
            pen.u16(forwarding.instance.number());
        }
        if let Some(tunnel) = far.tunnel() {
            pen.u32(tunnel.teid);
            pen.put(tunnel.address.octets());
        }
        far.peer
            .into_iter()
            .chain(far.egress)
            .for_each(|id| pen.u16(id));
    }

    pub fn qer(&self, pen: &mut Pen<'_>, qer: &Qer) {
        let shared = qer.buckets.iter().any(|b| *b != BucketRef::NONE);
        let bits = bit8(QER_UPLINK_CLOSED, qer.gate.uplink == Gate::Closed)
            | bit8(QER_DOWNLINK_CLOSED, qer.gate.downlink == Gate::Closed)
            | bit8(QER_MBR, qer.mbr.is_some())
            | bit8(QER_GBR, qer.gbr.is_some())
            | bit8(QER_QFI, qer.qfi.is_some())
            | bit8(QER_BUCKETS, shared);
        self.id(pen, qer.id.0);
        pen.u8(bits);
        for rate in qer.mbr.into_iter().chain(qer.gbr) {
            pen.u40(rate.uplink_kbps);
            pen.u40(rate.downlink_kbps);
        }
        if let Some(qfi) = qer.qfi {
            pen.u8(qfi);
        }
        if shared {
            for bucket in qer.buckets {
                let number = |(block, at)| block * BLOCK_BUCKETS as u32 + at as u32;
                pen.u32(bucket.get().map_or(0, number));
            }
        }
    }
}

/// Reads rules.
pub struct Reader {
    pub kinds: Kinds,
    pub ue: Option<UeAddress>,
}

impl Reader {
    #[inline(always)]
    fn id(&self, eye: &mut Eye<'_>) -> u32 {
        match self.kinds.has(Kinds::WIDE) {
            true => eye.u32(),
            false => eye.u16().into(),
        }
    }

    pub fn urr(&self, eye: &mut Eye<'_>) -> Urr {
        Urr {
            id: UrrId(self.id(eye)),
            method: MeasurementMethod(eye.u8()),
            information: MeasurementInformation(eye.u16()),
            triggers: ReportingTriggers(eye.u32()),
            meter: eye.u32(),
        }
    }

    pub fn endpoint(&self, eye: &mut Eye<'_>) -> Endpoint {
        let bits = eye.u8();
        let key = match bits & 3 {
            KEY_TUNNEL => Key::Tunnel {
                local: eye.u8(),
                teid: eye.u32(),
            },
            KEY_UE => Key::Ue {
                instance: eye.u8(),
                address: eye.u32(),
            },
            KEY_OWN_UE => self.ue.map_or(Key::Spare, ue_key),
            _ => Key::Spare,
        };
        let origin = match bits >> ENDPOINT_ORIGIN & 3 {
            0 => Origin::Slot,
            1 => Origin::Pool,
            2 => Origin::Foreign,
            _ => Origin::None,
        };
        let line = eye.u32();
        let mut blocks = [0; BLOCK_CHAIN];
        let len = usize::from(bits >> ENDPOINT_BLOCKS);
        blocks.iter_mut().take(len).for_each(|b| *b = eye.u32());
        Endpoint {
            key,
            line,
            origin,
            blocks,
        }
    }

    pub fn pdr(&self, eye: &mut Eye<'_>, endpoints: &ArrayVec<Endpoint, ENDPOINTS>) -> Pdr {
        let id = PdrId(eye.u16());
        let bits = eye.u16();
        let has = |bit| bits & bit != 0;
        let precedence = self.id(eye);
        let instance = NameId::from_number(eye.u16());
        let far = FarId(self.id(eye));
        let tunnel = has(PDR_TUNNEL).then(|| read_tunnel(eye, endpoints));
        let ue = match has(PDR_OWN_UE) {
            true => Some(read_ue(eye)),
            false => self.ue.filter(|_| has(PDR_UE)),
        };
        let qfis = if has(PDR_QFIS) { eye.u64() } else { 0 };
        Pdr {
            id,
            precedence,
            source: side(bits),
            instance,
            tunnel,
            ue,
            qfis,
            filter: match has(PDR_NOTHING) {
                true => Filter::Nothing,
                false => Filter::All,
            },
            removes_outer: has(PDR_REMOVES),
            far,
            qers: self.ids(eye, bits >> PDR_QERS),
            urrs: self.ids(eye, bits >> PDR_URRS),
        }
    }

    fn ids<const N: usize>(&self, eye: &mut Eye<'_>, len: u16) -> IdList<N> {
        (0..len & 15).map(|_| self.id(eye)).collect()
    }

    pub fn far(&self, eye: &mut Eye<'_>) -> Far {
        let id = FarId(self.id(eye));
        let bits = eye.u16();
        let has = |bit| bits & bit != 0;
        let flags = eye.u16();
        let instance = has(FAR_FORWARDING).then(|| NameId::from_number(eye.u16()));
        let tunnel = has(FAR_TUNNEL).then(|| RemoteTunnel {
            teid: eye.u32(),
            address: Ipv4Addr::from(eye.get()),
        });
        Far {
            id,
            action: match bits >> FAR_ACTION & 3 {
                0 => Action::Drop,
                1 => Action::Forward,
                _ => Action::Buffer,
            },
            flags,
            forwarding: instance.map(|instance| Forwarding {
                side: side(bits),
                instance,
                tunnel,
            }),
            peer: has(FAR_PEER).then(|| eye.u16()),
            egress: has(FAR_EGRESS).then(|| eye.u16()),
            reported: has(FAR_REPORTED),
        }
    }

    pub fn qer(&self, eye: &mut Eye<'_>) -> Qer {
        let id = QerId(self.id(eye));
        let bits = eye.u8();
        let has = |bit| bits & bit != 0;
        let gate = |closed| match closed {
            true => Gate::Closed,
            false => Gate::Open,
        };
        let mbr = has(QER_MBR).then(|| rate(eye));
        let gbr = has(QER_GBR).then(|| rate(eye));
        let qfi = has(QER_QFI).then(|| eye.u8());
        let buckets = match has(QER_BUCKETS) {
            true => [eye.u32(), eye.u32()].map(bucket),
            false => [BucketRef::NONE; 2],
        };
        Qer {
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

/// Writes a UE address.
pub fn write_ue(pen: &mut Pen<'_>, ue: UeAddress) {
    pen.put(ue.address.octets());
    pen.u8(ue.instance);
}

/// Reads it again.
pub fn read_ue(eye: &mut Eye<'_>) -> UeAddress {
    UeAddress {
        address: Ipv4Addr::from(eye.get()),
        instance: eye.u8(),
    }
}

fn read_tunnel(eye: &mut Eye<'_>, endpoints: &ArrayVec<Endpoint, ENDPOINTS>) -> LocalTunnel {
    let at = eye.u8();
    let (local, teid) = match endpoints.get(usize::from(at)).map(|e| e.key) {
        Some(Key::Tunnel { local, teid }) => (local, teid),
        _ => (eye.u8(), eye.u32()),
    };
    LocalTunnel {
        teid,
        address: Ipv4Addr::from(eye.get()),
        local,
    }
}

fn ue_key(ue: UeAddress) -> Key {
    Key::Ue {
        instance: ue.instance,
        address: ue.address.into(),
    }
}

fn rate(eye: &mut Eye<'_>) -> BitRate {
    BitRate {
        uplink_kbps: eye.u40(),
        downlink_kbps: eye.u40(),
    }
}

fn bucket(number: u32) -> BucketRef {
    const IN_BLOCK: u32 = BLOCK_BUCKETS as u32;
    match number {
        0 => BucketRef::NONE,
        number => BucketRef::new(number / IN_BLOCK, (number % IN_BLOCK) as u8),
    }
}

fn side_bits(side: Side) -> u16 {
    match side {
        Side::Access => 0,
        Side::Core => 1,
        Side::SgiLan => 2,
        Side::Control => 3,
    }
}

fn side(bits: u16) -> Side {
    match bits & 3 {
        0 => Side::Access,
        1 => Side::Core,
        2 => Side::SgiLan,
        _ => Side::Control,
    }
}

fn bit(bit: u16, on: bool) -> u16 {
    if on { bit } else { 0 }
}

fn bit8(bit: u8, on: bool) -> u8 {
    if on { bit } else { 0 }
}
