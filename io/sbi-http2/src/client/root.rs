//! API root (TS 29.501, 4.4.1): scheme, host, port and prefix that requests to a function go to.

use std::fmt;

use http::Uri;
use http::uri::Scheme;

use crate::failure::Failure;

/// API root.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Root {
    pub(super) has_tls: bool,
    pub(super) host: String,
    pub(super) port: u16,
    /// Path before that of each service, without a slash at its end.
    pub(super) prefix: String,
}

impl Root {
    pub(super) fn read(text: &str) -> Result<Self, Failure> {
        let wrong = || {
            let wanted = "http://host:port or https://host:port is wanted";
            Failure::Root(format!("\"{text}\" is no API root: {wanted}"))
        };
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let has_tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(wrong()),
        };
        let host = uri.host().filter(|host| !host.is_empty());
        let host = host.ok_or_else(wrong)?;
        // Neither users nor ports that are no numbers.
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if authority.contains('@') || (authority != host && uri.port_u16().is_none()) {
            return Err(wrong());
        }
        Ok(Self {
            has_tls,
            host: host.to_ascii_lowercase(),
            port: uri.port_u16().unwrap_or(if has_tls { 443 } else { 80 }),
            prefix: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// Root and path that a Location names.
    pub(super) fn redirect(&self, location: &str) -> Result<(Self, String), Failure> {
        if location.starts_with('/') && !location.starts_with("//") {
            return Ok((self.clone(), location.to_owned()));
        }
        let root = Self::read(location)?;
        if self.has_tls && !root.has_tls {
            let what = format!("redirected from TLS to {location}");
            return Err(Failure::Root(what));
        }
        let uri: Uri = location.parse().unwrap_or_default();
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        Ok((root, path.to_owned()))
    }

    /// Scheme, host and port.
    pub(super) fn origin(&self) -> String {
        let scheme = if self.has_tls { "https" } else { "http" };
        format!("{scheme}://{self}")
    }

    /// Host as an address or name, without the brackets of IPv6.
    pub(super) fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_have_scheme_host_port_and_prefix() {
        let root = Root::read("https://AMF.example/a/b/").expect("a root");
        assert_eq!((root.port, root.prefix.as_str()), (443, "/a/b"));
        assert_eq!(root.origin(), "https://amf.example:443");
        let root = Root::read("http://[::1]:8080").expect("a root");
        assert_eq!((root.bare_host(), root.port), ("::1", 8080));
        assert_eq!(root.prefix, "");
        for text in [
            "",
            "localhost:80",
            "/a",
            "ftp://h",
            "http://",
            "http://h:99999",
            "http://a@h:80",
        ] {
            assert!(Root::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_redirection_keeps_or_replaces_the_root_and_never_leaves_tls() {
        let root = Root::read("https://a:1").expect("a root");
        let (same, path) = root.redirect("/x?y=1").expect("a path");
        assert_eq!((same, path.as_str()), (root.clone(), "/x?y=1"));
        let (other, path) = root.redirect("https://b/x?y=1").expect("a URI");
        assert_eq!((other.host.as_str(), path.as_str()), ("b", "/x?y=1"));
        assert!(root.redirect("http://b/x").is_err());
        assert!(root.redirect("x").is_err());
    }
}
