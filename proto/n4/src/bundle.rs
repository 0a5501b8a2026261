//! Several messages in one datagram (TS 29.244, 6.5 and 7.2.1A).

use sluice_wire::pfcp::Header;

/// Octet 1, bit 3 of the header: another message follows.
const FOLLOW_ON: u8 = 0x04;

/// Splits a datagram into its messages, each to be handed to `Endpoint::handle` on its own.
///
/// A message whose header cannot be read comes out with everything behind it.
pub fn messages(datagram: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(datagram);
    core::iter::from_fn(move || {
        let current = rest.take()?;
        let follows = current.first().is_some_and(|flags| flags & FOLLOW_ON != 0);
        if !follows {
            return Some(current);
        }
        match Header::parse_next(current) {
            Ok((_, _, next)) if !next.is_empty() => {
                rest = Some(next);
                current.get(..current.len() - next.len())
            }
            _ => Some(current),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: [u8; 8] = [0x20, 2, 0, 4, 0, 0, 2, 0];
    const FOLLOWED: [u8; 8] = [0x24, 2, 0, 4, 0, 0, 1, 0];

    fn split(datagram: &[u8]) -> Vec<&[u8]> {
        messages(datagram).collect()
    }

    #[test]
    fn follow_on_separates_the_messages() {
        assert_eq!(
            split(&[FOLLOWED, FOLLOWED, LAST].concat()),
            [FOLLOWED, FOLLOWED, LAST]
        );
        assert_eq!(split(&LAST), [LAST]);
    }

    #[test]
    fn nothing_follows_without_the_flag_or_without_octets() {
        assert_eq!(split(&[LAST, LAST].concat()), [[LAST, LAST].concat()]);
        assert_eq!(split(&FOLLOWED), [FOLLOWED]);
        assert_eq!(split(&[0x24, 2]), [[0x24, 2]]);
        assert_eq!(split(&[]), [[]]);
    }
}
