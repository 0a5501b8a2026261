//! Access to the management API: programs that show the token, users who are logged in, or everybody on this machine.

use super::problem::Problem;
use sluice_web::{Browser, Door, Role};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use zeroize::Zeroizing;

/// Fewest characters of a token: what is shorter can be guessed.
pub const TOKEN_MIN: usize = 16;
/// Most characters of a token.
pub const TOKEN_MAX: usize = 512;

/// Name of the cookie of browsers that are logged in.
pub const COOKIE: &str = "sluice_session";
/// Header that changes of such browsers have beside the cookie.
pub const CSRF_HEADER: &str = "x-csrf-token";

/// Access to the API.
pub struct Access {
    /// Whoever shows this; none: whoever reaches the address, unless there are users.
    pub token: Option<Zeroizing<String>>,
    /// Users, who log in with browsers.
    pub door: Option<Arc<Door>>,
    /// Where we listen.
    pub listen: SocketAddr,
}

/// Parts of a request that tell its sender.
#[derive(Clone, Copy, Default, Debug)]
pub struct Shown<'a> {
    /// Header Authorization.
    pub authorization: Option<&'a str>,
    /// Header Host, or the authority of the request's target.
    pub host: Option<&'a str>,
    /// Header Origin: a page in a browser asks.
    pub origin: Option<&'a str>,
    /// Header Cookie.
    pub cookie: Option<&'a str>,
    /// Header X-CSRF-Token.
    pub csrf: Option<&'a str>,
    /// The request is to change something.
    pub changes: bool,
}

/// Sender of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Caller {
    /// A program, or whoever reaches an address that asks for nothing: all is permitted.
    Program,
    /// A user who is logged in, and the text of the cookie.
    User(Browser, String),
}

impl Caller {
    /// Whether it may do what needs a role.
    ///
    /// # Errors
    /// The role that is needed, and the one that there is.
    pub fn may(&self, least: Role) -> Result<(), Problem> {
        match self {
            Self::User(browser, _) if browser.role < least => {
                let (user, role, least) = (&browser.user, browser.role.name(), least.name());
                let why = format!("{user} is {role}; this needs the role {least}");
                Err(Problem::new("forbidden", why))
            }
            _ => Ok(()),
        }
    }
}

impl Access {
    /// Sender of a request, if the request may be answered.
    ///
    /// # Errors
    /// Why not. Pages in browsers may only ask where there are users, and only the core's own. Without token and users
    /// the host must be named by an address or as localhost, so that no other name that leads to it (DNS rebinding)
    /// lets a page in.
    pub fn permit(&self, shown: Shown<'_>) -> Result<Caller, Problem> {
        self.permit_page(shown)?;
        if let Some(token) = &self.token
            && let Some(bearer) = shown.authorization.and_then(bearer)
        {
            // The token is for programs: no page has it.
            return match is_same(bearer, token) && shown.origin.is_none() {
                true => Ok(Caller::Program),
                false => Err(unauthorized("the token is not that of api.token_file")),
            };
        }
        if let Some(door) = &self.door {
            return user(door, shown);
        }
        match (&self.token, shown.host) {
            (Some(_), _) => Err(unauthorized(
                "the token of api.token_file is missing (Authorization: Bearer TOKEN)",
            )),
            (None, Some(host)) if is_plain_host(host) => Ok(Caller::Program),
            (None, _) => {
                let why =
                    "without a token the host is named by an address or as localhost (header Host)";
                Err(Problem::new("forbidden", why))
            }
        }
    }

    /// Whether a page may ask at all, also to log in.
    ///
    /// # Errors
    /// The page is not the core's own, or there are no users.
    pub fn permit_page(&self, shown: Shown<'_>) -> Result<(), Problem> {
        let Some(origin) = shown.origin else {
            return Ok(());
        };
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        let is_own = authority.is_some() && authority == shown.host;
        let why = match (&self.door, is_own) {
            (Some(_), true) => return Ok(()),
            (Some(_), false) => "pages of other hosts in browsers (header Origin) may not ask",
            (None, _) => "pages in browsers (header Origin) may not ask without api.users_file",
        };
        Err(Problem::new("forbidden", why))
    }
}

fn unauthorized(why: &str) -> Problem {
    Problem::new("unauthorized", why)
}

/// The user of a cookie; a change also shows the CSRF token.
fn user(door: &Door, shown: Shown<'_>) -> Result<Caller, Problem> {
    let cookie = shown.cookie.and_then(session_of);
    let found = cookie.and_then(|cookie| Some((door.browser(cookie, Instant::now())?, cookie)));
    let (browser, cookie) = found.ok_or_else(|| unauthorized("nobody is logged in"))?;
    let is_shown = |csrf| is_same(csrf, &browser.csrf);
    if shown.changes && !shown.csrf.is_some_and(is_shown) {
        let why = "a change needs the csrf text of /v1/session (header X-CSRF-Token)";
        return Err(Problem::new("forbidden", why));
    }
    Ok(Caller::User(browser, cookie.to_owned()))
}

/// The session in a header Cookie (RFC 6265, 4.2.1).
fn session_of(header: &str) -> Option<&str> {
    let mut pairs = header
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='));
    pairs
        .find(|(name, _)| *name == COOKIE)
        .map(|(_, value)| value)
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
        shown.field("has_token", &self.token.is_some());
        shown.field("has_users", &self.door.is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_web::UsersFile;

    fn access(token: Option<&str>) -> Access {
        Access {
            token: token.map(|token| Zeroizing::new(token.to_owned())),
            door: None,
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
            origin: Some("http://127.0.0.1"),
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
            ..Shown::default()
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

    const PASSWORD: &str = "a long password";
    const BEARER: &str = "Bearer 0123456789abcdef";

    /// Access for users and for programs, and a viewer who is logged in.
    fn with_viewer() -> (tempfile::TempDir, Access, String, String) {
        let folder = tempfile::tempdir().unwrap();
        let file = UsersFile(folder.path().join("users"));
        for (name, role) in [("ada", Role::Admin), ("vic", Role::Viewer)] {
            file.set(name, Some(role), Some(PASSWORD)).unwrap();
        }
        let door = Arc::new(Door::open(file).unwrap());
        let opened = door.log_in("vic", PASSWORD, Instant::now()).unwrap();
        let cookie = format!("a=b; {COOKIE}={}", opened.cookie);
        let access = Access {
            door: Some(door),
            ..access(Some("0123456789abcdef"))
        };
        (folder, access, cookie, opened.browser.csrf)
    }

    fn of_page<'a>(cookie: &'a str, csrf: &'a str) -> Shown<'a> {
        Shown {
            host: Some("core.example"),
            cookie: Some(cookie),
            csrf: Some(csrf),
            origin: Some("https://core.example"),
            changes: true,
            authorization: None,
        }
    }

    #[test]
    fn users_come_with_a_cookie_and_programs_with_the_token() {
        let (_folder, access, cookie, csrf) = with_viewer();
        let changes = of_page(&cookie, &csrf);
        let looks = Shown {
            changes: false,
            csrf: None,
            origin: None,
            ..changes
        };
        let caller = access.permit(looks).unwrap();
        assert_eq!(access.permit(changes).unwrap(), caller);
        assert!(caller.may(Role::Viewer).is_ok() && caller.may(Role::Operator).is_err());
        let program = Shown {
            authorization: Some(BEARER),
            ..Shown::default()
        };
        assert_eq!(access.permit(program), Ok(Caller::Program));
        assert!(Caller::Program.may(Role::Admin).is_ok());
    }

    #[test]
    fn a_change_comes_from_the_core_s_own_page_and_shows_the_csrf_token() {
        let (_folder, access, cookie, csrf) = with_viewer();
        let changes = of_page(&cookie, &csrf);
        let with_origin = |origin| Shown {
            origin: Some(origin),
            ..changes
        };
        let with_csrf = |csrf| Shown { csrf, ..changes };
        let with_cookie = |cookie| Shown { cookie, ..changes };
        // A page that has the token is none of the core's.
        let with_token = Shown {
            authorization: Some(BEARER),
            ..changes
        };
        for (shown, why) in [
            (with_cookie(None), "unauthorized"),
            (with_cookie(Some("sluice_session=00")), "unauthorized"),
            (with_csrf(None), "forbidden"),
            (with_csrf(Some("00")), "forbidden"),
            (with_origin("https://attacker.example"), "forbidden"),
            (with_origin("null"), "forbidden"),
            (with_origin(""), "forbidden"),
            (with_token, "unauthorized"),
        ] {
            assert_eq!(reason(&access, shown), Some(why), "{shown:?}");
        }
    }
}
