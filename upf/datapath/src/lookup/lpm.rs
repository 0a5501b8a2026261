//! Longest-prefix match: what a network instance says of a destination, in three look-ups at the most.
//!
//! Prefixes are painted over a table of the upper 16 bits and, where they are longer, over blocks of 8 bits
//! more, the shorter ones first. The table is made anew when a route or a station on a link comes or
//! goes.

use crate::tables::{Egress, InterfaceId, Prefix, Route};
use std::collections::HashMap;

/// An entry is a number of a result, or with this bit that of a block.
const BLOCK: u32 = 1 << 31;
const FIRST: usize = 1 << 16;
const NEXT: usize = 1 << 8;

/// The compiled routes of an egress.
#[derive(Clone, Debug)]
pub struct Lpm {
    first: Box<[u32; FIRST]>,
    blocks: Vec<[u32; NEXT]>,
    results: Vec<Route>,
}

impl Lpm {
    /// Of an egress. Of two prefixes of one length the link comes before the route, and what was
    /// given first before what was given later.
    pub fn of(egress: &Egress) -> Self {
        let mut painter = Painter::default();
        for len in 0..=32 {
            let mask = Prefix::new([0; 4].into(), len).map_or(0, |p| p.mask);
            let routes = egress.routes.iter().filter(|(p, _)| p.mask == mask);
            for (prefix, hop) in routes.rev() {
                painter.paint(*prefix, Route::Via(*hop));
            }
            let links = egress.connected.iter().filter(|(p, _)| p.mask == mask);
            for (prefix, interface) in links.rev() {
                painter.link(*prefix, *interface, egress);
            }
        }
        painter.lpm
    }

    /// The way to `destination` (host order).
    #[inline(always)]
    pub fn route(&self, destination: u32) -> Route {
        let [a, b, c, d] = destination.to_be_bytes();
        let mut entry = self.first[usize::from(u16::from_be_bytes([a, b]))];
        for octet in [c, d] {
            if entry & BLOCK == 0 {
                break;
            }
            let block = self.blocks.get((entry & !BLOCK) as usize);
            entry = block.map_or(0, |block| block[usize::from(octet)]);
        }
        let result = self.results.get(entry as usize);
        result.copied().unwrap_or(Route::None)
    }
}

/// An LPM that is being made.
struct Painter {
    lpm: Lpm,
    numbers: HashMap<Route, u32>,
}

impl Default for Painter {
    fn default() -> Self {
        let first = vec![0; FIRST].into_boxed_slice().try_into();
        Self {
            lpm: Lpm {
                first: first.unwrap_or_else(|_| unreachable!("it has that length")),
                blocks: Vec::new(),
                results: vec![Route::None],
            },
            numbers: [(Route::None, 0)].into(),
        }
    }
}

impl Painter {
    /// A link, with its stations and our own addresses on it.
    fn link(&mut self, prefix: Prefix, interface: InterfaceId, egress: &Egress) {
        self.paint(prefix, Route::Unknown(interface));
        let host = |address| Prefix {
            base: address,
            mask: u32::MAX,
        };
        let on_link = |address: &u32| prefix.contains(*address);
        for (address, interface) in egress.own.iter().rev().filter(|(a, _)| on_link(a)) {
            self.paint(host(*address), Route::Own(*interface));
        }
        for (address, hop) in egress.neighbours.iter().filter(|(a, _)| on_link(a)) {
            self.paint(host(*address), Route::Via(*hop));
        }
    }

    fn paint(&mut self, prefix: Prefix, route: Route) {
        let entry = self.number(route);
        let last = prefix.base | !prefix.mask;
        let of = |address: u32, shift: u32| (address >> shift) as usize;
        if prefix.mask & 0xffff == 0 {
            let range = of(prefix.base, 16)..=of(last, 16);
            return self.lpm.first[range].fill(entry);
        }
        let inner = self.lpm.first[of(prefix.base, 16)];
        let block = self.block(inner);
        self.lpm.first[of(prefix.base, 16)] = block | BLOCK;
        let (from, to) = (of(prefix.base, 8) % NEXT, of(last, 8) % NEXT);
        if prefix.mask & 0xff == 0 {
            return self.lpm.blocks[block as usize][from..=to].fill(entry);
        }
        let inner = self.lpm.blocks[block as usize][from];
        let last_block = self.block(inner);
        self.lpm.blocks[block as usize][from] = last_block | BLOCK;
        let range = of(prefix.base, 0) % NEXT..=of(last, 0) % NEXT;
        self.lpm.blocks[last_block as usize][range].fill(entry);
    }

    /// The block behind an entry: its own, or a new one that says the same.
    fn block(&mut self, entry: u32) -> u32 {
        if entry & BLOCK != 0 {
            return entry & !BLOCK;
        }
        self.lpm.blocks.push([entry; NEXT]);
        (self.lpm.blocks.len() - 1) as u32
    }

    fn number(&mut self, route: Route) -> u32 {
        let results = &mut self.lpm.results;
        *self.numbers.entry(route).or_insert_with(|| {
            results.push(route);
            (results.len() - 1) as u32
        })
    }
}

#[cfg(test)]
mod tests;
