//! Documents of profiles (NFProfile: TS 29.510, 6.1.6.2.2): kept as they came, and read for what discoveries ask.

use serde_json::{Map, Value};
use sluice_ids::{Dnn, Guami, Plmn, Snssai};
use sluice_sbi::{NfInstance, Served};
use sluice_services::body::{member, optional};
use sluice_services::{Response, nnrf, values};

use crate::nf_type::NfType;
use crate::part::{Part, SupiRange, TaiRange};

type Refusal = Box<Response>;

/// Members that tell who may discover an instance; nobody but the NRF sees them.
const ALLOWED: [&str; 7] = [
    "allowedPlmns",
    "allowedSnpns",
    "allowedNfTypes",
    "allowedNfDomains",
    "allowedNssais",
    "allowedOperationsPerNfType",
    "allowedOperationsPerNfInstance",
];

/// Consumers that may discover an instance, or a service of it. An empty list lets all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Allowed {
    /// Types.
    pub types: Vec<NfType>,
    /// Slices.
    pub slices: Vec<Snssai>,
    /// PLMNs.
    pub plmns: Vec<Plmn>,
}

impl From<&sluice_sbi::Allowed> for Allowed {
    fn from(allowed: &sluice_sbi::Allowed) -> Self {
        Self {
            types: allowed.types().map(NfType::from).collect(),
            slices: allowed.slices().to_vec(),
            plmns: allowed.plmns().to_vec(),
        }
    }
}

/// Service of an instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Service {
    pub name: String,
    pub allowed: Allowed,
    pub is_registered: bool,
}

impl Service {
    /// For all.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            allowed: Allowed::default(),
            is_registered: true,
        }
    }
}

/// Subscribers that an instance serves; empty lists are all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Subscribers {
    pub ranges: Vec<SupiRange>,
    pub routing_indicators: Vec<String>,
    pub group: Option<String>,
}

/// Names of an AMF.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct AmfNames {
    pub guamis: Vec<Guami>,
    pub set: Option<u64>,
    pub region: Option<u64>,
}

/// Facts of an instance that discoveries ask for.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub instance: NfInstance,
    pub kind: NfType,
    pub is_registered: bool,
    pub priority: u16,
    pub capacity: u16,
    pub load: u8,
    pub plmns: Vec<Plmn>,
    pub allowed: Allowed,
    pub parts: Vec<Part>,
    pub services: Vec<Service>,
    pub subscribers: Vec<Subscribers>,
    pub amf: AmfNames,
    pub locality: Option<String>,
}

impl Facts {
    /// Of a document.
    ///
    /// # Errors
    /// A response that refuses it: a member is missing or wrong.
    pub fn read(document: &Value) -> Result<Self, Refusal> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let id = |value: &Value| values::instance(value.as_str()?);
        let kind = |value: &Value| NfType::new(value.as_str()?);
        let number = |value: &Value| u16::try_from(value.as_u64()?).ok();
        let load = |value: &Value| Some(value.as_u64()?.min(100) as u8);
        let status = member(document, "/nfStatus", "REGISTERED", text)?;
        let kind = member(document, "/nfType", "an NF type", kind)?;
        let priority = optional(document, "/priority", "0 to 65535", number)?;
        let capacity = optional(document, "/capacity", "0 to 65535", number)?;
        let slices = slices(document)?;
        let infos = infos(document, &kind);
        let mut parts = Vec::new();
        for info in &infos {
            parts.extend(parts_of(info, &slices)?);
        }
        if infos.is_empty() {
            parts.extend(Served::parts(&slices, &[], &[]).into_iter().map(Part::from));
        }
        let subscribers = infos.iter().map(|info| subscribers(info));
        Ok(Self {
            instance: member(document, "/nfInstanceId", "a UUID", id)?,
            is_registered: status == "REGISTERED",
            priority: priority.unwrap_or(0),
            capacity: capacity.unwrap_or(100),
            load: optional(document, "/load", "0 to 100", load)?.unwrap_or(0),
            plmns: list(document, "/plmnList", "PLMNs", values::plmn)?,
            allowed: allowed(document)?,
            parts,
            services: services(document)?,
            subscribers: subscribers.collect::<Result<_, _>>()?,
            amf: amf_names(infos.first().copied())?,
            locality: optional(document, "/locality", "a string", text)?,
            kind,
        })
    }
}

/// Items of an optional list, each as `read` takes it.
fn list<T>(
    document: &Value,
    pointer: &str,
    expected: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>, Refusal> {
    let all = optional(document, pointer, expected, |value| {
        value.as_array()?.iter().map(read).collect()
    })?;
    Ok(all.unwrap_or_default())
}

fn names(document: &Value, pointer: &str) -> Result<Vec<String>, Refusal> {
    list(document, pointer, "a list of strings", |value| {
        Some(value.as_str()?.to_owned())
    })
}

fn allowed(document: &Value) -> Result<Allowed, Refusal> {
    let types = "/allowedNfTypes";
    let kind = |value: &Value| NfType::new(value.as_str()?);
    Ok(Allowed {
        types: list(document, types, "NF types", kind)?,
        slices: list(document, "/allowedNssais", "slices", values::slice)?,
        plmns: list(document, "/allowedPlmns", "PLMNs", values::plmn)?,
    })
}

fn services(document: &Value) -> Result<Vec<Service>, Refusal> {
    let mut services = Vec::new();
    for service in nnrf::services_of(document) {
        let name = |value: &Value| value.as_str().map(str::to_owned);
        let status = service.get("nfServiceStatus").and_then(Value::as_str);
        services.push(Service {
            name: member(service, "/serviceName", "the name of a service", name)?,
            allowed: allowed(service)?,
            is_registered: status.is_none_or(|status| status == "REGISTERED"),
        });
    }
    Ok(services)
}

/// Slices of a profile, in all of its PLMNs.
fn slices(document: &Value) -> Result<Vec<Snssai>, Refusal> {
    let mut slices = list(document, "/sNssais", "slices", values::slice)?;
    let of_plmns = document.get("perPlmnSnssaiList").and_then(Value::as_array);
    for of_plmn in of_plmns.into_iter().flatten() {
        slices.extend(list(of_plmn, "/sNssaiList", "slices", values::slice)?);
    }
    Ok(slices)
}

/// Information of the type: `smfInfo` of an SMF, and the entries of its `smfInfoList`.
fn infos<'a>(document: &'a Value, kind: &NfType) -> Vec<&'a Value> {
    let name = format!("{}Info", kind.name().to_lowercase());
    let one = document.get(&name).filter(|info| info.is_object());
    let map = document.get(format!("{name}List"));
    let map = map.and_then(Value::as_object);
    let others = map.into_iter().flat_map(Map::values);
    one.into_iter().chain(others).collect()
}

/// Data networks and slices that go together.
type Together = (Vec<Dnn>, Vec<Snssai>);

/// Parts of the information of a type.
fn parts_of(info: &Value, slices: &[Snssai]) -> Result<Vec<Part>, Refusal> {
    let areas = list(info, "/taiList", "tracking areas", values::tai)?;
    let ranges = tai_ranges(info)?;
    let mut all = together(info)?;
    if all.is_empty() {
        let dnns = info.get("dnnList").and_then(Value::as_array);
        all.push((networks(dnns.into_iter().flatten()), slices.to_vec()));
    }
    let mut parts = Vec::new();
    for (dnns, slices) in all {
        let served = Served::parts(&slices, &dnns, &areas).into_iter();
        parts.extend(served.map(|served| Part {
            served,
            ranges: ranges.clone(),
        }));
    }
    Ok(parts)
}

/// Lists of slices with their data networks: `sNssaiSmfInfoList` with `dnnSmfInfoList`, and those of other types.
fn together(info: &Value) -> Result<Vec<Together>, Refusal> {
    let is = |name: &str, start: &str| name.starts_with(start) && name.ends_with("InfoList");
    let lists = info.as_object().into_iter().flatten();
    let lists = lists.filter(|(name, _)| is(name, "sNssai"));
    let items = lists.filter_map(|(_, list)| list.as_array()).flatten();
    let mut all: Vec<Together> = Vec::new();
    for item in items {
        let slice = member(item, "/sNssai", "a slice", values::slice)?;
        let dnns = item.as_object().into_iter().flatten();
        let dnns = dnns.filter(|(name, _)| is(name, "dnn"));
        let dnns = dnns.filter_map(|(_, list)| list.as_array()).flatten();
        let dnns = networks(dnns.filter_map(|one| one.get("dnn")));
        match all.iter_mut().find(|(others, _)| *others == dnns) {
            Some((_, slices)) => slices.push(slice),
            None => all.push((dnns, vec![slice])),
        }
    }
    Ok(all)
}

/// Data networks of a list; none are all, as is an asterisk. A name that no UE can ask for is that of none.
fn networks<'a>(names: impl Iterator<Item = &'a Value>) -> Vec<Dnn> {
    let names: Vec<&str> = names.filter_map(Value::as_str).collect();
    if names.contains(&"*") {
        return Vec::new();
    }
    let name = |name: &str| Dnn::new(name).unwrap_or(Dnn::NONE);
    names.into_iter().map(name).collect()
}

/// Ranges of tracking areas; one by a regular expression, which is not read, is of all codes of its PLMN.
fn tai_ranges(info: &Value) -> Result<Vec<TaiRange>, Refusal> {
    let all = info.get("taiRangeList").and_then(Value::as_array);
    let mut ranges = Vec::new();
    for range in all.into_iter().flatten() {
        let plmn = member(range, "/plmnId", "a PLMN", values::plmn)?;
        let codes = list(range, "/tacRangeList", "ranges", |codes| {
            let code = |name, default| match codes.get(name) {
                None | Some(Value::Null) => Some(default),
                Some(code) => tac(code),
            };
            let (first, last) = (code("start", [0; 3])?, code("end", [0xff; 3])?);
            Some(TaiRange { plmn, first, last })
        })?;
        ranges.extend(codes);
    }
    Ok(ranges)
}

fn tac(value: &Value) -> Option<[u8; 3]> {
    let mut octets = values::octets(value.as_str()?)?;
    // Two octets are those of 4G (TS 29.571, 5.4.2).
    if octets.len() == 2 {
        octets.insert(0, 0);
    }
    octets.try_into().ok()
}

fn subscribers(info: &Value) -> Result<Subscribers, Refusal> {
    let number = |range: &Value, name: &str| range.get(name)?.as_str()?.parse().ok();
    let range = |range: &Value| {
        let numbers = (number(range, "start"), number(range, "end"));
        Some(match numbers {
            (Some(first), Some(last)) => SupiRange::Numbers { first, last },
            _ => SupiRange::Any,
        })
    };
    let group = |value: &Value| value.as_str().map(str::to_owned);
    Ok(Subscribers {
        ranges: list(info, "/supiRanges", "ranges", range)?,
        routing_indicators: names(info, "/routingIndicators")?,
        group: optional(info, "/groupId", "a string", group)?,
    })
}

fn amf_names(info: Option<&Value>) -> Result<AmfNames, Refusal> {
    let Some(info) = info else {
        return Ok(AmfNames::default());
    };
    let digits = |value: &Value| u64::from_str_radix(value.as_str()?, 16).ok();
    Ok(AmfNames {
        guamis: list(info, "/guamiList", "GUAMIs", values::guami)?,
        set: optional(info, "/amfSetId", "hexadecimal digits", digits)?,
        region: optional(info, "/amfRegionId", "hexadecimal digits", digits)?,
    })
}

/// Document as consumers see it: without whom it lets, and with its services as a list, or as a map by identifiers.
pub(crate) fn shown(mut document: Value, wants_map: bool) -> Value {
    let Some(members) = document.as_object_mut() else {
        return document;
    };
    hide(members);
    let list = members.remove("nfServices");
    let map = members.remove("nfServiceList");
    let mut services: Vec<(String, Value)> = Vec::new();
    if let Some(Value::Array(list)) = list {
        let keyed = list.into_iter().enumerate().map(|(at, service)| {
            let id = service.get("serviceInstanceId").and_then(Value::as_str);
            (id.map_or(at.to_string(), str::to_owned), service)
        });
        services.extend(keyed);
    }
    if let Some(Value::Object(map)) = map {
        services.extend(map);
    }
    for (_, service) in &mut services {
        service.as_object_mut().map(hide);
    }
    if services.is_empty() {
        return document;
    }
    if wants_map {
        members.insert("nfServiceList".to_owned(), services.into_iter().collect());
    } else {
        let services = services.into_iter().map(|(_, service)| service);
        members.insert("nfServices".to_owned(), services.collect());
    }
    document
}

fn hide(members: &mut Map<String, Value>) {
    members.retain(|name, _| !ALLOWED.contains(&name.as_str()));
}
