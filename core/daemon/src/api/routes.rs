//! The table of all operations of the management API.

use super::problem::Problem;
use super::readers::{
    Given, core, database, deregister, export, import, qos_start, qos_stop, subscribers, ues,
    unfit, unreadable,
};
use super::schemas::Form;
use crate::operators::answers;
use crate::operators::qos_rule::QosRule;
use crate::operators::request::{Ask, Request, UES_MAX};
use schemars::JsonSchema;
use schemars::generate::SchemaGenerator;
use sluice_subscribers::operation::Edit;
use sluice_subscribers::{Operation, json};
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

/// What a parameter may be.
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
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub value: Values,
    /// What it means.
    pub meaning: &'static str,
}

/// What a request has in its body.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    /// How it may be written.
    pub media_types: &'static [&'static str],
    /// Form of a body that is JSON.
    pub form: Form,
    /// Longest.
    pub most_octets: usize,
}

/// What is answered when a request is done.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// An object, with this status and this form.
    Object(u16, Form),
    /// The object's `text`, which has one of these media types; the first unless `format` says
    /// otherwise.
    Text(&'static [&'static str]),
    /// The OpenAPI document.
    Document,
}

/// What is asked of the core; nothing of one that is answered without it.
pub type Reader = fn(&Given<'_>) -> Result<Ask, Problem>;

/// An operation.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// Its method.
    pub method: Method,
    /// Its path, with `{name}` for parameters.
    pub path: &'static str,
    /// What programs call it.
    pub operation: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Parameters behind `?`.
    pub query: &'static [Parameter],
    /// Its body, if it has one.
    pub body: Option<Body>,
    /// Its answer.
    pub answer: Answer,
    /// How long the answer may take.
    pub within: Duration,
    /// How it is read.
    pub reader: Option<Reader>,
}

/// How long an answer may take that the core has at hand.
const SOON: Duration = Duration::from_secs(20);
/// How long an answer may take that all subscribers are a part of.
const LONG: Duration = Duration::from_secs(300);

/// Longest body that tells of one thing.
pub const BODY_MAX: usize = 64 << 10;
/// Longest import, as on the control socket: some 200,000 subscribers.
pub const IMPORT_MAX: usize = 64 << 20;

const JSON: &str = "application/json";
pub(super) const CSV: &str = "text/csv";
/// Prometheus' text format.
pub const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

const fn object(form: Form) -> Option<Body> {
    Some(Body {
        media_types: &[JSON],
        form,
        most_octets: BODY_MAX,
    })
}

const fn of<T: JsonSchema>() -> Form {
    Form::Of(SchemaGenerator::subschema_for::<T>)
}

const fn parameter(name: &'static str, value: Values, meaning: &'static str) -> Parameter {
    Parameter {
        name,
        value,
        meaning,
    }
}

/// Of which PDU session.
const SESSION: Parameter = parameter(
    "session",
    Values::Number(15),
    "Identity of the PDU session; otherwise the first",
);

const fn get(
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
        reader: Some(reader),
    }
}

/// All of them.
pub const ROUTES: &[Route] = &[
    get(
        "/v1/status",
        "status",
        "The core in short",
        of::<answers::Status>(),
        |_| core(Request::Status),
    ),
    Route {
        query: &[
            parameter("from", Values::Text, "From this IMSI on"),
            parameter("count", Values::Number(UES_MAX), "At most so many"),
        ],
        ..get(
            "/v1/ues",
            "ues",
            "UEs by their IMSIs",
            of::<answers::Ues>(),
            ues,
        )
    },
    get(
        "/v1/ues/{imsi}",
        "ue",
        "One UE",
        of::<answers::Ue>(),
        |given| {
            let imsi = given.named("imsi");
            core(Request::Ue { imsi })
        },
    ),
    Route {
        method: Method::Delete,
        query: &[parameter(
            "registers_again",
            Values::Boolean,
            "It is to register again at once",
        )],
        answer: Answer::Object(202, of::<answers::Deregistering>()),
        ..get(
            "/v1/ues/{imsi}",
            "deregister",
            "Deregister a UE; its sessions are released",
            of::<answers::Deregistering>(),
            deregister,
        )
    },
    get(
        "/v1/ues/{imsi}/flow",
        "flow",
        "What was said of a UE, step by step",
        of::<answers::Flow>(),
        |given| {
            let imsi = given.named("imsi");
            core(Request::Flow { imsi })
        },
    ),
    Route {
        method: Method::Post,
        query: &[SESSION],
        body: object(of::<QosRule>()),
        answer: Answer::Object(202, of::<answers::QosStarting>()),
        ..get(
            "/v1/ues/{imsi}/qos",
            "qosStart",
            "Start a QoS flow of a session; an idle UE is paged",
            of::<answers::QosStarting>(),
            qos_start,
        )
    },
    Route {
        method: Method::Delete,
        query: &[SESSION],
        answer: Answer::Object(202, of::<answers::QosStopping>()),
        ..get(
            "/v1/ues/{imsi}/qos/{name}",
            "qosStop",
            "Stop a QoS flow of a session, whoever started it",
            of::<answers::QosStopping>(),
            qos_stop,
        )
    },
    Route {
        method: Method::Post,
        body: object(Form::Named("AppSessionContext")),
        answer: Answer::Object(201, of::<answers::AppSessionId>()),
        ..get(
            "/v1/app-sessions",
            "appSessionCreate",
            "Start flows for an application (TS 29.514, 4.2.2)",
            of::<answers::AppSessionId>(),
            |given| given.of_application("app_session_create", false, true),
        )
    },
    get(
        "/v1/app-sessions/{app}",
        "appSession",
        "What an application has asked for",
        of::<answers::AppSession>(),
        |given| given.of_application("app_session", true, false),
    ),
    Route {
        method: Method::Put,
        body: object(Form::Named("AppSessionContext")),
        ..get(
            "/v1/app-sessions/{app}",
            "appSessionUpdate",
            "Give an application other flows (TS 29.514, 4.2.3)",
            of::<answers::AppSessionId>(),
            |given| given.of_application("app_session_update", true, true),
        )
    },
    Route {
        method: Method::Delete,
        ..get(
            "/v1/app-sessions/{app}",
            "appSessionDelete",
            "Stop the flows of an application (TS 29.514, 4.2.4)",
            of::<answers::AppSessionId>(),
            |given| given.of_application("app_session_delete", true, false),
        )
    },
    get("/v1/gnbs", "gnbs", "gNBs", of::<answers::Gnbs>(), |_| {
        core(Request::Gnbs)
    }),
    get(
        "/v1/nfs",
        "nfs",
        "Network functions as the NRF knows them",
        of::<answers::Nfs>(),
        |_| core(Request::Nfs),
    ),
    Route {
        method: Method::Put,
        ..get(
            "/v1/nfs/{function}/{instance}/drain",
            "drain",
            "Take an instance of a function out; its program ends when its calls are over",
            of::<answers::Drained>(),
            |given| given.of_instance("drain"),
        )
    },
    Route {
        method: Method::Delete,
        ..get(
            "/v1/nfs/{function}/{instance}/drain",
            "undrain",
            "Take a drained instance of a function in again",
            of::<answers::Drained>(),
            |given| given.of_instance("undrain"),
        )
    },
    Route {
        method: Method::Post,
        ..get(
            "/v1/gnbs/update",
            "gnbsUpdate",
            "Tell all gNBs what is served (AMF Configuration Update)",
            of::<answers::Told>(),
            |_| core(Request::UpdateGnbs),
        )
    },
    Route {
        method: Method::Put,
        body: object(Form::Named("Overload")),
        ..get(
            "/v1/overload",
            "overloadStart",
            "Have gNBs keep UEs away (Overload Start)",
            of::<answers::Overloaded>(),
            |given| given.request("overload_start"),
        )
    },
    Route {
        method: Method::Delete,
        ..get(
            "/v1/overload",
            "overloadStop",
            "Have gNBs keep nobody away (Overload Stop)",
            of::<answers::Overloaded>(),
            |_| core(Request::OverloadStop),
        )
    },
    Route {
        method: Method::Post,
        ..get(
            "/v1/reload",
            "reload",
            "Read core.yaml again; UEs stay",
            of::<answers::Reloaded>(),
            |_| core(Request::Reload),
        )
    },
    get(
        "/v1/procedures",
        "procedures",
        "Procedures under way",
        of::<answers::Procedures>(),
        |_| core(Request::Procedures),
    ),
    get(
        "/v1/refusals",
        "refusals",
        "Who was refused, why, and what to do about it",
        of::<answers::Refusals>(),
        |_| core(Request::Refusals),
    ),
    get(
        "/v1/counters",
        "counters",
        "All counters",
        of::<answers::Counters>(),
        |_| core(Request::Counters),
    ),
    Route {
        query: &[
            parameter("imsi_prefix", Values::Text, "First digits of the IMSI"),
            parameter("dnn", Values::Text, "A data network that it may use"),
            parameter("slice", Values::Text, "A slice that it has"),
            parameter("ipv4", Values::Text, "Its own IPv4 address"),
            parameter("ipv6_prefix", Values::Text, "Its own IPv6 prefix"),
            parameter("barred", Values::Boolean, "Whether it is barred"),
            parameter("after", Values::Text, "The last IMSI of the page before"),
            parameter("limit", Values::Number(UES_MAX), "Most of the page"),
        ],
        ..get(
            "/v1/subscribers",
            "subscriberList",
            "Subscribers of the database, without keys",
            Form::Named("Subscribers"),
            subscribers,
        )
    },
    Route {
        method: Method::Post,
        body: object(Form::Named("NewSubscriber")),
        answer: Answer::Object(201, Form::Named("Subscriber")),
        ..get(
            "/v1/subscribers",
            "subscriberAdd",
            "Add a subscriber",
            Form::Named("Subscriber"),
            |given| {
                let subscriber = json::draft_of(given.json()?).map_err(unfit)?;
                database(Operation::SubscriberAdd { subscriber })
            },
        )
    },
    get(
        "/v1/subscribers/{imsi}",
        "subscriberShow",
        "One subscriber, without keys",
        Form::Named("Subscriber"),
        |given| {
            let imsi = given.named("imsi");
            database(Operation::SubscriberShow { imsi })
        },
    ),
    Route {
        method: Method::Patch,
        body: object(Form::Named("SubscriberChange")),
        ..get(
            "/v1/subscribers/{imsi}",
            "subscriberChange",
            "Change a subscriber; its UE registers again",
            Form::Named("Subscriber"),
            |given| {
                let change = serde_json::from_value::<Edit>(given.json()?);
                let change = change.map_err(|e| unreadable(&e))?;
                let imsi = given.named("imsi");
                database(Operation::SubscriberChange { imsi, change })
            },
        )
    },
    Route {
        method: Method::Delete,
        ..get(
            "/v1/subscribers/{imsi}",
            "subscriberRemove",
            "Remove a subscriber; its UE is deregistered",
            Form::Named("Removed"),
            |given| {
                let imsi = given.named("imsi");
                database(Operation::SubscriberRemove { imsi })
            },
        )
    },
    Route {
        method: Method::Post,
        query: &[parameter(
            "replace",
            Values::Boolean,
            "Those that are there become what the body says",
        )],
        body: Some(Body {
            media_types: &[CSV, JSON],
            form: Form::Named("SubscriberFile"),
            most_octets: IMPORT_MAX,
        }),
        within: LONG,
        ..get(
            "/v1/subscribers/import",
            "subscriberImport",
            "Add all subscribers of the body, or none",
            Form::Named("Imported"),
            import,
        )
    },
    Route {
        query: &[parameter("format", FORMAT, "How it is written")],
        answer: Answer::Text(&[CSV, JSON]),
        within: LONG,
        ..get(
            "/v1/subscribers/export",
            "subscriberExport",
            "All subscribers, without keys",
            Form::Named(""),
            export,
        )
    },
    get(
        "/v1/home-network-keys",
        "homeKeyList",
        "Keys of the home network, public parts",
        Form::Named("HomeKeys"),
        |_| database(Operation::HomeKeyList),
    ),
    Route {
        method: Method::Post,
        body: object(Form::Named("NewHomeKey")),
        answer: Answer::Object(201, Form::Named("HomeKey")),
        ..get(
            "/v1/home-network-keys",
            "homeKeyNew",
            "Make a key of the home network, or take one that SIMs have been made for",
            Form::Named("HomeKey"),
            |given| given.request("home_key_new"),
        )
    },
    Route {
        method: Method::Delete,
        ..get(
            "/v1/home-network-keys/{id}",
            "homeKeyRemove",
            "Remove a key of the home network",
            Form::Named("Removed"),
            |given| {
                let id = given.named("id").parse();
                let id = id.map_err(|_| Problem::invalid("id: expected a number from 1 to 255"))?;
                database(Operation::HomeKeyRemove { id })
            },
        )
    },
    Route {
        answer: Answer::Text(&[EXPOSITION]),
        ..get(
            "/metrics",
            "metrics",
            "Metrics, for Prometheus",
            Form::Named(""),
            |_| core(Request::Metrics),
        )
    },
    Route {
        answer: Answer::Document,
        reader: None,
        ..get(
            "/openapi.json",
            "openapi",
            "This document",
            Form::Named(""),
            |_| core(Request::Status),
        )
    },
];

const FORMAT: Values = Values::Word(&["csv", "json"]);

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
        self.reader.map(|read| read(given)).transpose()
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
}
