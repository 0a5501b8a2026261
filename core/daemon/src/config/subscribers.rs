//! Sections `subscriber_database`, and `subscribers`: those of laboratories, with their keys in the file.

use super::access::none_or;
use super::kinds;
use super::sessions::read_up_security;
use sluice_ids::{Dnn, Snssai, Supi, UpSecurity};
use sluice_program::config::fields::{At, Fields};
use sluice_program::config::ipv6::Prefix6;
use sluice_program::config::kind::{Kind, ipv4, number, word};
use sluice_security::{Credentials, K, Method, Opc, Topc};
use sluice_subscribers::store::SERVER;
use sluice_subscribers::{Location, ServerAddress};
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Where subscribers and home network keys lie.
#[derive(Clone, PartialEq, Debug)]
pub struct Database {
    /// The database.
    pub location: At<Location>,
    /// The key that keys in it are encrypted with.
    pub key_file: PathBuf,
}

impl Database {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let path = || {
            Kind::new("a path", |text| {
                (!text.is_empty()).then(|| PathBuf::from(text))
            })
        };
        let key_file = fields.optional("key_file", &path());
        if fields.has("postgresql") {
            fields.optional("file", &path());
            if key_file.is_none() {
                fields.missing("key_file", "a path");
            }
            let location = server(fields)?;
            let key_file = key_file?.value;
            return Some(Self { location, key_file });
        }
        let file = fields.required("file", &path())?;
        let beside = || PathBuf::from(format!("{}.key", file.value.display()));
        let key_file = key_file.map_or_else(beside, |at| at.value);
        let location = file.map(Location::File);
        Some(Self { location, key_file })
    }

    /// The key that says where it is.
    pub fn place_key(&self) -> &'static str {
        match self.location.value {
            Location::File(_) => "file",
            Location::Server(_) => "postgresql",
        }
    }

    /// Whether core.yaml has its password.
    pub fn has_password(&self) -> bool {
        matches!(&self.location.value, Location::Server(server) if server.has_password())
    }
}

/// The connection string; no complaint repeats it, for it may have a password.
fn server(fields: &mut Fields<'_, '_>) -> Option<At<Location>> {
    let key = fields.key("postgresql");
    if fields.has("file") {
        let (line, of_file) = (fields.line(), fields.key("file"));
        let what = "says nothing beside postgresql";
        let report = fields.report();
        report.warning(line, of_file, what, "one of the two");
    }
    let any = Kind::new("a connection string", |text| Some(text.to_owned()));
    let text = fields.required("postgresql", &any)?;
    match ServerAddress::read(&text.value) {
        Ok(address) => Some(text.map(|_| Location::Server(address))),
        Err(what) => {
            fields.report().problem(text.line, key, what, SERVER);
            None
        }
    }
}

/// A subscriber.
#[derive(Clone, PartialEq)]
pub struct Account {
    /// Who.
    pub supi: At<Supi>,
    /// What its SIM has, and how it is authenticated.
    pub credentials: Credentials,
    /// Most bits per second to and from the UE.
    pub ambr_bps: (u64, u64),
    /// Slices; the first is the default one.
    pub slices: Vec<Snssai>,
    /// Data networks.
    pub networks: Vec<Network>,
}

impl std::fmt::Debug for Account {
    /// Without keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Account")
            .field("supi", &self.supi)
            .finish_non_exhaustive()
    }
}

/// What a subscriber may do in a data network.
#[derive(Clone, PartialEq, Debug)]
pub struct Network {
    /// Its name.
    pub dnn: At<Dnn>,
    /// In which slice.
    pub slice: At<Snssai>,
    /// Whether sessions may be of the types IPv4, IPv6, IPv4v6.
    pub types: [bool; 3],
    /// Number of the default type (TS 24.501, 9.11.4.11).
    pub default_type: u8,
    /// Session AMBR, bits per second to and from the UE.
    pub ambr_bps: (u64, u64),
    /// 5QI of the default flow.
    pub five_qi: u8,
    /// Its allocation and retention priority.
    pub priority: u8,
    /// The UE's own address.
    pub ipv4: Option<Ipv4Addr>,
    /// The UE's own /64 prefix.
    pub ipv6_prefix: Option<[u8; 8]>,
    /// How the user plane is to be protected; none leaves it to the data network's policy.
    pub up_security: Option<UpSecurity>,
}

impl Account {
    /// `slice` is what the core has first.
    pub(super) fn read(fields: &mut Fields<'_, '_>, slice: Option<Snssai>) -> Option<Self> {
        let supi = fields.required("imsi", &kinds::imsi());
        let credentials = credentials(fields);
        let down = fields.or("ambr_down_bps", "1G", &kinds::bit_rate());
        let up = fields.or("ambr_up_bps", "500M", &kinds::bit_rate());
        let ambr_bps = (down.value, up.value);
        let slices = fields.list("slices", &kinds::slice());
        let slices: Vec<_> = slices.into_iter().map(|at| at.value).collect();
        let slices = match slices.is_empty() {
            true => Vec::from_iter(slice),
            false => slices,
        };
        let first = slices.first().copied();
        let network = |f: &mut Fields<'_, '_>| Network::read(f, first, ambr_bps);
        let networks = fields.sections("networks", network);
        Some(Self {
            supi: supi?,
            credentials: credentials?,
            ambr_bps,
            slices,
            networks,
        })
    }
}

/// Algorithms by their names; whether they are TUAK.
const ALGORITHMS: &[(&str, bool)] = &[("milenage", false), ("tuak", true)];

/// Methods by their names (TS 29.503, 6.3.6.3.3).
const METHODS: &[(&str, Method)] = &[
    ("5g_aka", Method::FiveGAka),
    ("eap_aka_prime", Method::EapAkaPrime),
];

/// Keys of the algorithm that the SIM has, and the method.
fn credentials(fields: &mut Fields<'_, '_>) -> Option<Credentials> {
    let is_tuak = fields.or("algorithm", "milenage", &word(ALGORITHMS)).value;
    let method = fields.or("method", "5g_aka", &word(METHODS)).value;
    let (other, what) = match is_tuak {
        true => ("opc", "says nothing of a SIM with TUAK"),
        false => ("topc", "says nothing of a SIM with Milenage"),
    };
    if fields.has(other) {
        let (line, key) = (fields.line(), fields.key(other));
        let expected = "algorithm: tuak with topc, or milenage with opc";
        fields.report().warning(line, key, what, expected);
    }
    let credentials = if is_tuak {
        let k = fields.required("k", &kinds::tuak_key());
        let topc = fields.required("topc", &kinds::key_of_32());
        fields.optional("opc", &kinds::key());
        Credentials::tuak(k?.value, Topc::new(topc?.value))
    } else {
        let k = fields.required("k", &kinds::key());
        let opc = fields.required("opc", &kinds::key());
        fields.optional("topc", &kinds::key_of_32());
        Credentials::milenage(K::new(k?.value), Opc::new(opc?.value))
    };
    Some(credentials.by(method))
}

/// Types by their names, with their numbers (TS 24.501, 9.11.4.11).
const TYPES: &[(&str, u8)] = &[("ipv4", 1), ("ipv6", 2), ("ipv4v6", 3)];

impl Network {
    fn read(
        fields: &mut Fields<'_, '_>,
        slice: Option<Snssai>,
        ambr_bps: (u64, u64),
    ) -> Option<Self> {
        let dnn = fields.required("name", &kinds::dnn());
        let given = fields.optional("slice", &kinds::slice());
        let line = fields.line();
        let slice = given.or(slice.map(|value| At { line, value }));
        let listed = fields.list("types", &word(TYPES));
        let mut types = [listed.is_empty(); 3];
        for at in &listed {
            types[usize::from(at.value) - 1] = true;
        }
        let default_type = listed.first().map_or(3, |first| first.value);
        let down = fields.optional("ambr_down_bps", &kinds::bit_rate());
        let up = fields.optional("ambr_up_bps", &kinds::bit_rate());
        let five_qi = fields.or("five_qi", "9", &kinds::default_five_qi()).value;
        let priority = fields.or("arp_priority", "8", &number(1, 15, "")).value;
        let ipv4 = fields.or("ipv4", "none", &none_or(ipv4())).value;
        let prefix = fields
            .or("ipv6_prefix", "none", &none_or(prefix_64()))
            .value;
        let up_security = fields.optional_section("user_plane_security", read_up_security);
        Some(Self {
            dnn: dnn?,
            slice: slice?,
            types,
            default_type,
            ambr_bps: (
                down.map_or(ambr_bps.0, |at| at.value),
                up.map_or(ambr_bps.1, |at| at.value),
            ),
            five_qi,
            priority,
            ipv4,
            ipv6_prefix: prefix,
            up_security,
        })
    }
}

fn prefix_64() -> Kind<[u8; 8]> {
    Kind::new(
        "an IPv6 prefix of 64 bits, such as 2001:db8:1:2::/64",
        |text| {
            let prefix: Prefix6 = text.parse().ok()?;
            let octets = prefix.base().octets();
            (prefix.prefix_len() == 64).then(|| std::array::from_fn(|at| octets[at]))
        },
    )
}
