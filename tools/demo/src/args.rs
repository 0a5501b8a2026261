//! The arguments of `sluice demo`.

use crate::UES_MAX;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `sluice demo`
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// End by itself when all checks are done
    #[arg(long)]
    pub once: bool,
    /// Write one JSON object to standard output
    #[arg(long)]
    pub json: bool,
    /// UEs that attach and send traffic, 1 to 64
    #[arg(long, value_name = "N", default_value = "3", value_parser = ues)]
    pub ues: u32,
    /// The part with `sluice core` alone: UEs register over N1 and N2 through SCTP
    #[arg(long, conflicts_with_all = ["driver", "upf"])]
    pub core: bool,
    /// The part with an emulated SMF alone, as with another driver than af_packet
    #[arg(long)]
    pub upf: bool,
    /// How the functions of the core reach each other; without it first on a thread, then by rings (with --core: on a
    /// thread)
    #[arg(long, value_enum, conflicts_with = "upf")]
    pub wiring: Option<Wiring>,
    /// How packets get between the namespaces and the UPF
    #[arg(long, value_enum, default_value_t = Driver::AfPacket)]
    pub driver: Driver,
}

impl DemoArgs {
    /// Whether the UPF with an emulated SMF is a part.
    pub fn shows_upf(&self) -> bool {
        !self.core
    }

    /// Wirings of the core that are shown, one after the other.
    pub fn wirings(&self) -> &[Wiring] {
        match (&self.wiring, self.core) {
            (Some(one), _) => std::slice::from_ref(one),
            (None, true) => &[Wiring::Thread],
            (None, false) => &Wiring::ALL,
        }
    }

    /// Whether the core is a part.
    pub fn shows_core(&self) -> bool {
        self.core || !self.upf && self.driver == Driver::AfPacket
    }
}

/// Shown by `sluice demo --help`.
pub const DEMO_EXAMPLES: &str = "\
Examples:
  sluice demo                           the UPF with an emulated SMF; then with the core, until Ctrl-C
  sluice demo --once --json             the same as a test: checks_passed, checks_failed, loss_packets
  sluice demo --core --once             the core alone: registration, sessions, paging, handover, QoS flows
  sluice demo --core --wiring ring      the same with a program for each function that may have one; socket, http2: by these
  sluice demo --upf                     the UPF with an emulated SMF, round after round until Ctrl-C
  sluice demo --ues 10 --driver af_xdp  more UEs, over XDP sockets

What passes N3 and N4 is captured and judged by tshark. Of the UEs' TCP and UDP it reads one packet
in 64 whole; of all, the headers: fields that change from packet to packet are checked in each by
the demo, the others by tshark, in 16 packets of each kind.";

fn ues(text: &str) -> Result<u32, String> {
    let number = text.parse().ok();
    number
        .filter(|number| (1..=UES_MAX).contains(number))
        .ok_or_else(|| format!("expected a whole number from 1 to {UES_MAX}"))
}

/// How the functions of the core reach each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Wiring {
    /// All on one thread
    Thread,
    /// A program for each function that may have one, by references in shared memory
    Ring,
    /// A program for each function that may have one, by sockets
    Socket,
    /// A program for each function that may have one, by HTTP/2 as the TS has it
    Http2,
}

impl Wiring {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 2] = [Self::Thread, Self::Ring];

    /// As core.yaml has it.
    pub(super) fn transport(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Ring => "ring",
            Self::Socket => "socket",
            Self::Http2 => "http2",
        }
    }
}

/// How packets get in and out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Driver {
    /// Packet sockets: every kernel has them
    #[value(name = "af_packet")]
    AfPacket,
    /// XDP sockets: faster, kernel 5.4 or newer
    #[value(name = "af_xdp")]
    AfXdp,
    /// Shared memory between processes: another one brings packets to the kernel and back
    #[value(name = "memif")]
    Memif,
}

/// `sluice demo bridge`
#[derive(Clone, Debug, Args)]
pub struct BridgeArgs {
    /// File into which the number of packets is written that were lost for full rings
    #[arg(long, value_name = "FILE")]
    pub lost: PathBuf,
    /// Device arguments of DPDK ports; what comes from the first leaves by the second
    #[arg(num_args = 2.., required = true)]
    pub devices: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;

    fn parsed<A: Args>(line: &str) -> Result<A, clap::Error> {
        let command = A::augment_args(Command::new("test"));
        let matches = command.try_get_matches_from(line.split_whitespace())?;
        A::from_arg_matches(&matches)
    }

    #[test]
    fn the_core_has_no_packet_driver() {
        let args: DemoArgs = parsed("test --core --once --ues 2").unwrap();
        assert!(args.core && args.ues == 2);
        assert!(parsed::<DemoArgs>("test --core --driver af_xdp").is_err());
        assert!(parsed::<DemoArgs>("test --core --upf").is_err());
        assert!(parsed::<DemoArgs>("test --upf --wiring ring").is_err());
    }

    #[test]
    fn both_parts_are_shown_unless_one_is_asked_for() {
        let parts = |line: &str| {
            let args = parsed::<DemoArgs>(line).unwrap();
            (args.shows_upf(), args.shows_core())
        };
        assert_eq!(parts("test"), (true, true));
        assert_eq!(parts("test --core"), (false, true));
        assert_eq!(parts("test --upf"), (true, false));
        assert_eq!(parts("test --driver memif"), (true, false));
    }

    #[test]
    fn the_demo_has_defaults() {
        let args: DemoArgs = parsed("test").unwrap();
        assert_eq!(
            (args.ues, args.driver, args.once),
            (3, Driver::AfPacket, false)
        );
        let args: DemoArgs = parsed("test --once --json --ues 5 --driver af_xdp").unwrap();
        assert_eq!((args.ues, args.driver, args.once), (5, Driver::AfXdp, true));
        assert!(parsed::<DemoArgs>("test --ues 0").is_err());
        assert!(parsed::<DemoArgs>("test --driver carrier-pigeon").is_err());
    }
}
