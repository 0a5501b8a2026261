//! Forms of what the management API is told and answers, as JSON Schema (2020-12, as OpenAPI 3.1 has it).
//!
//! They are closed: an answer has no field that does not stand here.

use super::problem::REASONS;
use crate::counters;
use serde_json::{Map, Value, json};

/// All forms by their names.
pub fn all() -> Value {
    let mut all = Map::new();
    for part in [
        of_core(),
        of_gnbs(),
        of_nfs(),
        of_refusals(),
        of_ues(),
        of_qos(),
        of_counters(),
        of_subscribers(),
    ] {
        if let Value::Object(part) = part {
            all.extend(part);
        }
    }
    let reasons: Vec<_> = REASONS.iter().map(|(reason, ..)| *reason).collect();
    all.insert(
        "Problem".to_owned(),
        object(
            json!({
                "type": text(),
                "title": text(),
                "status": number(),
                "detail": text(),
                "reason": { "type": "string", "enum": reasons },
                "problems": object(json!({ "told": list(reference("Fault")), "number": number() }), &[]),
            }),
            &["problems"],
        ),
    );
    all.insert(
        "Fault".to_owned(),
        object(
            json!({
                "line": number(),
                "imsi": text(),
                "field": text(),
                "what": text(),
                "expected": text(),
            }),
            &["line", "imsi"],
        ),
    );
    Value::Object(all)
}

/// Of a parameter of paths.
pub fn path_parameter(name: &str) -> Value {
    match name {
        "imsi" => json!({ "type": "string", "pattern": "^[0-9]{6,15}$" }),
        "id" => json!({ "type": "integer", "minimum": 1, "maximum": 255 }),
        "app" => json!({ "type": "integer", "minimum": 0 }),
        "name" => json!({ "type": "string", "pattern": "^[-A-Za-z0-9_.]{1,24}$" }),
        _ => Value::Null,
    }
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn number() -> Value {
    json!({ "type": "integer" })
}

fn boolean() -> Value {
    json!({ "type": "boolean" })
}

fn or_null(kind: &str) -> Value {
    json!({ "type": [kind, "null"] })
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn or_none(schema: Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

/// An object with these fields alone; all but `optional` are always there.
fn object(fields: Value, optional: &[&str]) -> Value {
    let names = fields.as_object().into_iter().flat_map(Map::keys);
    let required: Vec<_> = names
        .filter(|name| !optional.contains(&name.as_str()))
        .collect();
    let mut object = json!({
        "type": "object",
        "additionalProperties": false,
        "required": required,
    });
    object["properties"] = fields;
    object
}

/// An object with numbers of these names alone.
fn numbers(names: &[&str]) -> Value {
    let fields = names.iter().map(|name| ((*name).to_owned(), number()));
    object(Value::Object(fields.collect()), &[])
}

fn of_core() -> Value {
    let path = object(json!({ "gnb": text(), "sessions": number() }), &[]);
    let upf = object(
        json!({
            "n4": text(),
            "associated": boolean(),
            "sessions": number(),
            "lacks": or_null("string"),
            "paths_down": list(path),
        }),
        &[],
    );
    let procedure = object(
        json!({
            "function": { "type": "string", "enum": ["AMF", "SMF"] },
            "imsi": or_null("string"),
            "session": or_null("integer"),
            "waits_at": text(),
        }),
        &[],
    );
    let why = or_null("string");
    let contexts =
        json!({ "up": boolean(), "pending": number(), "failures": number(), "last_failure": why });
    let contexts = object(contexts, &[]);
    json!({
        "Status": object(json!({
            "version": text(),
            "uptime_s": number(),
            "gnbs": number(),
            "associations": number(),
            "ues_registered": number(),
            "ues_connected": number(),
            "sessions": or_null("integer"),
            "procedures": number(),
            "refused": number(),
            "ues_unauthenticated": number(),
            "busy_percent": number(),
            "overload": or_none(reference("OverloadNow")),
            "contexts": or_none(contexts),
            "subscriber_database_up": or_null("boolean"),
            "upfs": or_none(list(upf)),
        }), &[]),
        "Reloaded": object(json!({
            "reloaded": text(),
            "changed": list(text()),
            "warnings": list(text()),
        }), &[]),
        "Procedures": object(json!({ "procedures": list(procedure) }), &[]),
    })
}

fn of_gnbs() -> Value {
    let actions = [
        "reject_data",
        "reject_signalling",
        "permit_emergency",
        "permit_high_priority",
    ];
    let overload = object(
        json!({
            "action": { "type": "string", "enum": actions },
            "percent": { "type": ["integer", "null"], "minimum": 1, "maximum": 99 },
        }),
        &["action", "percent"],
    );
    let gnb = object(
        json!({
            "id": text(),
            "name": or_null("string"),
            "address": or_null("string"),
            "ues": number(),
            "areas": text(),
        }),
        &[],
    );
    json!({
        "Told": numbers(&["told"]),
        "OverloadNow": object(overload["properties"].clone(), &[]),
        "Overload": overload,
        "Overloaded": object(
            json!({ "overload": or_none(reference("OverloadNow")), "gnbs": number() }),
            &[],
        ),
        "Gnbs": object(json!({
            "gnbs": list(gnb),
            "associations_without_setup": number(),
        }), &[]),
    })
}

/// Lists of what is served, and of who is allowed, that have no entry stand for all there are.
fn of_nfs() -> Value {
    let served = object(
        json!({
            "slices": list(text()),
            "data_networks": list(text()),
            "tracking_areas": list(text()),
        }),
        &[],
    );
    let allowed = object(
        json!({
            "types": list(text()),
            "slices": list(text()),
            "plmns": list(text()),
        }),
        &[],
    );
    let nf = object(
        json!({
            "type": text(),
            "instance": text(),
            "status": { "type": "string", "enum": ["REGISTERED", "SUSPENDED"] },
            "plmns": list(text()),
            "allowed": allowed,
            "serves": list(served),
            "priority": number(),
            "capacity": number(),
            "load_percent": number(),
            "heard_s_ago": number(),
            "missed": number(),
        }),
        &[],
    );
    json!({
        "Nfs": object(json!({
            "heart_beat_s": number(),
            "validity_s": number(),
            "nfs": list(nf),
        }), &[]),
    })
}

fn of_refusals() -> Value {
    let by_cause = object(
        json!({ "count": number(), "request": text(), "cause": text() }),
        &[],
    );
    let refused = object(
        json!({
            "number": number(),
            "unix_s": number(),
            "who": text(),
            "request": text(),
            "cause": text(),
            "why": text(),
            "remedy": text(),
        }),
        &[],
    );
    json!({ "Refusals": object(json!({
        "total": number(),
        "by_cause": list(by_cause),
        "refusals": list(refused),
    }), &[]) })
}

fn of_ues() -> Value {
    let state =
        json!({ "type": "string", "enum": ["connected", "idle", "registering", "deregistered"] });
    let row = object(
        json!({
            "imsi": text(),
            "state": state,
            "gnb": or_null("string"),
            "sessions": number(),
            "addresses": text(),
            "waits_at": or_null("string"),
        }),
        &[],
    );
    let connected = object(
        json!({
            "gnb": text(),
            "tracking_area": text(),
            "cell": text(),
            "amf_ue_ngap_id": number(),
            "ran_ue_ngap_id": number(),
        }),
        &[],
    );
    let refused = object(
        json!({
            "unix_s": number(),
            "request": text(),
            "cause": text(),
            "why": text(),
            "remedy": text(),
        }),
        &[],
    );
    let ue = object(
        json!({
            "imsi": text(),
            "state": state,
            "guti": or_null("string"),
            "imeisv": or_null("string"),
            "allowed_slices": list(text()),
            "authentication": or_none(authentication()),
            "ambr_down_bps": or_null("integer"),
            "ambr_up_bps": or_null("integer"),
            "connected": or_none(connected),
            "waits_at": or_null("string"),
            "sessions": list(reference("Session")),
            "refused": list(refused),
        }),
        &[],
    );
    json!({
        "Ues": object(json!({
            "known": number(),
            "registered": number(),
            "connected": number(),
            "ues": list(row),
        }), &[]),
        "Ue": object(json!({ "ue": ue }), &[]),
        "Session": session(),
        "Flow": object(json!({ "imsi": text(), "lines": list(flow_line()) }), &[]),
        "Deregistering": object(json!({ "deregistering": text() }), &[]),
    })
}

/// How a subscriber was authenticated last (AuthEvent: TS 29.503, 6.3.6.2.7).
fn authentication() -> Value {
    object(
        json!({
            "success": boolean(),
            "method": { "type": "string", "enum": ["5G_AKA", "EAP_AKA_PRIME"] },
            "serving_network": text(),
            "unix_s": number(),
        }),
        &[],
    )
}

fn flow_line() -> Value {
    object(
        json!({
            "unix_ms": number(),
            "step": text(),
            "from": text(),
            "to": text(),
            "what": text(),
        }),
        &[],
    )
}

/// A rule of a session.
fn rule_fields() -> Value {
    json!({
        "name": text(),
        "precedence": number(),
        "five_qi": number(),
        "priority": number(),
        "guaranteed_down_bps": number(),
        "guaranteed_up_bps": number(),
        "maximum_down_bps": number(),
        "maximum_up_bps": number(),
    })
}

/// QoS flows that operators and applications start.
fn of_qos() -> Value {
    let mut wanted = rule_fields();
    wanted["filters"] = list(text());
    wanted["rating_group"] = or_null("integer");
    let optional = [
        "priority",
        "guaranteed_down_bps",
        "guaranteed_up_bps",
        "maximum_down_bps",
        "maximum_up_bps",
        "rating_group",
    ];
    // As TS 29.514 has it, 5.6.2: other fields are ignored.
    let asked = json!({ "type": "object" });
    json!({
        "QosRule": object(wanted, &optional),
        "QosStarting": object(json!({ "starting": text() }), &[]),
        "QosStopping": object(json!({ "stopping": text() }), &[]),
        "AppSessionContext": { "type": "object", "required": ["ascReqData"], "properties": { "ascReqData": asked } },
        "AppSession": object(json!({ "id": number(), "ascReqData": asked }), &[]),
        "AppSessionId": object(json!({ "id": number() }), &[]),
    })
}

/// What the SMF knows is missing while it does not know the session.
fn session() -> Value {
    let always = ["id", "dnn", "slice", "user_plane"];
    let fields = json!({
        "id": number(),
        "dnn": text(),
        "slice": text(),
        "user_plane": { "type": "string", "enum": ["up", "down"] },
        "type": text(),
        "addresses": list(text()),
        "ambr_down_bps": number(),
        "ambr_up_bps": number(),
        "five_qi": number(),
        "seid": text(),
        "upf_seid": or_null("string"),
        "upf_tunnel": or_null("string"),
        "gnb_tunnel": or_null("string"),
        "up_integrity": or_null("string"),
        "up_confidentiality": or_null("string"),
        "integrity_protected": or_null("boolean"),
        "confidentiality_protected": or_null("boolean"),
        "uplink_octets": number(),
        "downlink_octets": number(),
        "waits_at": or_null("string"),
        "rules": list(object(rule_fields(), &[])),
    });
    let names = fields.as_object().into_iter().flat_map(Map::keys);
    let of_smf: Vec<String> = names
        .filter(|name| !always.contains(&name.as_str()))
        .cloned()
        .collect();
    let of_smf: Vec<&str> = of_smf.iter().map(String::as_str).collect();
    object(fields, &of_smf)
}

/// Numbers by the names that others have.
fn numbers_like(others: &Value) -> Value {
    let names = others.as_object().into_iter().flat_map(Map::keys);
    numbers(&names.map(String::as_str).collect::<Vec<_>>())
}

fn of_counters() -> Value {
    let n4 = numbers_like(&counters::of_n4(Default::default()));
    let smf = numbers_like(&counters::of_smf(Default::default()));
    json!({ "Counters": object(json!({
        "n2": numbers_like(&counters::of_n2(Default::default())),
        "sctp": numbers_like(&counters::of_sctp(Default::default())),
        "n4": or_none(n4),
        "amf": numbers_like(&counters::of_amf(Default::default())),
        "smf": or_none(smf),
        "nssf": numbers_like(&counters::of_nssf(Default::default())),
        "nrf": numbers_like(&counters::of_nrf(&Default::default())),
    }), &[]) })
}

/// What is written of a subscriber: texts, numbers and booleans alike.
fn written() -> Value {
    json!({ "type": ["string", "integer", "boolean", "null"] })
}

fn protection() -> Value {
    json!({ "type": "string", "enum": ["required", "preferred", "not_needed"] })
}

fn of_subscribers() -> Value {
    let network = object(
        json!({
            "dnn": text(),
            "types": list(text()),
            "default_type": text(),
            "session_ambr_down_bps": number(),
            "session_ambr_up_bps": number(),
            "five_qi": number(),
            "arp": number(),
            "ipv4": text(),
            "ipv6_prefix": text(),
            "up_integrity": protection(),
            "up_confidentiality": protection(),
        }),
        &["ipv4", "ipv6_prefix", "up_integrity", "up_confidentiality"],
    );
    let slice = object(
        json!({ "slice": text(), "default": boolean(), "networks": list(network) }),
        &[],
    );
    let home_key = object(
        json!({ "id": number(), "profile": reference("Profile"), "scheme": number(), "public": text() }),
        &[],
    );
    json!({
        "Subscriber": object(json!({
            "imsi": text(),
            "barred": boolean(),
            "algorithm": { "type": "string", "enum": ["milenage", "tuak"] },
            "method": { "type": "string", "enum": ["5g_aka", "eap_aka_prime"] },
            "ue_ambr_down_bps": number(),
            "ue_ambr_up_bps": number(),
            "slices": list(slice),
        }), &[]),
        "Subscribers": object(json!({
            "subscribers": list(reference("Subscriber")),
            "number": number(),
            "next_after": or_null("string"),
        }), &[]),
        "NewSubscriber": new_subscriber(&["imsi"]),
        "NewNetwork": new_network(),
        "SubscriberFile": { "anyOf": [
            list(reference("NewSubscriber")),
            object(json!({ "subscribers": list(reference("NewSubscriber")) }), &[]),
        ]},
        "SubscriberChange": subscriber_change(),
        "Imported": numbers(&["added", "replaced"]),
        "Removed": object(json!({ "removed": { "type": ["string", "integer"] } }), &[]),
        "Profile": { "type": "string", "enum": ["a", "b"] },
        "HomeKey": home_key,
        "HomeKeys": object(json!({ "home_keys": list(reference("HomeKey")) }), &[]),
        "NewHomeKey": object(json!({
            "profile": reference("Profile"),
            "id": { "type": ["integer", "null"], "minimum": 1, "maximum": 255 },
            "private": { "type": "string", "description": "64 hexadecimal digits; never shown again" },
        }), &["id", "private"]),
    })
}

/// A subscriber as it is written, with these fields at the least.
fn new_subscriber(required: &[&str]) -> Value {
    let slice = object(
        json!({
            "slice": written(),
            "default": written(),
            "networks": list(reference("NewNetwork")),
        }),
        &["default", "networks"],
    );
    let fields = json!({
        "imsi": written(),
        "k": text(),
        "opc": text(),
        "op": text(),
        "top": text(),
        "topc": text(),
        "algorithm": written(),
        "method": written(),
        "sqn": written(),
        "barred": written(),
        "ue_ambr_down_bps": written(),
        "ue_ambr_up_bps": written(),
        "slices": list(slice),
    });
    let mut schema = object(fields, &[]);
    schema["required"] = json!(required);
    schema
}

fn new_network() -> Value {
    let types = json!({ "type": ["string", "array", "null"], "items": text() });
    let fields = json!({
        "dnn": written(),
        "types": types,
        "default_type": written(),
        "session_ambr_down_bps": written(),
        "session_ambr_up_bps": written(),
        "five_qi": written(),
        "arp": written(),
        "ipv4": written(),
        "ipv6_prefix": written(),
        "up_integrity": written(),
        "up_confidentiality": written(),
    });
    let mut schema = object(fields, &[]);
    schema["required"] = json!([]);
    schema
}

fn subscriber_change() -> Value {
    let network = object(
        json!({
            "slice": written(),
            "default": written(),
            "remove": boolean(),
            "network": reference("NewNetwork"),
        }),
        &["slice", "default", "remove", "network"],
    );
    object(
        json!({ "set": new_subscriber(&[]), "networks": list(network) }),
        &["set", "networks"],
    )
}
