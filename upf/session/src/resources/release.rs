//! Release of resources: what sessions no longer need, and what a refused message took.

use super::Resources;
use super::claims::{Claim, Claims};
use super::endpoint::foreign_key;
use crate::network::Network;
use crate::rules::{Endpoint, Origin};
use sluice_datapath::tables::PeerId;

impl Resources {
    /// Gives a peer back.
    pub fn release_peer(&mut self, peer: PeerId, net: &mut impl Network) {
        self.peers_held -= 1;
        net.release_peer(peer);
    }

    /// Gives a line and its key back. Its blocks go one by one.
    pub fn release(&mut self, endpoint: &Endpoint, now_s: u32) {
        let line = endpoint.line;
        match endpoint.origin {
            Origin::Slot => self.slots.give(line, now_s),
            Origin::Pool => self.pool.clear(line),
            Origin::Foreign => {
                if let Some(key) = foreign_key(endpoint.key) {
                    self.foreign.remove(key);
                }
                self.lines.give(line, now_s);
            }
            Origin::None => {}
        }
    }

    /// Gives a block back.
    pub fn release_block(&mut self, block: u32) {
        self.blocks.give(block, 0);
    }

    /// Takes everything back that a refused message took, the last first.
    pub fn undo(&mut self, claims: &mut Claims, net: &mut impl Network) {
        while let Some(claim) = claims.pop() {
            match claim {
                Claim::Slot(taken, last) => {
                    self.set_teid(taken.place(), last);
                    self.slots.untake(taken);
                }
                Claim::Line(taken) => self.lines.untake(taken),
                Claim::Block(taken) => self.blocks.untake(taken),
                Claim::Pool(line) => self.pool.clear(line),
                Claim::Key(key) => {
                    self.foreign.remove(key);
                }
                Claim::Peer(peer) => self.release_peer(peer, net),
                Claim::Meter(at) => self.meters.remove(at),
            }
        }
    }
}
