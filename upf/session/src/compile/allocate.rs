//! Allocation of session entries, extension blocks and buckets for rules.
//!
//! What can stay where it is stays.

use crate::admission::Admission;
use crate::compile::Form;
use crate::network::Network;
use crate::refusal::Refusal;
use crate::resources::spare;
use crate::rules::{Endpoint, Key, Qer, Renewed};
use sluice_datapath::ids::BlockId;
use sluice_datapath::limits::{BLOCK_BUCKETS, BLOCK_RULES, RECORD_RULES};
use sluice_datapath::session::rule::BucketRef;
use sluice_wire::pfcp::IeType;

impl<N: Network> Admission<'_, N> {
    /// Lays the draft out. What the session no longer needs drops out of the draft and is given
    /// back when the draft is committed.
    pub fn place(&mut self) -> Result<(), Refusal> {
        self.drop_unused_entries();
        self.place_cells()?;
        for at in 0..self.draft.endpoints.len() {
            self.place_blocks(at)?;
        }
        if !self.draft.endpoints.iter().any(Endpoint::has_blocks) {
            // Buckets are shared in blocks alone.
            self.draft.qers.iter_mut().for_each(Qer::drop_buckets);
            return Ok(());
        }
        self.drop_lost_buckets();
        for uplink in [true, false] {
            self.place_buckets(uplink)?;
        }
        self.drop_unused_spares();
        Ok(())
    }

    fn drop_unused_entries(&mut self) {
        let pdrs = &self.draft.pdrs;
        // A PDR that never matches keeps its F-TEID: the CP function was told of it.
        self.draft
            .endpoints
            .retain(|e| e.key == Key::Spare || pdrs.iter().any(|p| p.key() == Some(e.key)));
    }

    fn place_blocks(&mut self, at: usize) -> Result<(), Refusal> {
        let Some(mut endpoint) = self.draft.endpoints.get(at).copied() else {
            return Ok(());
        };
        if endpoint.key == Key::Spare {
            return Ok(());
        }
        let form = self.draft.form(endpoint.key);
        let in_blocks = match form {
            Form::Entry => 0,
            Form::LinkRules(rules) | Form::Blocks(rules) => rules,
        };
        let needed = in_blocks.div_ceil(BLOCK_RULES);
        endpoint.link_rules = matches!(form, Form::LinkRules(_));
        for (i, block) in endpoint.blocks.iter_mut().enumerate() {
            if i >= needed {
                *block = 0;
            } else if *block == 0 {
                *block = self.block()?;
            }
        }
        if let Some(place) = self.draft.endpoints.get_mut(at) {
            *place = endpoint;
        }
        Ok(())
    }

    /// A cell for each URR that waits for octets, and as many more as their rules take.
    fn place_cells(&mut self) -> Result<(), Refusal> {
        let full = Refusal::full(None, Some(IeType::CREATE_URR));
        let mut own = 0;
        for at in 0..self.draft.urrs.len() {
            let Some(mut urr) = self.draft.urrs.get(at).copied() else {
                continue;
            };
            if !urr.needs_cell() {
                urr.cell = 0;
            } else if urr.cell == 0 {
                let cell = self.resources.cell(self.shard, self.claims);
                urr.cell = cell.map_err(|_| full)?;
                // The path begins with all that waits for octets; periods and times go on.
                urr.renewed = Renewed {
                    threshold: true,
                    quota: true,
                    lost: true,
                    start: true,
                    ..urr.renewed
                };
            }
            own += usize::from(urr.cell != 0);
            if let Some(place) = self.draft.urrs.get_mut(at) {
                *place = urr;
            }
        }
        own += self.place_session_cell(own)?;
        if own == 0 {
            self.draft.spare_cells.clear();
            return Ok(());
        }
        let needed = self.draft.watched_rules_len().div_ceil(RECORD_RULES);
        let spare = needed.saturating_sub(own);
        self.draft.spare_cells.truncate(spare);
        while self.draft.spare_cells.len() < spare {
            let cell = self.resources.cell(self.shard, self.claims);
            let cell = cell.map_err(|_| full)?;
            self.draft.spare_cells.try_push(cell).map_err(|_| full)?;
        }
        Ok(())
    }

    /// A cell for the session, if its inactivity is watched, behind so many of URRs. Gives how many that are.
    fn place_session_cell(&mut self, urrs: usize) -> Result<usize, Refusal> {
        let ie = IeType::USER_PLANE_INACTIVITY_TIMER;
        let full = Refusal::full(None, Some(ie));
        let Some(mut inactivity) = self.draft.inactivity else {
            return Ok(0);
        };
        // A rule has a bit for each.
        if urrs >= u32::BITS as usize {
            return Err(full);
        }
        if inactivity.cell == 0 {
            let cell = self.resources.cell(self.shard, self.claims);
            inactivity.cell = cell.map_err(|_| full)?;
            self.draft.inactivity = Some(inactivity);
        }
        Ok(1)
    }

    fn block(&mut self) -> Result<u32, Refusal> {
        let full = Refusal::full(None, Some(IeType::CREATE_PDR));
        self.resources
            .block(self.shard, self.claims)
            .map_err(|_| full)
    }

    /// A bucket whose block has gone, or that nobody shares any more, is none.
    fn drop_lost_buckets(&mut self) {
        for at in 0..self.draft.qers.len() {
            let Some(qer) = self.draft.qers.get(at).copied() else {
                continue;
            };
            let keeps = [true, false].map(|uplink| {
                let bucket = qer.buckets[usize::from(!uplink)];
                let block = bucket.get().map(|(block, _)| block);
                let here = block.is_some_and(|b| self.has_block(b.0));
                here && self.draft.needs_bucket(&qer, uplink)
            });
            if let Some(qer) = self.draft.qers.get_mut(at) {
                for (bucket, keep) in qer.buckets.iter_mut().zip(keeps) {
                    if !keep {
                        *bucket = BucketRef::NONE;
                    }
                }
            }
        }
    }

    fn has_block(&self, block: u32) -> bool {
        let mut blocks = self.draft.endpoints.iter().flat_map(Endpoint::blocks);
        blocks.any(|b| b == block)
    }

    fn place_buckets(&mut self, uplink: bool) -> Result<(), Refusal> {
        let direction = usize::from(!uplink);
        for at in 0..self.draft.qers.len() {
            let Some(qer) = self.draft.qers.get(at).copied() else {
                continue;
            };
            let has = qer.buckets[direction] != BucketRef::NONE;
            if has || !self.draft.needs_bucket(&qer, uplink) {
                continue;
            }
            let bucket = match self.free_bucket() {
                Some(bucket) => bucket,
                None => self.bucket_of_a_new_block()?,
            };
            if let Some(qer) = self.draft.qers.get_mut(at) {
                qer.buckets[direction] = bucket;
            }
        }
        Ok(())
    }

    fn free_bucket(&self) -> Option<BucketRef> {
        let blocks = self.draft.endpoints.iter().flat_map(Endpoint::blocks);
        let mut all = blocks
            .flat_map(|b| (0..BLOCK_BUCKETS as u8).map(move |i| BucketRef::new(BlockId(b), i)));
        all.find(|bucket| !self.draft.qers.iter().any(|q| q.buckets.contains(bucket)))
    }

    fn bucket_of_a_new_block(&mut self) -> Result<BucketRef, Refusal> {
        let block = self.block()?;
        let mut group = spare();
        group.blocks[0] = block;
        let full = Refusal::full(None, Some(IeType::CREATE_QER));
        self.draft.endpoints.try_push(group).map_err(|_| full)?;
        Ok(BucketRef::new(BlockId(block), 0))
    }

    fn drop_unused_spares(&mut self) {
        let qers = &self.draft.qers;
        let is_used = |block: u32| {
            let mut buckets = qers.iter().flat_map(|q| q.buckets);
            buckets.any(|b| b.get().is_some_and(|(at, _)| at == BlockId(block)))
        };
        self.draft
            .endpoints
            .retain(|e| e.key != Key::Spare || e.blocks().any(is_used));
    }
}
