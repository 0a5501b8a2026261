//! The arguments of each subcommand.

use super::core_args::CoreQuery;
use super::subscribers::{HnkeyArgs, SubscribersArgs};
use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;
use sluice_program::control::{CORE_SOCKET, UPF_SOCKET};
use sluice_wire::ids::Seid;
use std::net::{IpAddr, SocketAddrV4};
use std::path::{Path, PathBuf};

/// `sluice ctl`
#[derive(Clone, Debug, Args)]
pub struct CtlArgs {
    /// Write one JSON object to standard output
    #[arg(long, global = true)]
    pub json: bool,
    /// The control socket (control_socket in the daemon's file); by default that of the UPF,
    /// /run/sluice/upf.sock, or for questions to the core /run/sluice/core.sock
    #[arg(long, value_name = "PATH", global = true)]
    pub socket: Option<PathBuf>,
    /// Ask the core what a UPF can be asked, too: status, refusals, counters, reload
    #[arg(long, global = true)]
    pub core: bool,
    /// Show also what is zero or a default: of session, sessions and counters
    #[arg(long, global = true)]
    pub all: bool,
    /// What to ask for
    #[command(subcommand)]
    pub query: CtlQuery,
}

impl CtlArgs {
    /// Whom to ask.
    pub fn socket(&self) -> &Path {
        let of_core = |query: &CtlQuery| {
            matches!(
                query,
                CtlQuery::Core(_) | CtlQuery::Subscribers(_) | CtlQuery::Hnkey(_)
            )
        };
        let of_subscriber = matches!(&self.query, CtlQuery::Trace(args)
            if matches!(args.what, Followable::Subscriber(_)));
        let is_core = self.core || of_subscriber || of_core(&self.query);
        let usual = if is_core { CORE_SOCKET } else { UPF_SOCKET };
        self.socket.as_deref().unwrap_or(Path::new(usual))
    }
}

/// `sluice reference`
#[derive(Clone, Copy, Debug, Args)]
pub struct ReferenceArgs {
    /// Which page
    pub page: ReferencePage,
}

/// The pages of the operator's reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ReferencePage {
    /// Every drop reason, and what to do about it
    Drops,
    /// Every cause of a refused request, and what to do about it
    Refusals,
    /// Every metric with its labels
    Metrics,
    /// Every question to a running UPF
    Ctl,
    /// Every message, IE and feature bit of N4: enforced, refused or ignored
    N4,
}

/// `sluice completion`
#[derive(Clone, Copy, Debug, Args)]
pub struct CompletionArgs {
    /// The shell
    pub shell: Shell,
}

/// `sluice man`
#[derive(Clone, Debug, Args)]
pub struct ManArgs {
    /// Write a page for each subcommand into this folder; otherwise the first one to standard output
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// What a running UPF or core is asked.
#[derive(Clone, PartialEq, Eq, Debug, Subcommand)]
pub enum CtlQuery {
    /// Version, uptime, how many sessions
    Status,
    /// All sessions: UE address, SEIDs, usage, SMF, how many filters
    Sessions,
    /// One session: rules, tunnels, usage
    Session {
        /// The UE's address, or the UPF's SEID (decimal or 0x...)
        #[arg(value_name = "UE|SEID", value_parser = which_session)]
        which: WhichSession,
    },
    /// A session's rules as the packet path executes them
    Rules {
        /// The UE's address, or the UPF's SEID (decimal or 0x...)
        #[arg(value_name = "UE|SEID", value_parser = which_session)]
        which: WhichSession,
    },
    /// Where packets were lost, by reason, and that the ledger balances
    Drops,
    /// Ports: link, queues, counters
    Ports,
    /// Workers: core, load, shards
    Workers,
    /// SMFs, gNBs and neighbouring UPFs
    Peers,
    /// Counters that are not zero; with --all, and with --json, all of them
    Counters,
    /// Requests of SMFs that were refused: who, why, which IE and rule, and all by cause; and who was not answered
    Refusals,
    /// Applications that PDRs may name: their flows, who told them, and how many PDRs have them
    Applications,
    /// Which UE has a public address and port (or ICMP identifier) now; the log says who had it
    Nat {
        /// ADDRESS:PORT
        #[arg(value_name = "ADDRESS:PORT")]
        public: SocketAddrV4,
    },
    /// Move a shard of sessions to a worker, while its packets flow
    Move {
        /// The shard (0 to 4095), or a UE's address: its shard
        #[arg(value_parser = movable)]
        what: Movable,
        /// The worker's number (see `workers`)
        to: u8,
    },
    /// Follow the packets of a UE, a tunnel or a peer through every stage, with each one's verdict
    Trace(TraceArgs),
    /// Read upf.yaml again: gateways, routes, neighbours, proxies, peers, clamps, DSCP, Router Advertisements, pools,
    /// predefined rules and applications change, and sessions stay. With --core core.yaml, and UEs stay
    Reload,
    /// Let this many workers work, and the others sleep; packets keep flowing
    Scale {
        /// How many, or auto: as many as the load asks for
        #[arg(value_name = "N|auto")]
        workers: Wanted,
    },
    /// Of a core.
    #[command(flatten)]
    Core(CoreQuery),
    /// Subscribers of a core, in their database: add, change, import, export, backup, restore
    Subscribers(Box<SubscribersArgs>),
    /// Keys of the home network, for which SIMs conceal their identity
    Hnkey(HnkeyArgs),
}

/// `sluice ctl trace`
#[derive(Clone, PartialEq, Eq, Debug, Args)]
pub struct TraceArgs {
    /// A UE's or a peer's address (ue:ADDRESS, peer:ADDRESS where it is both), or an F-TEID,
    /// ours or a peer's: ADDRESS/TEID, the TEID decimal or 0x...; an IMSI asks the core as well
    #[arg(value_name = "UE|PEER|F-TEID|IMSI", value_parser = followable)]
    pub what: Followable,
    /// End after so many packets
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// End after so many seconds
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub seconds: Option<u32>,
    /// Write the frames, as received and as sent, to this pcapng file, with the verdicts as comments
    #[arg(short, long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// With an IMSI: the control socket of the UPF, whose packets are followed [default: /run/sluice/upf.sock]
    #[arg(long, value_name = "PATH")]
    pub upf_socket: Option<PathBuf>,
}

/// Which session is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhichSession {
    /// The one of this UP SEID.
    Seid(Seid),
    /// The one of this UE.
    Ue(IpAddr),
}

fn which_session(text: &str) -> Result<WhichSession, String> {
    let ue = text.parse().map(WhichSession::Ue);
    ue.or_else(|_| seid(text).map(WhichSession::Seid))
}

/// Whose packets can be followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Followable {
    /// A UE's, of IPv6 any of its addresses.
    Ue(IpAddr),
    /// A peer's.
    Peer(IpAddr),
    /// Of one of both; of IPv6 a UE's.
    Address(IpAddr),
    /// A tunnel's.
    FTeid(IpAddr, u32),
    /// A subscriber's, by its IMSI, and all that is said of it.
    Subscriber(String),
}

fn followable(text: &str) -> Result<Followable, String> {
    let address = |text: &str| text.parse().ok();
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    let is_imsi = (6..=15).contains(&text.len()) && text.bytes().all(|one| one.is_ascii_digit());
    let found = if is_imsi {
        Some(Followable::Subscriber(text.to_owned()))
    } else if let Some(ue) = text.strip_prefix("ue:") {
        address(ue).map(Followable::Ue)
    } else if let Some(peer) = text.strip_prefix("peer:") {
        address(peer).map(Followable::Peer)
    } else if let Some((at, teid)) = text.split_once('/') {
        let teid = number(teid).filter(|teid| *teid != 0);
        address(at)
            .zip(teid)
            .map(|(at, teid)| Followable::FTeid(at, teid))
    } else {
        address(text).map(Followable::Address)
    };
    found.ok_or_else(|| {
        "expected an address such as 10.45.0.7 or 2001:db8::7 (or ue:..., peer:...), an F-TEID \
         such as 192.0.2.1/0x80000007, or an IMSI such as 001010000000001"
            .to_owned()
    })
}

/// What can be moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Movable {
    /// A shard by its number.
    Shard(u16),
    /// The shard of a UE.
    Ue(IpAddr),
}

/// How many workers are to work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// So many.
    Workers(u8),
    /// As the load asks for it.
    Auto,
}

impl core::str::FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => text
                .parse()
                .map(Self::Workers)
                .map_err(|_| "expected a number of workers, or auto".to_owned()),
        }
    }
}

fn movable(text: &str) -> Result<Movable, String> {
    let shard = text.parse().ok().filter(|shard| *shard < 4096);
    let ue = || text.parse().ok().map(Movable::Ue);
    shard
        .map(Movable::Shard)
        .or_else(ue)
        .ok_or_else(|| "expected a shard from 0 to 4095, or a UE's address".to_owned())
}

/// Shown by `sluice ctl --help`.
pub const CTL_EXAMPLES: &str = "\
Examples:
  sluice ctl sessions             what is there
  sluice ctl session 10.45.0.7    that UE's session with its usage; with --all every value
  sluice ctl rules 0x1f           what happens to its packets
  sluice ctl drops --json         losses by reason, for scripts
  sluice ctl move 10.45.0.7 1     that UE's shard to worker 1
  sluice ctl reload               upf.yaml is read again
  sluice ctl scale 2              two workers work, the others sleep
  sluice ctl scale auto           as many as the load asks for
  sluice ctl trace 10.45.0.7      that UE's packets, until Ctrl-C
  sluice ctl trace 192.0.2.1/0x80000007 --count 100 -w tunnel.pcapng
  sluice ctl ues                  of the core: UEs with state, gNB, addresses
  sluice ctl flow 001010000000001 what was said of this UE, step by step
  sluice ctl --core refusals      whom the core refused, why, and what to do about it";

fn seid(text: &str) -> Result<Seid, String> {
    let value = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    value
        .map(Seid)
        .map_err(|_| "expected a SEID such as 31 or 0x1f".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn parsed<A: Args>(line: &str) -> Result<A, clap::Error> {
        let command = A::augment_args(Command::new("test"));
        let matches = command.try_get_matches_from(line.split_whitespace())?;
        A::from_arg_matches(&matches)
    }

    #[test]
    fn ctl_takes_its_options_before_and_after_the_query() {
        for line in ["test --json session 0x1f", "test session 31 --json"] {
            let args: CtlArgs = parsed(line).unwrap();
            assert_eq!(
                args.query,
                CtlQuery::Session {
                    which: WhichSession::Seid(Seid(31))
                }
            );
            assert!(args.json);
            assert_eq!(args.socket(), Path::new(UPF_SOCKET));
        }
        for (line, socket) in [
            ("test ues", CORE_SOCKET),
            ("test status", UPF_SOCKET),
            ("test --core status", CORE_SOCKET),
            ("test ues --socket /tmp/x", "/tmp/x"),
        ] {
            let args: CtlArgs = parsed(line).unwrap();
            assert_eq!(args.socket(), Path::new(socket), "{line}");
        }
        assert!(parsed::<CtlArgs>("test session x").is_err());
        let line = "test trace 192.0.2.1/0x10 --count 5 --seconds 9 -w f.pcapng";
        let CtlQuery::Trace(args) = parsed::<CtlArgs>(line).unwrap().query else {
            panic!("{line}");
        };
        let n3 = Ipv4Addr::new(192, 0, 2, 1);
        assert_eq!(
            (args.what, args.count),
            (Followable::FTeid(n3.into(), 16), Some(5))
        );
        assert_eq!(args.write, Some(PathBuf::from("f.pcapng")));
        for (text, what) in [
            ("192.0.2.1", Some(Followable::Address(n3.into()))),
            ("ue:192.0.2.1", Some(Followable::Ue(n3.into()))),
            (
                "2001:db8::7",
                Some(Followable::Address(
                    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7).into(),
                )),
            ),
            (
                "peer:2001:db8::7",
                Some(Followable::Peer(
                    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7).into(),
                )),
            ),
            ("peer:192.0.2.1", Some(Followable::Peer(n3.into()))),
            ("192.0.2.1/16", Some(Followable::FTeid(n3.into(), 16))),
            ("192.0.2.1/0", None),
            ("192.0.2.1/0x100000000", None),
            (
                "001010000000001",
                Some(Followable::Subscriber("001010000000001".to_owned())),
            ),
            ("peer:gnb", None),
            ("", None),
        ] {
            assert_eq!(followable(text).ok(), what, "{text}");
        }
        assert!(parsed::<CtlArgs>("test").is_err());
    }
}
