//! Prefetch of translations: users and mappings of a burst are asked of the caches before its packets pass.

use crate::forward::rules::State;
use crate::ids::EntryId;
use crate::lookup::layout::Layout;
use crate::meta::{Arrival, Meta};
use crate::nat::mapping::{NatOwned, standing};
use crate::session::rule::Flags;
use crate::tables::Tables;
use sluice_port::Packet;
use sluice_wire::ipv4::Protocol;
use sluice_wire::layout::{be16, ipv4};

/// How many packets ahead of its mapping, which it leads to, a user is fetched: with some 5 ns a packet it covers
/// most of a miss, and what is left of it the loads that go on meanwhile.
const USERS_AHEAD: usize = 16;

/// The tables that lead to users and mappings.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'s> {
    pub owned: &'s NatOwned,
    pub state: &'s State,
    pub tables: &'s Tables,
    pub layout: &'s Layout,
}

/// For the packets of a burst, whose entries were fetched before.
#[inline(never)]
pub(crate) fn mappings<P: Packet>(packets: &[P], metas: &[Meta], from: Sources<'_>) {
    let mut users = [None; USERS_AHEAD];
    for (user, meta) in users.iter_mut().zip(metas) {
        *user = from.prefetch_user(meta);
    }
    for (at, (packet, meta)) in packets.iter().zip(metas).enumerate() {
        let ahead = metas.get(at + USERS_AHEAD);
        let ahead = ahead.and_then(|meta| from.prefetch_user(meta));
        if let Some(user) = core::mem::replace(&mut users[at % USERS_AHEAD], ahead) {
            from.prefetch_mapping(packet.data(), meta, user);
        }
    }
}

impl Sources<'_> {
    #[inline(always)]
    fn prefetch_user(&self, meta: &Meta) -> Option<EntryId> {
        let user = self.user_of(meta)?;
        self.owned.prefetch_entry(user.0);
        Some(user)
    }

    #[inline(always)]
    fn prefetch_mapping(&self, data: &[u8], meta: &Meta, user: EntryId) {
        let from = usize::from(meta.inner_at);
        let Some(inner) = data.get(from..from + ipv4::LEN + 4) else {
            return;
        };
        let is_tcp = inner[ipv4::PROTOCOL] == Protocol::TCP.0;
        let owned = self.owned;
        if meta.arrival == Arrival::Tunnel {
            standing::prefetch_outbound(owned, user, be16(inner, ipv4::LEN), is_tcp);
        } else if let Some(number) = meta.public_port()
            && let Some((_, chunk)) = self.tables.nat_units.get(number.unit())
        {
            standing::prefetch_cell(owned, chunk, number.place(), is_tcp);
        }
    }

    /// The entry of the UE's address, if the packet is translated.
    #[inline(always)]
    fn user_of(&self, meta: &Meta) -> Option<EntryId> {
        match meta.arrival {
            Arrival::Public => Some(meta.entry),
            Arrival::Tunnel => {
                let entry = self.state.entry(meta.entry.0)?;
                if entry
                    .head
                    .flags
                    .has_any(Flags::CREATE_OUTER.with(Flags::EXTENDED))
                {
                    return None;
                }
                let egress = usize::from(entry.body.egress());
                let inside = self.tables.egresses.get(egress)?.translates?;
                self.layout.pool_entry(inside, entry.ue_ip)
            }
            Arrival::EndMarker | Arrival::Plain | Arrival::PlainIpv6 => None,
        }
    }
}
