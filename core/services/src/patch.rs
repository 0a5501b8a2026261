//! JSON patch (RFC 6902): operations that add, remove, replace and test. Those that move and copy are not served: a body
//! of a few octets could make a document of any size by them.

use http::StatusCode;
use serde_json::Value;

use crate::exchange::Refusal;
use crate::problem::refuse;

/// Reason why a patch is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// The operation of this number is none.
    Operation(usize),
    /// That of this number does not fit the document.
    Conflict(usize),
}

/// Applies all operations of a patch. After an error the document is of no use.
///
/// # Errors
/// The operation that is none, or that does not fit.
pub fn apply(document: &mut Value, patch: &Value) -> Result<(), Wrong> {
    apply_to(document, patch, &[])
}

/// The same where operations may replace what is not there, at these paths.
///
/// # Errors
/// As [`apply`].
pub fn apply_to(document: &mut Value, patch: &Value, may_be_absent: &[&str]) -> Result<(), Wrong> {
    let operations = patch.as_array().ok_or(Wrong::Operation(0))?;
    for (number, operation) in operations.iter().enumerate() {
        one(document, operation, number, may_be_absent)?;
    }
    Ok(())
}

/// Paths that a patch changes.
pub fn paths(patch: &Value) -> impl Iterator<Item = &str> {
    let operations = patch.as_array().into_iter().flatten();
    operations.filter_map(|operation| operation.get("path")?.as_str())
}

fn one(
    document: &mut Value,
    operation: &Value,
    number: usize,
    may_be_absent: &[&str],
) -> Result<(), Wrong> {
    let text = |name: &str| operation.get(name).and_then(Value::as_str);
    let (Some(op), Some(path)) = (text("op"), text("path")) else {
        return Err(Wrong::Operation(number));
    };
    let value = operation.get("value");
    let done = match (op, value) {
        ("add", Some(value)) => add(document, path, value),
        ("remove", _) => remove(document, path),
        ("replace", Some(value)) if may_be_absent.contains(&path) => add(document, path, value),
        ("replace", Some(value)) => replace(document, path, value),
        ("test", Some(value)) => (document.pointer(path) == Some(value)).then_some(()),
        _ => return Err(Wrong::Operation(number)),
    };
    done.ok_or(Wrong::Conflict(number))
}

/// Container of a path, and the name of the last step, which is decoded (RFC 6901, 4).
fn place<'a>(document: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let (container, last) = path.rsplit_once('/')?;
    let last = last.replace("~1", "/").replace("~0", "~");
    Some((document.pointer_mut(container)?, last))
}

fn index(text: &str) -> Option<usize> {
    let is_right = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_right)
}

fn add(document: &mut Value, path: &str, value: &Value) -> Option<()> {
    let (container, last) = place(document, path)?;
    match container {
        Value::Object(members) => {
            members.insert(last, value.clone());
        }
        Value::Array(items) => {
            let at = if last == "-" {
                items.len()
            } else {
                index(&last).filter(|at| *at <= items.len())?
            };
            items.insert(at, value.clone());
        }
        _ => return None,
    }
    Some(())
}

fn remove(document: &mut Value, path: &str) -> Option<()> {
    let (container, last) = place(document, path)?;
    match container {
        Value::Object(members) => members.remove(&last).map(|_| ()),
        Value::Array(items) => {
            let at = index(&last).filter(|at| *at < items.len())?;
            items.remove(at);
            Some(())
        }
        _ => None,
    }
}

fn replace(document: &mut Value, path: &str, value: &Value) -> Option<()> {
    let (container, last) = place(document, path)?;
    let own = match container {
        Value::Object(members) => members.get_mut(&last)?,
        Value::Array(items) => items.get_mut(index(&last)?)?,
        _ => return None,
    };
    *own = value.clone();
    Some(())
}

/// Response to a patch that cannot be applied.
pub fn wrong(wrong: Wrong) -> Refusal {
    let (status, cause, number, what) = match wrong {
        Wrong::Operation(number) => {
            let what = "is none: expected op add, remove, replace or test, path, and value";
            (StatusCode::BAD_REQUEST, "INVALID_MSG_FORMAT", number, what)
        }
        Wrong::Conflict(number) => {
            let what = "does not fit: nothing is there, or another value";
            (
                StatusCode::CONFLICT,
                "MODIFICATION_NOT_ALLOWED",
                number,
                what,
            )
        }
    };
    refuse(status, cause, &format!("operation {number} {what}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn patched(document: &Value, patch: &Value) -> Result<Value, Wrong> {
        let mut document = document.clone();
        apply_to(&mut document, patch, &["/nfStatus"]).map(|()| document)
    }

    #[test]
    fn operations_change_a_document() {
        let document = json!({ "load": 1, "list": [1, 2], "of": { "a/b": null } });
        let patch = json!([
            { "op": "test", "path": "/load", "value": 1 },
            { "op": "replace", "path": "/load", "value": 7 },
            { "op": "replace", "path": "/nfStatus", "value": "REGISTERED" },
            { "op": "add", "path": "/list/-", "value": 4 },
            { "op": "add", "path": "/list/2", "value": 3 },
            { "op": "remove", "path": "/list/0" },
            { "op": "replace", "path": "/of/a~1b", "value": true },
        ]);
        let expected = json!({
            "load": 7, "nfStatus": "REGISTERED", "list": [2, 3, 4], "of": { "a/b": true },
        });
        assert_eq!(patched(&document, &patch), Ok(expected));
    }

    #[test]
    fn an_operation_that_is_none_or_does_not_fit_is_refused() {
        let document = json!({ "list": [1] });
        for (operation, wrong) in [
            (
                json!({ "op": "copy", "from": "/list", "path": "/a" }),
                Wrong::Operation(0),
            ),
            (json!({ "op": "add", "path": "/a" }), Wrong::Operation(0)),
            (json!("add"), Wrong::Operation(0)),
            (json!({ "op": "remove", "path": "" }), Wrong::Conflict(0)),
            (json!({ "op": "remove", "path": "/a" }), Wrong::Conflict(0)),
            (
                json!({ "op": "replace", "path": "/a", "value": 1 }),
                Wrong::Conflict(0),
            ),
            (
                json!({ "op": "add", "path": "/list/2", "value": 1 }),
                Wrong::Conflict(0),
            ),
            (
                json!({ "op": "add", "path": "/list/01", "value": 1 }),
                Wrong::Conflict(0),
            ),
            (
                json!({ "op": "test", "path": "/list/0", "value": 2 }),
                Wrong::Conflict(0),
            ),
        ] {
            assert_eq!(
                patched(&document, &json!([operation])),
                Err(wrong),
                "{operation}"
            );
        }
        assert_eq!(patched(&document, &json!({})), Err(Wrong::Operation(0)));
    }
}
