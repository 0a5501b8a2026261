//! What the environment lacks, in words for an operator (exit code 3).

use std::fmt;

use crate::tool;

/// Bits of capabilities(7).
const NET_ADMIN: u32 = 12;
const NET_RAW: u32 = 13;
const SYS_ADMIN: u32 = 21;

/// Something that a command cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Making namespaces and interfaces, and packet sockets.
    NetworkAdmin,
    /// /dev/net/tun.
    Tun,
    /// A program in PATH.
    Tool(&'static str),
}

/// A need that is not met; its text says what is missing and how to get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    need: Need,
    detail: String,
}

impl Missing {
    /// Which need.
    pub fn need(&self) -> Need {
        self.need
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

/// What of `needs` is missing here; empty when all is there.
pub fn missing(needs: &[Need]) -> Vec<Missing> {
    needs
        .iter()
        .filter_map(|&need| why_not(need).map(|detail| Missing { need, detail }))
        .collect()
}

/// Whether namespaces, interfaces and packet sockets can be made.
pub fn is_network_admin() -> bool {
    why_not(Need::NetworkAdmin).is_none()
}

fn why_not(need: Need) -> Option<String> {
    match need {
        Need::NetworkAdmin => capabilities_lacking(effective_capabilities()),
        Need::Tun => tun_lacking(),
        Need::Tool(program) => (!tool::is_installed(program)).then(|| {
            let package = tool::package_of(program).unwrap_or(program);
            format!("`{program}` is not installed: apt-get install {package}")
        }),
    }
}

fn tun_lacking() -> Option<String> {
    let error = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/net/tun")
        .err()?;
    Some(format!(
        "/dev/net/tun cannot be opened ({error}): load the module with `modprobe tun`, or give \
         the container the device with `--device /dev/net/tun`"
    ))
}

fn capabilities_lacking(effective: u64) -> Option<String> {
    let wanted = [
        (NET_ADMIN, "CAP_NET_ADMIN"),
        (NET_RAW, "CAP_NET_RAW"),
        (SYS_ADMIN, "CAP_SYS_ADMIN"),
    ];
    let lacking: Vec<_> = wanted
        .iter()
        .filter(|(bit, _)| effective >> bit & 1 == 0)
        .map(|(_, name)| *name)
        .collect();
    let list = lacking.join(", ");
    (!lacking.is_empty()).then(|| {
        format!(
            "namespaces and interfaces need {list}: run as root (sudo), or give the container \
             `--privileged` or these capabilities with `--cap-add`"
        )
    })
}

fn effective_capabilities() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_capability_that_is_missing_is_named() {
        let text = capabilities_lacking(1 << NET_RAW).expect("lacks two");
        assert!(text.contains("CAP_NET_ADMIN, CAP_SYS_ADMIN:"), "{text}");
        assert_eq!(capabilities_lacking(u64::MAX), None);
    }

    #[test]
    fn a_missing_tool_says_how_to_get_it() {
        let missing = missing(&[Need::Tool("ls"), Need::Tool("sluice-no-such-tool")]);
        assert_eq!(missing.len(), 1);
        assert!(
            missing[0].to_string().contains("apt-get install"),
            "{}",
            missing[0]
        );
    }
}
