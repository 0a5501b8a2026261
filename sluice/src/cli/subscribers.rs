//! Arguments of `sluice ctl subscribers` and `sluice ctl hnkey`.

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use sluice_subscribers::Draft;
use sluice_subscribers::Operation;
use sluice_subscribers::draft::{NetworkDraft, Secret, SliceDraft, Text};
use sluice_subscribers::operation::{Edit, NetworkEdit};
use sluice_subscribers::store::{Filter, Format, HomeKeyProfile, SERVER};
use sluice_subscribers::{Location, ServerAddress};
use std::path::{Path, PathBuf};

/// Location of the database.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(group = ArgGroup::new("place").args(["file", "database"]))]
pub struct DatabaseArgs {
    /// Change this database file, while no core serves it [default: the running core changes its own]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Change this PostgreSQL database (postgresql://USER@HOST/DATABASE), also while cores serve it. `-` reads the URL
    /// from the environment variable SLUICE_DATABASE, which hides a password from other users
    #[arg(long, value_name = "URL", conflicts_with = "file", requires = "key_file", value_parser = server_address)]
    pub database: Option<ServerAddress>,
    /// Key file of the database [default: FILE.key]
    #[arg(long, value_name = "FILE", requires = "place")]
    pub key_file: Option<PathBuf>,
}

/// Environment variable that `-` reads.
const URL_VARIABLE: &str = "SLUICE_DATABASE";

fn server_address(text: &str) -> Result<ServerAddress, String> {
    let given = match text {
        "-" => std::env::var(URL_VARIABLE).map_err(|_| format!("{URL_VARIABLE} is not set"))?,
        _ => text.to_owned(),
    };
    ServerAddress::read(&given).map_err(|what| format!("{what}; expected {SERVER}"))
}

/// A database and its key file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DatabasePlace {
    /// The database.
    pub location: Location,
    /// Key file of the database.
    pub key_file: PathBuf,
}

impl DatabaseArgs {
    /// The place that was given; none if the core changes its own database.
    pub fn place(&self) -> Option<DatabasePlace> {
        if let (Some(address), Some(key_file)) = (&self.database, &self.key_file) {
            let location = Location::Server(address.clone());
            let key_file = key_file.clone();
            return Some(DatabasePlace { location, key_file });
        }
        let file = self.file.clone()?;
        let key_file = self.key_file.clone().unwrap_or_else(|| {
            let mut name = file.clone().into_os_string();
            name.push(".key");
            name.into()
        });
        let location = Location::File(file);
        Some(DatabasePlace { location, key_file })
    }
}

/// `sluice ctl subscribers`
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SubscribersArgs {
    /// Database
    #[command(flatten)]
    pub database: DatabaseArgs,
    /// Command
    #[command(subcommand)]
    pub what: SubscribersCommand,
}

const EXAMPLES: &str = "\
Examples:
  sluice ctl subscribers --file subscribers.db init
  sluice ctl subscribers --file subscribers.db import sims.csv      before the core starts
  sluice ctl subscribers import sims.csv                            through the core that runs
  sluice ctl subscribers --database postgresql://core@db/sluice --key-file sluice.key list
  sluice ctl subscribers list --dnn internet
  sluice ctl subscribers change 001010000000001 --dnn internet --ipv4 10.45.0.7
  sluice ctl subscribers export --with-keys --output sims.csv

Keys on a command line can be seen by other users of this machine while it runs: import them from a file or
from standard input (import - --format json).";

/// Commands for subscribers.
#[derive(Clone, PartialEq, Eq, Debug, Subcommand)]
pub enum SubscribersCommand {
    /// Create an empty database, and its key file unless it exists
    Init,
    /// Add a subscriber
    Add {
        /// IMSI, 6 to 15 digits
        imsi: String,
        /// Keys and subscription
        #[command(flatten)]
        fields: FieldArgs,
    },
    /// Change the given values
    Change {
        /// IMSI
        imsi: String,
        /// New values; `none` removes an address
        #[command(flatten)]
        fields: FieldArgs,
        /// Remove the data network of --dnn, or without it the slice of --slice
        #[arg(long)]
        remove_network: bool,
    },
    /// Remove a subscriber
    Remove {
        /// IMSI
        imsi: String,
    },
    /// Show a subscriber, without its keys
    Show {
        /// IMSI
        imsi: String,
    },
    /// List subscribers, page by page
    List {
        /// Filter
        #[command(flatten)]
        filter: FilterArgs,
        /// Start after this IMSI (`next_after` of the previous page)
        #[arg(long, value_name = "IMSI")]
        after: Option<String>,
        /// Maximum number of subscribers (1 to 1000)
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: usize,
    },
    /// Add all subscribers of a file, or none if the file has an error
    Import {
        /// CSV or JSON file; - is standard input
        path: PathBuf,
        /// Format, if the name does not end in .csv or .json
        #[arg(long)]
        format: Option<FileFormat>,
        /// Overwrite existing subscribers
        #[arg(long)]
        replace: bool,
    },
    /// Export all subscribers
    Export {
        /// Format
        #[arg(long)]
        format: Option<FileFormat>,
        /// Include K, OPc and SQN, not encrypted
        #[arg(long)]
        with_keys: bool,
        /// New file, with mode 0600 [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Copy the database to a new file, without the key file
    Backup {
        /// New file
        to: PathBuf,
    },
    /// Verify a backup, and replace all subscribers and home network keys by its content
    Restore {
        /// Backup
        from: PathBuf,
    },
}

/// `sluice ctl hnkey`
#[derive(Clone, PartialEq, Eq, Debug, Args)]
pub struct HnkeyArgs {
    /// Database
    #[command(flatten)]
    pub database: DatabaseArgs,
    /// Command
    #[command(subcommand)]
    pub what: HnkeyCommand,
}

/// Commands for home network keys.
#[derive(Clone, PartialEq, Eq, Debug, Subcommand)]
pub enum HnkeyCommand {
    /// Create a key pair; put the public key into SIMs
    New {
        /// a: X25519, b: secp256r1 (TS 33.501, annex C)
        #[arg(long)]
        profile: ProfileArg,
        /// Home Network Public Key Identifier, 1 to 255 [default: the lowest free one]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
        id: Option<u8>,
        /// Use the private key in this file (64 hexadecimal digits), for existing SIMs
        #[arg(long, value_name = "FILE")]
        private_key: Option<PathBuf>,
    },
    /// List identifiers, profiles and public keys
    List,
    /// Remove a key; SIMs that use it can no longer register
    Remove {
        /// Identifier of the key
        id: u8,
    },
}

/// File formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum FileFormat {
    /// One row for each data network
    Csv,
    /// List of objects
    Json,
}

impl From<FileFormat> for Format {
    fn from(format: FileFormat) -> Self {
        match format {
            FileFormat::Csv => Self::Csv,
            FileFormat::Json => Self::Json,
        }
    }
}

/// Profiles of concealment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ProfileArg {
    /// X25519
    A,
    /// secp256r1
    B,
}

impl From<ProfileArg> for HomeKeyProfile {
    fn from(profile: ProfileArg) -> Self {
        match profile {
            ProfileArg::A => Self::A,
            ProfileArg::B => Self::B,
        }
    }
}

/// A path as the core sees it, which may run in another folder.
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Filter of `list`: a subscriber must match all given options.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
pub struct FilterArgs {
    /// First digits of the IMSI
    #[arg(long, value_name = "DIGITS")]
    imsi_prefix: Option<String>,
    /// With this data network
    #[arg(long, value_name = "NAME")]
    dnn: Option<String>,
    /// With this slice (1, or 1-00000a)
    #[arg(long, value_name = "S-NSSAI")]
    slice: Option<String>,
    /// With this static IPv4 address
    #[arg(long, value_name = "ADDRESS")]
    ipv4: Option<String>,
    /// With this static IPv6 prefix
    #[arg(long, value_name = "PREFIX")]
    ipv6_prefix: Option<String>,
    /// Barred or not barred
    #[arg(long, value_name = "yes|no", value_parser = yes)]
    barred: Option<bool>,
}

fn yes(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("expected yes or no".to_owned()),
    }
}

/// Fields of a subscriber. Those behind --slice are about that slice, and those behind --dnn about that data
/// network; a subscriber with one of them need not name it.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
pub struct FieldArgs {
    /// K, 32 hexadecimal digits
    #[arg(long, value_name = "HEX", hide_short_help = true)]
    k: Option<String>,
    /// OPc, 32 hexadecimal digits
    #[arg(long, value_name = "HEX", conflicts_with = "op")]
    opc: Option<String>,
    /// OP, 32 hexadecimal digits; OPc is derived from it
    #[arg(long, value_name = "HEX")]
    op: Option<String>,
    /// TOPc, 64 hexadecimal digits
    #[arg(
        long,
        value_name = "HEX",
        conflicts_with = "top",
        hide_short_help = true
    )]
    topc: Option<String>,
    /// TOP, 64 hexadecimal digits; TOPc is derived from it
    #[arg(long, value_name = "HEX", hide_short_help = true)]
    top: Option<String>,
    /// Algorithm of the SIM; TUAK uses TOPc, and a K of 32 or 64 digits
    #[arg(long, value_name = "milenage|tuak")]
    algorithm: Option<String>,
    /// Authentication method
    #[arg(long, value_name = "5g_aka|eap_aka_prime")]
    method: Option<String>,
    /// Highest sequence number that the SIM has accepted, 12 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    sqn: Option<String>,
    /// Whether registrations are refused
    #[arg(long, value_name = "yes|no")]
    barred: Option<String>,
    /// UE AMBR towards the UE (100M, 2G)
    #[arg(long, value_name = "RATE")]
    ue_ambr_down: Option<String>,
    /// UE AMBR from the UE
    #[arg(long, value_name = "RATE")]
    ue_ambr_up: Option<String>,
    /// Slice: 1, or 1-00000a
    #[arg(long, value_name = "S-NSSAI")]
    slice: Option<String>,
    /// Whether the slice is a default slice
    #[arg(long, value_name = "yes|no")]
    default: Option<String>,
    /// Data network
    #[arg(long, value_name = "NAME")]
    dnn: Option<String>,
    /// Types of sessions: "ipv4 ipv6 ipv4v6"
    #[arg(long, value_name = "TYPES")]
    types: Option<String>,
    /// Session type if the UE requests none
    #[arg(long, value_name = "TYPE")]
    default_type: Option<String>,
    /// Session AMBR towards the UE
    #[arg(long, value_name = "RATE")]
    session_ambr_down: Option<String>,
    /// Session AMBR from the UE
    #[arg(long, value_name = "RATE")]
    session_ambr_up: Option<String>,
    /// 5QI of the default flow
    #[arg(long, value_name = "N")]
    five_qi: Option<String>,
    /// ARP priority of the default flow, 1 to 15
    #[arg(long, value_name = "N")]
    arp: Option<String>,
    /// Static IPv4 address
    #[arg(long, value_name = "ADDRESS")]
    ipv4: Option<String>,
    /// Static IPv6 prefix
    #[arg(long, value_name = "PREFIX/64")]
    ipv6_prefix: Option<String>,
    /// Integrity protection of the user plane: required, preferred or not_needed
    #[arg(long, value_name = "WORD")]
    up_integrity: Option<String>,
    /// Confidentiality protection of the user plane: required, preferred or not_needed
    #[arg(long, value_name = "WORD")]
    up_confidentiality: Option<String>,
}

impl FieldArgs {
    fn own(&self) -> Draft {
        let secret = |digits: &Option<String>| digits.clone().map(Secret::new).unwrap_or_default();
        Draft {
            imsi: Text::default(),
            k: secret(&self.k),
            opc: secret(&self.opc),
            op: secret(&self.op),
            topc: secret(&self.topc),
            top: secret(&self.top),
            algorithm: Text(self.algorithm.clone()),
            method: Text(self.method.clone()),
            sqn: Text(self.sqn.clone()),
            barred: Text(self.barred.clone()),
            ue_ambr_down_bps: Text(self.ue_ambr_down.clone()),
            ue_ambr_up_bps: Text(self.ue_ambr_up.clone()),
            slices: Vec::new(),
        }
    }

    fn network(&self) -> NetworkDraft {
        NetworkDraft {
            dnn: Text(self.dnn.clone()),
            types: Text(self.types.clone()),
            default_type: Text(self.default_type.clone()),
            session_ambr_down_bps: Text(self.session_ambr_down.clone()),
            session_ambr_up_bps: Text(self.session_ambr_up.clone()),
            five_qi: Text(self.five_qi.clone()),
            arp: Text(self.arp.clone()),
            ipv4: Text(self.ipv4.clone()),
            ipv6_prefix: Text(self.ipv6_prefix.clone()),
            up_integrity: Text(self.up_integrity.clone()),
            up_confidentiality: Text(self.up_confidentiality.clone()),
        }
    }

    /// A subscriber with one slice and one data network, or the usual ones.
    fn draft(&self, imsi: &str) -> Draft {
        let network = self.network();
        let says_nothing =
            self.slice.is_none() && self.default.is_none() && network == NetworkDraft::default();
        let mut draft = self.own();
        draft.imsi = Text::new(imsi);
        if !says_nothing {
            draft.slices.push(SliceDraft {
                slice: Text(self.slice.clone().or_else(|| Some("1".to_owned()))),
                default: Text(self.default.clone()),
                networks: vec![NetworkDraft {
                    dnn: Text(self.dnn.clone().or_else(|| Some("internet".to_owned()))),
                    ..network
                }],
            });
        }
        draft
    }

    fn edit(&self, remove: bool) -> Edit {
        let network = NetworkEdit {
            slice: Text(self.slice.clone()),
            default: Text(self.default.clone()),
            remove,
            network: self.network(),
        };
        let says_something = network != NetworkEdit::default();
        Edit {
            own: self.own(),
            networks: if says_something {
                vec![network]
            } else {
                Vec::new()
            },
        }
    }
}

impl SubscribersCommand {
    /// As an operation, for what is one and needs no file of the caller's.
    pub fn operation(&self) -> Option<Operation> {
        Some(match self {
            Self::Add { imsi, fields } => Operation::SubscriberAdd {
                subscriber: fields.draft(imsi),
            },
            Self::Change {
                imsi,
                fields,
                remove_network,
            } => Operation::SubscriberChange {
                imsi: imsi.clone(),
                change: fields.edit(*remove_network),
            },
            Self::Remove { imsi } => Operation::SubscriberRemove { imsi: imsi.clone() },
            Self::Show { imsi } => Operation::SubscriberShow { imsi: imsi.clone() },
            Self::List {
                filter,
                after,
                limit,
            } => Operation::SubscriberList {
                filter: Filter {
                    imsi_prefix: filter.imsi_prefix.clone(),
                    dnn: filter.dnn.clone(),
                    slice: filter.slice.clone(),
                    ipv4: filter.ipv4.clone(),
                    ipv6_prefix: filter.ipv6_prefix.clone(),
                    barred: filter.barred,
                },
                after: after.clone(),
                limit: Some(*limit),
            },
            Self::Backup { to } => Operation::Backup { to: absolute(to) },
            Self::Init | Self::Import { .. } | Self::Export { .. } | Self::Restore { .. } => {
                return None;
            }
        })
    }
}
