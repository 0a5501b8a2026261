//! How many UEs there may be, and are, that have not proved who they are: of a gNB, and in all.

use core::net::IpAddr;
use std::collections::BTreeMap;

use sluice_sbi::{AssociationId, Instant};

use crate::limits;

/// How many UEs may be connected at a time that have not proved who they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// By way of one gNB, or of all that come from one address.
    pub of_gnb: usize,
    /// In all.
    pub in_all: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            of_gnb: limits::UNAUTHENTICATED_OF_GNB,
            in_all: limits::UNAUTHENTICATED,
        }
    }
}

impl Bounds {
    /// Whether they make sense.
    pub(crate) fn are_sound(self) -> bool {
        (1..=self.in_all).contains(&self.of_gnb) && self.in_all <= limits::CONNECTIONS
    }
}

/// By way of whom UEs come: all associations of one address are one, whatever gNBs these say that they are. A gNB that
/// sets up NG over another association has none over the one before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Origin {
    /// Of an address.
    Address(IpAddr),
    /// Of an association whose address is not known.
    Association(AssociationId),
}

/// How many there are now.
#[derive(Debug, Default)]
pub(crate) struct Unauthenticated {
    by_origin: BTreeMap<Origin, usize>,
    addresses: BTreeMap<AssociationId, IpAddr>,
    in_all: usize,
    /// Until when operators need not be told again that UEs are shed.
    pub told_until: Instant,
}

impl Unauthenticated {
    /// In all.
    pub fn len(&self) -> usize {
        self.in_all
    }

    /// An association is with this address.
    pub fn is_at(&mut self, association: AssociationId, address: IpAddr) {
        self.addresses.insert(association, address);
    }

    /// An association is over.
    pub fn forget_address(&mut self, association: AssociationId) {
        self.addresses.remove(&association);
    }

    /// By way of whom UEs of an association come.
    pub fn origin(&self, association: AssociationId) -> Origin {
        let address = self.addresses.get(&association);
        address.map_or(Origin::Association(association), |one| {
            Origin::Address(*one)
        })
    }

    /// By way of a gNB.
    pub fn of_gnb(&self, gnb: Origin) -> usize {
        self.by_origin.get(&gnb).copied().unwrap_or_default()
    }

    /// One more.
    pub fn add(&mut self, gnb: Origin) {
        *self.by_origin.entry(gnb).or_default() += 1;
        self.in_all += 1;
    }

    /// One fewer.
    pub fn take(&mut self, gnb: Origin) {
        self.in_all -= 1;
        if let Some(count) = self.by_origin.get_mut(&gnb) {
            *count -= 1;
            if *count == 0 {
                self.by_origin.remove(&gnb);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gnb_has_no_more_than_all_have() {
        let sound = |of_gnb, in_all| Bounds { of_gnb, in_all }.are_sound();
        assert!(Bounds::default().are_sound());
        assert!(sound(1, 1) && sound(7, 8));
        assert!(!sound(0, 8) && !sound(9, 8) && !sound(1, limits::CONNECTIONS + 1));
    }

    #[test]
    fn what_is_taken_was_added() {
        let mut all = Unauthenticated::default();
        let [one, other] = [1, 2].map(|number| all.origin(AssociationId(number)));
        all.add(one);
        all.add(one);
        all.add(other);
        assert_eq!((all.of_gnb(one), all.of_gnb(other), all.len()), (2, 1, 3));
        for gnb in [one, other, one] {
            all.take(gnb);
        }
        assert_eq!((all.of_gnb(one), all.len()), (0, 0));
        assert!(all.by_origin.is_empty());
        // Two associations of one address count together.
        let address = IpAddr::from([192, 0, 2, 7]);
        for number in [1, 2] {
            all.is_at(AssociationId(number), address);
            all.add(all.origin(AssociationId(number)));
        }
        assert_eq!(all.of_gnb(Origin::Address(address)), 2);
        all.forget_address(AssociationId(1));
        assert_eq!(all.origin(AssociationId(1)), one);
    }
}
