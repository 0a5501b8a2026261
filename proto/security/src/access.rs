//! Keys of the access stratum: KgNB and the chain of next hops (TS 33.501, A.9 and A.10).

use oxirush_security::nas_5gs;

use crate::key::{Kamf, Kgnb};
use crate::nas::NasCount;

/// KgNB of an initial context: of the uplink count of the message that made it needed
/// (TS 33.501, 6.8.1.2.2 and A.9).
pub fn access_key(kamf: &Kamf, uplink: NasCount) -> Kgnb {
    let count = oxirush_security::NasCount::from(uplink);
    Kgnb::new(*nas_5gs::derive_kgnb(&nas_5gs::KAmf::new(kamf.octets()), count).as_octets())
}

/// A next hop and its number, as a handover hands them out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NextHop {
    /// NH.
    pub key: Kgnb,
    /// Next hop Chaining Counter, 3 bits.
    pub ncc: u8,
}

/// The AMF's end of the chain. An initial context gives KgNB (NCC 0) to the gNB and keeps the next
/// hop with NCC 1, which is derived from it; a handover hands out the one after that.
///
/// A UE derives what it is told from what it has, as far as the next hop chaining counter of three bits says how often
/// (TS 33.501, 6.9.2.1.1): seven times at the most. So a next hop that no UE has taken, as a preparation failed, is
/// handed out again where the counter would come round to the UE's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NextHopChain {
    last: NextHop,
    /// How many steps that is ahead of what the UE uses.
    ahead: u8,
    /// How many of them its gNB can go, which holds a next hop for the next handover by Xn.
    given: Option<u8>,
}

/// The farthest that a counter of three bits tells from none.
const FARTHEST: u8 = 7;
/// The bit of what is stored that says that the gNB holds the last one.
const IS_GIVEN: u8 = 0x40;

impl NextHopChain {
    /// Of an initial context.
    pub fn new(kamf: &Kamf, kgnb: &Kgnb) -> Self {
        let kamf = nas_5gs::KAmf::new(kamf.octets());
        let key = nas_5gs::derive_nh(&kamf, &nas_5gs::KGnb::new(kgnb.octets()));
        Self {
            last: NextHop {
                key: Kgnb::new(*key.as_octets()),
                ncc: 1,
            },
            ahead: 1,
            given: None,
        }
    }

    /// With the next hop that was kept before, and what [`NextHopChain::stored`] said; none if that makes no sense.
    pub fn resumed(stored: u8, key: Kgnb) -> Option<Self> {
        let (ncc, ahead) = (stored & 7, stored >> 3 & 7);
        let given = (stored & IS_GIVEN != 0).then_some(ahead.max(1));
        (stored & 0x80 == 0).then_some(Self {
            last: NextHop { key, ncc },
            ahead,
            given,
        })
    }

    /// The counter of the next hop that is kept, and how far the UE is behind it, in an octet.
    pub fn stored(&self) -> u8 {
        let given = match self.given == Some(self.ahead) {
            true => IS_GIVEN,
            false => 0,
        };
        self.last.ncc | self.ahead << 3 | given
    }

    /// The next hop that is kept.
    pub fn last(&self) -> &NextHop {
        &self.last
    }

    /// The UE has taken the next hop that was handed out last.
    pub fn is_taken(&mut self) {
        (self.ahead, self.given) = (0, None);
    }

    /// The UE has come to another gNB by Xn, with the next hop that the one before held; the new one is to hold this.
    pub fn switch(&mut self, kamf: &Kamf) -> &NextHop {
        self.ahead -= self.given.take().unwrap_or_default().min(self.ahead);
        self.advance(kamf);
        self.given = Some(self.ahead);
        &self.last
    }

    /// The one after it, for a handover; from then on it is kept. The same again where a UE could not tell the next
    /// from its own.
    pub fn advance(&mut self, kamf: &Kamf) -> &NextHop {
        if self.ahead == FARTHEST {
            return &self.last;
        }
        self.ahead += 1;
        let kamf = nas_5gs::KAmf::new(kamf.octets());
        let key = nas_5gs::derive_nh(&kamf, &nas_5gs::Nh::new(self.last.key.octets()));
        let ncc = (self.last.ncc + 1) % 8;
        self.last = NextHop {
            key: Kgnb::new(*key.as_octets()),
            ncc,
        };
        &self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::tests::key_256;

    /// Of the chain of keys that starts with test set 1 of TS 35.208.
    const KAMF: &str = "9d63b519775a92ca861ca6a50d848fa8ebf160ea7b73735a85b33737e73c55b4";

    #[test]
    fn the_keys_of_the_access_stratum_follow_from_the_count_and_each_other() {
        let kamf = Kamf::new(key_256(KAMF));
        let kgnb = access_key(&kamf, NasCount::default());
        let expected = "c18166e13cfde1dea842c708f6e0b3372b6896664df4e865c0c78bd270852005";
        assert_eq!(kgnb.octets(), &key_256(expected));
        let mut chain = NextHopChain::new(&kamf, &kgnb);
        let expected = "383c6b76bf2a99aa2ca4c5136d4122a2b942301f0b9e07439786939cd30c4a4b";
        assert_eq!(chain.last().key.octets(), &key_256(expected));
        assert_eq!(chain.last().ncc, 1);
        let mut seen = vec![chain.last().key.clone()];
        for ncc in [2, 3, 4, 5, 6, 7, 0, 1] {
            chain.is_taken();
            let next = chain.advance(&kamf);
            assert_eq!(next.ncc, ncc);
            assert_ne!(next.key.octets(), &[0; 32]);
            assert!(!seen.contains(&next.key));
            seen.push(next.key.clone());
        }
    }

    /// TS 33.501, 6.9.2.1.1: a UE whose counter is the one that it is told takes it for no next hop at all.
    #[test]
    fn next_hops_that_no_ue_takes_do_not_come_round_to_its_own() {
        let kamf = Kamf::new(key_256(KAMF));
        let mut chain = NextHopChain::new(&kamf, &access_key(&kamf, NasCount::default()));
        let mut told = Vec::new();
        for _ in 0..9 {
            told.push(chain.advance(&kamf).ncc);
        }
        // The UE is at 0.
        assert_eq!(told, [2, 3, 4, 5, 6, 7, 7, 7, 7]);
        let last = chain.last().clone();
        chain = NextHopChain::resumed(chain.stored(), last.key).expect("as it was stored");
        assert_eq!(chain.advance(&kamf).ncc, 7);
        // It has gone there at last.
        chain.is_taken();
        let told: Vec<u8> = (0..8).map(|_| chain.advance(&kamf).ncc).collect();
        assert_eq!(told, [0, 1, 2, 3, 4, 5, 6, 6]);
    }

    #[test]
    fn each_handover_by_xn_takes_what_the_gnb_before_held() {
        let kamf = Kamf::new(key_256(KAMF));
        let mut chain = NextHopChain::new(&kamf, &access_key(&kamf, NasCount::default()));
        let told: Vec<u8> = (0..12).map(|_| chain.switch(&kamf).ncc).collect();
        assert_eq!(told, [2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5]);
        // Four preparations fail, and it goes by Xn with what its gNB holds: 5.
        for _ in 0..4 {
            chain.advance(&kamf);
        }
        assert_eq!(chain.switch(&kamf).ncc, 2);
        assert_eq!(NextHopChain::resumed(0x80, Kgnb::new([0; 32])), None);
    }
}
