//! Provisioned data as JSON: access and mobility, SMF selection, session management (TS 29.503, 6.1.6.2).

use core::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Map, Value, json};
use sluice_ids::{Dnn, Snssai, UpProtection, UpSecurity};
use sluice_sbi::{AccessAndMobility, SessionManagement, SmfSelection, SubscribedUpSecurity};

use crate::deviations::{Deviation, Deviations};
use crate::values::{array, hex, rate_bps, rate_text, slice, slice_json};

/// Rate of a subscriber without one: the highest that NGAP has (TS 38.413, 9.3.1.4).
const UNLIMITED_BPS: u64 = 4_000_000_000_000;

/// Types of PDU sessions by their numbers less one (TS 24.501, 9.11.4.11).
const SESSION_TYPES: [&str; 5] = ["IPV4", "IPV6", "IPV4V6", "UNSTRUCTURED", "ETHERNET"];

/// AccessAndMobilitySubscriptionData
pub(crate) fn access_json(access: &AccessAndMobility) -> Value {
    let mut data = json!({
        "subscribedUeAmbr": ambr_json(access.ambr_down_bps.get(), access.ambr_up_bps.get()),
    });
    if access.slices > 0 {
        data["nssai"] = nssai_json(access);
    }
    data
}

/// Nssai: default slices, and the others.
pub(crate) fn nssai_json(access: &AccessAndMobility) -> Value {
    let of = |wanted: bool| -> Vec<Value> {
        let those = access
            .subscribed()
            .filter(|(_, is_default)| *is_default == wanted);
        those.map(|(slice, _)| slice_json(slice)).collect()
    };
    let mut nssai = json!({ "defaultSingleNssais": of(true) });
    let others = of(false);
    if !others.is_empty() {
        nssai["singleNssais"] = others.into();
    }
    nssai
}

/// AccessAndMobilitySubscriptionData. Slices that are default ones may be among the others once more.
pub(crate) fn access(data: &Value) -> Option<AccessAndMobility> {
    let rates = match data.get("subscribedUeAmbr") {
        None | Some(Value::Null) => (UNLIMITED_BPS, UNLIMITED_BPS),
        Some(rates) => ambr(rates)?,
    };
    let list = |name: &str| -> Option<Vec<Snssai>> {
        match data.pointer(&format!("/nssai/{name}")) {
            None | Some(Value::Null) => Some(Vec::new()),
            Some(all) => all.as_array()?.iter().map(slice).collect(),
        }
    };
    let defaults = list("defaultSingleNssais")?;
    let others = list("singleNssais")?.into_iter();
    let others: Vec<Snssai> = others.filter(|one| !defaults.contains(one)).collect();
    let defaults = defaults.into_iter().map(|one| (one, true));
    let slices: Vec<(Snssai, bool)> = defaults
        .chain(others.into_iter().map(|one| (one, false)))
        .collect();
    Some(AccessAndMobility::new(rates, &slices))
}

/// SmfSelectionSubscriptionData: data networks of each slice, the default one first.
pub(crate) fn selection_json(selections: &[(Snssai, SmfSelection)]) -> Value {
    let mut slices = Map::new();
    for (slice, selection) in selections {
        let names = selection.names().iter().enumerate();
        let infos: Vec<Value> = names
            .map(|(at, dnn)| json!({ "dnn": dnn.to_string(), "defaultDnnIndicator": at == 0 }))
            .collect();
        if !infos.is_empty() {
            slices.insert(slice_key(*slice), json!({ "dnnInfos": infos }));
        }
    }
    json!({ "subscribedSnssaiInfos": slices })
}

/// Data networks of a slice in SmfSelectionSubscriptionData; none of a slice that is not in it. A wildcard is no name.
pub(crate) fn selection(
    data: &Value,
    wanted: Snssai,
    deviations: &mut Deviations,
) -> Option<SmfSelection> {
    let slices = match data.get("subscribedSnssaiInfos") {
        None | Some(Value::Null) => return Some(SmfSelection::new(&[])),
        Some(slices) => slices.as_object()?,
    };
    let mut all = slices.iter();
    let found = all.find(|(key, _)| slice_of_key(key, deviations) == Some(wanted));
    let Some((_, info)) = found else {
        return Some(SmfSelection::new(&[]));
    };
    let is_default = |info: &&Value| {
        let indicator = info.get("defaultDnnIndicator");
        indicator.and_then(Value::as_bool) == Some(true)
    };
    let infos = info.get("dnnInfos")?.as_array()?.iter();
    let (defaults, others): (Vec<&Value>, Vec<&Value>) = infos.partition(is_default);
    let dnn = |info: &Value| Dnn::new(info.get("dnn")?.as_str()?);
    let all = defaults.into_iter().chain(others);
    let names: Vec<Dnn> = all.filter_map(dnn).collect();
    Some(SmfSelection::new(&names))
}

/// Key of a map by S-NSSAI: `1-010203`, `1`.
pub(crate) fn slice_key(slice: Snssai) -> String {
    match slice.sd() {
        Some(sd) => format!("{}-{}", slice.sst, hex(&sd)),
        None => slice.sst.to_string(),
    }
}

/// S-NSSAI of a key; `01010203` is that of free5GC.
fn slice_of_key(key: &str, deviations: &mut Deviations) -> Option<Snssai> {
    if let Some((sst, sd)) = key.split_once('-') {
        return Some(Snssai::new(sst.parse().ok()?, Some(array(&sd.into())?)));
    }
    if key.len() == 8 {
        deviations.count(Deviation::SliceKey);
        let [sst, sd @ ..] = array::<4>(&key.into())?;
        return Some(Snssai::new(sst, Some(sd)));
    }
    Some(Snssai::new(key.parse().ok()?, None))
}

/// Rights of a subscriber in a data network of a slice.
pub(crate) type Session = (Snssai, Dnn, SessionManagement);

/// SmSubsData: a list by slices.
pub(crate) fn sessions_json(sessions: &[Session]) -> Value {
    let mut list: Vec<(Snssai, Map<String, Value>)> = Vec::new();
    for (slice, dnn, session) in sessions {
        let at = list.iter().position(|(one, _)| one == slice);
        let at = at.unwrap_or_else(|| {
            list.push((*slice, Map::new()));
            list.len() - 1
        });
        list[at].1.insert(dnn.to_string(), session_json(session));
    }
    let one = |(slice, networks)| json!({ "singleNssai": slice_json(slice), "dnnConfigurations": networks });
    list.into_iter().map(one).collect()
}

/// DnnConfiguration
fn session_json(session: &SessionManagement) -> Value {
    let names = SESSION_TYPES.iter().zip(session.types);
    let allowed: Vec<&str> = names
        .filter(|(_, is_allowed)| *is_allowed)
        .map(|(name, _)| *name)
        .collect();
    let default = usize::from(session.default_type).checked_sub(1);
    let default = default.and_then(|at| SESSION_TYPES.get(at));
    let mut data = json!({
        "pduSessionTypes": { "defaultSessionType": default, "allowedSessionTypes": allowed },
        "sscModes": { "defaultSscMode": "SSC_MODE_1", "allowedSscModes": ["SSC_MODE_1"] },
        "5gQosProfile": {
            "5qi": session.five_qi,
            "arp": {
                "priorityLevel": session.priority,
                "preemptCap": "NOT_PREEMPT",
                "preemptVuln": "NOT_PREEMPTABLE",
            },
        },
        "sessionAmbr": ambr_json(session.ambr_down_bps.get(), session.ambr_up_bps.get()),
    });
    let mut addresses = Vec::new();
    if session.ipv4 != [0; 4] {
        addresses.push(json!({ "ipv4Addr": Ipv4Addr::from(session.ipv4).to_string() }));
    }
    if session.ipv6_prefix != [0; 8] {
        let mut octets = [0; 16];
        octets[..8].copy_from_slice(&session.ipv6_prefix);
        addresses.push(json!({ "ipv6Prefix": format!("{}/64", Ipv6Addr::from(octets)) }));
    }
    if !addresses.is_empty() {
        data["staticIpAddress"] = addresses.into();
    }
    if let Some(policy) = session.up_security.get() {
        data["upSecurity"] = json!({
            "upIntegr": protection_text(policy.integrity),
            "upConfid": protection_text(policy.confidentiality),
        });
    }
    data
}

/// Data network of a slice in SmSubsData, which is a list, or an object with one; none if it is not in it.
pub(crate) fn session(data: &Value, wanted: Snssai, dnn: Dnn) -> Option<SessionManagement> {
    let list = match data {
        Value::Array(list) => list,
        data => data.get("individualSmSubsData")?.as_array()?,
    };
    let is_it = |one: &&Value| one.get("singleNssai").and_then(slice) == Some(wanted);
    let mut networks = list
        .iter()
        .filter(is_it)
        .filter_map(|one| one.get("dnnConfigurations")?.as_object())
        .flatten();
    let (_, found) = networks.find(|(name, _)| Dnn::new(name) == Some(dnn))?;
    session_of(found)
}

/// DnnConfiguration. What is optional and absent is as a subscriber has it by default.
fn session_of(data: &Value) -> Option<SessionManagement> {
    let number = |name: &Value| {
        SESSION_TYPES
            .iter()
            .position(|one| Some(*one) == name.as_str())
    };
    let mut types = [false; 3];
    let allowed = data.pointer("/pduSessionTypes/allowedSessionTypes");
    for at in allowed
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(number)
    {
        if let Some(is_allowed) = types.get_mut(at) {
            *is_allowed = true;
        }
    }
    let default = data.pointer("/pduSessionTypes/defaultSessionType");
    let default = default.and_then(number);
    // Without a list the default type is the only one.
    let is_listed = allowed.is_some_and(|allowed| !allowed.is_null());
    if let Some(is_allowed) = default
        .and_then(|at| types.get_mut(at))
        .filter(|_| !is_listed)
    {
        *is_allowed = true;
    }
    let octet = |pointer: &str, otherwise: u8| match data.pointer(pointer) {
        None | Some(Value::Null) => Some(otherwise),
        Some(value) => value.as_u64()?.try_into().ok(),
    };
    let rates = match data.get("sessionAmbr") {
        None | Some(Value::Null) => (UNLIMITED_BPS, UNLIMITED_BPS),
        Some(rates) => ambr(rates)?,
    };
    let (ipv4, ipv6_prefix) = addresses(data.get("staticIpAddress"))?;
    Some(SessionManagement {
        types,
        default_type: default.map_or(0, |at| at as u8 + 1),
        ambr_down_bps: rates.0.into(),
        ambr_up_bps: rates.1.into(),
        five_qi: octet("/5gQosProfile/5qi", 9)?,
        priority: octet("/5gQosProfile/arp/priorityLevel", 8)?,
        ipv4,
        ipv6_prefix,
        up_security: up_security(data.get("upSecurity"))?,
    })
}

/// IPv4 address and IPv6 /64 prefix of a UE; zeros where it has none.
fn addresses(list: Option<&Value>) -> Option<([u8; 4], [u8; 8])> {
    let (mut ipv4, mut prefix) = ([0; 4], [0; 8]);
    for one in list.and_then(Value::as_array).into_iter().flatten() {
        let text = |name| one.get(name).and_then(Value::as_str);
        if let Some(text) = text("ipv4Addr") {
            ipv4 = text.parse::<Ipv4Addr>().ok()?.octets();
        }
        if let Some(text) = text("ipv6Prefix") {
            let (address, _) = text.split_once('/')?;
            let octets = address.parse::<Ipv6Addr>().ok()?.octets();
            prefix = *octets.first_chunk()?;
        }
    }
    Some((ipv4, prefix))
}

fn up_security(value: Option<&Value>) -> Option<SubscribedUpSecurity> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Some(None.into());
    };
    let of = |name| protection(value.get(name)?.as_str()?);
    let policy = UpSecurity {
        integrity: of("upIntegr")?,
        confidentiality: of("upConfid")?,
    };
    Some(Some(policy).into())
}

/// UpIntegrity, UpConfidentiality
fn protection_text(protection: UpProtection) -> String {
    protection.name().to_ascii_uppercase()
}

fn protection(text: &str) -> Option<UpProtection> {
    let mut all = UpProtection::ALL.into_iter();
    all.find(|one| protection_text(*one) == text)
}

/// Ambr
fn ambr_json(down_bps: u64, up_bps: u64) -> Value {
    json!({ "uplink": rate_text(up_bps), "downlink": rate_text(down_bps) })
}

/// Ambr: bits per second to and from the UE.
fn ambr(value: &Value) -> Option<(u64, u64)> {
    let of = |name| rate_bps(value.get(name)?.as_str()?);
    Some((of("downlink")?, of("uplink")?))
}
