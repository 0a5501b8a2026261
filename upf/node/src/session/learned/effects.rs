//! What a recipe does, with values.

use super::recipe::{CreatedForm, CreditForm, GoneLine, Octets, Recipe, Record, Source};
use super::values::Values;
use crate::session::compile::render::Credit;
use crate::session::draft::Drafted;
use crate::session::ground::Ground;
use crate::session::pending::{Due, Pending};
use crate::session::remotes::Remotes;
use crate::session::rules::{Endpoint, Key, LocalTunnel, RemoteTunnel};
use crate::session::store::SessionRef;
use crate::session::store::record::USAGE_LEN;
use sluice_path::limits::BLOCK_CHAIN;
use sluice_path::txn::{EndMarker, Txn};
use sluice_wire::ids::PdrId;

impl Recipe {
    /// Octets of the record afterwards.
    pub fn record_len(&self) -> usize {
        self.after.as_ref().map_or(0, |r| USAGE_LEN + r.len)
    }

    /// What is to be done, but for the session's record.
    pub fn draft(&self, values: &Values, mut txn: Box<Txn>, mut record: Box<Pending>) -> Drafted {
        let of = |source: &Source| values.of(*source);
        for form in &self.ops {
            // There was room when it was learned.
            if txn.ops.try_push(form.op).is_ok()
                && let Some(op) = txn.ops.last_mut()
            {
                form.put_values(op, values);
            }
        }
        let markers = self.end_markers.iter().map(|[peer, teid]| EndMarker {
            peer: of(peer) as u16,
            teid: of(teid),
        });
        txn.end_markers.extend(markers);
        for credit in &self.credits {
            // There was room when it was learned. Made where it stays: copied at once, its parts would
            // still be on their way to memory.
            let place = credit.as_ref().map(|_| Credit::default());
            if record.credits.try_push(place).is_ok()
                && let (Some(credit), Some(Some(place))) = (credit, record.credits.last_mut())
            {
                credit.put(place, values);
            }
        }
        let peers = self.peers.iter().map(|peer| of(peer) as u16);
        record.peers.extend(peers);
        record.queried.extend(self.queried.iter().map(of));
        let due = self.due.iter().map(|due| Due {
            meter: of(&due.meter),
            trigger: due.trigger,
            ends: due.ends,
        });
        record.due.extend(due);
        let created = self.created.iter().map(|created| created.with(values));
        record.created.extend(created);
        record.remarks = self.remarks;
        Drafted { txn, record }
    }

    /// Gives back what the session no longer has, and tells meters and tunnels what changed.
    pub fn settle(
        &self,
        values: &Values,
        session: SessionRef,
        now_s: u32,
        state: &mut Settled<'_>,
    ) {
        for line in &self.gone {
            state.ground.release(&line.with(values), now_s);
        }
        for block in &self.gone_blocks {
            state.ground.release_block(values.of(*block));
        }
        for (meter, told) in &self.told {
            if let Some(meter) = state.ground.meters.get_mut(values.of(*meter)) {
                meter.told = *told;
            }
        }
        for change in &self.tunnels {
            let tunnel = RemoteTunnel {
                teid: values.of(change.teid),
                address: values.of(change.address).into(),
            };
            match change.sends {
                true => state.remotes.add(tunnel, session.at),
                false => state.remotes.remove(tunnel, session.at),
            }
        }
    }
}

/// What changes beside the session itself.
pub struct Settled<'s> {
    /// The allocators.
    pub ground: &'s mut Ground,
    /// Which sessions send into a peer's tunnel.
    pub remotes: &'s mut Remotes,
}

impl CreditForm {
    fn put(&self, credit: &mut Credit, values: &Values) {
        credit.uplink = self.uplink;
        for meter in &self.meters {
            credit.meters.push(values.of(*meter));
        }
    }
}

impl CreatedForm {
    fn with(&self, values: &Values) -> (PdrId, LocalTunnel) {
        let tunnel = LocalTunnel {
            teid: values.of(self.teid),
            address: self.address,
            local: self.local,
        };
        (PdrId(values.of(self.pdr) as u16), tunnel)
    }
}

impl GoneLine {
    fn with(&self, values: &Values) -> Endpoint {
        self.endpoint(values.of(self.key), values.of(self.line))
    }

    /// The endpoint with these values.
    pub fn endpoint(&self, key: u32, line: u32) -> Endpoint {
        Endpoint {
            key: match self.is_tunnel {
                true => Key::Tunnel {
                    local: self.space,
                    teid: key,
                },
                false => Key::Ue {
                    instance: self.space,
                    address: key,
                },
            },
            line,
            origin: self.origin,
            blocks: [0; BLOCK_CHAIN],
        }
    }
}

impl Record {
    /// Writes it behind the usage; where it is written [whole](Octets::Whole) the user is still to be
    /// written.
    pub fn write(&self, record: &mut [u8], values: &Values) {
        match &self.octets {
            Octets::Whole(octets) => {
                let place = record.get_mut(USAGE_LEN..USAGE_LEN + octets.len());
                if let Some(place) = place {
                    place.copy_from_slice(octets);
                }
            }
            Octets::Some(octets) => {
                for (at, octet) in octets {
                    if let Some(place) = record.get_mut(usize::from(*at)) {
                        *place = *octet;
                    }
                }
            }
        }
        for (place, source) in &self.values {
            place.write(record, values.of(*source));
        }
    }
}
