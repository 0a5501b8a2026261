//! Scenario sections for N1 and N2: gNBs towards an AMF, UEs with SIMs.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use sluice_ids::{Dnn, Plmn, Snssai, Supi, Tac};
use sluice_n1::SessionType;
use sluice_program::config::fields::Fields;
use sluice_program::config::kind::{self, Kind};
use sluice_sctp::{Choice, NGAP_PORT};
use sluice_security::suci::HomePublicKey;
use sluice_security::{Credentials, K, Opc, SecurityCapability, Topc, TuakKey};
use sluice_ue::WantedSession;

use super::kinds::{self, NetnsPlace, PduType};
use super::{Gnbs, N2_UES_MAX, Ues};

/// The first gNB's SCTP port; one process opens each port once.
const FIRST_SCTP_PORT: &str = "38500";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// IP protocol 132.
    Ip,
    /// UDP (RFC 6951).
    Udp,
}

/// gNBs towards an AMF.
#[derive(Clone, Debug)]
pub struct N2 {
    /// The AMF and its SCTP port.
    pub amf: SocketAddr,
    /// The first gNB's own address; the others follow.
    pub local: IpAddr,
    /// Namespace of that address; none: the namespace of the gNB's N3 address.
    pub namespace: Option<NetnsPlace>,
    pub sctp: Choice,
    /// A second address of the first gNB (multihoming); those of the others follow.
    pub second_local: Option<IpAddr>,
    pub over: Over,
    /// UDP ports of the gNBs and of the AMF.
    pub udp_ports: (u16, u16),
    /// The first gNB's SCTP port; the others follow.
    pub sctp_port: u16,
    /// PLMN of the gNBs.
    pub plmn: Plmn,
    /// Tracking area of the gNBs.
    pub tac: Tac,
    /// Slices of the gNBs.
    pub slices: Vec<Snssai>,
    /// The first one's identity, of 24 bits; the others follow.
    pub id: u32,
    /// Whether they keep their UEs when they lose the AMF (TS 38.413, 8.7.1).
    pub retains_ues: bool,
}

/// SIMs of a group of UEs.
#[derive(Clone, Debug)]
pub struct Sims {
    pub home: Plmn,
    /// Digits of the home network in an IMSI.
    pub home_digits: usize,
    /// Algorithm and keys, the same for all of the group.
    pub credentials: Credentials,
    /// With which key identities are concealed; none shows them as they are.
    pub home_key: Option<(u8, HomePublicKey)>,
    pub capability: SecurityCapability,
    /// Slices that are asked for when registering.
    pub slices: Option<Vec<Snssai>>,
    pub sessions: Vec<(u8, WantedSession)>,
    /// Whether sessions have TUN devices.
    pub devices: bool,
}

impl N2 {
    pub(super) fn read(f: &mut Fields<'_, '_>, n3: IpAddr, count: usize) -> Option<Self> {
        let amf = f.required("amf", &amf_address());
        let local = f.optional("local", &kind::ip());
        let namespace = f.optional("namespace", &kinds::namespace());
        let stack = f.or("sctp", "auto", &kind::word(STACKS));
        let second = f.optional("second_local", &kind::ip());
        let over = kind::word(&[("ip", Over::Ip), ("udp", Over::Udp)]);
        let over = f.or("over", "ip", &over);
        let udp = f.or("udp_port", "9899", &port());
        let amf_udp = f.or("amf_udp_port", "9899", &port());
        let sctp = f.or("sctp_port", FIRST_SCTP_PORT, &port());
        let plmn = f.required("plmn", &plmn());
        let tac = f.or("tac", "1", &kind::number(0, 0xff_ffff, ""));
        let slices = f.or("slices", "1", &slices());
        let retains_ues = f.or("retains_ues", "false", &kind::boolean());
        let id = f.or("id", "1", &kind::number(0, 0xff_ffff, ""));
        if usize::from(sctp.value) + count > 1 << 16 || id.value as usize + count > 1 << 24 {
            let (line, key) = (f.line(), f.key("sctp_port"));
            let what = format!("no room for {count} ports and identities");
            f.report()
                .problem(line, key, what, "lower sctp_port and id");
        }
        let amf = amf?.value;
        let local = local.map_or(n3, |at| at.value);
        if local.is_ipv4() != amf.is_ipv4() {
            let (line, key) = (f.line(), f.key("local"));
            let what = format!("{local} and the AMF {} are of two families", amf.ip());
            let expected = "addresses of gNBs and AMF of one family";
            f.report().problem(line, key, what, expected);
        }
        let [.., a, b, c] = u32::to_be_bytes(tac.value);
        Some(Self {
            amf,
            local,
            namespace: namespace.map(|at| at.value),
            sctp: stack.value,
            second_local: second.map(|at| at.value),
            over: over.value,
            udp_ports: (udp.value, amf_udp.value),
            sctp_port: sctp.value,
            tac: Tac([a, b, c]),
            slices: slices.value,
            id: id.value,
            retains_ues: retains_ues.value,
            plmn: plmn?.value,
        })
    }

    /// The port that one of them binds at its addresses, and whose it is.
    fn port_of(&self, member: usize) -> (&'static str, u16) {
        match self.over {
            Over::Udp => ("UDP", self.udp_ports.0),
            Over::Ip => ("SCTP", self.sctp_port.wrapping_add(member as u16)),
        }
    }

    pub fn locals_of(&self, member: usize) -> Vec<IpAddr> {
        let all = [Some(self.local), self.second_local];
        let following = |first| kinds::following(first, member).unwrap_or(first);
        all.into_iter().flatten().map(following).collect()
    }
}

/// SCTP implementations by name.
const STACKS: &[(&str, Choice)] = &[
    ("auto", Choice::Auto),
    ("kernel", Choice::Kernel),
    ("userspace", Choice::Userspace),
];

impl Sims {
    pub(super) fn read(f: &mut Fields<'_, '_>, imsi: u64, count: usize) -> Option<Self> {
        let line = f.line();
        let is_tuak = kind::word(&[("milenage", false), ("tuak", true)]);
        let is_tuak = f.or("algorithm", "milenage", &is_tuak).value;
        let credentials = if is_tuak { tuak(f) } else { milenage(f) };
        let digits = f.or("mnc_digits", "2", &kind::number(2, 3, ""));
        let home_key = f.optional_section("home_key", home_key);
        let ciphering = f.or("ciphering", "0,1,2,3", &algorithms());
        let integrity = f.or("integrity", "1,2,3", &algorithms());
        let slices = f.optional("slices", &slices());
        let devices = f.or("devices", "true", &kind::boolean());
        let sessions = f.sections("sessions", session);
        check_sessions(f, &sessions);
        let credentials = credentials?;
        let home_digits = 3 + digits.value;
        let text = format!("{imsi:015}");
        let (mcc, rest) = text.split_at(3);
        let home = Plmn::new(mcc, rest.get(..digits.value)?)?;
        if !Ues::is_room_for(imsi, count, home_digits) {
            let key = f.key("imsi");
            let what = format!("no room for {count} numbers after {text}");
            f.report().problem(line, key, what, "a lower imsi");
        }
        Some(Self {
            home,
            home_digits,
            credentials,
            home_key,
            capability: SecurityCapability::from_octets(&[ciphering.value, integrity.value])?,
            slices: slices.map(|at| at.value),
            sessions,
            devices: devices.value,
        })
    }

    /// SUPI of the UE with this IMSI in a group.
    pub fn supi(imsi: u64) -> Option<Supi> {
        Supi::from_imsi(&format!("{imsi:015}"))
    }
}

fn milenage(f: &mut Fields<'_, '_>) -> Option<Credentials> {
    let line = f.line();
    let k = f.required("k", &key_of(16));
    let opc = f.optional("opc", &key_of(16));
    let op = f.optional("op", &key_of(16));
    let k = K::new(k?.value.try_into().ok()?);
    let of_op = match op {
        Some(op) => Some(Opc::from_op(&k, op.value.try_into().ok()?)),
        None => None,
    };
    let opc = match opc {
        Some(opc) => Some(Opc::new(opc.value.try_into().ok()?)),
        None => None,
    };
    let opc = one_of(f, line, ["opc", "op"], opc, of_op)?;
    Some(Credentials::milenage(k, opc))
}

fn tuak(f: &mut Fields<'_, '_>) -> Option<Credentials> {
    let line = f.line();
    let expected = "32 or 64 hex digits";
    let k = f.required("k", &Kind::new(expected, |text| TuakKey::new(&hex(text)?)));
    let topc = f.optional("topc", &key_of(32));
    let top = f.optional("top", &key_of(32));
    let k = k?.value;
    let of_top = match top {
        Some(top) => Some(Topc::from_top(&k, &top.value.try_into().ok()?)),
        None => None,
    };
    let topc = match topc {
        Some(topc) => Some(Topc::new(topc.value.try_into().ok()?)),
        None => None,
    };
    let topc = one_of(f, line, ["topc", "top"], topc, of_top)?;
    Some(Credentials::tuak(k, topc))
}

/// The operator's variant, as it is or derived from the operator's constant; both must agree.
fn one_of<T: PartialEq>(
    f: &mut Fields<'_, '_>,
    line: u32,
    [name, constant]: [&str; 2],
    given: Option<T>,
    derived: Option<T>,
) -> Option<T> {
    let what = match (given, derived) {
        (Some(given), Some(derived)) if given != derived => {
            format!("not what {constant} and k make")
        }
        (Some(one), _) | (None, Some(one)) => return Some(one),
        (None, None) => "missing".to_owned(),
    };
    let key = f.key(name);
    let expected = format!("{name}, or the operator's {constant}");
    f.report().problem(line, key, what, expected);
    None
}

fn session(f: &mut Fields<'_, '_>) -> Option<(u8, WantedSession)> {
    let id = f.or("id", "1", &kind::number(1, 15, ""));
    let dnn = f.optional("dnn", &dnn());
    let slice = f.optional("slice", &slice());
    let kind = f.or("type", "ipv4", &kinds::pdu_type());
    let session_type = match kind.value {
        PduType::Ipv4 => SessionType::Ipv4,
        PduType::Ipv6 => SessionType::Ipv6,
        PduType::Ipv4v6 => SessionType::Ipv4v6,
    };
    let wanted = WantedSession {
        session_type: Some(session_type),
        ssc_mode: Some(1),
        slice: slice.map(|at| at.value),
        dnn: dnn.map(|at| at.value),
        ..WantedSession::default()
    };
    Some((id.value, wanted))
}

fn check_sessions(f: &mut Fields<'_, '_>, sessions: &[(u8, WantedSession)]) {
    for (at, (id, _)) in sessions.iter().enumerate() {
        if sessions.iter().take(at).any(|(other, _)| other == id) {
            let (line, key) = (f.line(), f.key("sessions"));
            let what = format!("two sessions have the id {id}");
            f.report().problem(line, key, what, "different ids");
        }
    }
}

/// Identities are concealed with it (TS 33.501, C.3).
fn home_key(f: &mut Fields<'_, '_>) -> Option<(u8, HomePublicKey)> {
    let profile = f.or("profile", "a", &kind::word(&[("a", 'a'), ("b", 'b')]));
    let id = f.or("id", "1", &kind::number(0, 255, ""));
    let public = f.required("public", &octets())?;
    let key = match profile.value {
        'a' => <[u8; 32]>::try_from(&public.value[..])
            .ok()
            .map(HomePublicKey::profile_a),
        _ => HomePublicKey::profile_b(&public.value),
    };
    if key.is_none() {
        let key = f.key("public");
        let what = format!("{} octets that are no key of it", public.value.len());
        let expected =
            "64 hex digits of profile a, or a point of 66 or 130 hex digits of profile b";
        f.report().problem(public.line, key, what, expected);
    }
    Some((id.value, key?))
}

/// Each gNB has an address and port of its own towards its AMF: the kernel gives one to one of them alone.
fn check_ends(gnbs: &[Gnbs], f: &mut Fields<'_, '_>) {
    let mut known = BTreeMap::new();
    for (at, group) in gnbs.iter().enumerate() {
        let Some(n2) = &group.n2 else { continue };
        let place = n2.namespace.as_ref().unwrap_or(&group.namespace);
        let place = format!("{place:?}");
        for (member, name) in group.names().into_iter().enumerate() {
            for address in n2.locals_of(member) {
                let (over, port) = n2.port_of(member);
                let end = (place.clone(), address, over, port);
                let Some((other, line)) = known.insert(end, (name.clone(), group.line)) else {
                    continue;
                };
                let what = format!(
                    "{address} with {over} port {port} is that of gNB {name} and of gNB {other} in line {line}"
                );
                let expected = "a local address of its own for each gNB, or another port";
                let key = match gnbs.len() {
                    1 => "gnbs.n2.local".to_owned(),
                    _ => format!("gnbs[{at}].n2.local"),
                };
                f.report().problem(group.line, key, what, expected);
                return;
            }
        }
    }
}

/// A group with SIMs has no addresses and tunnels of its own, and gNBs with an AMF.
pub(super) fn check(gnbs: &[Gnbs], ues: &[Ues], f: &mut Fields<'_, '_>) {
    check_ends(gnbs, f);
    let has_amf: Vec<bool> = gnbs
        .iter()
        .flat_map(|group| std::iter::repeat_n(group.n2.is_some(), group.count))
        .collect();
    for group in ues.iter().filter(|group| group.sims.is_some()) {
        let lacks = |gnb: &&usize| has_amf.get(**gnb) == Some(&false);
        if group.gnbs.iter().any(|gnb| lacks(&gnb)) && f.report().is_clean("gnbs") {
            let what = format!("group {} has SIMs, and gNBs without n2", group.name);
            let expected = "n2 with the AMF in its gNBs, or other gnbs for the group";
            f.report().problem(group.line, "ues", what, expected);
        }
    }
    let devices = ues.iter().filter(|group| group.has_devices());
    let devices: usize = devices.map(|group| group.count).sum();
    if devices > super::UES_MAX {
        let (line, what) = (f.line(), format!("{devices} UEs with devices"));
        let expected = format!(
            "at most {}, and up to {N2_UES_MAX} with sim: {{devices: false}}",
            super::UES_MAX
        );
        f.report().problem(line, "ues", what, expected);
    }
}

/// An address of either family, with the port of NGAP if it has none.
fn amf_address() -> Kind<SocketAddr> {
    let expected = "an address such as 198.18.2.1, 198.18.2.1:38412 or '[2001:db8::1]:38412'";
    Kind::new(expected, |text| {
        let alone = || Some(SocketAddr::new(text.parse().ok()?, NGAP_PORT));
        text.parse().ok().or_else(alone)
    })
}

fn port() -> Kind<u16> {
    kind::number(1, u16::MAX, "")
}

fn octets() -> Kind<Vec<u8>> {
    Kind::new("octets as hex digits", hex)
}

fn key_of(octets: usize) -> Kind<Vec<u8>> {
    Kind::new(format!("{} hex digits", 2 * octets), move |text| {
        hex(text).filter(|key| key.len() == octets)
    })
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let pair = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    let is_hex = text.bytes().all(|c| c.is_ascii_hexdigit()) && text.len().is_multiple_of(2);
    is_hex.then(|| text.as_bytes().chunks(2).map(pair).collect())?
}

fn plmn() -> Kind<Plmn> {
    let expected = "MCC and MNC in quotes, such as '00101' or '310410'";
    Kind::new(expected, |text| {
        let digits = text.replace('-', "");
        let (mcc, mnc) = digits.split_at_checked(3)?;
        Plmn::new(mcc, mnc)
    })
}

fn slice() -> Kind<Snssai> {
    let expected = "a slice: SST, or SST-SD with six hex digits, such as 1-010203";
    Kind::new(expected, read_slice)
}

fn slices() -> Kind<Vec<Snssai>> {
    let expected = "slices with commas between: SST, or SST-SD, such as '1, 1-010203'";
    Kind::new(expected, |text| {
        text.split(',')
            .map(|part| read_slice(part.trim()))
            .collect()
    })
}

fn read_slice(text: &str) -> Option<Snssai> {
    match text.split_once('-') {
        Some((sst, sd)) => {
            let sd = <[u8; 3]>::try_from(hex(sd)?).ok()?;
            Some(Snssai::new(sst.parse().ok()?, Some(sd)))
        }
        None => Some(Snssai::new(text.parse().ok()?, None)),
    }
}

fn dnn() -> Kind<Dnn> {
    Kind::new("a data network's name, such as internet", Dnn::new)
}

/// Bits of algorithms, 0 first.
fn algorithms() -> Kind<u8> {
    Kind::new("numbers from 0 to 3 with commas between", |text| {
        let bit = |part: &str| match part.trim().parse() {
            Ok(number @ 0..=3_u8) => Some(0x80 >> number),
            _ => None,
        };
        text.split(',')
            .try_fold(0, |bits, part| Some(bits | bit(part)?))
    })
}
