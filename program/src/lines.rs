//! The limit on log lines that a network peer or a local client can cause, shared by all of them.
//!
//! A peer that repeats a mistake for a hundred thousand sessions must neither fill a disk nor take
//! the control core's time. So many lines of one kind are written for one peer in a window of some
//! seconds; when it ends, one line says how many more there were. Everything is bounded: peers that
//! are remembered, lines in all, and the lines that tell of others.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use sluice_host::clock;

/// Lines of one kind for one peer in a window.
const LINES: u32 = 8;
/// A window, from its first line: long enough that a storm is one line every few seconds, short
/// enough that its size is told while it goes on.
const WINDOW_NS: u64 = 10_000_000_000;
/// Lines of all peers in a window: 256 associations that are lost together with their refusals.
const LINES_IN_ALL: u32 = 512;
/// Pairs of peer and kind that are remembered; 256 associations with three kinds each, and room. Those beyond are
/// one peer.
const PEERS_MAX: usize = 1024;
/// Lines that tell how many more there were, at the end of windows; the rest is told in one.
const SUMS: usize = 16;

/// Source of a log line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Peer {
    /// Sender at this address.
    Address(IpAddr),
    /// The CP function of the association in this place.
    Association(usize),
    /// Programs on this machine, its sockets and its load.
    Local,
    /// Whoever finds no place.
    Others,
}

/// Subject of a log line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A request was refused.
    Refusal,
    /// An association came or went.
    Association,
    /// An association was taken over from another address.
    Takeover,
    /// A socket of N4 could not receive or send.
    N4Socket,
    /// A client of the control socket was not served.
    Control,
    /// A scraper was not served.
    Metrics,
    /// Charging records could not be written.
    Charging,
    /// Load changed who works.
    Scaling,
    /// Contexts could not be stored.
    Contexts,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Association(place) => write!(f, "the N4 association in place {place}"),
            Self::Local => f.write_str("this machine"),
            Self::Others => f.write_str("further peers"),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refusal => "refused requests",
            Self::Association => "associations",
            Self::Takeover => "associations from other addresses",
            Self::N4Socket => "N4 sockets",
            Self::Control => "the control socket",
            Self::Metrics => "metrics",
            Self::Charging => "charging records",
            Self::Scaling => "scaling",
            Self::Contexts => "contexts",
        })
    }
}

/// Lines of one kind for one peer since the window began.
#[derive(Clone, Copy, Debug)]
struct Window {
    began_ns: u64,
    written: u32,
    withheld: u64,
}

/// The limit; it has no clock.
#[derive(Debug)]
pub struct LineLimit {
    windows: BTreeMap<(Peer, Kind), Window>,
    all_began_ns: u64,
    all_written: u32,
}

impl Default for LineLimit {
    fn default() -> Self {
        Self::new()
    }
}

impl LineLimit {
    /// Nothing was written yet.
    pub const fn new() -> Self {
        Self {
            windows: BTreeMap::new(),
            all_began_ns: 0,
            all_written: 0,
        }
    }

    /// True if the line may be written now.
    pub fn permits(&mut self, now_ns: u64, peer: Peer, kind: Kind) -> bool {
        if now_ns.saturating_sub(self.all_began_ns) >= WINDOW_NS {
            (self.all_began_ns, self.all_written) = (now_ns, 0);
        }
        let is_known = self.windows.contains_key(&(peer, kind));
        let has_room = is_known || self.windows.len() < PEERS_MAX;
        let peer = if has_room { peer } else { Peer::Others };
        let fresh = Window {
            began_ns: now_ns,
            written: 0,
            withheld: 0,
        };
        let window = self.windows.entry((peer, kind)).or_insert(fresh);
        let permitted = window.written < LINES && self.all_written < LINES_IN_ALL;
        match permitted {
            true => {
                window.written += 1;
                self.all_written += 1;
            }
            false => window.withheld += 1,
        }
        permitted
    }

    /// Counts lines that were withheld without a request.
    pub fn withheld(&mut self, now_ns: u64, kind: Kind, lines: u64) {
        let fresh = Window {
            began_ns: now_ns,
            written: 0,
            withheld: 0,
        };
        let window = self.windows.entry((Peer::Others, kind)).or_insert(fresh);
        window.withheld += lines;
    }

    /// Forgets windows that are over, and gives a line for those that had more to say.
    pub fn ended(&mut self, now_ns: u64, names: &PeerNames) -> Vec<String> {
        let mut sums = Vec::new();
        let (mut rest, mut rest_of) = (0, 0);
        self.windows.retain(|(peer, kind), window| {
            let is_over = now_ns.saturating_sub(window.began_ns) >= WINDOW_NS;
            let n = window.withheld;
            if is_over && n > 0 && sums.len() < SUMS {
                let s = WINDOW_NS / 1_000_000_000;
                let name = match peer {
                    Peer::Association(place) => names.get(*place).map(str::to_owned),
                    _ => None,
                };
                let peer = name.unwrap_or_else(|| peer.to_string());
                sums.push(format!("{n} more not logged in {s} s: {kind}, {peer}"));
            } else if is_over && n > 0 {
                rest += n;
                rest_of += 1;
            }
            !is_over
        });
        if rest > 0 {
            sums.push(format!("{rest} more not logged of {rest_of} further peers"));
        }
        sums
    }
}

/// Names of CP functions by the place of their association, the last that each place had: when an
/// association ends, nobody else knows any more with whom it was.
#[derive(Debug, Default)]
pub struct PeerNames(BTreeMap<usize, String>);

impl PeerNames {
    /// The association in a place is with this function, at this address.
    pub fn set(&mut self, place: usize, node_id: Option<String>, address: SocketAddr) {
        let name = match node_id {
            Some(node_id) => format!("{node_id} at {address}"),
            None => address.to_string(),
        };
        self.0.insert(place, name);
    }

    /// Nobody knows who is there now.
    pub fn forget(&mut self, place: usize) {
        self.0.remove(&place);
    }

    /// Node ID, if it told one, and address.
    pub fn get(&self, place: usize) -> Option<&str> {
        self.0.get(&place).map(String::as_str)
    }
}

/// All lines of the process that others cause.
static LIMIT: Mutex<LineLimit> = Mutex::new(LineLimit::new());

/// True if a line that `peer` caused may be written now; counted if not.
pub fn permits(peer: Peer, kind: Kind) -> bool {
    let mut limit = LIMIT.lock().unwrap_or_else(PoisonError::into_inner);
    limit.permits(clock::monotonic_ns(), peer, kind)
}

/// Text about lines that were lost before they could be written.
pub fn withheld(kind: Kind, lines: u64) {
    let mut limit = LIMIT.lock().unwrap_or_else(PoisonError::into_inner);
    limit.withheld(clock::monotonic_ns(), kind, lines);
}

/// Writes how many lines there were more where a window is over. Call it a few times a second.
pub fn tell_withheld(names: &PeerNames) {
    let mut limit = LIMIT.lock().unwrap_or_else(PoisonError::into_inner);
    let sums = limit.ended(clock::monotonic_ns(), names);
    drop(limit);
    sums.iter().for_each(|sum| tracing::warn!("{sum}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn peer(n: u32) -> Peer {
        Peer::Address(IpAddr::from(n.to_be_bytes()))
    }

    #[test]
    fn a_storm_is_a_few_lines_and_one_that_counts_the_rest() {
        let mut limit = LineLimit::new();
        let storm = 0..7_813_u64;
        let written = storm.filter(|i| limit.permits(i * 1_000, peer(1), Kind::Association));
        assert_eq!(written.count(), LINES as usize);
        assert_eq!(
            limit.ended(9 * S, &PeerNames::default()),
            Vec::<String>::new(),
            "the window is not over"
        );
        let sums = limit.ended(10 * S, &PeerNames::default());
        assert_eq!(
            sums,
            ["7805 more not logged in 10 s: associations, 0.0.0.1"]
        );
        assert!(limit.permits(10 * S, peer(1), Kind::Association));
        assert_eq!(
            limit.ended(30 * S, &PeerNames::default()),
            Vec::<String>::new(),
            "nothing was withheld"
        );
    }

    #[test]
    fn a_sum_names_the_cp_function_of_an_association() {
        let (mut limit, mut names) = (LineLimit::new(), PeerNames::default());
        names.set(
            1,
            Some("smf.example".into()),
            SocketAddr::from(([10, 0, 0, 9], 8805)),
        );
        for _ in 0..10 {
            limit.permits(0, Peer::Association(1), Kind::Association);
        }
        let sums = limit.ended(10 * S, &names);
        assert_eq!(
            sums,
            ["2 more not logged in 10 s: associations, smf.example at 10.0.0.9:8805"]
        );
    }

    #[test]
    fn one_peer_and_kind_does_not_silence_another() {
        let mut limit = LineLimit::new();
        for _ in 0..100 {
            limit.permits(0, peer(1), Kind::Association);
        }
        assert!(limit.permits(0, peer(2), Kind::Association));
        assert!(limit.permits(0, peer(1), Kind::Refusal));
    }

    #[test]
    fn many_peers_are_bounded_in_memory_and_in_lines() {
        let mut limit = LineLimit::new();
        let all = 0..100_000;
        let written = all.filter(|n| limit.permits(1, peer(*n), Kind::Refusal));
        assert_eq!(written.count(), LINES_IN_ALL as usize);
        assert!(limit.windows.len() <= PEERS_MAX + 1);
        let sums = limit.ended(11 * S, &PeerNames::default());
        assert_eq!(sums.len(), SUMS + 1);
        assert!(limit.windows.is_empty());
        let told: u64 = sums
            .iter()
            .map(|sum| sum.split(' ').next().unwrap().parse::<u64>().unwrap())
            .sum();
        assert_eq!(told, 100_000 - u64::from(LINES_IN_ALL));
    }

    #[test]
    fn what_was_overwritten_unread_is_told_too() {
        let mut limit = LineLimit::new();
        limit.withheld(0, Kind::Refusal, 300);
        let sums = limit.ended(10 * S, &PeerNames::default());
        assert_eq!(
            sums,
            ["300 more not logged in 10 s: refused requests, further peers"]
        );
    }
}
