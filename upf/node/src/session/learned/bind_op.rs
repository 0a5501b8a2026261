//! Operations of a transaction: where their values came from.

use super::bind::Done;
use super::domain::Domain;
use super::recipe::{Field, OpForm};
use sluice_path::rule::{Body, BucketRef, Flags, Rule};
use sluice_path::txn::{Clock, Op};

impl Done<'_> {
    /// The form of an operation.
    pub fn op(&self, op: &Op) -> Option<OpForm> {
        let mut values = Vec::new();
        let mut put = |field, domain, value| {
            let source = self.find(domain, value);
            source.map(|source| values.push((field, source)))
        };
        match op {
            Op::Line { at, image, clocks } => {
                put(Field::At, Domain::Line, *at)?;
                if image.key != 0 {
                    let domain = match image.head.flags.has(Flags::TUNNEL) {
                        true => Domain::LocalTeid,
                        false => Domain::UeAddress,
                    };
                    put(Field::Key, domain, image.key)?;
                }
                if image.ue_ip != 0 {
                    put(Field::UeIp, Domain::UeAddress, image.ue_ip)?;
                }
                match image.head.flags.has(Flags::EXTENDED) {
                    true if image.body.teid != 0 => {
                        put(Field::Teid, Domain::Block, image.body.teid)?;
                    }
                    true => {}
                    false => self.body(&image.body, &mut put)?,
                }
                for (i, clock) in (0..).zip(clocks) {
                    put_clock(Field::Clock(i), clock, &mut put)?;
                }
            }
            Op::TakeLine { at } => put(Field::At, Domain::Line, *at)?,
            Op::Rule { block, image, .. } => {
                put(Field::At, Domain::Block, *block)?;
                let Rule { buckets, body, .. } = image;
                for (i, bucket) in (0..).zip(buckets) {
                    if let Some((block, _)) = bucket.get() {
                        put(Field::Bucket(i), Domain::Block, block)?;
                    }
                }
                self.body(body, &mut put)?;
            }
            Op::TakeRule { block, .. } => put(Field::At, Domain::Block, *block)?,
            Op::Chain { block, next, .. } => {
                put(Field::At, Domain::Block, *block)?;
                if *next != 0 {
                    put(Field::Next, Domain::Block, *next)?;
                }
            }
            Op::Bucket { at, clock, .. } => {
                put(Field::At, Domain::Block, block_of(*at)?)?;
                put_clock(Field::Clock(0), clock, &mut put)?;
            }
        }
        Some(OpForm {
            op: *op,
            values: values.into(),
        })
    }

    /// A peer and its TEID stand together or not at all.
    fn body(
        &self,
        body: &Body,
        put: &mut impl FnMut(Field, Domain, u32) -> Option<()>,
    ) -> Option<()> {
        if body.teid == 0 {
            return Some(());
        }
        put(Field::Peer, Domain::Peer, body.peer.into())?;
        put(Field::Teid, Domain::RemoteTeid, body.teid)
    }
}

fn put_clock(
    field: Field,
    clock: &Clock,
    put: &mut impl FnMut(Field, Domain, u32) -> Option<()>,
) -> Option<()> {
    match clock {
        Clock::Full => Some(()),
        Clock::Line(line, _) => put(field, Domain::Line, *line),
        Clock::Shared(bucket) => put(field, Domain::Block, block_of(*bucket)?),
    }
}

fn block_of(bucket: BucketRef) -> Option<u32> {
    bucket.get().map(|(block, _)| block)
}
