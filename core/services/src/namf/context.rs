//! UeContext (TS 29.518, 6.1.6.2.25): subscriber, device, keys of NAS, and PDU sessions.

use serde_json::{Map, Value, json};
use sluice_ids::{Dnn, Imeisv};
use sluice_sbi::{MovedKeys, MovedSession, MovedSessions, UeContext};

use crate::names::Memory;
use crate::nsmf;
use crate::values::{array, base64_octets, base64_text, hex, slice, slice_json, supi, supi_text};

/// Access of UEs at our AMFs.
pub(super) const ACCESS: &str = "3GPP_ACCESS";

/// Element identifier of the UE security capability (TS 24.501, 8.2.6): the capability begins with its first octet.
const CAPABILITY: u8 = 0x2e;

/// UeContext of our AMF.
pub(super) fn write(context: &UeContext, memory: &Memory) -> Value {
    let mut body = Map::new();
    body.insert("supi".to_owned(), supi_text(&context.supi).into());
    if let Some(imeisv) = context.device.get() {
        body.insert("pei".to_owned(), format!("imeisv-{imeisv}").into());
    }
    if let Some(keys) = context.keys.get() {
        body.insert("seafData".to_owned(), seaf_data(keys));
        body.insert("mmContextList".to_owned(), json!([mm_context(keys)]));
    }
    let sessions = context.sessions.all().iter();
    let sessions: Vec<Value> = sessions.filter_map(|one| session(one, memory)).collect();
    if !sessions.is_empty() {
        body.insert("sessionContextList".to_owned(), sessions.into());
    }
    body.into()
}

/// SeafData
fn seaf_data(keys: &MovedKeys) -> Value {
    let kind = match keys.is_derived {
        true => "KPRIMEAMF",
        false => "KAMF",
    };
    json!({
        "ngKsi": { "tsc": "NATIVE", "ksi": keys.ngksi },
        "keyAmf": { "keyType": kind, "keyVal": hex(&keys.kamf) },
        "keyAmfHDerivationInd": keys.is_derived,
    })
}

/// MmContext
fn mm_context(keys: &MovedKeys) -> Value {
    let capability = keys.capability();
    let element = [&[CAPABILITY, capability.len() as u8], capability].concat();
    json!({
        "accessType": ACCESS,
        "nasSecurityMode": {
            "integrityAlgorithm": format!("NIA{}", keys.integrity),
            "cipheringAlgorithm": format!("NEA{}", keys.ciphering),
        },
        "nasDownlinkCount": keys.downlink.get(),
        "nasUplinkCount": keys.uplink.get(),
        "ueSecurityCapability": base64_text(&element),
    })
}

/// PduSessionContext; none of one whose URI was forgotten.
fn session(session: &MovedSession, memory: &Memory) -> Option<Value> {
    Some(json!({
        "pduSessionId": session.session,
        "smContextRef": nsmf::reference(session.context.get(), memory)?,
        "sNssai": slice_json(session.slice),
        "dnn": session.dnn.to_string(),
        "accessType": ACCESS,
    }))
}

/// UeContext of another AMF; none without a SUPI of the type IMSI. Keys and sessions that cannot be read are none.
pub(super) fn read(body: &Value, memory: &mut Memory) -> Option<UeContext> {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let pei = text("pei").and_then(|pei| pei.strip_prefix("imeisv-"));
    let sessions = body.get("sessionContextList").and_then(Value::as_array);
    let sessions = sessions.into_iter().flatten();
    let sessions: Vec<MovedSession> = sessions
        .filter_map(|one| read_session(one, memory))
        .collect();
    Some(UeContext {
        supi: supi(text("supi")?)?,
        device: pei.and_then(Imeisv::from_digits).into(),
        keys: read_keys(body).into(),
        sessions: MovedSessions::new(&sessions),
    })
}

/// SeafData and the MmContext of our access.
fn read_keys(body: &Value) -> Option<MovedKeys> {
    let seaf = body.get("seafData")?;
    let contexts = body.get("mmContextList")?.as_array()?;
    let is_ours = |one: &&Value| one.get("accessType").is_some_and(|access| access == ACCESS);
    let mm = contexts.iter().find(is_ours)?;
    let flag = |name: &str| seaf.get(name).and_then(Value::as_bool) == Some(true);
    let is_prime = seaf.pointer("/keyAmf/keyType")? == "KPRIMEAMF";
    let is_derived = is_prime || flag("keyAmfHDerivationInd");
    // Keys of EPS, and of an authentication of which the UE was not told yet, are not those that it uses.
    let is_native = seaf.pointer("/ngKsi/tsc")? == "NATIVE";
    if !is_native || (flag("keyAmfChangeInd") && !is_derived) {
        return None;
    }
    let number = |name: &str| u32::try_from(mm.get(name)?.as_u64()?).ok();
    let algorithm = |pointer: &str, kind: &str| {
        let name = mm.pointer(pointer)?.as_str()?;
        name.strip_prefix(kind)?.parse::<u8>().ok()
    };
    let capability = base64_octets(mm.get("ueSecurityCapability")?.as_str()?)?;
    let mut keys = MovedKeys::none().with_capability(value_of(&capability));
    keys.kamf = array(seaf.pointer("/keyAmf/keyVal")?)?;
    keys.is_derived = is_derived;
    keys.ngksi = seaf.pointer("/ngKsi/ksi")?.as_u64()?.try_into().ok()?;
    keys.ciphering = algorithm("/nasSecurityMode/cipheringAlgorithm", "NEA")?;
    keys.integrity = algorithm("/nasSecurityMode/integrityAlgorithm", "NIA")?;
    keys.uplink = number("nasUplinkCount")?.into();
    keys.downlink = number("nasDownlinkCount")?.into();
    Some(keys)
}

/// Value of an information element, which some send without identifier and length.
fn value_of(element: &[u8]) -> &[u8] {
    match element {
        [CAPABILITY, length, value @ ..] if usize::from(*length) == value.len() => value,
        [length, value @ ..] if usize::from(*length) == value.len() => value,
        value => value,
    }
}

fn read_session(one: &Value, memory: &mut Memory) -> Option<MovedSession> {
    let session = one.get("pduSessionId")?.as_u64()?.try_into().ok()?;
    let reference = one.get("smContextRef")?.as_str()?;
    Some(MovedSession {
        session: Some(session).filter(|session| (1..16).contains(session))?,
        slice: slice(one.get("sNssai")?)?,
        dnn: Dnn::new(one.get("dnn")?.as_str()?)?,
        context: memory.keep(reference).into(),
    })
}
