//! Values against the forms of an OpenAPI document: the keywords of JSON Schema that ours uses, and no other.

use crate::api::{Http, ask};
use crate::place::Place;
use serde_json::Value;

/// What is wrong with a value; none if it has the form.
pub fn fault(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    let keywords = schema.as_object().expect("a form is an object");
    for (keyword, says) in keywords {
        let wrong = match keyword.as_str() {
            "$ref" => {
                let path = says.as_str().unwrap().strip_prefix('#').unwrap();
                let target = document.pointer(path);
                fault(document, target.unwrap_or_else(|| panic!("{path}")), value)
            }
            "type" => not_of_type(says, value),
            "enum" => {
                let is_one = says.as_array().unwrap().contains(value);
                (!is_one).then(|| format!("{value} is none of {says}"))
            }
            "anyOf" => {
                let all = says.as_array().unwrap().iter();
                let faults: Vec<_> = all.map(|one| fault(document, one, value)).collect();
                let fits = faults.iter().any(Option::is_none);
                (!fits).then(|| format!("none fits: {faults:?}"))
            }
            "required" => {
                let names = says.as_array().unwrap().iter();
                let mut names = names.map(|name| name.as_str().unwrap());
                let missing = names.find(|name| value.is_object() && value.get(name).is_none());
                missing.map(|name| format!("{name} is missing"))
            }
            "properties" => of_fields(document, schema, says, value),
            "items" => {
                let items = value.as_array().into_iter().flatten();
                let mut faults = items.map(|item| fault(document, says, item));
                faults.find_map(|fault| fault)
            }
            "const" => (says != value).then(|| format!("{value} is not {says}")),
            "oneOf" => {
                let all = says.as_array().unwrap().iter();
                let fits = all.filter(|one| fault(document, one, value).is_none());
                (fits.count() != 1).then(|| format!("{value} is not one of {says}"))
            }
            "additionalProperties" if says.is_boolean() => None,
            "additionalProperties" => {
                assert!(schema.get("properties").is_none(), "{schema}");
                let values = value.as_object().into_iter().flatten();
                let mut faults = values.map(|(_, value)| fault(document, says, value));
                faults.find_map(|fault| fault)
            }
            // What answers do not need.
            "default" | "minimum" | "maximum" | "format" | "title" | "description" => None,
            other => panic!("{other} is not understood"),
        };
        if wrong.is_some() {
            return wrong;
        }
    }
    None
}

fn not_of_type(says: &Value, value: &Value) -> Option<String> {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let fits = match says {
        Value::Array(kinds) => kinds.iter().any(|one| one == kind),
        one => one == kind,
    };
    (!fits).then(|| format!("{value} is no {says}"))
}

fn of_fields(document: &Value, schema: &Value, fields: &Value, value: &Value) -> Option<String> {
    let is_closed = schema["additionalProperties"] == false;
    for (name, inner) in value.as_object().into_iter().flatten() {
        let wrong = match fields.get(name) {
            Some(form) => fault(document, form, inner),
            None => is_closed.then(|| "no such field".to_owned()),
        };
        if let Some(wrong) = wrong {
            return Some(format!("{name}: {wrong}"));
        }
    }
    None
}

#[test]
fn forms_refuse_what_they_do_not_have() {
    use serde_json::json;
    let document = json!({ "a": { "type": ["string", "null"] } });
    let form = json!({
        "type": "object", "additionalProperties": false, "required": ["x"],
        "properties": { "x": { "$ref": "#/a" }, "y": { "type": "array", "items": { "type": "integer" } } },
    });
    let wrong = |value: Value| fault(&document, &form, &value).unwrap_or_default();
    assert_eq!(wrong(json!({ "x": null, "y": [1, 2] })), "");
    assert!(wrong(json!({ "y": [] })).contains("x is missing"));
    assert!(wrong(json!({ "x": "t", "z": 1 })).contains("z: no such field"));
    assert!(wrong(json!({ "x": 1 })).starts_with("x: 1 is no"));
    assert!(wrong(json!({ "x": "t", "y": [1.5] })).starts_with("y: 1.5 is no"));
    assert!(wrong(json!([])).contains("is no"));
}

/// Operations of a document by their names, with the forms of their answers.
pub fn operations(document: &Value) -> Vec<(String, Value)> {
    let paths = document["paths"].as_object().unwrap().values();
    let all = paths.flat_map(|path| path.as_object().unwrap().values());
    all.map(|one| {
        (
            one["operationId"].as_str().unwrap().to_owned(),
            one["responses"].clone(),
        )
    })
    .collect()
}

/// The answer to a request (operation, line, headers, body), whose status and form are those of the document.
pub fn asked_in_its_form(
    place: &Place,
    document: &Value,
    (name, line, headers, body): (&str, &str, &str, &str),
) -> Http {
    let answer = ask(place, line, headers, body);
    let operations = operations(document);
    let known = operations.iter().find(|(one, _)| one == name);
    let (_, responses) = known.unwrap_or_else(|| panic!("{name} is not in the document"));
    let response = responses.get(answer.status.to_string());
    let told = || format!("{line}: {}\n{}", answer.head, answer.body);
    let content = &response.unwrap_or_else(|| panic!("{}", told()))["content"];
    let media_type = answer.header("content-type").unwrap();
    let media_type = media_type.split(';').next().unwrap();
    let form = &content
        .get(media_type)
        .unwrap_or_else(|| panic!("{}", told()))["schema"];
    let value = match media_type.ends_with("json") {
        true => answer.json(),
        false => answer.body.clone().into(),
    };
    if name != "subscriberExport" {
        assert_eq!(fault(document, form, &value), None, "{}", told());
    }
    answer
}
