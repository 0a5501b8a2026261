//! The table of all operations of the management API.

use super::problem::Problem;
use super::readers::{
    core, database, deregister, export, gnbs, import, qos_start, qos_stop, subscribers, ues, unfit,
    unreadable,
};
use super::route::{
    Answer, Body, CSV, EVENTS_MAX, EXPOSITION, IMPORT_MAX, JSON, LONG, Method, Own, Parameter,
    Route, Values, get, object, of, own, parameter,
};
use super::schemas::Form;
use super::users::{LogIn, Session, UserChange, UserRow, Users};
use crate::operators::answers;
use crate::operators::qos_rule::QosRule;
use crate::operators::request::{Request, UES_MAX};
use sluice_subscribers::operation::Edit;
use sluice_subscribers::{Operation, json};

/// Of which PDU session.
const SESSION: Parameter = parameter(
    "session",
    Values::Number(15),
    "Identity of the PDU session; otherwise the first",
);

/// Streams end by themselves, for programs that look once.
const EVENTS: Parameter = parameter(
    "events",
    Values::Number(EVENTS_MAX),
    "The stream ends after so many events; otherwise it goes on",
);

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
    Route {
        query: &[
            parameter(
                "after",
                Values::Text,
                "The last identity of the page before",
            ),
            parameter("count", Values::Number(UES_MAX), "At most so many"),
        ],
        ..get("/v1/gnbs", "gnbs", "gNBs", of::<answers::Gnbs>(), gnbs)
    },
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
        ..own(
            "/openapi.json",
            "openapi",
            "This document",
            Form::Named(""),
            Own::Document,
        )
    },
    own(
        "/v1/session",
        "session",
        "Who is logged in, and how one logs in",
        of::<Session>(),
        Own::Session,
    ),
    Route {
        method: Method::Post,
        body: object(of::<LogIn>()),
        answer: Answer::Object(201, of::<Session>()),
        ..own(
            "/v1/session",
            "logIn",
            "Log in; the answer sets a cookie",
            of::<Session>(),
            Own::LogIn,
        )
    },
    Route {
        method: Method::Delete,
        ..own(
            "/v1/session",
            "logOut",
            "Log out",
            of::<Session>(),
            Own::LogOut,
        )
    },
    own(
        "/v1/users",
        "userList",
        "Users of the API, with their roles",
        of::<Users>(),
        Own::Users,
    ),
    Route {
        method: Method::Put,
        body: object(of::<UserChange>()),
        ..own(
            "/v1/users/{user}",
            "userSet",
            "Add a user, or change its role, its password or both; another password ends its sessions",
            of::<UserRow>(),
            Own::UserSet,
        )
    },
    Route {
        method: Method::Delete,
        ..own(
            "/v1/users/{user}",
            "userRemove",
            "Remove a user, and end its sessions",
            Form::Named("Removed"),
            Own::UserRemove,
        )
    },
    Route {
        query: &[EVENTS],
        answer: Answer::Events(&["status"]),
        ..own(
            "/v1/events",
            "events",
            "The core in short, each second",
            Form::Named(""),
            Own::Events,
        )
    },
    Route {
        query: &[EVENTS],
        answer: Answer::Events(&["ue", "flow"]),
        ..own(
            "/v1/ues/{imsi}/events",
            "ueEvents",
            "One UE and the messages of its call flow, as they come",
            Form::Named(""),
            Own::UeEvents,
        )
    },
];

const FORMAT: Values = Values::Word(&["csv", "json"]);
