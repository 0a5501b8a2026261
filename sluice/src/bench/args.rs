//! The arguments of `sluice bench`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `sluice bench`
#[derive(Clone, Debug, Args)]
pub struct BenchArgs {
    /// What is measured
    #[command(subcommand)]
    pub kind: BenchKind,
}

/// What can be measured.
#[derive(Clone, Debug, Subcommand)]
pub enum BenchKind {
    /// The packet path on one core, from memory to memory
    #[command(after_help = PATH_HELP)]
    Path(PathArgs),
    /// The N4 loop on one core, its worker and the load on another
    #[command(after_help = PFCP_HELP)]
    Pfcp(PfcpArgs),
    /// The packet path over DPDK ports, with the source in another process
    #[command(after_help = PORT_HELP)]
    Port(PortArgs),
    /// The far end of `port`, which starts it
    #[command(hide = true)]
    Peer(PeerArgs),
    /// Moves of sessions between two workers under traffic, and the execution models
    #[command(after_help = ELASTIC_HELP)]
    Elastic(ElasticArgs),
}

/// `sluice bench elastic`
#[derive(Clone, Debug, Args)]
pub struct ElasticArgs {
    /// Write one JSON object to standard output
    #[arg(long)]
    pub json: bool,
    /// How many sessions
    #[arg(long, value_name = "N", default_value = "100000",
        value_parser = clap::value_parser!(u32).range(4_096..=4_000_000))]
    pub sessions: u32,
    /// How many shards are moved, one after the other
    #[arg(long, value_name = "N", default_value = "20000",
        value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    pub moves: u32,
    /// Packets that come to each worker meanwhile, in millions per second
    #[arg(long, value_name = "MPPS", default_value = "1", value_parser = mpps)]
    pub rate_mpps: f64,
    /// Repetitions at full load; median, minimum and maximum are reported
    #[arg(long, value_name = "N", default_value = "5",
        value_parser = clap::value_parser!(u16).range(5..))]
    pub reps: u16,
    /// Length of one repetition in seconds
    #[arg(long, value_name = "S", default_value = "0.5", value_parser = seconds)]
    pub seconds: f64,
    /// CPUs of the two workers; otherwise the first two
    #[arg(long, value_name = "CPU,CPU", value_delimiter = ',', num_args = 2)]
    pub cpus: Vec<u16>,
}

/// `sluice bench path`
#[derive(Clone, Debug, Args)]
pub struct PathArgs {
    /// Write one JSON object to standard output
    #[arg(long)]
    pub json: bool,
    /// How many sessions, one measurement for each number
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_values_t = [1_000, 1_000_000],
        value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    pub sessions: Vec<u32>,
    /// Repetitions; median, minimum and maximum are reported
    #[arg(long, value_name = "N", default_value = "7",
        value_parser = clap::value_parser!(u16).range(5..))]
    pub reps: u16,
    /// Length of one repetition in seconds
    #[arg(long, value_name = "S", default_value = "0.5", value_parser = seconds)]
    pub seconds: f64,
    /// Measure only results with this in their names, such as ul/ or path/dl
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub only: String,
    /// CPU to stay on; otherwise the kernel chooses
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<u16>,
}

/// `sluice bench port`
#[derive(Clone, Debug, Args)]
pub struct PortArgs {
    /// Write one JSON object to standard output
    #[arg(long)]
    pub json: bool,
    /// How many sessions, one measurement for each number
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_values_t = [1_000, 1_000_000],
        value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    pub sessions: Vec<u32>,
    /// Repetitions; median, minimum and maximum are reported
    #[arg(long, value_name = "N", default_value = "7",
        value_parser = clap::value_parser!(u16).range(5..))]
    pub reps: u16,
    /// Length of one repetition in seconds
    #[arg(long, value_name = "S", default_value = "0.3", value_parser = seconds)]
    pub seconds: f64,
    /// Measure only results with this in their names, such as memif or ring/ul
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub only: String,
    /// CPU of the measured worker, CPU of the far end; otherwise the second and the first
    #[arg(long, value_name = "CPU,CPU", value_delimiter = ',', num_args = 2)]
    pub cpus: Vec<u16>,
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
    /// Write one JSON object to standard output
    #[arg(long)]
    pub json: bool,
    /// How many sessions
    #[arg(long, value_name = "N", default_value = "1000000",
        value_parser = clap::value_parser!(u32).range(1_000..=4_000_000))]
    pub sessions: u32,
    /// Requests of one repetition
    #[arg(long, value_name = "N", default_value = "300000",
        value_parser = clap::value_parser!(u32).range(1_000..=8_000_000))]
    pub messages: u32,
    /// Repetitions; median, minimum and maximum are reported
    #[arg(long, value_name = "N", default_value = "5",
        value_parser = clap::value_parser!(u16).range(3..))]
    pub reps: u16,
    /// Requests under way at a time in the closed loop
    #[arg(long, value_name = "N", default_value = "256",
        value_parser = clap::value_parser!(u16).range(1..=500))]
    pub window: u16,
    /// Requests per second for the round trip on the port
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = rate)]
    pub port_rate: f64,
    /// Requests per second for the round trip on the socket
    #[arg(long, value_name = "N", default_value = "50000", value_parser = rate)]
    pub socket_rate: f64,
    /// Measure only results with this in their names, such as port or socket
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub only: String,
    /// CPU of the N4 loop, CPU of worker and generator; otherwise the first two
    #[arg(long, value_name = "CPU,CPU", value_delimiter = ',', num_args = 2)]
    pub cpus: Vec<u16>,
}

const PATH_HELP: &str = "\
Each repetition measures in turn the worker's loop of `sluice upf`, the limit (the cheapest loop
that could do the same work, src/bench/path/limit.rs) and the source alone. The figure to judge by
is ratio_to_limit, time per packet by that of the limit: 1 would be perfect. Sessions are
established over N4; every byte of every session's packets is compared before, and those of one
packet in 64 while the clock runs.

path/ul/foreign is the uplink of sessions whose TEIDs the SMF chose, which the path finds by a hash
table. path/latency/10 and /80 are an open loop: packets come at random (Poisson) at 10 and 80 % of
what the path, and for its figures the limit, can do at the most; the time from when a packet is due
until it is sent, of every packet, without the sleep of a worker that has nothing to do. When the
machine takes the CPU away for more than 50 us, packets due meanwhile come afterwards, and those under
way are not timed: away_share says for how long.

Huge pages are used where they are free; for a million sessions:
  sysctl vm.nr_hugepages=400

Examples:
  sluice bench path                             1,000 and 1,000,000 sessions, as a table
  sluice bench path --json --sessions 1000000   for scripts: results[]";

const PORT_HELP: &str = "\
One worker of `sluice upf` with full default sessions, between two ports; at their other ends another
process (for port/ring another thread) makes the packets, takes what comes back, and compares one in
64, all bytes of it; before the clock runs, those of every session. The limit is a plain loop on the
same ports in the same run: receive, send by the other port, look at nothing.

ns is the CPU time of a packet while the rings are deep: again and again the far end fills them, then
the measured side works them off, so that a slow source limits neither path nor limit. The figure to
judge by is ratio_to_limit, the one by the other; the goal is 1.6 on memif. Mpps is what both ends
make together without such breaks, and the JSON says which of them was at its end. Packets sent,
received, transmitted and returned are counted; lost ones are shown by where they were lost.

Huge pages are used where they are free; for a million sessions:
  sysctl vm.nr_hugepages=500

Examples:
  sluice bench port                               memif, virtio-user and rings, as a table
  sluice bench port --json --only memif           for scripts: results[], skipped[]
  sluice bench port --sessions 1000000 --reps 9   more repetitions";

const PFCP_HELP: &str = "\
Sessions of five SMF dialects in turn. Requests (establish, modify, query, delete, heartbeat) are
encoded before the clock runs; each goes through the daemon's N4 loop (parse, validate, recognise
retransmissions, compile, send to the owning worker, answer when it has applied the change), and
every answer is read. messages_per_s is of a closed loop, rtt_us of an open loop at the given rate,
ns the time of the N4 thread for a message without its idle turns. The limit is the cheapest loop
that could answer: receive, header parse, fixed answer. In the end a packet each way through every
session that stands is compared byte by byte.

port comes by a ring of buffers, dpdk by whole frames on a port in the process, socket by kernel UDP.
dpdk/flow sends packets through one half of the sessions while 100,000 modifications a second change
the other: lost packets, and the worker's time for a packet with and without.

Worker and generator share the second CPU, so with the limit the generator is what limits; judge
by ns, limit_ns and ratio_to_limit.

Examples:
  sluice bench pfcp                             a million sessions, as a table
  sluice bench pfcp --json --only socket        for scripts: results[]";

const ELASTIC_HELP: &str = "\
Two workers, each on a CPU of its own, with a source and a sink inside their ports; every packet is
numbered and stamped with the time when it was due. First shards move one after the other under
load, as by `sluice ctl move`: pause_us is the longest time that a packet of the moved shard took
from due to sent, from the order to 30 us after the last token; one packet in four is of that shard.
A move during which a worker was away for more than 50 us (another program had its CPU) counts as
disturbed: pause_us leaves it out, pause_all_us does not. Lost and reordered count all packets.
Then the same two workers run to completion, as a pipeline (one polls, one owns all sessions), and
mixed: throughput at full load, latency at the given rate.

Examples:
  sluice bench elastic                          20,000 moves, as a table
  sluice bench elastic --json --moves 1000000   the long soak, for scripts";

fn mpps(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if (0.01..=100.0).contains(&rate) => Ok(rate),
        _ => Err("expected millions of packets per second, from 0.01 to 100".to_owned()),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if (1.0..=1e9).contains(&rate) => Ok(rate),
        _ => Err("expected requests per second, 1 or more".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(s) if (0.001..=600.0).contains(&s) => Ok(s),
        _ => Err("expected seconds from 0.001 to 600".to_owned()),
    }
}
