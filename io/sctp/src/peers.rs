//! Peers of an endpoint, and the names that usrsctp has for them.

use std::collections::{BTreeMap, HashMap};

use crate::limits;
use crate::transport::Peer;

/// The name of a peer inside usrsctp, which takes it for an address of memory that it never reads.
/// Endpoint in the upper half, peer in the lower; neither is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Token(pub(crate) u64);

impl Token {
    pub(crate) fn new(endpoint: u32, peer: u32) -> Self {
        Self(u64::from(endpoint) << 32 | u64::from(peer))
    }

    pub(crate) fn endpoint(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Result of a request for a peer's token.
pub(crate) enum Named {
    /// The peer has a token.
    Known(Token),
    /// The peer has a new token; the second one is free now, if there is one.
    New(Token, Option<Token>),
    /// All names are in use.
    Full,
}

/// Peers by name and names by peer, at most [`limits::PEERS`].
#[derive(Debug, Default)]
pub(crate) struct Peers {
    last: u32,
    tokens: HashMap<Peer, Token>,
    /// In order of age, as numbers rise.
    peers: BTreeMap<Token, Known>,
}

#[derive(Debug)]
struct Known {
    peer: Peer,
    associations: usize,
}

impl Peers {
    /// The name of a peer, a new one where it has none.
    pub(crate) fn name(&mut self, endpoint: u32, peer: Peer) -> Named {
        if let Some(token) = self.tokens.get(&peer) {
            return Named::Known(*token);
        }
        let mut freed = None;
        if self.tokens.len() >= limits::PEERS {
            let is_idle = |(_, known): &(&Token, &Known)| known.associations == 0;
            let Some(oldest) = self.peers.iter().find(is_idle).map(|(token, _)| *token) else {
                return Named::Full;
            };
            self.remove(oldest);
            freed = Some(oldest);
        }
        // After 2^32 peers numbers begin again; 0 would be no address at all.
        self.last = self.last.checked_add(1).unwrap_or(1);
        let token = Token::new(endpoint, self.last);
        self.tokens.insert(peer, token);
        let associations = 0;
        self.peers.insert(token, Known { peer, associations });
        Named::New(token, freed)
    }

    fn remove(&mut self, token: Token) {
        if let Some(known) = self.peers.remove(&token) {
            self.tokens.remove(&known.peer);
        }
    }

    /// Peer of a token.
    pub(crate) fn peer(&self, token: Token) -> Option<Peer> {
        self.peers.get(&token).map(|known| known.peer)
    }

    /// Another association; how many there are now.
    pub(crate) fn associate(&mut self, token: Token) -> usize {
        self.peers.get_mut(&token).map_or(0, |known| {
            known.associations += 1;
            known.associations
        })
    }

    /// One association less.
    pub(crate) fn part(&mut self, token: Token) {
        if let Some(known) = self.peers.get_mut(&token) {
            known.associations = known.associations.saturating_sub(1);
        }
    }

    /// All names.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = Token> + '_ {
        self.peers.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    fn peer(number: usize) -> Peer {
        Peer {
            address: IpAddr::V4(Ipv4Addr::from(number as u32)),
            udp_port: 0,
        }
    }

    #[test]
    fn the_oldest_idle_peer_makes_room_for_another() {
        let mut peers = Peers::default();
        for number in 0..limits::PEERS {
            assert!(matches!(peers.name(1, peer(number)), Named::New(_, None)));
        }
        let Named::Known(first) = peers.name(1, peer(0)) else {
            panic!("known");
        };
        peers.associate(first);
        let Named::New(_, Some(freed)) = peers.name(1, peer(limits::PEERS)) else {
            panic!("the second is the oldest idle one");
        };
        assert_eq!(freed, Token::new(1, 2));
        assert_eq!(peers.peer(first), Some(peer(0)));
        let all: Vec<_> = peers.tokens().collect();
        all.iter().for_each(|token| {
            peers.associate(*token);
        });
        assert!(matches!(
            peers.name(1, peer(limits::PEERS + 1)),
            Named::Full
        ));
        peers.part(all[5]);
        assert!(
            matches!(peers.name(1, peer(limits::PEERS + 1)), Named::New(_, Some(freed)) if freed == all[5])
        );
    }
}
