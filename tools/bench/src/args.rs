//! The arguments of `sluice bench`.

use super::path::topology::PEERS_MAX;
use super::path::variant::{DEFAULT, names};
use super::watch::WatchArgs;
use super::watch::command::CompareArgs;
use super::watch::history::RunArguments;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// `sluice bench`
#[derive(Clone, Debug, Args)]
pub struct BenchArgs {
    /// Benchmark
    #[command(subcommand)]
    pub kind: BenchKind,
}

/// Benchmarks.
#[derive(Clone, Debug, Subcommand)]
pub enum BenchKind {
    /// The packet path on one core, from memory to memory
    #[command(after_help = include_str!("../help/path.txt"))]
    Path(PathArgs),
    /// The N4 loop on one core, its worker and the load on another
    #[command(after_help = include_str!("../help/pfcp.txt"))]
    Pfcp(PfcpArgs),
    /// The packet path over DPDK ports, with the source in another process
    #[command(after_help = include_str!("../help/port.txt"))]
    Port(PortArgs),
    /// The far end of `port`, which starts it
    #[command(hide = true)]
    Peer(PeerArgs),
    /// Moves of sessions between two workers under traffic, and the execution models
    #[command(after_help = include_str!("../help/elastic.txt"))]
    Elastic(ElasticArgs),
    /// Registrations with the 5G core, per CPU-second, and what a registered UE takes
    #[command(after_help = include_str!("../help/core.txt"))]
    Core(CoreArgs),
    /// gNB and UEs of `core`, which starts them
    #[command(hide = true)]
    CoreRan(CoreRanArgs),
    /// Requests of service-based interfaces by HTTP/2, per CPU-second, beside an echo of them
    #[command(after_help = include_str!("../help/sbi.txt"))]
    Sbi(SbiArgs),
    /// The rule of a packet among many SDF filters: one by one, as the path finds it, by a classifier
    #[command(after_help = include_str!("../help/filters.txt"))]
    Filters(FiltersArgs),
    /// Runs that --history kept, one beside the other: what became slower
    #[command(after_help = include_str!("../help/compare.txt"))]
    Compare(CompareArgs),
}

/// `sluice bench elastic`
#[derive(Clone, Debug, Args)]
pub struct ElasticArgs {
    /// How many sessions
    #[arg(long, value_name = "N", default_value = "100000",
        value_parser = clap::value_parser!(u32).range(4_096..=4_000_000))]
    pub sessions: u32,
    /// How many shards are moved, one after the other
    #[arg(long, value_name = "N", default_value = "20000",
        value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    pub moves: u32,
    /// Packets that come to each worker meanwhile, in millions per second
    #[arg(long, value_name = "MPPS", default_value = "1", value_parser = within(0.01, 100.0, MPPS))]
    pub rate_mpps: f64,
    /// Repetitions at full load; median, minimum and maximum are reported
    #[arg(long, value_name = "N", default_value = "25",
        value_parser = clap::value_parser!(u16).range(5..))]
    pub reps: u16,
    /// Length of one repetition in seconds
    #[arg(long, value_name = "S", default_value = "0.12", value_parser = within(0.001, 600.0, "seconds from 0.001 to 600"))]
    pub seconds: f64,
    /// CPUs of the two workers; otherwise the first two
    #[arg(long, value_name = "CPU,CPU", value_delimiter = ',', num_args = 2)]
    pub cpus: Vec<u16>,
    /// How it is told, kept and compared
    #[command(flatten)]
    pub watch: WatchArgs,
}

/// `sluice bench filters`
#[derive(Clone, Debug, Args)]
pub struct FiltersArgs {
    /// Repetitions; median, minimum and maximum are reported
    #[arg(long, value_name = "N", default_value = "5",
        value_parser = clap::value_parser!(u16).range(3..))]
    pub reps: u16,
    /// Length of one repetition in seconds
    #[arg(long, value_name = "S", default_value = "0.02", value_parser = within(0.0001, 600.0, "seconds from 0.0001 to 600"))]
    pub seconds: f64,
    /// Measure only results with this in their names, such as exact or own
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub only: String,
    /// How it is told, kept and compared
    #[command(flatten)]
    pub watch: WatchArgs,
}

/// `sluice bench core`
#[derive(Clone, Debug, Args)]
pub struct CoreArgs {
    /// Registrations of one repetition
    #[arg(long, value_name = "N", default_value = "2000",
        value_parser = clap::value_parser!(u32).range(64..=50_000))]
    pub registrations: u32,
    /// Repetitions; median, minimum and maximum are reported
    #[arg(long, value_name = "N", default_value = "5",
        value_parser = clap::value_parser!(u16).range(3..=100))]
    pub reps: u16,
    /// UEs that are registered together in the end
    #[arg(long, value_name = "N", default_value = "100000",
        value_parser = clap::value_parser!(u32).range(4_096..=1_000_000))]
    pub ues: u32,
    /// Seconds of the core's time that a storm of registrations lasts, three times as many as it can do; 0: none
    #[arg(long, value_name = "S", default_value = "60", value_parser = clap::value_parser!(u64).range(0..=3_600))]
    pub storm_s: u64,
    /// Seconds that registered UEs come for service and go idle, for `--only soak`
    #[arg(long, value_name = "S", default_value = "600", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub soak_s: u64,
    /// How many of them come per second
    #[arg(long, value_name = "N", default_value = "500", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub soak_hz: u64,
    /// One part alone; otherwise registrations and the storm
    #[arg(long, value_enum, value_name = "PART")]
    pub only: Option<CorePart>,
    /// How it is told, kept and compared
    #[command(flatten)]
    pub watch: WatchArgs,
}

/// Parts of `sluice bench core`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CorePart {
    /// Cost of registrations, and memory of registered UEs
    Registrations,
    /// More registrations than can be done
    Storm,
    /// A call that does nothing, and registrations, on a thread and by rings between hosts
    Wiring,
    /// Registered UEs that come and go for long
    Soak,
}

/// `sluice bench sbi`
#[derive(Clone, Debug, Args)]
pub struct SbiArgs {
    /// Calls of one repetition
    #[arg(long, value_name = "N", default_value = "20000",
        value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    pub requests: u32,
    /// Registrations of one repetition
    #[arg(long, value_name = "N", default_value = "500",
        value_parser = clap::value_parser!(u32).range(1..=50_000))]
    pub registrations: u32,
    /// Connections whose memory is measured
    #[arg(long, value_name = "N", default_value = "400",
        value_parser = clap::value_parser!(u16).range(16..=10_000))]
    pub connections: u16,
    /// Repetitions; median, minimum and maximum are reported
    #[arg(long, value_name = "N", default_value = "5",
        value_parser = clap::value_parser!(u16).range(5..=100))]
    pub reps: u16,
    /// Measure only results with this in their names, such as mix or nrf
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub only: String,
    /// How it is told, kept and compared
    #[command(flatten)]
    pub watch: WatchArgs,
}

/// `sluice bench core-ran`
#[derive(Clone, Debug, Args)]
pub struct CoreRanArgs {
    /// How UEs tell who they are
    #[arg(long)]
    pub identity: String,
    /// How many register
    #[arg(long)]
    pub registrations: u32,
    /// UDP port of the core
    #[arg(long)]
    pub port: u16,
}

/// Arguments that `path` and `port` share.
#[derive(Clone, Debug, Args)]
pub struct PacketArgs {
    /// How many sessions, one measurement for each number
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_values_t = [1_000, 1_000_000],
        value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    pub sessions: Vec<u32>,
    /// Repetitions; median, minimum and maximum are reported
    #[arg(long, value_name = "N", default_value = "25",
        value_parser = clap::value_parser!(u16).range(5..))]
    pub reps: u16,
}

/// `sluice bench path`
#[derive(Clone, Debug, Args)]
pub struct PathArgs {
    /// How much is measured
    #[command(flatten)]
    pub packets: PacketArgs,
    /// Length of one repetition in seconds
    #[arg(long, value_name = "S", default_value = "0.12", value_parser = within(0.001, 600.0, "seconds from 0.001 to 600"))]
    pub seconds: f64,
    /// Measure only results with this in their names, such as ul/ or path/dl
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub only: String,
    /// Which rules sessions have
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = DEFAULT,
        value_parser = PossibleValuesParser::new(names()))]
    pub rules: Vec<String>,
    /// CPU to stay on; otherwise the kernel chooses
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<u16>,
    /// How it is told, kept and compared
    #[command(flatten)]
    pub watch: WatchArgs,
}

/// `sluice bench port`
#[derive(Clone, Debug, Args)]
pub struct PortArgs {
    /// How much is measured
    #[command(flatten)]
    pub packets: PacketArgs,
    /// Length of one repetition in seconds
    #[arg(long, value_name = "S", default_value = "0.1", value_parser = within(0.001, 600.0, "seconds from 0.001 to 600"))]
    pub seconds: f64,
    /// Measure only results with this in their names, such as memif or ring/ul
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub only: String,
    /// CPU of the measured worker, CPU of the far end; otherwise the second and the first
    #[arg(long, value_name = "CPU,CPU", value_delimiter = ',', num_args = 2)]
    pub cpus: Vec<u16>,
    /// How it is told, kept and compared
    #[command(flatten)]
    pub watch: WatchArgs,
}

/// `sluice bench peer`
#[derive(Clone, Debug, Args)]
pub struct PeerArgs {
    /// File with the sessions' flows
    #[arg(long, value_name = "FILE")]
    pub flows: PathBuf,
    /// CPU to stay on
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<u16>,
    /// Device arguments of the ports to N3 and N6
    #[arg(num_args = 2, required = true)]
    pub devices: Vec<String>,
}

/// `sluice bench pfcp`
#[derive(Clone, Debug, Args)]
pub struct PfcpArgs {
    /// How many sessions
    #[arg(long, value_name = "N", default_value = "1000000",
        value_parser = clap::value_parser!(u32).range(1_000..=4_000_000))]
    pub sessions: u32,
    /// gNBs that the sessions send to: 16 on the N3 link, or more behind a router
    #[arg(long, value_name = "N", default_value = "5000",
        value_parser = clap::value_parser!(u32).range(16..=i64::from(PEERS_MAX)))]
    pub peers: u32,
    /// Values of session AMBR and MBR
    #[arg(long, value_name = "N", default_value = "200",
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub ambrs: u32,
    /// The same rows twice more: of sessions whose URRs have a threshold of 1 MiB, a period, a quota and a threshold of
    /// lost packets (`armed`), and of such as live cores have, with both families and a filtered flow with a QER of its
    /// own beside (`live`)
    #[arg(long)]
    pub armed: bool,
    /// Requests of one repetition, 4 times the sessions at the most
    #[arg(long, value_name = "N", default_value = "60000",
        value_parser = clap::value_parser!(u32).range(1_000..=8_000_000))]
    pub messages: u32,
    /// Repetitions; median, minimum and maximum are reported
    #[arg(long, value_name = "N", default_value = "25",
        value_parser = clap::value_parser!(u16).range(3..))]
    pub reps: u16,
    /// Requests under way at a time in the closed loop
    #[arg(long, value_name = "N", default_value = "256",
        value_parser = clap::value_parser!(u16).range(1..=500))]
    pub window: u16,
    /// Requests per second for the round trip on the port
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = within(1.0, 1e9, "requests per second, 1 or more"))]
    pub port_rate: f64,
    /// Requests per second for the round trip on the socket
    #[arg(long, value_name = "N", default_value = "50000", value_parser = within(1.0, 1e9, "requests per second, 1 or more"))]
    pub socket_rate: f64,
    /// Measure only results with this in their names, such as port or socket
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub only: String,
    /// CPU of the N4 loop, CPU of worker and generator; otherwise the first two
    #[arg(long, value_name = "CPU,CPU", value_delimiter = ',', num_args = 2)]
    pub cpus: Vec<u16>,
    /// How it is told, kept and compared
    #[command(flatten)]
    pub watch: WatchArgs,
}

impl PathArgs {
    /// Whether sessions of these rules are measured.
    pub fn asks(&self, rules: &str) -> bool {
        self.rules.iter().any(|name| name == rules)
    }

    /// Arguments on which the figures depend.
    pub fn asked(&self) -> RunArguments {
        let cpu: Vec<u16> = self.cpu.into_iter().collect();
        let names = (&self.packets.sessions[..], &self.only[..]);
        let mut asked = asked("path", &[("seconds", self.seconds)], &cpu, names);
        if self.rules != [DEFAULT] {
            asked.selection += &format!(", rules {:?}", self.rules);
        }
        asked
    }
}

impl PortArgs {
    /// Arguments on which the figures depend.
    pub fn asked(&self) -> RunArguments {
        let names = (&self.packets.sessions[..], &self.only[..]);
        asked("port", &[("seconds", self.seconds)], &self.cpus, names)
    }
}

impl PfcpArgs {
    /// Arguments on which the figures depend.
    pub fn asked(&self) -> RunArguments {
        let numbers = [
            ("peers", self.peers.into()),
            ("ambrs", self.ambrs.into()),
            ("messages", self.messages.into()),
            ("window", self.window.into()),
            ("port_rate", self.port_rate),
            ("socket_rate", self.socket_rate),
        ];
        let names = (&[self.sessions][..], &self.only[..]);
        let mut asked = asked("pfcp", &numbers, &self.cpus, names);
        if self.armed {
            asked.selection += ", armed";
        }
        asked
    }
}

impl CoreArgs {
    /// Arguments on which the figures depend.
    pub fn asked(&self) -> RunArguments {
        let numbers = [
            ("registrations", self.registrations.into()),
            ("ues", self.ues.into()),
            ("storm_s", self.storm_s as f64),
        ];
        asked("core", &numbers, &[], (&[], ""))
    }
}

impl SbiArgs {
    /// Arguments on which the figures depend.
    pub fn asked(&self) -> RunArguments {
        let numbers = [
            ("requests", self.requests.into()),
            ("registrations", self.registrations.into()),
        ];
        asked("sbi", &numbers, &[], (&[], &self.only))
    }
}

impl FiltersArgs {
    /// Arguments on which the figures depend.
    pub fn asked(&self) -> RunArguments {
        asked(
            "filters",
            &[("seconds", self.seconds)],
            &[],
            (&[], &self.only),
        )
    }
}

impl ElasticArgs {
    /// Arguments on which the figures depend.
    pub fn asked(&self) -> RunArguments {
        let numbers = [("rate_mpps", self.rate_mpps), ("seconds", self.seconds)];
        asked("elastic", &numbers, &self.cpus, (&[self.sessions], ""))
    }
}

/// `numbers` and CPUs change what is measured; sessions and a part of the names choose names.
fn asked(
    bench: &'static str,
    numbers: &[(&str, f64)],
    cpus: &[u16],
    (sessions, only): (&[u32], &str),
) -> RunArguments {
    let cpus = match cpus {
        [] => "as they come".to_owned(),
        cpus => format!("{cpus:?}"),
    };
    let numbers = numbers
        .iter()
        .map(|(key, n)| ((*key).to_owned(), n.to_string()));
    RunArguments {
        bench,
        conditions: numbers.chain([("cpus".to_owned(), cpus)]).collect(),
        selection: format!("sessions {sessions:?}, only '{only}'"),
    }
}

const MPPS: &str = "millions of packets per second, from 0.01 to 100";

/// Takes numbers from, and to; `what` was expected otherwise.
fn within(
    from: f64,
    to: f64,
    what: &'static str,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| match text.parse() {
        Ok(number) if (from..=to).contains(&number) => Ok(number),
        _ => Err(format!("expected {what}")),
    }
}
