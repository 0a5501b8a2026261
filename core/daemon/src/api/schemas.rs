//! Forms of what the management API is told and answers, as JSON Schema (2020-12, as OpenAPI 3.1 has it).
//!
//! Answers have the forms of their types ([`crate::operators::answers`]); by hand stand problems, subscribers, and what
//! others define. Objects are closed.

use super::problem::REASONS;
use schemars::Schema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

/// A form: that of a type, or one that stands here by its name.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// Of a type.
    Of(fn(&mut SchemaGenerator) -> Schema),
    /// By hand.
    Named(&'static str),
}

/// Forms of types, as far as the document names them.
pub struct Forms {
    answers: SchemaGenerator,
    bodies: SchemaGenerator,
}

impl Default for Forms {
    fn default() -> Self {
        let of = |settings: SchemaSettings| {
            let settings = settings.with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
            });
            settings.into_generator()
        };
        let settings = SchemaSettings::draft2020_12;
        Self {
            answers: of(settings().for_serialize()),
            bodies: of(settings().for_deserialize()),
        }
    }
}

impl Forms {
    /// The form of an answer.
    pub fn of_answer(&mut self, form: Form) -> Value {
        of(&mut self.answers, form)
    }

    /// The form of a body.
    pub fn of_body(&mut self, form: Form) -> Value {
        of(&mut self.bodies, form)
    }

    /// All forms by their names.
    pub fn all(mut self) -> Value {
        let mut all = by_hand();
        all.extend(self.answers.take_definitions(true));
        all.extend(self.bodies.take_definitions(true));
        Value::Object(all)
    }
}

fn of(generator: &mut SchemaGenerator, form: Form) -> Value {
    match form {
        Form::Of(make) => make(generator).to_value(),
        Form::Named(name) => reference(name),
    }
}

fn by_hand() -> Map<String, Value> {
    let mut all = Map::new();
    for part in [of_overload(), of_applications(), of_subscribers()] {
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
    all
}

/// Of a parameter of paths.
pub fn path_parameter(name: &str) -> Value {
    match name {
        "imsi" => json!({ "type": "string", "pattern": "^[0-9]{6,15}$" }),
        "user" => json!({ "type": "string", "pattern": "^[-A-Za-z0-9_.@]{1,64}$" }),
        "id" => json!({ "type": "integer", "minimum": 1, "maximum": 255 }),
        "function" => json!({ "type": "string", "pattern": "^[a-z]{3,4}$" }),
        "instance" => json!({ "type": "integer", "minimum": 0, "maximum": 15 }),
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

/// A reference to a form by its name.
pub fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
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

/// Overload as operators ask for it.
fn of_overload() -> Value {
    let actions = [
        "reject_data",
        "reject_signalling",
        "permit_emergency",
        "permit_high_priority",
    ];
    json!({ "Overload": object(
        json!({
            "action": { "type": "string", "enum": actions },
            "percent": { "type": ["integer", "null"], "minimum": 1, "maximum": 99 },
        }),
        &["action", "percent"],
    ) })
}

/// As TS 29.514 has it, 5.6.2: other fields are ignored.
fn of_applications() -> Value {
    let asked = json!({ "type": "object" });
    json!({ "AppSessionContext": {
        "type": "object",
        "required": ["ascReqData"],
        "properties": { "ascReqData": asked },
    }})
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
