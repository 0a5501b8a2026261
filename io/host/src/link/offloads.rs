//! Interface offloads: checksums, segmentation, and receive coalescing.

use super::{Link, unexpected};
use crate::{HostError, tool};

/// Features of ethtool that [`Link::switch_offloads_off`] switches off. `ufo` is gone from
/// newer kernels, where ethtool takes it silently.
const SWITCHES: [&str; 8] = [
    "tx",
    "tso",
    "gso",
    "gro",
    "ufo",
    "tx-udp-segmentation",
    "rx-gro-list",
    "rx-udp-gro-forwarding",
];

/// Feature names of `ethtool -k` that show whether those switches took. The sum line
/// "tx-checksumming" is not among them: its parts are what counts.
const WATCHED: [&str; 7] = [
    "tx-checksum-",
    "tx-tcp",
    "tx-udp-segmentation",
    "udp-fragmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "rx-gro",
];

impl Link {
    /// Switches transmit checksums, TSO, GSO, GRO and UFO off and reads back that they are:
    /// a packet socket or AF_XDP peer then sees whole, finished packets.
    pub fn switch_offloads_off(&self) -> Result<(), HostError> {
        let mut command = self.ns.command("ethtool");
        command.args(["-K", self.name()]);
        for switch in SWITCHES {
            command.args([switch, "off"]);
        }
        // ethtool fails when one of many is unknown to the kernel; the reading decides.
        let switched = tool::run(&mut command);
        let on = self.offloads_on()?;
        if on.is_empty() {
            return Ok(());
        }
        switched?;
        Err(HostError::OffloadsOn {
            interface: self.name().to_owned(),
            features: on,
        })
    }

    /// The offloads of that kind which are on, as ethtool names them; empty when all are off.
    pub fn offloads_on(&self) -> Result<Vec<String>, HostError> {
        let text = tool::run(self.ns.command("ethtool").args(["-k", self.name()]))?;
        let on = offloads_on_in(&text);
        on.ok_or_else(|| unexpected("ethtool", &text))
    }
}

/// `None` when the text is no feature list.
fn offloads_on_in(text: &str) -> Option<Vec<String>> {
    let features: Vec<_> = text
        .lines()
        .filter_map(|line| line.trim().split_once(": "))
        .collect();
    features
        .iter()
        .find(|(name, _)| name.starts_with("tx-checksum-"))?;
    let watched = |name: &str| WATCHED.iter().any(|prefix| name.starts_with(prefix));
    let on = features
        .iter()
        .filter(|(name, state)| watched(name) && state.starts_with("on"));
    Some(on.map(|(name, _)| (*name).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offload_that_is_on_is_named_and_a_fixed_off_is_not() {
        let text = "Features for v0:\nrx-checksumming: on\ntx-checksumming: on\n\
            \ttx-checksum-ipv4: off [fixed]\n\ttx-checksum-ip-generic: on\n\
            generic-receive-offload: off\ntx-udp-segmentation: off [requested on]\n";
        assert_eq!(
            offloads_on_in(text).expect("list"),
            ["tx-checksum-ip-generic"]
        );
        assert_eq!(offloads_on_in("Cannot get device"), None);
    }
}
