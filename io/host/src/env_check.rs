//! Checks of the environment (tools, capabilities, huge pages), with messages for the operator and
//! exit code 3.

use std::path::Path;
use std::{fmt, io};

use crate::tool;

/// Bits of capabilities(7), with their names.
const NET_ADMIN: (u32, &str) = (12, "CAP_NET_ADMIN");
const NET_RAW: (u32, &str) = (13, "CAP_NET_RAW");
const SYS_ADMIN: (u32, &str) = (21, "CAP_SYS_ADMIN");

/// Something that a command cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Making namespaces and interfaces, and packet sockets.
    NetworkAdmin,
    /// Packet sockets on interfaces that are there: net_af_packet, net_pcap.
    PacketSockets,
    /// XDP sockets: a program on the interface, and memory that the kernel writes to.
    XdpSockets,
    /// Making TAP devices.
    TapDevices,
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

/// Requirements of `needs` that this machine lacks; empty when all are met.
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

/// Whether files can be made in a folder.
///
/// # Errors
/// The kernel's reason why not.
pub fn is_writable(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(folder, rustix::fs::Access::WRITE_OK)?)
}

fn why_not(need: Need) -> Option<String> {
    match need {
        Need::NetworkAdmin => lacking(
            "namespaces and interfaces",
            &[NET_ADMIN, NET_RAW, SYS_ADMIN],
        ),
        Need::PacketSockets => lacking("packet sockets", &[NET_RAW]),
        Need::XdpSockets => lacking("XDP sockets", &[NET_ADMIN, NET_RAW, SYS_ADMIN]),
        Need::TapDevices => lacking("TAP devices", &[NET_ADMIN]),
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

fn lacking(what: &str, wanted: &[(u32, &str)]) -> Option<String> {
    capabilities_lacking(what, wanted, effective_capabilities())
}

fn capabilities_lacking(what: &str, wanted: &[(u32, &str)], effective: u64) -> Option<String> {
    let lacking: Vec<_> = wanted
        .iter()
        .filter(|(bit, _)| effective >> bit & 1 == 0)
        .map(|(_, name)| *name)
        .collect();
    let list = lacking.join(", ");
    (!lacking.is_empty()).then(|| {
        format!(
            "{what} need {list}: run as root (sudo), as a service with AmbientCapabilities={}, or \
             give the container `--privileged` or these capabilities with `--cap-add`",
            lacking.join(" ")
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
        let wanted = [NET_ADMIN, NET_RAW, SYS_ADMIN];
        let text = capabilities_lacking("links", &wanted, 1 << NET_RAW.0).expect("lacks two");
        assert!(
            text.starts_with("links need CAP_NET_ADMIN, CAP_SYS_ADMIN: run as root"),
            "{text}"
        );
        assert_eq!(capabilities_lacking("links", &wanted, u64::MAX), None);
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
