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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NextHopChain {
    last: NextHop,
}

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
        }
    }

    /// With the next hop that was kept before.
    pub fn resumed(last: NextHop) -> Self {
        Self { last }
    }

    /// The next hop that is kept.
    pub fn last(&self) -> &NextHop {
        &self.last
    }

    /// The one after it, for a handover; from then on it is kept.
    pub fn advance(&mut self, kamf: &Kamf) -> &NextHop {
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
            let next = chain.advance(&kamf);
            assert_eq!(next.ncc, ncc);
            assert_ne!(next.key.octets(), &[0; 32]);
            assert!(!seen.contains(&next.key));
            seen.push(next.key.clone());
        }
    }
}
