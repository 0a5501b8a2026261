//! Questions of `sluice ctl` that a core answers.

use clap::{Args, Subcommand, ValueEnum};

/// What a running core is asked.
#[derive(Clone, PartialEq, Eq, Debug, Subcommand)]
pub enum CoreQuery {
    /// Core: UEs with their state, gNB and addresses
    Ues {
        /// From this IMSI on
        #[arg(long, value_name = "IMSI", value_parser = imsi)]
        from: Option<String>,
        /// At most so many
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
        count: Option<u32>,
    },
    /// Core: one UE: registration, connection, sessions with addresses, tunnels and usage
    Ue {
        /// Whose
        #[arg(value_name = "IMSI", value_parser = imsi)]
        imsi: String,
    },
    /// Core: gNBs with their areas and slices; `update` tells them all what is served
    Gnbs {
        /// What to do
        #[command(subcommand)]
        what: Option<GnbsWhat>,
    },
    /// Core: have gNBs keep UEs away while there is too much to do (N2 Overload Start), or no more
    Overload {
        /// Which
        #[command(subcommand)]
        what: OverloadWhat,
    },
    /// Core: network functions as the NRF knows them: status, load, and what they serve
    Nfs,
    /// Core: procedures under way, and the step of TS 23.502 at which each waits
    Procedures,
    /// Core: what was said of a UE, step by step, by UE, gNB, network functions and UPF
    Flow {
        /// Whose
        #[arg(value_name = "IMSI", value_parser = imsi)]
        imsi: String,
    },
    /// Core: deregister a UE; its sessions are released
    Deregister {
        /// Whose
        #[arg(value_name = "IMSI", value_parser = imsi)]
        imsi: String,
        /// It is to register again at once
        #[arg(long)]
        register_again: bool,
    },
    /// Core: start or stop a QoS flow of a UE's session, beside those of core.yaml's policies
    Qos {
        /// What to do
        #[command(subcommand)]
        what: QosWhat,
    },
}

/// What is done with a QoS flow.
#[derive(Clone, PartialEq, Eq, Debug, Subcommand)]
pub enum QosWhat {
    /// Start one: UE, gNB and UPF are told, an idle UE is paged
    Start(Box<QosRule>),
    /// Stop one, whoever started it
    Stop {
        /// Whose
        #[arg(value_name = "IMSI", value_parser = imsi)]
        imsi: String,
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
        /// Identity of the PDU session; otherwise the first
        #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u8).range(1..=15))]
        session: Option<u8>,
    },
}

/// A rule of a QoS flow, as in core.yaml.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
pub struct QosRule {
    /// Whose
    #[arg(value_name = "IMSI", value_parser = imsi)]
    pub imsi: String,
    /// Its name: letters, digits and - _ .
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Which packets, such as "permit inout udp from 203.0.113.0/24 5000 to assigned"; up to four times
    #[arg(long, value_name = "FILTER", required = true)]
    pub filter: Vec<String>,
    /// 5QI (TS 23.501, 5.7.4)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub five_qi: u8,
    /// Rules are tried from the smallest on
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u8).range(1..=254))]
    pub precedence: u8,
    /// Allocation and retention priority, 1 first
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=15))]
    pub priority: u8,
    /// Bits per second to the UE that a 5QI with guaranteed bit rates gets
    #[arg(long, value_name = "BPS", default_value_t = 0)]
    pub guaranteed_down_bps: u64,
    /// The same from the UE
    #[arg(long, value_name = "BPS", default_value_t = 0)]
    pub guaranteed_up_bps: u64,
    /// Most bits per second to the UE; 0: no limit
    #[arg(long, value_name = "BPS", default_value_t = 0)]
    pub maximum_down_bps: u64,
    /// The same from the UE
    #[arg(long, value_name = "BPS", default_value_t = 0)]
    pub maximum_up_bps: u64,
    /// The key under which usage is charged; otherwise with the session's
    #[arg(long, value_name = "N")]
    pub rating_group: Option<u32>,
    /// Identity of the PDU session; otherwise the first
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u8).range(1..=15))]
    pub session: Option<u8>,
}

/// What is done with all gNBs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Subcommand)]
pub enum GnbsWhat {
    /// Tell all gNBs what is served (AMF Configuration Update), as after a change
    Update,
}

/// Overload of the AMF.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Subcommand)]
pub enum OverloadWhat {
    /// gNBs keep UEs away from now on, also gNBs that are set up later
    Start {
        /// Whom
        #[arg(long, value_enum, default_value_t)]
        action: Action,
        /// So many of a hundred; otherwise all
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=99))]
        percent: Option<u8>,
    },
    /// They keep nobody away any more
    Stop,
}

/// Whom gNBs keep away (TS 38.413, 9.3.1.105).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Action {
    /// UEs that have data and begin by themselves, but for emergencies
    #[default]
    RejectData,
    /// UEs that have signalling alone
    RejectSignalling,
    /// All but emergencies and those that are called
    PermitEmergency,
    /// All but those of high priority and those that are called
    PermitHighPriority,
}

impl Action {
    /// As the core knows it.
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
    match is_imsi {
        true => Ok(digits.to_owned()),
        false => Err("expected an IMSI of 6 to 15 digits".to_owned()),
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
