//! Arguments of `sluice load`.
//!
//! A scenario file has the same names.

use crate::engine::NextHop;
use crate::n4::Rates;
use crate::source::SizeOf;
use clap::{Args, ValueEnum};
use sluice_smf_emulator::Dialect;
use sluice_wire::eth::MacAddr;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use super::units::{self, Lengths, Pick, Rate, StepText};

// Headings of the help.
const MEASUREMENT: &str = "Measurement";
const PORTS: &str = "Ports";
const SESSIONS: &str = "Sessions";
const TRAFFIC: &str = "Traffic";

/// `sluice load`
#[derive(Clone, Debug, Args)]
pub struct LoadArgs {
    /// A scenario: a YAML file of the options below, without their dashes; options given beside it
    /// come first
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Port where gNBs are: if:NAME, memif:SOCKET, memif-server:SOCKET, or DPDK device arguments
    #[arg(long, value_name = "DEVICE", help_heading = PORTS)]
    pub n3: Option<String>,
    /// Port where servers are, likewise
    #[arg(long, value_name = "DEVICE", help_heading = PORTS)]
    pub n6: Option<String>,
    /// The first gNB's address, which is ours; further gNBs have the addresses after it
    #[arg(long, value_name = "ADDRESS", help_heading = PORTS)]
    pub gnb: Option<Ipv4Addr>,
    /// How many gNBs
    #[arg(long, value_name = "N", default_value = "1", help_heading = PORTS,
          value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub gnbs: u16,
    /// Server of all UEs, an address of ours on N6
    #[arg(long, value_name = "ADDRESS", help_heading = PORTS)]
    pub server: Option<Ipv4Addr>,
    /// Next hop on N3: an address or a MAC; without it, each UPF address is asked for by ARP
    #[arg(long, value_name = "HOP", value_parser = hop, help_heading = PORTS)]
    pub n3_via: Option<NextHop>,
    /// Next hop on N6, which leads to the UEs: the UPF's address there, or a MAC
    #[arg(long, value_name = "HOP", value_parser = hop, help_heading = PORTS)]
    pub n6_via: Option<NextHop>,
    /// Packet memory in MiB
    #[arg(long, value_name = "MIB", default_value = "128", help_heading = PORTS,
          value_parser = clap::value_parser!(u32).range(32..=65_536))]
    pub memory_mb: u32,
    /// CPU of the generator; without it, the kernel's choice
    #[arg(long, value_name = "CPU", help_heading = PORTS)]
    pub cpu: Option<usize>,
    /// Sleep while nothing is to do: friendly to others on the machine, adds up to 0.1 ms
    #[arg(long, help_heading = PORTS)]
    pub rest: bool,

    /// Our address on N4; sessions are then established by PFCP, and released at the end
    #[arg(long, value_name = "ADDRESS", help_heading = SESSIONS)]
    pub n4: Option<Ipv4Addr>,
    /// The UPF's address on N4
    #[arg(long, value_name = "ADDRESS", help_heading = SESSIONS)]
    pub upf: Option<Ipv4Addr>,
    /// PFCP dialect: ts, open5gs, free5gc, oai, sdcore, marking
    #[arg(long, value_name = "SMF", default_value = "ts", help_heading = SESSIONS)]
    pub dialect: Dialect,
    /// Data network name
    #[arg(long, value_name = "DNN", default_value = "internet", help_heading = SESSIONS)]
    pub dnn: String,
    /// The UPF's network instance towards the gNBs
    #[arg(long, value_name = "NAME", default_value = "access", help_heading = SESSIONS)]
    pub access: String,
    /// The UPF's network instance towards the servers
    #[arg(long, value_name = "NAME", default_value = "core", help_heading = SESSIONS)]
    pub core: String,
    /// UEs, each with one session
    #[arg(long, value_name = "N", default_value = "1000", help_heading = SESSIONS,
          value_parser = clap::value_parser!(u32).range(1..=16_000_000))]
    pub ues: u32,
    /// Address of the first UE; the others follow
    #[arg(long, value_name = "ADDRESS", default_value = "10.60.0.2", help_heading = SESSIONS)]
    pub first_ue: Ipv4Addr,
    /// QoS flow identifier
    #[arg(long, value_name = "QFI", default_value = "9", help_heading = SESSIONS,
          value_parser = clap::value_parser!(u8).range(0..=63))]
    pub qfi: u8,
    /// Without PDU Session Container in uplink packets (headers of 36 octets instead of 44)
    #[arg(long, help_heading = SESSIONS)]
    pub no_container: bool,
    /// The UPF's address on N3, where it is not learnt by PFCP, or the SMF's dialect chooses TEIDs
    #[arg(long, value_name = "ADDRESS", help_heading = SESSIONS)]
    pub n3_upf: Option<Ipv4Addr>,
    /// TEID of the first UE at the UPF, for the same cases; the others follow
    #[arg(long, value_name = "TEID", default_value = "1", help_heading = SESSIONS,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub first_teid: u32,
    /// Requests without answer at a time while sessions are established and released
    #[arg(long, value_name = "N", default_value = "64", help_heading = SESSIONS)]
    pub window: u16,
    /// Establishments, modifications and deletions per second during the traffic, such as
    /// 100,500,100
    #[arg(long, value_name = "E,M,D", value_parser = units::rates,
        help_heading = SESSIONS)]
    pub churn: Option<Rates>,
    /// Sessions that come and go, beside those with traffic
    #[arg(long, value_name = "N", default_value = "1000", help_heading = SESSIONS)]
    pub churn_sessions: u32,

    /// Load: 500kpps, 2Mpps, 1.5Gbps (of the UEs' IP packets), window:64 (packets on their way),
    /// or max
    #[arg(long, value_name = "RATE", default_value = "10kpps", value_parser = units::rate,
          help_heading = TRAFFIC)]
    pub rate: Rate,
    /// Part of the rate that is uplink, in percent
    #[arg(long, value_name = "PERCENT", default_value = "50", value_parser = units::percent,
          help_heading = TRAFFIC)]
    pub uplink: f64,
    /// How long
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = sluice_program::units::duration,
          help_heading = TRAFFIC)]
    pub duration: std::time::Duration,
    /// Rates over time, instead of --rate and --duration: 1Mpps:10s,1Mpps-4Mpps:30s,0pps:5s
    #[arg(long, value_name = "STEPS", value_parser = units::steps, value_delimiter = ',',
          help_heading = TRAFFIC)]
    pub steps: Vec<StepText>,
    /// Length of packets: octets, imix, live-uplink, live-downlink, pcap:FILE, or
    /// pcap-spaced:FILE (also its times)
    #[arg(long, value_name = "LENGTH", default_value = "64", value_parser = units::lengths,
          help_heading = TRAFFIC)]
    pub size: Lengths,
    /// The same for downlink alone
    #[arg(long, value_name = "LENGTH", value_parser = units::lengths, help_heading = TRAFFIC)]
    pub downlink_size: Option<Lengths>,
    /// Layer whose octets --size counts
    #[arg(long, value_enum, default_value_t = SizeOfText::Ip, help_heading = TRAFFIC)]
    pub size_of: SizeOfText,
    /// UEs that packets belong to: uniform, round-robin, zipf:1.0, or hot:N:SHARE (N UEs, a share in percent)
    #[arg(long, value_name = "LAW", default_value = "uniform", value_parser = units::pick,
          help_heading = TRAFFIC)]
    pub popularity: Pick,
    /// Send uplink packets back at N6, for round-trip times
    #[arg(long, help_heading = TRAFFIC)]
    pub mirror: bool,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value = "1", help_heading = TRAFFIC)]
    pub seed: u64,

    /// Search the highest rate without loss (RFC 2544) below --rate
    #[arg(long, help_heading = MEASUREMENT)]
    pub search: bool,
    /// How exactly, in percent
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = units::percent,
          help_heading = MEASUREMENT)]
    pub resolution: f64,
    /// How often the search is repeated
    #[arg(long, value_name = "N", default_value = "3", help_heading = MEASUREMENT)]
    pub repeats: u32,
    /// Loss that still counts as none, in percent
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = units::percent,
          help_heading = MEASUREMENT)]
    pub tolerance: f64,
    /// Exit with 1 if a lane loses more, in percent
    #[arg(long, value_name = "PERCENT", value_parser = units::percent,
          help_heading = MEASUREMENT)]
    pub max_loss: Option<f64>,
    /// The UPF translates addresses: do not check for whom packets arrive
    #[arg(long, help_heading = MEASUREMENT)]
    pub nat: bool,
    /// Only measure the generator itself, without ports
    #[arg(long, help_heading = MEASUREMENT)]
    pub self_test: bool,

    /// Write one JSON object to standard output
    #[arg(long)]
    pub json: bool,
}

/// Shown by `sluice load --help`.
pub const LOAD_EXAMPLES: &str = "\
Examples:
  sluice load --self-test                        what can this generator do here?
  sluice load --n4 198.18.4.2 --upf 198.18.4.1 --n3 memif:/run/n3.sock --n6 memif:/run/n6.sock \\
      --gnb 198.18.3.11 --server 198.18.6.2 --n6-via 198.18.6.1 --ues 10000 --rate 1Mpps
  sluice load -c scenario.yaml --rate 3Mpps      a file, and one thing otherwise
  sluice load -c scenario.yaml --rate 20Mpps --search --duration 5s
  sluice load --n4 198.18.4.2 --upf 198.18.4.1 --gnb 198.18.3.11 --ues 100 --churn 500,500,500
                                                 N4 alone

docs/load.md: measure any UPF in ten minutes.";

/// Layer at which a length is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum SizeOfText {
    /// The UE's IP packet
    Ip,
    /// The payload of its UDP datagram
    Payload,
    /// The Ethernet frame with FCS that carries the bare packet
    Frame,
}

impl From<SizeOfText> for SizeOf {
    fn from(text: SizeOfText) -> Self {
        match text {
            SizeOfText::Ip => Self::Ip,
            SizeOfText::Payload => Self::Payload,
            SizeOfText::Frame => Self::Frame,
        }
    }
}

fn hop(text: &str) -> Result<NextHop, String> {
    let octets: Vec<u8> = text
        .split(':')
        .map_while(|octet| u8::from_str_radix(octet, 16).ok())
        .collect();
    let mac = || <[u8; 6]>::try_from(octets).ok().map(MacAddr);
    let address = text.parse().ok().map(NextHop::Via);
    address.or_else(|| mac().map(NextHop::Mac)).ok_or_else(|| {
        "expected an address such as 192.0.2.1, or a MAC such as 02:00:00:00:00:01".to_owned()
    })
}
