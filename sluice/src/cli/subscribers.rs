//! Arguments of `sluice ctl subscribers` and `sluice ctl hnkey`.

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use sluice_subscribers::Draft;
use sluice_subscribers::Operation;
use sluice_subscribers::draft::{NetworkDraft, Secret, SliceDraft, Text};
use sluice_subscribers::operation::{Edit, NetworkEdit};
use sluice_subscribers::store::{Filter, Format, HomeKeyProfile, SERVER};
use sluice_subscribers::{Location, ServerAddress};
use std::path::{Path, PathBuf};

/// Which database is meant.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(group = ArgGroup::new("place").args(["file", "database"]))]
pub struct DatabaseArgs {
    /// Work on this database file, which no core may be serving; otherwise the running core is asked, and
    /// what changes acts at once
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Work on this database of a PostgreSQL server (postgresql://USER@HOST/DATABASE), also while cores serve it:
    /// what changes acts at once. - takes URL from the environment variable SLUICE_DATABASE, where nobody else sees a
    /// password
    #[arg(long, value_name = "URL", conflicts_with = "file", requires = "key_file", value_parser = server_address)]
    pub database: Option<ServerAddress>,
    /// The key file that keys in it are encrypted with; FILE.key otherwise
    #[arg(long, value_name = "FILE", requires = "place")]
    pub key_file: Option<PathBuf>,
}

/// Where `-` finds a connection string.
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
    /// Its key.
    pub key_file: PathBuf,
}

impl DatabaseArgs {
    /// Where it is; none where the core is to be asked.
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
    /// Which database
    #[command(flatten)]
    pub database: DatabaseArgs,
    /// What to do
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

/// What can be done with subscribers.
#[derive(Clone, PartialEq, Eq, Debug, Subcommand)]
pub enum SubscribersCommand {
    /// Make an empty database, and its key file unless there is one
    Init,
    /// Add a subscriber
    Add {
        /// 6 to 15 digits
        imsi: String,
        /// Keys, and what it may do
        #[command(flatten)]
        fields: FieldArgs,
    },
    /// Change what is given, and leave the rest
    Change {
        /// Who
        imsi: String,
        /// What is to be otherwise; addresses are taken away by `none`
        #[command(flatten)]
        fields: FieldArgs,
        /// Remove the data network of --dnn, or without it the slice of --slice
        #[arg(long)]
        remove_network: bool,
    },
    /// Remove a subscriber
    Remove {
        /// Who
        imsi: String,
    },
    /// Show what a subscriber may do; its keys are not shown
    Show {
        /// Who
        imsi: String,
    },
    /// List subscribers, page by page
    List {
        /// Which
        #[command(flatten)]
        filter: FilterArgs,
        /// Behind this IMSI (next_after of the page before)
        #[arg(long, value_name = "IMSI")]
        after: Option<String>,
        /// At most so many (1 to 1000)
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: usize,
    },
    /// Add all subscribers of a file, or none if something in it is wrong
    Import {
        /// CSV or JSON; - is standard input
        path: PathBuf,
        /// How it is written, if the name does not end in .csv or .json
        #[arg(long)]
        format: Option<FileFormat>,
        /// Subscribers that are there already become what the file says
        #[arg(long)]
        replace: bool,
    },
    /// Write all subscribers
    Export {
        /// How
        #[arg(long)]
        format: Option<FileFormat>,
        /// With K, OPc and SQN, in the clear
        #[arg(long)]
        with_keys: bool,
        /// To a new file of mode 0600, not to standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Copy the database to a new file; the key file is no part of it
    Backup {
        /// The new file
        to: PathBuf,
    },
    /// Replace all subscribers and home network keys by those of a backup, which is verified first
    Restore {
        /// The backup
        from: PathBuf,
    },
}

/// `sluice ctl hnkey`
#[derive(Clone, PartialEq, Eq, Debug, Args)]
pub struct HnkeyArgs {
    /// Which database
    #[command(flatten)]
    pub database: DatabaseArgs,
    /// What to do
    #[command(subcommand)]
    pub what: HnkeyCommand,
}

/// What can be done with keys of the home network.
#[derive(Clone, PartialEq, Eq, Debug, Subcommand)]
pub enum HnkeyCommand {
    /// Make a key pair; its public part belongs into SIMs
    New {
        /// a: X25519, b: secp256r1 (TS 33.501, annex C)
        #[arg(long)]
        profile: ProfileArg,
        /// Home Network Public Key Identifier (1 to 255); the lowest free one otherwise
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
        id: Option<u8>,
        /// Take the private key in this file (64 hexadecimal digits), which SIMs were made for
        #[arg(long, value_name = "FILE")]
        private_key: Option<PathBuf>,
    },
    /// Identifier, profile and public key of each
    List,
    /// Remove one; SIMs that conceal for it cannot register any more
    Remove {
        /// Its identifier
        id: u8,
    },
}

/// How a file is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum FileFormat {
    /// A row for each data network
    Csv,
    /// A list of objects
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

/// Which subscribers are listed: all that is given must fit.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
pub struct FilterArgs {
    /// First digits of the IMSI
    #[arg(long, value_name = "DIGITS")]
    imsi_prefix: Option<String>,
    /// May use this data network
    #[arg(long, value_name = "NAME")]
    dnn: Option<String>,
    /// Has this slice (1, or 1-00000a)
    #[arg(long, value_name = "S-NSSAI")]
    slice: Option<String>,
    /// Has this address of its own
    #[arg(long, value_name = "ADDRESS")]
    ipv4: Option<String>,
    /// Has this prefix of its own
    #[arg(long, value_name = "PREFIX")]
    ipv6_prefix: Option<String>,
    /// Is barred, or is not
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
    /// What the SIM has; TUAK has TOPc, and a K of 32 or 64 digits
    #[arg(long, value_name = "milenage|tuak")]
    algorithm: Option<String>,
    /// How the subscriber is authenticated
    #[arg(long, value_name = "5g_aka|eap_aka_prime")]
    method: Option<String>,
    /// The highest sequence number that the SIM has taken, 12 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    sqn: Option<String>,
    /// May not register for now
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
    /// Whether the slice is a default one
    #[arg(long, value_name = "yes|no")]
    default: Option<String>,
    /// Data network
    #[arg(long, value_name = "NAME")]
    dnn: Option<String>,
    /// Types of sessions: "ipv4 ipv6 ipv4v6"
    #[arg(long, value_name = "TYPES")]
    types: Option<String>,
    /// Type of a session that asks for none
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
    /// An IPv4 address of its own
    #[arg(long, value_name = "ADDRESS")]
    ipv4: Option<String>,
    /// An IPv6 prefix of its own
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
