//! How the parts of a request are read; keys in them are never repeated.

use super::problem::Problem;
use super::route::{CSV, EVENTS_MAX};
use crate::operators::request::{Ask, Request, UES_MAX};
use serde_json::{Value, json};
use sluice_subscribers::Operation;
use sluice_subscribers::draft::Secret;
use sluice_subscribers::problem::without_keys;
use sluice_subscribers::store::{Filter, Format};
use std::collections::BTreeMap;

/// The parts of a request that its route reads.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// Names and values of the path's parameters, decoded.
    pub path: &'a [(String, String)],
    /// What stands behind `?`.
    pub query: &'a str,
    /// Header Content-Type.
    pub media_type: Option<&'a str>,
    /// All of the body.
    pub body: &'a [u8],
}

pub(super) fn core(request: Request) -> Result<Ask, Problem> {
    Ok(Ask::Core(request))
}

pub(super) fn database(operation: Operation) -> Result<Ask, Problem> {
    Ok(Ask::Subscribers(Box::new(operation)))
}

pub(super) fn ues(given: &Given<'_>) -> Result<Ask, Problem> {
    let mut query = given.query(&["from", "count"])?;
    let count = number(&mut query, "count", UES_MAX)?;
    let from = query.remove("from");
    core(Request::Ues { from, count })
}

pub(super) fn gnbs(given: &Given<'_>) -> Result<Ask, Problem> {
    let mut query = given.query(&["after", "count"])?;
    let count = number(&mut query, "count", UES_MAX)?;
    let after = query.remove("after");
    core(Request::Gnbs { after, count })
}

/// After how many events a stream ends, if it does.
pub(super) fn events(given: &Given<'_>) -> Result<Option<usize>, Problem> {
    let mut query = given.query(&["events"])?;
    number(&mut query, "events", EVENTS_MAX)
}

pub(super) fn deregister(given: &Given<'_>) -> Result<Ask, Problem> {
    let mut query = given.query(&["registers_again"])?;
    let registers_again = boolean(&mut query, "registers_again")?.unwrap_or(false);
    let imsi = given.named("imsi");
    core(Request::Deregister {
        imsi,
        registers_again,
    })
}

pub(super) fn qos_start(given: &Given<'_>) -> Result<Ask, Problem> {
    let mut query = given.query(&["session"])?;
    let session = number(&mut query, "session", 15)?.map(|session| session as u8);
    let rule = serde_json::from_value(given.json()?).map_err(|e| unreadable(&e))?;
    let imsi = given.named("imsi");
    core(Request::QosStart {
        imsi,
        session,
        rule,
    })
}

pub(super) fn qos_stop(given: &Given<'_>) -> Result<Ask, Problem> {
    let mut query = given.query(&["session"])?;
    let session = number(&mut query, "session", 15)?.map(|session| session as u8);
    let (imsi, name) = (given.named("imsi"), given.named("name"));
    core(Request::QosStop {
        imsi,
        session,
        name,
    })
}

pub(super) fn subscribers(given: &Given<'_>) -> Result<Ask, Problem> {
    let names = [
        "imsi_prefix",
        "dnn",
        "slice",
        "ipv4",
        "ipv6_prefix",
        "barred",
        "after",
        "limit",
    ];
    let mut query = given.query(&names)?;
    let limit = number(&mut query, "limit", UES_MAX)?;
    let barred = boolean(&mut query, "barred")?;
    let mut text = |name| query.remove(name);
    let filter = Filter {
        imsi_prefix: text("imsi_prefix"),
        dnn: text("dnn"),
        slice: text("slice"),
        ipv4: text("ipv4"),
        ipv6_prefix: text("ipv6_prefix"),
        barred,
    };
    let after = text("after");
    database(Operation::SubscriberList {
        filter,
        after,
        limit,
    })
}

pub(super) fn import(given: &Given<'_>) -> Result<Ask, Problem> {
    let mut query = given.query(&["replace"])?;
    let replace = boolean(&mut query, "replace")?.unwrap_or(false);
    let format = match given.plain_media_type().as_deref() {
        Some(CSV) => Format::Csv,
        _ => Format::Json,
    };
    let text = std::str::from_utf8(given.body);
    let text = text.map_err(|_| Problem::invalid("the body is no UTF-8"))?;
    database(Operation::SubscriberImport {
        format,
        replace,
        text: Secret::new(text),
    })
}

pub(super) fn export(given: &Given<'_>) -> Result<Ask, Problem> {
    let query = given.query(&["format"])?;
    let format = match query.get("format").map(String::as_str) {
        None | Some("csv") => Format::Csv,
        Some("json") => Format::Json,
        Some(_) => return Err(Problem::invalid("format: expected csv or json")),
    };
    // Keys never leave by HTTP.
    database(Operation::SubscriberExport {
        format,
        with_keys: false,
    })
}

type Query = BTreeMap<String, String>;

fn number(query: &mut Query, name: &str, most: usize) -> Result<Option<usize>, Problem> {
    let Some(text) = query.remove(name) else {
        return Ok(None);
    };
    let number = text.parse().ok().filter(|n| (1..=most).contains(n));
    let refused = || Problem::invalid(format!("{name}: expected a number from 1 to {most}"));
    number.map(Some).ok_or_else(refused)
}

fn boolean(query: &mut Query, name: &str) -> Result<Option<bool>, Problem> {
    match query.remove(name).as_deref() {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(_) => Err(Problem::invalid(format!("{name}: expected true or false"))),
    }
}

pub(super) fn unreadable(error: &serde_json::Error) -> Problem {
    Problem::invalid(without_keys(&error.to_string()))
}

pub(super) fn unfit(problem: sluice_subscribers::Problem) -> Problem {
    let detail = problem.to_string();
    Problem {
        reason: "problems",
        detail,
        problems: Some(serde_json::json!({ "told": [problem], "number": 1 })),
    }
}

impl Given<'_> {
    /// A parameter of the path; routes name those that their paths have.
    pub fn named(&self, name: &str) -> String {
        let mut all = self.path.iter();
        let found = all.find(|(one, _)| one == name);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    }

    /// Parameters behind `?`: those of `names`, each once.
    pub fn query(&self, names: &[&str]) -> Result<Query, Problem> {
        let mut all = Query::new();
        for (name, value) in form_urlencoded::parse(self.query.as_bytes()) {
            if !names.contains(&name.as_ref()) {
                let known = match names {
                    [] => "none".to_owned(),
                    names => names.join(", "),
                };
                let detail = format!("there is no parameter '{name}'; expected {known}");
                return Err(Problem::invalid(without_keys(&detail)));
            }
            if all.insert(name.to_string(), value.into_owned()).is_some() {
                return Err(Problem::invalid(format!("{name} is given twice")));
            }
        }
        Ok(all)
    }

    /// The media type without its parameters.
    pub fn plain_media_type(&self) -> Option<String> {
        let plain = self.media_type?.split(';').next()?.trim();
        Some(plain.to_ascii_lowercase())
    }

    /// The body as what is told with this command on the control socket.
    pub fn request(&self, cmd: &str) -> Result<Ask, Problem> {
        let mut object = self.json()?;
        object["cmd"] = cmd.into();
        serde_json::from_value(object).map_err(|e| unreadable(&e))
    }

    /// A question about an application's session, of which the path tells the number and the body what it asks for.
    pub fn of_application(&self, cmd: &str, has_id: bool, has_body: bool) -> Result<Ask, Problem> {
        let mut object = json!({ "cmd": cmd });
        if has_id {
            let id: Option<u64> = self.named("app").parse().ok();
            object["id"] = id
                .ok_or_else(|| Problem::invalid("app: expected a number"))?
                .into();
        }
        if has_body {
            object["context"] = self.json()?;
        }
        serde_json::from_value(object).map_err(|e| unreadable(&e))
    }

    /// A question about the instance of a function that the path names.
    pub fn of_instance(&self, cmd: &str) -> Result<Ask, Problem> {
        let instance = self.named("instance").parse().ok();
        let instance: u8 =
            instance.ok_or_else(|| Problem::invalid("instance: expected a number from 0 to 15"))?;
        let function = self.named("function");
        let object = json!({ "cmd": cmd, "function": function, "instance": instance });
        serde_json::from_value(object).map_err(|e| unreadable(&e))
    }

    /// The body as an object.
    pub fn json(&self) -> Result<Value, Problem> {
        let value = serde_json::from_slice(self.body);
        let value: Value = value.map_err(|e| unreadable(&e))?;
        match value.is_object() {
            true => Ok(value),
            false => Err(Problem::invalid("the body is no JSON object")),
        }
    }
}
