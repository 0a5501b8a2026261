//! The arguments of each subcommand.

use super::core_args::CoreQuery;
use super::subscribers::{HnkeyArgs, SubscribersArgs};
use super::users::UsersArgs;
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
    /// Control socket (`control_socket` in the daemon's file) [default: /run/sluice/upf.sock, for commands of the core
    /// /run/sluice/core.sock]
    #[arg(long, value_name = "PATH", global = true)]
    pub socket: Option<PathBuf>,
    /// Send status, refusals, counters or reload to the core instead of the UPF
    #[arg(long, global = true)]
    pub core: bool,
    /// Print values that are zero or a default as well (session, sessions, counters)
    #[arg(long, global = true)]
    pub all: bool,
    /// Command
    #[command(subcommand)]
    pub query: CtlQuery,
}

impl CtlArgs {
    /// Socket of the daemon that has the answer.
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
    /// Page to print
    pub page: ReferencePage,
}

/// The pages of the operator's reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ReferencePage {
    /// Drop reasons with remedies
    Drops,
    /// Causes of refused PFCP requests with remedies
    Refusals,
    /// Metrics with their labels
    Metrics,
    /// Commands of `sluice ctl` with examples
    Ctl,
    /// Messages, IEs and feature bits of N4: enforced, refused or ignored
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

/// Commands of `sluice ctl`.
#[derive(Clone, PartialEq, Eq, Debug, Subcommand)]
pub enum CtlQuery {
    /// Version, uptime, number of sessions
    Status,
    /// All sessions: UE address, SEIDs, usage, SMF, number of filters
    Sessions,
    /// One session: tunnels, rules, usage
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
    /// Dropped packets by reason, and the balance of all packets
    Drops,
    /// Ports: link, queues, counters
    Ports,
    /// Workers: core, load, shards
    Workers,
    /// SMFs, gNBs and neighbouring UPFs
    Peers,
    /// Counters that are not zero; all of them with --all or --json
    Counters,
    /// Refused requests of SMFs with cause, IE and rule, their number by cause, and senders that got no answer
    Refusals,
    /// Applications for PDIs: flows, their source, number of PDRs that use them
    Applications,
    /// The UE that has a public address and port (or ICMP identifier) now; the log has earlier ones
    Nat {
        /// Public address and port
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
    /// Follow the packets of a UE, a tunnel or a peer through the UPF; with an IMSI also N1, N2 and N4
    Trace(TraceArgs),
    /// Read upf.yaml again, with --core core.yaml; sessions and UEs stay. If a change is impossible, nothing changes
    Reload,
    /// Set the number of active workers; the others sleep
    Scale {
        /// Number of workers, or auto: follow the load
        #[arg(value_name = "N|auto")]
        workers: Wanted,
    },
    /// Commands of a core.
    #[command(flatten)]
    Core(CoreQuery),
    /// Subscribers of a core, in their database: add, change, import, export, backup, restore
    Subscribers(Box<SubscribersArgs>),
    /// Home network keys, with which SIMs conceal the IMSI
    Hnkey(HnkeyArgs),
    /// Users of the core's screen, in their file: names, roles, passwords
    Users(UsersArgs),
}

/// `sluice ctl trace`
#[derive(Clone, PartialEq, Eq, Debug, Args)]
pub struct TraceArgs {
    /// Address of a UE or a peer (ue:ADDRESS or peer:ADDRESS if it is both), F-TEID of the UPF or a peer
    /// (ADDRESS/TEID, the TEID decimal or 0x...), or IMSI, which also asks the core
    #[arg(value_name = "UE|PEER|F-TEID|IMSI", value_parser = followable)]
    pub what: Followable,
    /// End after N packets
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// End after S seconds
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub seconds: Option<u32>,
    /// Write the frames, as received and as sent, to this pcapng file, with the verdicts as comments
    #[arg(short, long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// With an IMSI: control socket of the UPF that forwards the packets [default: /run/sluice/upf.sock]
    #[arg(long, value_name = "PATH")]
    pub upf_socket: Option<PathBuf>,
}

/// Key of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhichSession {
    /// UP SEID.
    Seid(Seid),
    /// UE address.
    Ue(IpAddr),
}

fn which_session(text: &str) -> Result<WhichSession, String> {
    let ue = text.parse().map(WhichSession::Ue);
    ue.or_else(|_| seid(text).map(WhichSession::Seid))
}

/// Filter of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Followable {
    /// Address of a UE; with IPv6 any address of its prefix.
    Ue(IpAddr),
    /// Address of a peer.
    Peer(IpAddr),
    /// Address of a UE or a peer; with IPv6 of a UE.
    Address(IpAddr),
    /// F-TEID of a tunnel.
    FTeid(IpAddr, u32),
    /// IMSI of a subscriber, whose messages are traced as well.
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

/// Shard to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Movable {
    /// Number of the shard.
    Shard(u16),
    /// The shard of a UE.
    Ue(IpAddr),
}

/// Wanted number of active workers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Fixed number.
    Workers(u8),
    /// Number by load.
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
  sluice ctl sessions             all sessions
  sluice ctl session 10.45.0.7    that UE's session with its usage; with --all every value
  sluice ctl rules 0x1f           a session's rules, as the packet path executes them
  sluice ctl drops --json         losses by reason, for scripts
  sluice ctl move 10.45.0.7 1     that UE's shard to worker 1
  sluice ctl reload               read upf.yaml again
  sluice ctl scale 2              two workers work, the others sleep
  sluice ctl scale auto           the number of workers follows the load
  sluice ctl trace 10.45.0.7      that UE's packets, until Ctrl-C
  sluice ctl trace 192.0.2.1/0x80000007 --count 100 -w tunnel.pcapng
  sluice ctl ues                  of the core: UEs with state, gNB, addresses
  sluice ctl flow 001010000000001 messages of this UE, step by step
  sluice ctl --core refusals      refused UEs and gNBs, with reason and remedy";

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
