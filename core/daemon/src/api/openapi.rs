//! The OpenAPI document of the management API (OpenAPI 3.1), made from the table of its operations.

use super::access::{COOKIE, CSRF_HEADER};
use super::problem::MEDIA_TYPE;
use super::route::{Answer, EVENT_STREAM, Method, Parameter, Route, Values};
use super::routes::ROUTES;
use super::schemas::{self, Forms, reference};
use serde_json::{Map, Value, json};

/// The document.
pub fn document() -> Value {
    let (mut paths, mut forms) = (Map::new(), Forms::default());
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[method(route.method)] = operation(route, &mut forms);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Sluice core",
            "description": "Management of a 5G core: what `sluice ctl` asks, by HTTP.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        // Without api.token_file and api.users_file nothing is asked for.
        "security": [{}, { "token": [] }, { "session": [], "csrf": [] }],
        "paths": paths,
        "components": {
            "schemas": forms.all(),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The text of api.token_file",
                },
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": COOKIE,
                    "description": "A user of api.users_file who has logged in",
                },
                "csrf": {
                    "type": "apiKey",
                    "in": "header",
                    "name": CSRF_HEADER,
                    "description": "csrf of /v1/session, for changes by a user",
                },
            },
        },
    })
}

fn method(method: Method) -> &'static str {
    match method {
        Method::Get => "get",
        Method::Post => "post",
        Method::Put => "put",
        Method::Patch => "patch",
        Method::Delete => "delete",
    }
}

fn operation(route: &Route, forms: &mut Forms) -> Value {
    let of_path = route.parameters().map(|name| {
        json!({ "name": name, "in": "path", "required": true, "schema": schemas::path_parameter(name) })
    });
    let of_query = route.query.iter().map(query_parameter);
    let parameters: Vec<Value> = of_path.chain(of_query).collect();
    let (status, content) = answered(route, forms);
    let mut object = json!({
        "operationId": route.operation,
        "summary": route.summary,
        "description": needed(route),
        "responses": {
            status: { "description": "Done", "content": content },
            "default": {
                "description": "Refused",
                "content": { MEDIA_TYPE: { "schema": reference("Problem") } },
            },
        },
    });
    if !parameters.is_empty() {
        object["parameters"] = parameters.into();
    }
    if let Some(body) = route.body {
        let mut content = Map::new();
        for media_type in body.media_types {
            let schema = match media_type.ends_with("json") {
                true => forms.of_body(body.form),
                false => json!({ "type": "string" }),
            };
            content.insert((*media_type).to_owned(), json!({ "schema": schema }));
        }
        object["requestBody"] = json!({ "required": true, "content": content });
    }
    object
}

/// The role that a user needs; programs with the token need none.
fn needed(route: &Route) -> String {
    match route.least() {
        None => "Open to everybody.".to_owned(),
        Some(role) => format!("Least role of a user: {}.", role.name()),
    }
}

fn query_parameter(parameter: &Parameter) -> Value {
    let schema = match parameter.value {
        Values::Text => json!({ "type": "string" }),
        Values::Number(most) => json!({ "type": "integer", "minimum": 1, "maximum": most }),
        Values::Boolean => json!({ "type": "boolean", "default": false }),
        Values::Word(words) => json!({ "type": "string", "enum": words, "default": words.first() }),
    };
    json!({
        "name": parameter.name,
        "in": "query",
        "description": parameter.meaning,
        "schema": schema,
    })
}

/// Status and content of what is answered.
fn answered(route: &Route, forms: &mut Forms) -> (String, Value) {
    let object = |schema: Value| json!({ "application/json": { "schema": schema } });
    match route.answer {
        Answer::Object(status, form) => (status.to_string(), object(forms.of_answer(form))),
        Answer::Document => ("200".to_owned(), object(json!({ "type": "object" }))),
        Answer::Events(names) => {
            let of_events = names.iter().map(|name| format!("event: {name}"));
            let described = of_events.collect::<Vec<_>>().join(", ");
            let schema = json!({ "type": "string", "description": described });
            let content = json!({ EVENT_STREAM: { "schema": schema } });
            ("200".to_owned(), content)
        }
        Answer::Text(media_types) => {
            let mut content = Map::new();
            for media_type in media_types {
                // Parameters of a media type tell nothing of the form.
                let plain = media_type.split(';').next().unwrap_or_default();
                let schema = match plain.ends_with("json") {
                    true => reference("SubscriberFile"),
                    false => json!({ "type": "string" }),
                };
                content.insert(plain.to_owned(), json!({ "schema": schema }));
            }
            ("200".to_owned(), content.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// All references in a value.
    fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
        match value {
            Value::Object(object) => {
                found.extend(object.get("$ref").and_then(Value::as_str));
                object.values().for_each(|value| references(value, found));
            }
            Value::Array(all) => all.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_operation_stands_once_and_every_form_is_used() {
        let document = document();
        let paths = document["paths"].as_object().unwrap();
        let operations = paths.values().flat_map(|path| path.as_object().unwrap());
        let names: BTreeSet<_> = operations
            .clone()
            .map(|(_, operation)| operation["operationId"].as_str().unwrap())
            .collect();
        assert_eq!(operations.count(), ROUTES.len());
        assert_eq!(names.len(), ROUTES.len());
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        let defined = document["components"]["schemas"].as_object().unwrap();
        let defined: BTreeSet<_> = defined.keys().map(String::as_str).collect();
        let used: BTreeSet<_> = found
            .iter()
            .map(|reference| reference.rsplit('/').next().unwrap())
            .collect();
        assert_eq!(used, defined);
    }

    #[test]
    fn parameters_of_paths_are_named_and_given_a_form() {
        for route in ROUTES {
            let mut braces = route.path.matches(['{', '}']).count();
            for name in route.parameters() {
                braces -= 2;
                assert!(
                    schemas::path_parameter(name)["type"].is_string(),
                    "{}",
                    route.path
                );
            }
            assert_eq!(braces, 0, "{}", route.path);
            assert!(route.body.is_none() || route.method != Method::Get);
        }
    }
}
