//! Translation on N6 (NAPT44) by lists: which UE has which blocks, which of its ports is which public one, and
//! to whom it sent.
//!
//! Choices of the house, written a second time: which address and block is next, which port of them a mapping
//! takes, what a mapping remembers, and that a UE's packets from outside lengthen nothing but open connections.

mod arrival;
mod ends;
mod rewrite;

use crate::config::{Nat, TwinConfig};
use crate::ipv4;
use crate::outcome::Drop;
use crate::pdr_detection::Sessions;
use crate::rules::{Session, SessionId};
use ends::{Ends, What};
use rewrite::rewrite;
use std::collections::VecDeque;
use std::net::Ipv4Addr;

/// Ports that are looked through together.
const UNIT: u16 = 64;
/// Ends that a mapping remembers.
const REMOTES: usize = 4;
/// Packets of a UE whose later fragments are expected.
const FRAGMENTS: usize = 4;
const UDP_S: u64 = 300;
const TCP_OPEN_S: u64 = 7440;
const TCP_TRANSITORY_S: u64 = 240;
const ICMP_S: u64 = 60;

/// Destination, identification and protocol of a packet in fragments.
type PacketName = (Ipv4Addr, u16, u8);

#[derive(Clone, Debug)]
struct User {
    nat: usize,
    session: SessionId,
    ue: Ipv4Addr,
    address: Ipv4Addr,
    /// First ports, the newest block first.
    blocks: Vec<u16>,
    /// The second in which no port was free: a further block is asked for once in it.
    full_s: Option<u64>,
    fragments: VecDeque<(PacketName, u16)>,
}

#[derive(Clone, Debug)]
struct Mapping {
    address: Ipv4Addr,
    port: u16,
    session: SessionId,
    protocol: u8,
    inside: u16,
    until_s: u64,
    remotes: VecDeque<Remote>,
}

/// Whom a mapping talks to; of TCP, how far.
#[derive(Clone, Debug)]
struct Remote {
    end: (Ipv4Addr, u16),
    sent: bool,
    came: bool,
    fin_sent: bool,
    fin_came: bool,
    reset: bool,
    is_tcp: bool,
}

impl Remote {
    fn is_open(&self) -> bool {
        self.sent && self.came && !(self.fin_sent && self.fin_came) && !self.reset
    }

    fn segment(&mut self, flags: u8, leaves: bool) {
        let begins = flags & 0x16 == 0x02;
        if begins && !self.is_open() {
            (self.sent, self.came, self.reset) = (false, false, false);
            (self.fin_sent, self.fin_came) = (false, false);
        }
        let (seen, fin) = match leaves {
            true => (&mut self.sent, &mut self.fin_sent),
            false => (&mut self.came, &mut self.fin_came),
        };
        *seen = true;
        *fin |= flags & 0x01 != 0;
        self.reset |= flags & 0x04 != 0;
    }
}

/// A public address, and the first ports of its free blocks.
type FreeBlocks = (Ipv4Addr, VecDeque<u16>);

/// All that is translated.
#[derive(Clone, Debug, Default)]
pub struct Nats {
    /// By configuration: public addresses, and whose turn it is.
    free: Vec<(Vec<FreeBlocks>, usize)>,
    users: Vec<User>,
    mappings: Vec<Mapping>,
    /// Sessions without a free port, by configuration.
    asked: Vec<(usize, SessionId)>,
}

fn second(now_ns: u64) -> u64 {
    now_ns / 1_000_000_000
}

impl Nats {
    /// All blocks free.
    pub fn new(config: &TwinConfig) -> Self {
        let blocks = |nat: &Nat| {
            let whole = (65_536 - u32::from(nat.first_port)) / u32::from(nat.block_ports);
            let first = |i| (u32::from(nat.first_port) + i * u32::from(nat.block_ports)) as u16;
            (0..whole).map(first).collect()
        };
        let free = |nat: &Nat| {
            let addresses = nat.addresses.iter().map(|a| (*a, blocks(nat)));
            (addresses.collect(), 0)
        };
        Self {
            free: config.nats.iter().map(free).collect(),
            ..Self::default()
        }
    }

    /// Sessions came, changed or went: those with a plain way from a translated network have a block.
    pub fn follow(&mut self, config: &TwinConfig, sessions: &Sessions) {
        let wants = |nat: &Nat, session: &Session| {
            let mut pdrs = session.pdrs.values();
            session.told.ipv4.filter(|_| {
                pdrs.any(|p| {
                    let network = config.data_network(p.source, p.instance.as_deref());
                    p.f_teid.is_none() && network == Some(&nat.place)
                })
            })
        };
        let gone = |user: &User| {
            let session = sessions.get(&user.session);
            session.and_then(|s| wants(&config.nats[user.nat], s)) != Some(user.ue)
        };
        while let Some(at) = self.users.iter().position(gone) {
            let user = self.users.remove(at);
            self.mappings
                .retain(|m| m.session != user.session || m.address != user.address);
            let mut addresses = self.free[user.nat].0.iter_mut();
            let free = addresses.find(|(a, _)| *a == user.address);
            free.expect("its address").1.extend(user.blocks);
        }
        for (nat, of) in config.nats.iter().enumerate() {
            for (id, session) in sessions {
                let has = |u: &User| u.nat == nat && u.session == *id;
                if let Some(ue) = wants(of, session)
                    && !self.users.iter().any(has)
                {
                    self.give(nat, *id, ue);
                }
            }
        }
    }

    fn give(&mut self, nat: usize, session: SessionId, ue: Ipv4Addr) {
        let (addresses, next) = &mut self.free[nat];
        let turn = (0..addresses.len()).map(|i| (*next + i) % addresses.len());
        let at = turn.into_iter().find(|at| !addresses[*at].1.is_empty());
        // The world has more blocks than sessions.
        let at = at.expect("a free block");
        *next = (at + 1) % addresses.len();
        let (address, free) = &mut addresses[at];
        self.users.push(User {
            nat,
            session,
            ue,
            address: *address,
            blocks: free.pop_front().into_iter().collect(),
            full_s: None,
            fragments: VecDeque::new(),
        });
    }

    /// Gives those that asked for it a further block of the same address. Says how many got one, and how many
    /// did not: they have as many as a UE may have, or the address has none.
    pub fn give_more(&mut self, config: &TwinConfig) -> (u64, u64) {
        let (mut given, mut refused) = (0, 0);
        for (nat, session) in std::mem::take(&mut self.asked) {
            let its = |u: &&mut User| u.nat == nat && u.session == session;
            let Some(user) = self.users.iter_mut().find(its) else {
                continue;
            };
            let mut addresses = self.free[nat].0.iter_mut();
            let free = addresses.find(|(a, _)| *a == user.address);
            let may = user.blocks.len() < config.nats[nat].blocks_per_ue;
            let free = free.filter(|_| may).and_then(|(_, free)| free.pop_front());
            match free {
                Some(first) => {
                    user.blocks.insert(0, first);
                    user.full_s = None;
                    given += 1;
                }
                None => refused += 1,
            }
        }
        (given, refused)
    }

    /// True if a session may run out of ports within so many packets.
    pub fn may_fill(&self, packets: usize) -> bool {
        self.users.iter().any(|user| {
            let its = |m: &&Mapping| m.session == user.session && m.address == user.address;
            let used = self.mappings.iter().filter(its).count();
            used + packets > user.blocks.len() * usize::from(UNIT)
        })
    }

    /// A packet of a session leaves: with its public address and port.
    pub fn leaves(
        &mut self,
        now_ns: u64,
        nat: usize,
        session: SessionId,
        bytes: &[u8],
    ) -> Result<Vec<u8>, Drop> {
        let packet = ipv4::read(bytes).map_err(|_| Drop::InnerHeader)?;
        let source = packet.header.source_addr();
        let is_its = |u: &User| u.nat == nat && u.session == session && u.ue == source;
        let user = self.users.iter().position(is_its);
        let user = user.ok_or(Drop::NatNoSession)?;
        let name = (
            packet.header.destination_addr(),
            packet.header.identification(),
            packet.header.protocol().0,
        );
        let address = self.users[user].address;
        let port = if packet.header.fragments_offset().value() != 0 {
            let mut known = self.users[user].fragments.iter();
            let known = known.find(|(n, _)| *n == name);
            known.ok_or(Drop::NatFragment)?.1
        } else {
            let ends = ends::read(&packet, true)?;
            if ends.own.0 != source {
                return Err(Drop::NatNoMapping);
            }
            self.port_of(second(now_ns), user, &ends)?
        };
        let starts =
            packet.header.more_fragments() && packet.header.fragments_offset().value() == 0;
        if starts {
            let fragments = &mut self.users[user].fragments;
            match fragments.iter_mut().find(|(n, _)| *n == name) {
                Some(known) => known.1 = port,
                None => fragments.push_back((name, port)),
            }
            if fragments.len() > FRAGMENTS {
                fragments.pop_front();
            }
        }
        Ok(rewrite(bytes, true, (address, port)))
    }

    /// Once a second.
    fn ask(&mut self, now_s: u64, user: usize) -> Drop {
        let user = &mut self.users[user];
        if user.full_s != Some(now_s) {
            user.full_s = Some(now_s);
            self.asked.push((user.nat, user.session));
        }
        Drop::NatNoPort
    }

    fn port_of(&mut self, now_s: u64, whose: usize, ends: &Ends) -> Result<u16, Drop> {
        let user = &self.users[whose];
        let same = |m: &Mapping| {
            m.session == user.session
                && m.address == user.address
                && (m.protocol, m.inside) == (ends.protocol, ends.own.1)
        };
        let known = self.mappings.iter().position(same);
        let at = match known.filter(|at| self.mappings[*at].until_s > now_s) {
            Some(at) => at,
            None if ends.what == What::Error => return Err(Drop::NatNoMapping),
            None => {
                let port = match known {
                    Some(at) => self.mappings[at].port,
                    None => match self.choose(now_s, user, ends.own.1) {
                        Some(port) => port,
                        None => return Err(self.ask(now_s, whose)),
                    },
                };
                let address = user.address;
                let session = user.session;
                self.mappings
                    .retain(|m| (m.address, m.port) != (address, port));
                self.mappings.push(Mapping {
                    address,
                    port,
                    session,
                    protocol: ends.protocol,
                    inside: ends.own.1,
                    until_s: 0,
                    remotes: VecDeque::new(),
                });
                self.mappings.len() - 1
            }
        };
        let mapping = &mut self.mappings[at];
        mapping.passed(now_s, ends, true);
        Ok(mapping.port)
    }

    /// The newest block first, in it unit by unit: from the place that the low bits of the UE's port name
    /// those of its parity, then the same with the other parity.
    fn choose(&self, now_s: u64, user: &User, inside: u16) -> Option<u16> {
        let is_free = |port: u16| {
            let mut there = self.mappings.iter();
            let there = there.find(|m| (m.address, m.port) == (user.address, port));
            there.is_none_or(|m| m.until_s <= now_s)
        };
        for other_parity in 0..2 {
            for first in &user.blocks {
                // The world has blocks of one unit.
                let from = inside % UNIT + other_parity;
                let mut places = (0..UNIT / 2).map(|i| first + (from + 2 * i) % UNIT);
                if let Some(port) = places.find(|port| is_free(*port)) {
                    return Some(port);
                }
            }
        }
        None
    }

    /// Whose a packet to a public address is, and the packet as the UE gets it.
    pub fn comes(
        &mut self,
        now_ns: u64,
        nat: usize,
        filters: bool,
        bytes: &[u8],
    ) -> Result<Vec<u8>, Drop> {
        let ends = self.holder(nat, bytes)?;
        let now_s = second(now_ns);
        let to = |m: &&mut Mapping| {
            (m.address, m.port, m.protocol) == (ends.own.0, ends.own.1, ends.protocol)
        };
        let mapping = self.mappings.iter_mut().find(to);
        let mapping = mapping.filter(|m| m.until_s > now_s);
        let mapping = mapping.ok_or(Drop::NatNoMapping)?;
        let sent = |r: &Remote| r.end.0 == ends.remote.0 && (!r.is_tcp || r.sent);
        let was_sent_to = !ends.remote.0.is_unspecified() && mapping.remotes.iter().any(sent);
        if filters && !was_sent_to {
            return Err(Drop::NatFiltered);
        }
        mapping.passed(now_s, &ends, false);
        let (session, inside) = (mapping.session, mapping.inside);
        let user = self
            .users
            .iter()
            .find(|u| u.session == session && u.nat == nat);
        let ue = user.expect("whose mapping it is").ue;
        Ok(rewrite(bytes, false, (ue, inside)))
    }

    /// The ends of a packet to a public port that somebody has.
    pub fn holder(&self, nat: usize, bytes: &[u8]) -> Result<Ends, Drop> {
        let packet = ipv4::read(bytes).map_err(|_| Drop::InnerHeader)?;
        let ends = ends::read(&packet, false)?;
        let has = |u: &User| {
            let block = |first: &u16| (*first..=*first + (UNIT - 1)).contains(&ends.own.1);
            u.nat == nat && u.address == ends.own.0 && u.blocks.iter().any(block)
        };
        let is_to = packet.header.destination_addr() == ends.own.0;
        match is_to && self.users.iter().any(has) {
            true => Ok(ends),
            false => Err(Drop::NatNoMapping),
        }
    }

    /// The public address of a session, and the port that its own one has, or the first of its block.
    pub fn public(&self, session: SessionId, protocol: u8, inside: u16) -> Option<(Ipv4Addr, u16)> {
        let user = self.users.iter().find(|u| u.session == session)?;
        let mut mappings = self.mappings.iter();
        let mapping =
            mappings.find(|m| m.session == session && (m.protocol, m.inside) == (protocol, inside));
        let port = mapping.map_or(user.blocks[0], |m| m.port);
        Some((user.address, port))
    }
}

impl Mapping {
    fn passed(&mut self, now_s: u64, ends: &Ends, leaves: bool) {
        let lasts_s = match ends.what {
            What::Error => return,
            What::Datagram if !leaves => return,
            What::Datagram => {
                self.remote((ends.remote.0, 0), false);
                if ends.protocol == 1 { ICMP_S } else { UDP_S }
            }
            What::Segment(flags) => {
                let remote = self.remote(ends.remote, true);
                let before = remote.is_open();
                remote.segment(flags, leaves);
                let after = remote.is_open();
                match after {
                    true => TCP_OPEN_S,
                    false if self.remotes.iter().any(Remote::is_open) => return,
                    false if before || leaves => TCP_TRANSITORY_S,
                    false => return,
                }
            }
        };
        self.until_s = now_s + lasts_s;
    }

    fn remote(&mut self, end: (Ipv4Addr, u16), is_tcp: bool) -> &mut Remote {
        let at = self.remotes.iter().position(|r| r.end == end);
        let at = at.unwrap_or_else(|| {
            self.remotes.push_back(Remote {
                end,
                sent: false,
                came: false,
                fin_sent: false,
                fin_came: false,
                reset: false,
                is_tcp,
            });
            if self.remotes.len() > REMOTES {
                self.remotes.pop_front();
            }
            self.remotes.len() - 1
        });
        &mut self.remotes[at]
    }
}
