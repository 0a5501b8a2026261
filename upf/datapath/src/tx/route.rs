//! Route: next hop and output interface.

use crate::drop::DropReason;
use crate::forward::extension_headers::ExtHeaders;
use crate::forward::far::{self, ForwardTo};
use crate::forward::outer_header_creation;
use crate::forward::outer_header_removal::{Destination, Inner};
use crate::session::rule::{Body, Head};
use crate::tables::{
    Interface, InterfaceId, NextHopId, PeerId, Route, Station, Tables, TunnelPeer,
};
use crate::tx::template::Template;
use core::net::IpAddr;

/// Which station is sought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resolve {
    /// A known one without a MAC address.
    NextHop(NextHopId),
    /// One on the link of an egress that nobody asked for yet.
    OnLink(InterfaceId, IpAddr),
}

/// Where a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hop {
    /// To this MAC address by this interface.
    Ready(InterfaceId, [u8; 6]),
    /// To a station that has to be found first.
    Wait(InterfaceId, Resolve),
    /// No further: it is for an address of ours there.
    Own(InterfaceId),
}

impl Hop {
    /// The interface that leads there.
    pub fn interface(&self) -> InterfaceId {
        match self {
            Self::Ready(id, _) | Self::Wait(id, _) | Self::Own(id) => *id,
        }
    }
}

/// The interface, its template and the MAC address of the next hop, if all is known and the packet fits. As a
/// rule that is so; [`find`] and [`fits`] say what is wrong otherwise.
#[inline(always)]
pub fn known<'a>(
    head: Head,
    body: &Body,
    inner: Inner,
    tables: &'a Tables,
) -> Option<(&'a Interface, &'a Template, [u8; 6])> {
    let tunnel = far::makes_tunnel(head);
    let id = if tunnel {
        tables.tunnel_peer(body.peer())?.next_hop()
    } else {
        match tables.route_to(body.egress(), inner.dst)? {
            Route::Via(id) => id,
            Route::Own(_) | Route::Unknown(_) | Route::None => return None,
        }
    };
    let hop = tables.next_hops.get(id)?;
    let interface = tables.interfaces.get(usize::from(hop.interface))?;
    let overhead = if tunnel {
        outer_header_creation::len(&far::tunnel(head), body.peer()) as u32
    } else {
        0
    };
    let fits = inner.len + overhead <= u32::from(interface.mtu);
    let template = tables.templates().get(hop.interface)?;
    Some((interface, template, hop.mac.filter(|_| fits)?))
}

/// The next hop of `exit` for a packet to `dst`.
pub fn find(exit: &ForwardTo, dst: Destination, tables: &Tables) -> Result<Hop, DropReason> {
    let id = match exit {
        ForwardTo::Tunnel(_, peer) => self::peer(*peer, tables)?.next_hop(),
        ForwardTo::Plain(egress) => {
            let route = tables.any_route_to(*egress, dst);
            match route.ok_or(DropReason::NoRoute)? {
                Route::Via(id) => id,
                Route::Own(interface) => return Ok(Hop::Own(interface)),
                Route::Unknown(interface) => {
                    let sought = Resolve::OnLink(interface, dst.address());
                    return Ok(Hop::Wait(interface, sought));
                }
                Route::None => return Err(DropReason::NoRoute),
            }
        }
    };
    let Station { interface, mac } = tables.next_hops.get(id).ok_or(DropReason::NoRoute)?;
    Ok(match mac {
        Some(mac) => Hop::Ready(interface, mac),
        None => Hop::Wait(interface, Resolve::NextHop(id)),
    })
}

/// A tunnel's far end.
#[inline(always)]
pub fn peer(peer: PeerId, tables: &Tables) -> Result<TunnelPeer, DropReason> {
    tables.tunnel_peer(peer).ok_or(DropReason::Internal)
}

/// Refuses what does not fit the link, with the MTU that the sender should use.
pub fn fits(
    exit: &ForwardTo,
    kept: &ExtHeaders,
    inner_len: u32,
    interface: &Interface,
) -> Result<(), u16> {
    let overhead = match exit {
        ForwardTo::Tunnel(tunnel, peer) => {
            (outer_header_creation::len(tunnel, *peer) + kept.len()) as u16
        }
        ForwardTo::Plain(_) => 0,
    };
    if inner_len + u32::from(overhead) > u32::from(interface.mtu) {
        return Err(interface.mtu.saturating_sub(overhead));
    }
    Ok(())
}
