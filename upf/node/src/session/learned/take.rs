//! What a recipe takes, taken.

use super::recipe::Take;
use super::values::Values;
use crate::network::Network;
use crate::session::ground::{Claims, Ground};
use crate::session::meter::Meter;
use crate::session::names::Names;
use crate::session::rules::Endpoint;
use crate::session::state::Moment;
use core::net::Ipv4Addr;
use sluice_wire::ids::UrrId;

/// Asks the caches for what is about to be taken.
pub fn foresee(takes: &[Take], values: &Values, shard: u32, ground: &Ground) {
    for take in takes {
        match *take {
            Take::NewTeid { .. } => ground.prefetch_teid(shard),
            Take::NamedTeid { local, teid, .. } => {
                ground.prefetch_named_teid(shard, local, values.of(teid));
            }
            Take::Block => ground.prefetch_block(shard),
            Take::UeLine { .. } | Take::Meter { .. } | Take::Peer { .. } => {}
        }
    }
}

/// Who gives what a recipe takes.
pub struct Givers<'s, N> {
    /// The allocators.
    pub ground: &'s mut Ground,
    /// What was taken.
    pub claims: &'s mut Claims,
    /// Names of network instances.
    pub names: &'s Names,
    /// Who knows peers.
    pub net: &'s mut N,
    /// The session's shard.
    pub shard: u32,
    /// When.
    pub at: Moment,
}

impl<N: Network> Givers<'_, N> {
    /// Takes all that the recipe says; what was taken before something could not be had is given
    /// back.
    pub fn take_all(&mut self, takes: &[Take], values: &mut Values) -> Option<()> {
        self.claims.begin();
        let random = self.ground.random_state();
        let taken = takes.iter().try_for_each(|take| self.take(take, values));
        if taken.is_none() {
            self.ground.undo(self.claims, self.net);
            self.ground.go_on_from(random);
        }
        taken
    }

    fn take(&mut self, take: &Take, values: &mut Values) -> Option<()> {
        let Self {
            ground,
            claims,
            shard,
            ..
        } = self;
        let now_s = self.at.seconds();
        let expected = |endpoint: Endpoint, origin| {
            let same = endpoint.origin == origin;
            same.then_some(endpoint.line)
        };
        let taken = match *take {
            Take::NewTeid { local } => {
                let (teid, endpoint) = ground.new_teid(*shard, local, now_s, claims).ok()?;
                values.push(teid)?;
                endpoint.line
            }
            Take::NamedTeid {
                local,
                teid,
                origin,
            } => {
                let teid = values.of(teid);
                let endpoint = ground.named_teid(*shard, local, teid, now_s, claims);
                expected(endpoint.ok()?, origin)?
            }
            Take::UeLine {
                instance,
                address,
                origin,
            } => {
                let address = values.of(address);
                let endpoint = ground.ue_line(*shard, instance, address, now_s, claims);
                expected(endpoint.ok()?, origin)?
            }
            Take::Block => ground.block(*shard, claims).ok()?,
            Take::Meter { urr, told } => {
                let meter = Meter::new(UrrId(values.of(urr)), told, self.at.wall);
                ground.meter(meter, claims).ok()?
            }
            Take::Peer {
                side,
                instance,
                address,
            } => {
                let address = Ipv4Addr::from(values.of(address));
                let name = self.names.get(instance);
                let peer = self.net.hold_peer(side, name, address).ok()?;
                if ground.peer_held(peer, claims).is_err() {
                    ground.release_peer(peer, self.net);
                    return None;
                }
                peer.into()
            }
        };
        values.push(taken)
    }
}
