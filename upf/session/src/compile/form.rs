//! Where the rules of an endpoint stand: in its entry, in extension blocks, or in both.

use super::{Member, Members, rules_len};
use crate::rules::{Endpoint, Key, Pdr, Rules};

/// Where they stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// One rule in the entry, or none at all.
    Entry,
    /// One rule in the entry for the usual packets, and in front of it so many rules in blocks that packets
    /// of the UE's link alone can match.
    LinkRules(usize),
    /// So many rules, all in blocks.
    Blocks(usize),
}

impl Rules {
    /// Where the rules behind a key stand. They need blocks if there are several, or if the only one asks
    /// for flows, shares a rate with others, or has more than two rates; that its last packet is noted counts as one.
    pub fn form(&self, key: Key) -> Form {
        // An entry without rule of its own has room for what lies behind the UE.
        if !self.routes.run.is_none() && self.behind(key).next().is_some() {
            return Form::Blocks(self.members_len(key));
        }
        let (mut usual, mut link) = (None, 0);
        for pdr in self.behind(key) {
            if pdr.filter.is_link {
                link += rules_len(pdr);
            } else if usual.replace(pdr).is_some() {
                return Form::Blocks(self.members_len(key));
            }
        }
        match usual {
            None if link == 0 => Form::Entry,
            Some(pdr) if self.fits_entry(pdr) && link == 0 => Form::Entry,
            Some(pdr) if self.fits_entry(pdr) && self.are_in_front(key, pdr) => {
                Form::LinkRules(link)
            }
            _ => Form::Blocks(self.members_len(key)),
        }
    }

    fn fits_entry(&self, pdr: &Pdr) -> bool {
        let limiters = self.limiters(pdr);
        let uplink = self.is_uplink(pdr);
        let mut ids = limiters.as_slice().iter();
        rules_len(pdr) == 1
            && pdr.filter.run.is_none()
            && limiters.len() + usize::from(self.is_timed(pdr)) <= 2
            && ids.all(|id| self.users(*id, uplink) == 1)
    }

    /// True if all rules for packets of the link may stand in blocks of their own: they come first and limit
    /// no rate, and the entry has room for their block's number, where an outer header's TEID would stand.
    fn are_in_front(&self, key: Key, usual: &Pdr) -> bool {
        let order = |pdr: &Pdr| (pdr.precedence, pdr.id);
        let mut link = self.behind(key).filter(|pdr| pdr.filter.is_link);
        let comes_first =
            |pdr: &Pdr| order(pdr) < order(usual) && self.limiters(pdr).as_slice().is_empty();
        let makes_tunnel = self
            .far(usual.far)
            .is_some_and(|far| far.tunnel().is_some());
        !makes_tunnel && link.all(comes_first)
    }

    /// The rule that stands in an endpoint's entry, or tells what the entry is.
    pub fn entry_member(&self, endpoint: &Endpoint) -> Option<Member<'_>> {
        if endpoint.link_rules {
            let mut behind = self.behind(endpoint.key);
            behind
                .find(|pdr| !pdr.filter.is_link)
                .and_then(Member::first)
        } else {
            self.first_member(endpoint.key)
        }
    }

    /// The rules in an endpoint's blocks in the order in which they are tried.
    pub fn chained(&self, endpoint: &Endpoint) -> Members<'_> {
        let mut members = self.members(endpoint.key);
        if endpoint.link_rules {
            members.retain(|member| member.pdr.filter.is_link);
        }
        members
    }
}
