//! Who may ask the management API.

use super::problem::Problem;
use std::fmt;
use std::net::SocketAddr;
use zeroize::Zeroizing;

/// Fewest characters of a token: what is shorter can be guessed.
pub const TOKEN_MIN: usize = 16;
/// Most characters of a token.
pub const TOKEN_MAX: usize = 512;

/// Who may ask.
pub struct Access {
    /// Whoever shows this; none: whoever reaches the address.
    pub token: Option<Zeroizing<String>>,
    /// Where we listen.
    pub listen: SocketAddr,
}

/// What a request shows of who sends it.
#[derive(Clone, Copy, Default, Debug)]
pub struct Shown<'a> {
    /// Header Authorization.
    pub authorization: Option<&'a str>,
    /// Header Host, or the authority of the request's target.
    pub host: Option<&'a str>,
    /// There is a header Origin: a page in a browser asks.
    pub has_origin: bool,
}

impl Access {
    /// Whether a request may be answered.
    ///
    /// # Errors
    /// Why not. Pages in browsers may never ask. Without a token the host must be named by an address
    /// or as localhost, so that no other name that leads to it (DNS rebinding) lets a page in.
    pub fn permit(&self, shown: Shown<'_>) -> Result<(), Problem> {
        if shown.has_origin {
            let why = "pages in browsers (header Origin) may not ask";
            return Err(Problem::new("forbidden", why));
        }
        if let Some(token) = &self.token {
            let bearer = shown.authorization.and_then(bearer);
            return match bearer.is_some_and(|bearer| is_same(bearer, token)) {
                true => Ok(()),
                false => Err(Problem::new(
                    "unauthorized",
                    "the token of api.token_file is missing or another one (Authorization: Bearer TOKEN)",
                )),
            };
        }
        match shown.host.is_some_and(is_plain_host) {
            true => Ok(()),
            false => {
                let why = format!(
                    "name the host by its address ({}) or as localhost",
                    self.listen
                );
                Err(Problem::new("forbidden", why))
            }
        }
    }
}

/// The credentials (RFC 6750, 2.1); the scheme's case does not count (RFC 9110, 11.1).
fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("bearer");
    is_bearer.then(|| token.trim_matches(' '))
}

/// Compares in a time that tells nothing of where they differ.
fn is_same(one: &str, other: &str) -> bool {
    let octets = one.bytes().zip(other.bytes());
    let differs = octets.fold(0, |differs, (one, other)| differs | (one ^ other));
    one.len() == other.len() && std::hint::black_box(differs) == 0
}

/// An address or localhost, with or without a port.
fn is_plain_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        // An address of IPv6 without a port ends with a bracket.
        Some((name, port)) if port.bytes().all(|c| c.is_ascii_digit()) => name,
        _ => host,
    };
    let ipv6 = name.strip_prefix('[').and_then(|n| n.strip_suffix(']'));
    match ipv6 {
        Some(ipv6) => ipv6.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            name.eq_ignore_ascii_case("localhost") || name.parse::<std::net::Ipv4Addr>().is_ok()
        }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Access");
        shown.field("listen", &self.listen);
        shown.field("has_token", &self.token.is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(token: Option<&str>) -> Access {
        Access {
            token: token.map(|token| Zeroizing::new(token.to_owned())),
            listen: "127.0.0.1:9471".parse().unwrap(),
        }
    }

    fn reason(access: &Access, shown: Shown<'_>) -> Option<&'static str> {
        access.permit(shown).err().map(|problem| problem.reason)
    }

    #[test]
    fn without_a_token_hosts_are_addresses_and_browsers_are_refused() {
        let open = access(None);
        let of = |host| Shown {
            host: Some(host),
            ..Shown::default()
        };
        for host in [
            "127.0.0.1:9471",
            "127.0.0.1",
            "localhost",
            "LOCALHOST:1",
            "[::1]:9471",
            "[::1]",
        ] {
            assert_eq!(reason(&open, of(host)), None, "{host}");
        }
        for host in [
            "attacker.example",
            "attacker.example:9471",
            "",
            ":9471",
            "localhost.attacker.example",
            "[x]",
        ] {
            assert_eq!(reason(&open, of(host)), Some("forbidden"), "{host}");
        }
        assert_eq!(reason(&open, Shown::default()), Some("forbidden"));
        let page = Shown {
            has_origin: true,
            ..of("127.0.0.1")
        };
        assert_eq!(reason(&open, page), Some("forbidden"));
    }

    #[test]
    fn a_token_is_asked_for_where_there_is_one() {
        let closed = access(Some("0123456789abcdef"));
        let with = |authorization| Shown {
            authorization,
            host: Some("core.example"),
            has_origin: false,
        };
        for good in ["Bearer 0123456789abcdef", "bearer  0123456789abcdef "] {
            assert_eq!(reason(&closed, with(Some(good))), None, "{good}");
        }
        for bad in [
            None,
            Some("Bearer"),
            Some("Bearer "),
            Some("Bearer 0123456789abcde"),
            Some("Bearer 0123456789abcdef0"),
            Some("Bearer 0123456789abcdeg"),
            Some("Basic 0123456789abcdef"),
        ] {
            assert_eq!(reason(&closed, with(bad)), Some("unauthorized"), "{bad:?}");
        }
        assert!(!format!("{closed:?}").contains("0123456789abcdef"));
    }
}
