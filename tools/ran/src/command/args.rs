//! The arguments of `sluice ran`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use sluice_program::units;

/// `sluice ran`
#[derive(Clone, Debug, Args)]
pub struct RanArgs {
    /// The scenario; docs/ran.yaml explains every key
    #[arg(short, long, value_name = "FILE")]
    pub config: PathBuf,
    /// Check the file, show what it amounts to, and end
    #[arg(long)]
    pub check: bool,
    /// Write one JSON object to standard output
    #[arg(long)]
    pub json: bool,
    /// End after the last step, also where the scenario has no `end`
    #[arg(long)]
    pub once: bool,
    /// End after this time at the latest, such as 30s, 10m or 12h
    #[arg(long = "for", value_name = "TIME", value_parser = units::duration)]
    pub time: Option<Duration>,
}

/// Shown by `sluice ran --help`.
pub const RAN_EXAMPLES: &str = "\
Examples:
  sluice ran -c ran.yaml                 attach, talk, move, go, as the script says; then until Ctrl-C
  sluice ran -c ran.yaml --check         is the file right? what will it do?
  sluice ran -c ran.yaml --once --json   as a test: checks_passed, checks_failed, checks[]
  sluice ran -c ran.yaml --for 12h       left running

A scenario of three gNBs and twelve UEs, each UE a TUN device in a namespace:
  n4: {smf: 198.18.4.2, upf: 198.18.4.1}    # SMF: an address that you have; UPF: that of its N4
  gnbs: {count: 3, n3: 198.18.3.11, interface: eth1}    # eth1 gets 198.18.3.11 to .13
  ues: {count: 12, address: 10.60.0.2}
  steps:
    - attach: {rate: 50}                    # in turn: UE 2 comes to gnb2
    - ping: {to: 198.18.6.2, count: 10}
    - handover: {ues: 1-4, to: gnb2}        # moves three
    - check: {attached: 12, ping_lost: 0, end_markers: 3, drops: 0}
    - end:
With a whole 5G core instead of a UPF, gNBs speak N2 (NGAP over SCTP) and UEs have SIMs:
  gnbs: {n3: 198.18.3.11, n2: {amf: 198.18.2.1, plmn: '00101', tac: 1, slices: 1}}
  ues:
    count: 4
    imsi: '001010000000001'
    sim: {k: 465b5ce8b199b49faa5f0a2ee238a6bc, opc: cd63cb71954a9f4e48a5994e37a02baf,
          sessions: {dnn: internet, type: ipv4v6}}
  steps:
    - attach: {rate: 20}                    # register, establish sessions, with devices
    - ping: {to: 198.18.6.2}
    - idle: {ues: 1-2}                      # AN release; data brings them back
    - check: {registered: 4, connected: 2, failures: 0}
    - end:

Where these interfaces are in a namespace, add `namespace: NAME` to n4 and gnbs.

The first scenario brings its own SMF (N4, PFCP); the UPF may be any that speaks N3 and N4, the core any
that speaks N1, N2 and N3. Ctrl-C releases sessions, deregisters UEs and leaves nothing behind; a second
Ctrl-C leaves the sessions at the UPF or core.";
