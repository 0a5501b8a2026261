//! What a message of one form does to a session of one form: everything but the values.

use super::domain::FormId;
use super::session::Place;
use super::values::Values;
use crate::network::Side;
use crate::session::meter::Told;
use crate::session::names::NameId;
use crate::session::pending::Remarks;
use crate::session::rules::Origin;
use sluice_path::limits::RULE_QERS;
use sluice_path::rule::BucketRef;
use sluice_path::txn::{Clock, Op};
use sluice_wire::pfcp::value::UsageReportTrigger;

/// Which of the values at hand: those of the session's record, then those of the message, then what
/// was taken for it.
pub type Source = u8;

/// The most values at hand.
pub const VALUES: usize = 192;

/// A message's effects.
#[derive(Debug)]
pub struct Recipe {
    /// The form that the session has before.
    pub before: FormId,
    /// How many values a record of that form has.
    pub of_session: u8,
    /// Those of them that are of any use, and where they stand.
    pub reads: Box<[(Place, Source)]>,
    /// Which values must be the same, and which must not.
    pub checks: Box<[Check]>,
    /// Identifiers of rules for which the record has only two octets.
    pub narrow: Box<[Source]>,
    /// The UE address that tells a new session's shard.
    pub shard: Option<Source>,
    /// What is taken, in order.
    pub takes: Box<[Take]>,
    /// The record afterwards; none if the session is gone.
    pub after: Option<Record>,
    /// Operations of the transaction.
    pub ops: Box<[OpForm]>,
    /// End markers: peer and TEID.
    pub end_markers: Box<[[Source; 2]]>,
    /// Whose usage the operations take.
    pub credits: Box<[Option<CreditForm>]>,
    /// Peers that are given back.
    pub peers: Box<[Source]>,
    /// URRs whose usage is asked for.
    pub queried: Box<[Source]>,
    /// Reports that are due.
    pub due: Box<[DueForm]>,
    /// F-TEIDs that the answer tells.
    pub created: Box<[CreatedForm]>,
    /// Lines that are given back.
    pub gone: Box<[GoneLine]>,
    /// Blocks that are given back.
    pub gone_blocks: Box<[Source]>,
    /// Meters that are to tell something else.
    pub told: Box<[(Source, Told)]>,
    /// Tunnels of peers that the session leaves, and those that it sends into.
    pub tunnels: Box<[TunnelChange]>,
    /// Query URR Reference.
    pub reference: Option<Source>,
    /// What the operator is told.
    pub remarks: Remarks,
}

/// Two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Check {
    /// One.
    pub one: Source,
    /// The other.
    pub other: Source,
    /// Whether they must be the same.
    pub same: bool,
}

/// Something to take. What it gives is added to the values at hand.
#[derive(Clone, Copy, Debug)]
pub enum Take {
    /// A TEID of ours: the TEID, its line.
    NewTeid {
        /// Number of the address.
        local: u8,
    },
    /// A TEID that the CP function names: its line.
    NamedTeid {
        /// Number of the address.
        local: u8,
        /// The TEID.
        teid: Source,
        /// Where its line must come from.
        origin: Origin,
    },
    /// The line of a UE address: the line.
    UeLine {
        /// The network instance.
        instance: u8,
        /// The address.
        address: Source,
        /// Where its line must come from.
        origin: Origin,
    },
    /// An extension block: the block.
    Block,
    /// A meter: the meter.
    Meter {
        /// The URR.
        urr: Source,
        /// What it is to tell.
        told: Told,
    },
    /// A peer: the peer.
    Peer {
        /// Side of the FAR.
        side: Side,
        /// Network instance of the FAR.
        instance: NameId,
        /// The peer's address.
        address: Source,
    },
}

/// The record of a session.
#[derive(Debug)]
pub struct Record {
    /// Its length without the usage.
    pub len: usize,
    /// What is written.
    pub octets: Octets,
    /// Where values are put, counted from the start of the record.
    pub values: Box<[(Place, Source)]>,
}

/// Octets of a record.
#[derive(Debug)]
pub enum Octets {
    /// All that stands behind the usage, the values and the user being 0.
    Whole(Box<[u8]>),
    /// The record was nearly the same before: these octets of it, by place counted from its start.
    Some(Box<[(u16, u8)]>),
}

/// An operation.
#[derive(Clone, Debug)]
pub struct OpForm {
    /// The operation.
    pub op: Op,
    /// The values in it.
    pub values: Box<[(Field, Source)]>,
}

/// Where a value stands in an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// The line, the block, or the block of the bucket that it is about.
    At,
    /// A block's successor.
    Next,
    /// Key of a line.
    Key,
    /// UE address of a line.
    UeIp,
    /// Peer of a line or rule.
    Peer,
    /// TEID of a line or rule, or the block that a line leads to.
    Teid,
    /// The block of a rule's shared bucket.
    Bucket(u8),
    /// The line or block from which a clock goes on.
    Clock(u8),
}

/// Whose usage is taken.
#[derive(Clone, Debug)]
pub struct CreditForm {
    /// It counts packets from the UE.
    pub uplink: bool,
    /// The meters.
    pub meters: Box<[Source]>,
}

/// A report that is due.
#[derive(Clone, Copy, Debug)]
pub struct DueForm {
    /// The meter.
    pub meter: Source,
    /// Why it reports.
    pub trigger: UsageReportTrigger,
    /// The meter ends with it.
    pub ends: bool,
}

/// An F-TEID of ours.
#[derive(Clone, Copy, Debug)]
pub struct CreatedForm {
    /// The PDR.
    pub pdr: Source,
    /// The TEID.
    pub teid: Source,
    /// The address.
    pub address: core::net::Ipv4Addr,
    /// The address's number.
    pub local: u8,
}

/// A line that is given back.
#[derive(Clone, Copy, Debug)]
pub struct GoneLine {
    /// Number of the address for a tunnel, network instance for a UE address.
    pub space: u8,
    /// It is that of a tunnel.
    pub is_tunnel: bool,
    /// TEID or UE address.
    pub key: Source,
    /// The line.
    pub line: Source,
    /// Where it goes back to.
    pub origin: Origin,
}

/// The session sends into a tunnel from now on, or no longer.
#[derive(Clone, Copy, Debug)]
pub struct TunnelChange {
    /// From now on.
    pub sends: bool,
    /// The tunnel's TEID.
    pub teid: Source,
    /// Its address.
    pub address: Source,
}

impl OpForm {
    /// Puts these values into a copy of the operation.
    #[inline]
    pub fn put_values(&self, op: &mut Op, values: &Values) {
        for (field, source) in &self.values {
            put(op, *field, values.of(*source));
        }
    }
}

fn put(op: &mut Op, field: Field, value: u32) {
    match op {
        Op::Line { at, image, clocks } => match field {
            Field::At => *at = value,
            Field::Key => image.key = value,
            Field::UeIp => image.ue_ip = value,
            Field::Peer => image.body.peer = value as u16,
            Field::Teid => image.body.teid = value,
            Field::Clock(i) => {
                if let Some(clock) = clocks.get_mut(usize::from(i)) {
                    put_clock(clock, value);
                }
            }
            Field::Next | Field::Bucket(_) => {}
        },
        Op::TakeLine { at } => *at = value,
        Op::Rule { block, image, .. } => match field {
            Field::At => *block = value,
            Field::Peer => image.body.peer = value as u16,
            Field::Teid => image.body.teid = value,
            Field::Bucket(i) if usize::from(i) < RULE_QERS => {
                if let Some(bucket) = image.buckets.get_mut(usize::from(i)) {
                    *bucket = moved(*bucket, value);
                }
            }
            _ => {}
        },
        Op::TakeRule { block, .. } => *block = value,
        Op::Chain { block, next, .. } => match field {
            Field::Next => *next = value,
            _ => *block = value,
        },
        Op::Bucket { at, clock, .. } => match field {
            Field::Clock(_) => put_clock(clock, value),
            _ => *at = moved(*at, value),
        },
    }
}

fn put_clock(clock: &mut Clock, value: u32) {
    match clock {
        Clock::Full => {}
        Clock::Line(line, _) => *line = value,
        Clock::Shared(bucket) => *bucket = moved(*bucket, value),
    }
}

/// The same bucket of another block.
fn moved(bucket: BucketRef, block: u32) -> BucketRef {
    let at = bucket.get().map_or(0, |(_, at)| at);
    BucketRef::new(block, at as u8)
}
