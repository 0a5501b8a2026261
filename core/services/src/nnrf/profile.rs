//! Profiles of our functions as documents (NFProfile: TS 29.510, 6.1.6.2.2), and what adds a part to one.

use serde_json::{Value, json};
use sluice_ids::{Dnn, Guami, Plmn, Snssai};
use sluice_sbi::{Allowed, Nf, NfProfile, Served};

use super::services::{end_point, services_json};
use crate::values::{guami_json, hex, plmn_json, slice_json, tai_json};

/// Name in a profile of a data network that no UPF leads to: nobody asks for it (RFC 6761, 6.4).
const NO_NETWORK: &str = "invalid";

/// Document of a profile and its parts, with its services at this API root if it has one, and the GUAMI of an AMF.
pub fn document(
    profile: &NfProfile,
    parts: &[Served],
    root: Option<&str>,
    guami: Option<Guami>,
) -> Value {
    let nf = profile.kind;
    let mut document = json!({
        "nfInstanceId": profile.instance.to_string(),
        "nfType": nf.to_string(),
        "nfStatus": "REGISTERED",
        "priority": profile.priority.get(),
        "capacity": profile.capacity.get(),
        "load": profile.load,
        "nfServices": services_json(nf, root),
    });
    if let Some(end_point) = root.and_then(end_point) {
        let (member, value) = end_point.of_profile();
        document[member] = value;
    }
    let plmns: Vec<Plmn> = profile.plmns().to_vec();
    put(&mut document, "plmnList", plmns.into_iter().map(plmn_json));
    let mut slices: Vec<Snssai> = Vec::new();
    for slice in parts.iter().flat_map(Served::slices) {
        if !slices.contains(slice) {
            slices.push(*slice);
        }
    }
    put(&mut document, "sNssais", slices.into_iter().map(slice_json));
    put_allowed(&mut document, &profile.allowed);
    put_parts(&mut document, nf, parts, guami);
    document
}

/// Puts a list, unless it is empty.
fn put(document: &mut Value, member: &str, items: impl Iterator<Item = Value>) {
    let items: Vec<Value> = items.collect();
    if !items.is_empty() {
        document[member] = items.into();
    }
}

fn put_allowed(document: &mut Value, allowed: &Allowed) {
    let types = allowed.types().map(|nf| nf.to_string().into());
    put(document, "allowedNfTypes", types);
    let slices = allowed.slices().iter().copied().map(slice_json);
    put(document, "allowedNssais", slices);
    let plmns = allowed.plmns().iter().copied().map(plmn_json);
    put(document, "allowedPlmns", plmns);
}

/// Parts as the information of a type: the first alone, the others in a map.
fn put_parts(document: &mut Value, nf: Nf, parts: &[Served], guami: Option<Guami>) {
    let info = |part: &Served| match nf {
        Nf::Smf => smf_info(part),
        Nf::Amf => amf_info(part, guami),
        _ => None,
    };
    let name = format!("{}Info", nf.to_string().to_lowercase());
    let mut infos = parts.iter().filter_map(info);
    if let Some(first) = infos.next() {
        document[&name] = first;
    }
    let others = infos.enumerate();
    let others: serde_json::Map<String, Value> = others
        .map(|(at, info)| ((at + 1).to_string(), info))
        .collect();
    if !others.is_empty() {
        document[format!("{name}List")] = others.into();
    }
}

/// SmfInfo; none of a part without slices, which stands for all there are.
fn smf_info(part: &Served) -> Option<Value> {
    let items = smf_items(part);
    if items.is_empty() {
        return None;
    }
    let mut info = json!({ "sNssaiSmfInfoList": items });
    put(
        &mut info,
        "taiList",
        part.areas().iter().copied().map(tai_json),
    );
    Some(info)
}

/// SnssaiSmfInfoItem of each slice.
fn smf_items(part: &Served) -> Vec<Value> {
    let mut dnns: Vec<Value> = part.dnns().iter().map(dnn_item).collect();
    if dnns.is_empty() {
        dnns.push(json!({ "dnn": "*" }));
    }
    let item = |slice: &Snssai| json!({ "sNssai": slice_json(*slice), "dnnSmfInfoList": dnns });
    part.slices().iter().map(item).collect()
}

fn dnn_item(dnn: &Dnn) -> Value {
    match dnn.is_none() {
        true => json!({ "dnn": NO_NETWORK }),
        false => json!({ "dnn": dnn.to_string() }),
    }
}

/// AmfInfo; none of an AMF whose name is not known, as its members are mandatory.
fn amf_info(part: &Served, guami: Option<Guami>) -> Option<Value> {
    let guami = guami?;
    let mut info = json!({
        "amfRegionId": hex(&[guami.amf.region()]),
        "amfSetId": format!("{:03x}", guami.amf.set()),
        "guamiList": [guami_json(guami)],
    });
    put(
        &mut info,
        "taiList",
        part.areas().iter().copied().map(tai_json),
    );
    Some(info)
}

/// Operations that add a further part to the lists of a document (JSON patch: RFC 6902) of a type that has them.
pub fn more(nf: Nf, served: &Served) -> Vec<Value> {
    let add = |path: &str, value: Value| json!({ "op": "add", "path": path, "value": value });
    let slices = served.slices().iter();
    let mut operations: Vec<Value> = slices
        .map(|slice| add("/sNssais/-", slice_json(*slice)))
        .collect();
    if nf == Nf::Smf {
        let items = smf_items(served).into_iter();
        operations.extend(items.map(|item| add("/smfInfo/sNssaiSmfInfoList/-", item)));
    }
    if matches!(nf, Nf::Smf | Nf::Amf) {
        let list = format!("/{}Info/taiList/-", nf.to_string().to_lowercase());
        let areas = served.areas().iter();
        operations.extend(areas.map(|area| add(&list, tai_json(*area))));
    }
    operations
}
