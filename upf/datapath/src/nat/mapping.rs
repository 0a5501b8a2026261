//! Mappings of a UE, in the shard of its session: which of its ports is which public port (RFC 4787, 4.1:
//! whatever it sends to), and until when.

use crate::ids::EntryId;
use crate::limits::{NAT_FRAGMENTS, NAT_REMOTES, NAT_UE_UNITS, NAT_UNIT_PORTS};
use crate::nat::ends::{Ends, Kind, Side};
use crate::nat::pool::{NatTimeouts, PublicPort, Unit};
use sluice_mem::shard::Owned;
use sluice_mem::zeroable_struct;

pub mod standing;

zeroable_struct! {
    /// First fragments that passed: later ones of their packets name no port (RFC 4787, REQ-14).
    #[derive(Clone, Copy, Default, Debug)]
    #[repr(C)]
    struct PassedFragments {
        destinations: [u32; NAT_FRAGMENTS],
        numbers: [u32; NAT_FRAGMENTS],
        identifications: [u16; NAT_FRAGMENTS],
        /// 0 is none.
        protocols: [u8; NAT_FRAGMENTS],
    }
}

zeroable_struct! {
    /// A UE whose packets are translated, at the place of the entry of its address. All zero is none.
    #[derive(Clone, Copy, Default, Debug)]
    #[repr(C, align(64))]
    pub struct NatUser {
        /// Its address; 0 is nobody.
        pub address: u32,
        /// The chunk of its newest unit; the others hang on it.
        pub first: u32,
        /// That unit.
        unit: u32,
        /// The second in which no port was free; nothing is looked for in the same one again.
        full_s: u32,
        /// The network instance.
        pub instance: u8,
        next_fragment: u8,
        _pad: u16,
        fragments: PassedFragments,
    }
}

zeroable_struct! {
    /// An end that a UE sent to by a mapping.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    #[repr(C)]
    pub struct Remote {
        address: u32,
        port: u16,
        /// How far a TCP connection is.
        state: u8,
        _pad: u8,
    }
}

/// The ends that a mapping remembers.
type Remotes = [Remote; NAT_REMOTES];

zeroable_struct! {
    /// Whose a public port is: eight of them are a cache line, which is all that most packets ask for.
    #[derive(Clone, Copy, Default, Debug)]
    #[repr(C)]
    struct Cell {
        /// Protocol and port of the UE; 0 is none.
        key: u32,
        /// The second in which the mapping ends.
        until_s: u32,
    }
}

zeroable_struct! {
    /// The mappings of a unit, one for each of its public ports. Whom they lead to stands [apart](NatRemotes), so
    /// that what most packets ask for lies close together.
    #[derive(Clone, Copy)]
    #[repr(C, align(64))]
    pub struct NatChunk {
        /// The entry of the UE that has it.
        owner: u32,
        /// Which unit.
        unit: u32,
        /// The chunk of an older unit of the UE's; 0 is none.
        next: u32,
        _pad: [u32; 13],
        cells: [Cell; NAT_UNIT_PORTS],
    }
}

zeroable_struct! {
    /// The ends that the mappings of a chunk, which has the same number, remember.
    #[derive(Clone, Copy)]
    #[repr(C, align(64))]
    pub struct NatRemotes {
        /// Which remote is replaced next.
        next: [u8; NAT_UNIT_PORTS],
        remotes: [Remotes; NAT_UNIT_PORTS],
    }
}

const _: () = assert!(size_of::<NatUser>() == 64);
const _: () = assert!(size_of::<NatChunk>() == 576);
const _: () = assert!(size_of::<NatRemotes>() == 2112);

/// Segments of the UE were seen, and segments for it.
const OUT: u8 = 1;
const IN: u8 = 2;
/// Each of them with FIN.
const FIN_OUT: u8 = 4;
const FIN_IN: u8 = 8;
/// One with RST.
const RESET: u8 = 16;

const TCP_FIN: u8 = 1;
const TCP_SYN: u8 = 2;
const TCP_RST: u8 = 4;
const TCP_ACK: u8 = 16;

impl Remote {
    /// After a segment that goes this way.
    fn segment(&mut self, flags: u8, side: Side) {
        let (seen, fin) = match side {
            Side::Source => (OUT, FIN_OUT),
            Side::Destination => (IN, FIN_IN),
        };
        if flags & (TCP_SYN | TCP_ACK | TCP_RST) == TCP_SYN && !self.is_established() {
            self.state = 0;
        }
        self.state |= seen;
        if flags & TCP_FIN != 0 {
            self.state |= fin;
        }
        if flags & TCP_RST != 0 {
            self.state |= RESET;
        }
    }

    fn is_established(&self) -> bool {
        let closed = self.state & (FIN_OUT | FIN_IN) == FIN_OUT | FIN_IN;
        self.state & (OUT | IN) == OUT | IN && !closed && self.state & RESET == 0
    }
}

/// Protocol and port of a UE as one number, never 0.
fn key(protocol: u8, port: u16) -> u32 {
    u32::from(protocol) << 16 | u32::from(port)
}

/// Users, mappings and their remotes that a worker may write.
pub type NatOwned = Owned<NatUser, NatChunk, NatRemotes>;

/// Where a mapping stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    chunk: u32,
    at: usize,
    /// Its public port.
    pub number: PublicPort,
}

/// Why a UE's packet gets no public port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoPort {
    /// All its ports are in use; true for the first packet that finds it in a second.
    Full(bool),
    /// There is no such mapping, and the packet makes none.
    Unmapped,
}

/// What mappings do at a time.
#[derive(Clone, Copy)]
pub struct Clock<'a> {
    /// The second.
    pub now_s: u32,
    /// How long mappings last.
    pub timeouts: &'a NatTimeouts,
}

impl NatUser {
    /// A user whose newest unit is this, its mappings in the chunk `first`.
    pub fn new(address: u32, instance: u8, (first, unit): (u32, Unit)) -> Self {
        Self {
            address,
            first,
            unit: unit.0,
            instance,
            ..Self::default()
        }
    }

    /// The same UE with a further block: packets whose first fragment has passed keep its port.
    #[must_use]
    pub fn after(mut self, before: &Self) -> Self {
        if before.first != 0 && (before.address, before.instance) == (self.address, self.instance) {
            self.fragments = before.fragments;
            self.next_fragment = before.next_fragment;
        }
        self
    }

    /// A first fragment passed.
    pub fn fragment_passed(&mut self, name: (u32, u16, u8), number: PublicPort) {
        let next = usize::from(self.next_fragment) % NAT_FRAGMENTS;
        let known = self.fragments.find(name);
        let at = known.unwrap_or(next);
        let fragments = &mut self.fragments;
        (
            fragments.destinations[at],
            fragments.identifications[at],
            fragments.protocols[at],
        ) = name;
        fragments.numbers[at] = number.0;
        if known.is_none() {
            self.next_fragment = (next as u8 + 1) % NAT_FRAGMENTS as u8;
        }
    }

    /// By which public port the first fragment of the same packet left.
    pub fn fragment(&self, name: (u32, u16, u8)) -> Option<PublicPort> {
        let at = self.fragments.find(name)?;
        Some(PublicPort(self.fragments.numbers[at]))
    }
}

impl PassedFragments {
    fn find(&self, (destination, identification, protocol): (u32, u16, u8)) -> Option<usize> {
        (0..NAT_FRAGMENTS).find(|at| {
            self.destinations[*at] == destination
                && self.identifications[*at] == identification
                && self.protocols[*at] == protocol
                && protocol != 0
        })
    }
}

impl NatChunk {
    /// Without mappings.
    pub fn begin(&mut self, owner: EntryId, unit: Unit, next: u32) {
        (self.owner, self.unit, self.next) = (owner.0, unit.0, next);
        self.cells = [Cell::default(); NAT_UNIT_PORTS];
    }

    /// Its unit.
    pub fn unit(&self) -> Unit {
        Unit(self.unit)
    }

    fn is_live(&self, at: usize, now_s: u32) -> bool {
        self.cells[at].key != 0 && self.cells[at].until_s > now_s
    }

    /// The port of the UE behind a public port in use.
    fn inside(&self, at: usize, protocol: u8, now_s: u32) -> Option<u16> {
        let key = self.cells[at].key;
        let same = key >> 16 == u32::from(protocol);
        (same && self.is_live(at, now_s)).then_some(key as u16)
    }

    fn find(&self, key: u32) -> Option<usize> {
        let usual = key as usize % NAT_UNIT_PORTS;
        if self.cells[usual].key == key {
            Some(usual)
        } else {
            self.cells.iter().position(|cell| cell.key == key)
        }
    }

    /// A free place with the parity of `from` or the other one (RFC 4787, REQ-4).
    fn free(&self, from: usize, other_parity: bool, now_s: u32) -> Option<usize> {
        let from = from + usize::from(other_parity);
        let mut places = (0..NAT_UNIT_PORTS / 2).map(|i| (from + 2 * i) % NAT_UNIT_PORTS);
        places.find(|at| !self.is_live(*at, now_s))
    }
}

impl NatRemotes {
    /// Another mapping begins at the place.
    fn begin(&mut self, at: usize) {
        self.next[at] = 0;
        self.remotes[at] = Default::default();
    }

    fn remote(&mut self, at: usize, address: u32, port: u16) -> &mut Remote {
        let remotes = &mut self.remotes[at];
        let same = |r: &Remote| r.address == address && r.port == port;
        let known = remotes.iter().position(same);
        let place = known.unwrap_or_else(|| {
            let place = usize::from(self.next[at]) % NAT_REMOTES;
            self.next[at] = (place as u8 + 1) % NAT_REMOTES as u8;
            remotes[place] = Remote {
                address,
                port,
                state: 0,
                _pad: 0,
            };
            place
        });
        &mut remotes[place]
    }

    /// A packet passed: it is remembered whom the UE talks to. Says for how long the mapping lasts from now on, if
    /// not as long as before: what comes from outside lengthens none but established connections (RFC 4787,
    /// REQ-6).
    fn passed(&mut self, at: usize, ends: &Ends, side: Side, lasts: &NatTimeouts) -> Option<u32> {
        let is_outbound = side == Side::Source;
        let flags = match ends.kind {
            Kind::Error => return None,
            Kind::Datagram if !is_outbound => return None,
            Kind::Datagram => {
                self.remote(at, ends.remote_address, 0);
                return Some(match ends.protocol {
                    1 => lasts.icmp_s,
                    _ => lasts.udp_s,
                });
            }
            Kind::Segment(flags) => flags,
        };
        let remote = self.remote(at, ends.remote_address, ends.remote_port);
        let before = remote.is_established();
        remote.segment(flags, side);
        let after = remote.is_established();
        let others = || self.remotes[at].iter().any(Remote::is_established);
        match (before, after) {
            (_, true) => Some(lasts.tcp_established_s),
            // Another connection of the same port keeps its time.
            _ if others() => None,
            (true, false) => Some(lasts.tcp_transitory_s),
            (false, false) => is_outbound.then_some(lasts.tcp_transitory_s),
        }
    }

    fn sent_to(&self, at: usize, address: u32) -> bool {
        let mut remotes = self.remotes[at].iter();
        let sent = |r: &Remote| r.state == 0 || r.state & OUT != 0;
        address != 0 && remotes.any(|r| r.address == address && sent(r))
    }
}

/// A packet passed by a mapping: what it remembers and when it ends change.
fn passed(owned: &mut NatOwned, place: Place, ends: &Ends, side: Side, clock: Clock<'_>) {
    let remotes = owned.record_mut(place.chunk);
    let lasts_s = remotes.and_then(|of| of.passed(place.at, ends, side, clock.timeouts));
    if let (Some(lasts_s), Some(chunk)) = (lasts_s, owned.ext_mut(place.chunk)) {
        chunk.cells[place.at].until_s = clock.now_s.saturating_add(lasts_s);
    }
}

/// The chunks of a user, the newest unit's first. One that another UE has by now is none of them.
fn chunks(owned: &NatOwned, user: EntryId) -> impl Iterator<Item = (u32, &NatChunk)> {
    let first = owned.entry(user.0).map_or(0, |user| user.first);
    let follow = move |number: u32| {
        let chunk = owned.ext(number).filter(|chunk| chunk.owner == user.0)?;
        (number != 0).then_some((number, chunk))
    };
    let chain = core::iter::successors(follow(first), move |(_, chunk)| follow(chunk.next));
    chain.take(NAT_UE_UNITS as usize)
}

fn place(chunk: (u32, &NatChunk), at: usize) -> Place {
    let number = PublicPort::at(Unit(chunk.1.unit), at);
    Place {
        chunk: chunk.0,
        at,
        number,
    }
}

/// The mapping of a UE's packet that leaves; a new one where it has none, by the rule that `nat.md` states:
/// the newest unit first, the place that the port's low bits name or the next free one of its parity, then
/// the other parity.
pub fn outbound(
    owned: &mut NatOwned,
    user: EntryId,
    ends: &Ends,
    clock: Clock<'_>,
) -> Result<Place, NoPort> {
    let key = key(ends.protocol, ends.own_port);
    let found = find(owned, user, key);
    let lives = |p: &Place| {
        owned
            .ext(p.chunk)
            .is_some_and(|c| c.is_live(p.at, clock.now_s))
    };
    let live = found.filter(lives);
    let chosen = match live {
        Some(chosen) => chosen,
        None if ends.kind == Kind::Error => return Err(NoPort::Unmapped),
        None => {
            // A mapping that ended begins again at its place.
            let free = match found {
                Some(place) => place,
                None => begin(owned, user, ends.own_port, clock.now_s)?,
            };
            if let Some(chunk) = owned.ext_mut(free.chunk) {
                chunk.cells[free.at] = Cell { key, until_s: 0 };
            }
            if let Some(remotes) = owned.record_mut(free.chunk) {
                remotes.begin(free.at);
            }
            free
        }
    };
    passed(owned, chosen, ends, Side::Source, clock);
    Ok(chosen)
}

fn find(owned: &NatOwned, user: EntryId, key: u32) -> Option<Place> {
    chunks(owned, user).find_map(|chunk| Some(place(chunk, chunk.1.find(key)?)))
}

fn choose(owned: &NatOwned, user: EntryId, port: u16, now_s: u32) -> Option<Place> {
    let from = usize::from(port) % NAT_UNIT_PORTS;
    [false, true].iter().find_map(|other_parity| {
        chunks(owned, user)
            .find_map(|chunk| Some(place(chunk, chunk.1.free(from, *other_parity, now_s)?)))
    })
}

/// A place for a new mapping. Who found none looks again in the next second: a flood of new flows costs no
/// search each.
fn begin(owned: &mut NatOwned, at: EntryId, port: u16, now_s: u32) -> Result<Place, NoPort> {
    let user = owned.entry(at.0).filter(|user| user.full_s != now_s);
    user.ok_or(NoPort::Full(false))?;
    let chosen = choose(owned, at, port, now_s);
    if chosen.is_none()
        && let Some(user) = owned.entry_mut(at.0)
    {
        user.full_s = now_s;
    }
    chosen.ok_or(NoPort::Full(true))
}

/// Whose a packet from outside is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inbound {
    /// This address and port of the UE.
    To(u32, u16),
    /// Nobody's: there is no such mapping.
    Unmapped,
    /// The mapping's, but the UE sent nothing to that address.
    Filtered,
}

/// Whose a packet is that came for a public port of the UE with this entry, whose mappings are in `chunk`.
pub fn inbound(
    owned: &mut NatOwned,
    (user, chunk): (EntryId, u32),
    number: PublicPort,
    ends: &Ends,
    (clock, is_filtered): (Clock<'_>, bool),
) -> Inbound {
    let (Some(user_now), Some(units)) = (owned.entry(user.0), owned.ext(chunk)) else {
        return Inbound::Unmapped;
    };
    let (at, address) = (number.place(), user_now.address);
    // The unit may have gone to another UE since the packet was placed.
    if units.owner != user.0 || units.unit != number.unit().0 || address == 0 {
        return Inbound::Unmapped;
    }
    let Some(port) = units.inside(at, ends.protocol, clock.now_s) else {
        return Inbound::Unmapped;
    };
    let sent = || {
        let remotes = owned.record(chunk);
        remotes.is_some_and(|of| of.sent_to(at, ends.remote_address))
    };
    if is_filtered && !sent() {
        return Inbound::Filtered;
    }
    let place = Place { chunk, at, number };
    passed(owned, place, ends, Side::Destination, clock);
    Inbound::To(address, port)
}

#[cfg(test)]
mod tests;
