//! An operation of the management API: path, method, parameters, body, answer, and the role that it needs.

use super::problem::Problem;
use super::readers::Given;
use super::schemas::Form;
use crate::operators::request::Ask;
use schemars::JsonSchema;
use schemars::generate::SchemaGenerator;
use sluice_web::Role;
use std::time::Duration;

/// Method of a request (RFC 9110, 9.3; RFC 5789).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Shows; HEAD does the same without the body.
    Get,
    /// Adds, or does.
    Post,
    /// Puts what the body says in the place of what there was.
    Put,
    /// Changes.
    Patch,
    /// Removes.
    Delete,
}

/// Values of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Values {
    /// Any text.
    Text,
    /// A number from 1 to the most.
    Number(usize),
    /// `true` or `false`.
    Boolean,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// A parameter behind `?`.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name in the path or the query.
    pub name: &'static str,
    /// Values that are taken.
    pub value: Values,
    /// Meaning, for the OpenAPI document.
    pub meaning: &'static str,
}

/// Body of a request.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    /// How it may be written.
    pub media_types: &'static [&'static str],
    /// Form of a body that is JSON.
    pub form: Form,
    /// Longest.
    pub most_octets: usize,
}

/// Answer to a request that is done.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// An object, with this status and this form.
    Object(u16, Form),
    /// The object's `text`, which has one of these media types; the first unless `format` says
    /// otherwise.
    Text(&'static [&'static str]),
    /// The OpenAPI document.
    Document,
    /// A stream of events, each named by one of these words (HTML, 9.2: text/event-stream).
    Events(&'static [&'static str]),
}

/// Question to the core.
pub type Reader = fn(&Given<'_>) -> Result<Ask, Problem>;

/// Part of the core that answers.
#[derive(Clone, Copy, Debug)]
pub enum By {
    /// The core; this reads the question.
    Core(Reader),
    /// The API itself.
    Own(Own),
}

/// Operations that the API answers itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    /// The OpenAPI document.
    Document,
    /// User who is logged in.
    Session,
    /// Log-in.
    LogIn,
    /// Log-out.
    LogOut,
    /// Names and roles of users.
    Users,
    /// A new user, or another role or password.
    UserSet,
    /// Removal of a user.
    UserRemove,
    /// Status, again and again.
    Events,
    /// A UE and its call flow, whenever they change.
    UeEvents,
}

/// An operation.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// Method of HTTP.
    pub method: Method,
    /// Path, with `{name}` for parameters.
    pub path: &'static str,
    /// Identifier for programs (operationId).
    pub operation: &'static str,
    /// Summary, for the OpenAPI document.
    pub summary: &'static str,
    /// Parameters behind `?`.
    pub query: &'static [Parameter],
    /// Body of the request, if there is one.
    pub body: Option<Body>,
    /// Its answer.
    pub answer: Answer,
    /// How long the answer may take.
    pub within: Duration,
    /// Part of the core that answers.
    pub by: By,
}

/// How long an answer may take that the core has at hand.
const SOON: Duration = Duration::from_secs(20);
/// How long an answer may take that all subscribers are a part of.
pub(super) const LONG: Duration = Duration::from_secs(300);

/// Longest body that tells of one thing.
pub const BODY_MAX: usize = 64 << 10;
/// Longest import, as on the control socket: some 200,000 subscribers.
pub const IMPORT_MAX: usize = 64 << 20;

/// Server-sent events.
pub(super) const EVENT_STREAM: &str = "text/event-stream";
/// Events of a stream that ends.
pub(super) const EVENTS_MAX: usize = 1000;

pub(super) const JSON: &str = "application/json";
pub(super) const CSV: &str = "text/csv";
/// Prometheus' text format.
pub const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) const fn object(form: Form) -> Option<Body> {
    Some(Body {
        media_types: &[JSON],
        form,
        most_octets: BODY_MAX,
    })
}

pub(super) const fn of<T: JsonSchema>() -> Form {
    Form::Of(SchemaGenerator::subschema_for::<T>)
}

pub(super) const fn parameter(
    name: &'static str,
    value: Values,
    meaning: &'static str,
) -> Parameter {
    Parameter {
        name,
        value,
        meaning,
    }
}

pub(super) const fn get(
    path: &'static str,
    operation: &'static str,
    summary: &'static str,
    form: Form,
    reader: Reader,
) -> Route {
    Route {
        method: Method::Get,
        path,
        operation,
        summary,
        query: &[],
        body: None,
        answer: Answer::Object(200, form),
        within: SOON,
        by: By::Core(reader),
    }
}

/// Of what the API answers itself.
pub(super) const fn own(
    path: &'static str,
    operation: &'static str,
    summary: &'static str,
    form: Form,
    own: Own,
) -> Route {
    Route {
        method: Method::Get,
        path,
        operation,
        summary,
        query: &[],
        body: None,
        answer: Answer::Object(200, form),
        within: SOON,
        by: By::Own(own),
    }
}

impl Route {
    /// What a request asks of the core; none is answered without it.
    ///
    /// # Errors
    /// What is wrong with the request. Keys in it are not repeated.
    pub fn read(&self, given: &Given<'_>) -> Result<Option<Ask>, Problem> {
        if let Some(body) = &self.body {
            let media_type = given.plain_media_type().unwrap_or_default();
            if !body.media_types.contains(&media_type.as_str()) {
                let types = body.media_types.join(" or ");
                let detail = format!("expected a body with Content-Type: {types}");
                return Err(Problem::new("media_type", detail));
            }
        } else if !given.body.is_empty() {
            return Err(Problem::invalid("there is a body; expected none"));
        }
        if self.query.is_empty() {
            given.query(&[])?;
        }
        match self.by {
            By::Core(read) => read(given).map(Some),
            By::Own(_) => Ok(None),
        }
    }

    /// Longest body.
    pub fn most_octets(&self) -> usize {
        self.body.map_or(BODY_MAX, |body| body.most_octets)
    }

    /// Names of the path's parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &'static str> {
        let parts = self.path.split('/');
        parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    /// The role that a user needs at the least; none of what is open to everybody.
    pub fn least(&self) -> Option<Role> {
        let is_of_admins = OF_ADMINS.contains(&self.operation);
        match (self.by, self.method) {
            (By::Own(Own::Session | Own::LogIn | Own::LogOut), _) => None,
            _ if is_of_admins => Some(Role::Admin),
            (_, Method::Get) => Some(Role::Viewer),
            _ => Some(Role::Operator),
        }
    }
}

/// Operations of admins: on the core itself, on users and on the keys of the home network.
const OF_ADMINS: &[&str] = &[
    "drain",
    "homeKeyNew",
    "homeKeyRemove",
    "reload",
    "undrain",
    "userList",
    "userRemove",
    "userSet",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::routes::ROUTES;

    #[test]
    fn viewers_change_nothing_and_all_operations_of_admins_are_there() {
        for route in ROUTES {
            let is_open = matches!(route.by, By::Own(Own::LogIn | Own::LogOut));
            let changes = route.method != Method::Get && !is_open;
            let least = route.least();
            assert!(!changes || least >= Some(Role::Operator), "{}", route.path);
        }
        for name in OF_ADMINS {
            let route = ROUTES.iter().find(|route| route.operation == *name);
            assert_eq!(route.unwrap().least(), Some(Role::Admin), "{name}");
        }
    }
}
