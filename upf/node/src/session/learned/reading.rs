//! How a message's values are read, without asking of each what it is.

use super::domain::{Domain, Mark};

/// How the values of all messages of a form are read.
#[derive(Debug, Default)]
pub struct Readings {
    fours: Box<[Four]>,
    /// Which of the values are addresses of hosts, and which others must not be 0.
    hosts: Box<[u8]>,
    nonzero: Box<[u8]>,
}

/// Four octets of a message whose last ones are a value.
#[derive(Clone, Copy, Debug)]
struct Four {
    at: u16,
    mask: u32,
}

impl Four {
    /// None of a value that begins the message; in front of each stands the head of its IE.
    fn of(mark: &Mark) -> Option<Self> {
        let (before, mask) = match mark.octets {
            2 => (2, 0xffff),
            _ => (0, u32::MAX),
        };
        let at = mark.at.checked_sub(before)?;
        Some(Self { at, mask })
    }

    #[inline]
    fn read(self, body: &[u8]) -> Option<u32> {
        let octets = body.get(usize::from(self.at)..)?.first_chunk()?;
        Some(u32::from_be_bytes(*octets) & self.mask)
    }
}

impl Readings {
    /// Those of values at these marks, at most 256.
    pub fn of(marks: &[Mark]) -> Option<Self> {
        let those = |kind: fn(Domain) -> bool| {
            let all = marks.iter().zip(0..=u8::MAX);
            let those = all.filter(|(mark, _)| kind(mark.domain));
            those.map(|(_, at)| at).collect()
        };
        Some(Self {
            fours: marks.iter().map(Four::of).collect::<Option<_>>()?,
            hosts: those(Domain::is_host),
            nonzero: those(Domain::is_never_0),
        })
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.fours.len()
    }

    /// Reads a message's values into as many places; false if one of them would be
    /// [refused](Domain::is_plain).
    pub fn read(&self, body: &[u8], places: &mut [u32]) -> bool {
        for (four, place) in self.fours.iter().zip(&mut *places) {
            let Some(value) = four.read(body) else {
                return false;
            };
            *place = value;
        }
        let plain = |domain: Domain, those: &[u8]| {
            let mut values = those.iter().filter_map(|at| places.get(usize::from(*at)));
            values.all(|value| domain.is_plain(*value))
        };
        plain(Domain::UeAddress, &self.hosts) && plain(Domain::LocalTeid, &self.nonzero)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Domain::*;
    use proptest::prelude::*;

    const KINDS: [Domain; 7] = [
        Pdr,
        Far,
        UeAddress,
        LocalTeid,
        RemoteTeid,
        RemoteAddress,
        Reference,
    ];

    fn mark() -> impl Strategy<Value = Mark> {
        let octets = prop_oneof![Just(2), Just(4)];
        (prop::sample::select(&KINDS[..]), 4_u16..44, octets)
            .prop_map(|(domain, at, octets)| Mark { domain, at, octets })
    }

    fn octet() -> impl Strategy<Value = u8> {
        prop_oneof![Just(0), Just(0xff), Just(0xe0), any::<u8>()]
    }

    proptest! {
        #[test]
        fn all_are_read_as_each_by_itself(
            marks in prop::collection::vec(mark(), 0..20),
            body in prop::collection::vec(octet(), 40..60),
        ) {
            let readings = Readings::of(&marks).unwrap();
            let mut values = vec![0; readings.len()];
            let read = readings.read(&body, &mut values);
            let each = marks.iter().map(|mark| mark.value(&body));
            let each: Option<Vec<u32>> = each.collect();
            let plain = each.filter(|values| {
                marks.iter().zip(values).all(|(mark, value)| mark.domain.is_plain(*value))
            });
            prop_assert_eq!(read.then_some(values), plain);
        }
    }
}
