//! Commands of `sluice ctl` that go to a core.

use clap::{Args, Subcommand, ValueEnum};

/// Commands of `sluice ctl` that go to a core.
#[derive(Clone, PartialEq, Eq, Debug, Subcommand)]
pub enum CoreQuery {
    /// Core: UEs with their state, gNB and addresses
    Ues {
        /// First IMSI to list
        #[arg(long, value_name = "IMSI", value_parser = imsi)]
        from: Option<String>,
        /// Maximum number of UEs
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
        count: Option<u32>,
    },
    /// Core: one UE: registration, connection, sessions with addresses, tunnels and usage
    Ue {
        /// IMSI of the UE
        #[arg(value_name = "IMSI", value_parser = imsi)]
        imsi: String,
    },
    /// Core: gNBs with their areas and slices; `update` sends them the current configuration
    Gnbs {
        /// Command
        #[command(subcommand)]
        what: Option<GnbsWhat>,
    },
    /// Core: ask gNBs to reject UEs (N2 Overload Start), or stop it
    Overload {
        /// Command
        #[command(subcommand)]
        what: OverloadWhat,
    },
    /// Core: network functions at the NRF: status, load, services
    Nfs,
    /// Core: take an instance of a function out: no new calls, then its program ends
    Drain(InstanceArgs),
    /// Core: take a drained instance of a function in again
    Undrain(InstanceArgs),
    /// Core: running procedures, and the step of TS 23.502 at which each waits
    Procedures,
    /// Core: messages of a UE between UE, gNB, network functions and UPF, step by step
    Flow {
        /// IMSI of the UE
        #[arg(value_name = "IMSI", value_parser = imsi)]
        imsi: String,
    },
    /// Core: deregister a UE; its sessions are released
    Deregister {
        /// IMSI of the UE
        #[arg(value_name = "IMSI", value_parser = imsi)]
        imsi: String,
        /// Ask the UE to register again at once
        #[arg(long)]
        register_again: bool,
    },
    /// Core: start or stop a QoS flow of a UE's session, in addition to the policies of core.yaml
    Qos {
        /// Command
        #[command(subcommand)]
        what: QosWhat,
    },
}

/// Commands for QoS flows.
#[derive(Clone, PartialEq, Eq, Debug, Subcommand)]
pub enum QosWhat {
    /// Start a flow at UE, gNB and UPF; an idle UE is paged
    Start(Box<QosRule>),
    /// Stop a flow, also one that another client started
    Stop {
        /// IMSI of the UE
        #[arg(value_name = "IMSI", value_parser = imsi)]
        imsi: String,
        /// Name of the flow
        #[arg(value_name = "NAME")]
        name: String,
        /// PDU session ID [default: the first session]
        #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u8).range(1..=15))]
        session: Option<u8>,
    },
}

/// A rule of a QoS flow, as in core.yaml.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
pub struct QosRule {
    /// IMSI of the UE
    #[arg(value_name = "IMSI", value_parser = imsi)]
    pub imsi: String,
    /// Name of the flow: letters, digits and - _ .
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Packets of the flow, such as "permit inout udp from 203.0.113.0/24 5000 to assigned"; up to four times
    #[arg(long, value_name = "FILTER", required = true)]
    pub filter: Vec<String>,
    /// 5QI (TS 23.501, 5.7.4)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub five_qi: u8,
    /// Precedence of the rule, smallest first
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u8).range(1..=254))]
    pub precedence: u8,
    /// Allocation and retention priority, 1 first
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=15))]
    pub priority: u8,
    /// Guaranteed downlink bit rate, for a 5QI of a GBR flow
    #[arg(long, value_name = "BPS", default_value_t = 0)]
    pub guaranteed_down_bps: u64,
    /// Guaranteed uplink bit rate
    #[arg(long, value_name = "BPS", default_value_t = 0)]
    pub guaranteed_up_bps: u64,
    /// Maximum downlink bit rate; 0: no limit
    #[arg(long, value_name = "BPS", default_value_t = 0)]
    pub maximum_down_bps: u64,
    /// Maximum uplink bit rate; 0: no limit
    #[arg(long, value_name = "BPS", default_value_t = 0)]
    pub maximum_up_bps: u64,
    /// Rating group for charging [default: that of the session]
    #[arg(long, value_name = "N")]
    pub rating_group: Option<u32>,
    /// PDU session ID [default: the first session]
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u8).range(1..=15))]
    pub session: Option<u8>,
}

/// Commands for all gNBs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Subcommand)]
pub enum GnbsWhat {
    /// Send the current configuration to all gNBs (AMF Configuration Update)
    Update,
}

/// Instance of a function.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
pub struct InstanceArgs {
    /// Function: ausf, udm or nssf
    #[arg(value_name = "FUNCTION")]
    pub function: String,
    /// Number of the instance, as in wiring.programs of core.yaml
    #[arg(value_name = "INSTANCE", value_parser = clap::value_parser!(u8).range(0..16))]
    pub instance: u8,
}

/// Overload of the AMF.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Subcommand)]
pub enum OverloadWhat {
    /// Ask all gNBs, and those that connect later, to reject UEs
    Start {
        /// UEs to reject
        #[arg(long, value_enum, default_value_t)]
        action: Action,
        /// Share of these UEs, in percent [default: all]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=99))]
        percent: Option<u8>,
    },
    /// End the overload
    Stop,
}

/// Overload Action (TS 38.413, 9.3.1.105).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Action {
    /// Reject UEs that connect to send data, except for emergencies
    #[default]
    RejectData,
    /// Reject UEs that connect for signalling
    RejectSignalling,
    /// Permit emergencies and paged UEs only
    PermitEmergency,
    /// Permit high priority and paged UEs only
    PermitHighPriority,
}

impl Action {
    /// Name in the core's control protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::RejectData => "reject_data",
            Self::RejectSignalling => "reject_signalling",
            Self::PermitEmergency => "permit_emergency",
            Self::PermitHighPriority => "permit_high_priority",
        }
    }
}

/// Digits, also as `imsi-...`.
fn imsi(text: &str) -> Result<String, String> {
    let digits = text.strip_prefix("imsi-").unwrap_or(text);
    let is_imsi = (6..=15).contains(&digits.len()) && digits.bytes().all(|c| c.is_ascii_digit());
    if is_imsi {
        Ok(digits.to_owned())
    } else {
        Err("expected an IMSI of 6 to 15 digits".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_imsi_is_digits() {
        assert_eq!(imsi("imsi-001010000000001"), imsi("001010000000001"));
        for bad in ["", "00101", "0010100000000011", "imsi-", "00101000000000x"] {
            assert!(imsi(bad).is_err(), "{bad}");
        }
    }
}
