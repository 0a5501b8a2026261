//! Answers of the core to operators: what `sluice ctl` prints, HTTP sends, and the OpenAPI document describes.
//!
//! Each answer is a type. Its JSON, and its form in the document, follow from it; objects are closed, and the text
//! above a field is what clients read of it.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

pub use crate::operators::counters::Counters;
use crate::operators::request::Action;

/// Derives of an answer, and what all of them have in common.
macro_rules! answers {
    ($($(#[$doc:meta])* $name:ident { $($fields:tt)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
        #[schemars(deny_unknown_fields)]
        #[allow(missing_docs, reason = "fields without a text are named by their unit or by the standard")]
        pub struct $name { $($fields)* }
    )*};
}

/// Null of a field that is there, unlike one that is missing.
fn there<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

// Parts of answers that programs tell each other.
answers! {
    /// A message of a procedure.
    #[derive(Deserialize)]
    FlowLine {
        pub unix_ms: u64,
        /// Step of TS 23.502.
        pub step: Cow<'static, str>,
        pub from: Cow<'static, str>,
        pub to: Cow<'static, str>,
        pub what: String,
    }

    /// Network functions as the NRF knows them.
    #[derive(Deserialize)]
    Nfs {
        pub heart_beat_s: u32,
        /// Seconds for which an answer to a discovery may be taken to be so.
        pub validity_s: u32,
        pub nfs: Vec<Nf>,
        /// Instances in programs of the core, be they registered or not.
        #[serde(default)]
        pub instances: Vec<NfInstance>,
    }

    /// Instance of a network function in a program of the core.
    #[derive(Deserialize)]
    NfInstance {
        pub r#type: String,
        /// Number among the instances of the function.
        pub instance: u8,
        /// Process that has it; null while there is none.
        pub pid: Option<u32>,
        /// Whether it has joined the core.
        pub reached: bool,
        /// Whether it was taken out: it gets no new calls.
        pub drains: bool,
        /// The one with the lowest is taken first.
        pub priority: u16,
        /// Weight among those of a priority.
        pub capacity: u16,
        /// Null while it does not answer.
        pub load_percent: Option<u8>,
        /// Answers that it gave functions of other programs; null while it does not answer.
        pub answered: Option<u64>,
    }

    /// A network function.
    #[derive(Deserialize)]
    Nf {
        pub r#type: String,
        /// NF instance id.
        pub instance: String,
        pub status: Cow<'static, str>,
        pub plmns: Vec<String>,
        pub allowed: Allowed,
        pub serves: Vec<Served>,
        /// The one with the lowest is taken first.
        pub priority: u16,
        /// Weight among those of a priority.
        pub capacity: u16,
        pub load_percent: u8,
        /// Seconds since its last heart-beat.
        pub heard_s_ago: u64,
        /// Heart-beats that it has missed.
        pub missed: u64,
    }

    /// Consumers that may discover a function; a list without an entry stands for all there are.
    #[derive(Deserialize)]
    Allowed {
        pub types: Vec<String>,
        pub slices: Vec<String>,
        pub plmns: Vec<String>,
    }

    /// A part of what a function serves; a list without an entry stands for all there are.
    #[derive(Deserialize)]
    Served {
        pub slices: Vec<String>,
        pub data_networks: Vec<String>,
        pub tracking_areas: Vec<String>,
    }

    /// A rule of a session (TS 29.512, 5.6.2.6).
    #[derive(Deserialize)]
    Rule {
        pub name: String,
        /// Rules are tried from the smallest on.
        pub precedence: u8,
        pub five_qi: u8,
        /// Allocation and retention priority.
        pub priority: u8,
        pub guaranteed_down_bps: u64,
        pub guaranteed_up_bps: u64,
        /// 0 is no limit.
        pub maximum_down_bps: u64,
        /// 0 is no limit.
        pub maximum_up_bps: u64,
    }
}

answers! {
    /// The core in short.
    Status {
        pub version: &'static str,
        pub uptime_s: u64,
        /// gNBs that have set up NG; null while the AMF is not reached, as all that it alone knows.
        pub gnbs: Option<usize>,
        /// SCTP associations, also of those that have not.
        pub associations: Option<usize>,
        pub ues_registered: Option<usize>,
        pub ues_connected: Option<usize>,
        /// Null of a core without sessions.
        pub sessions: Option<usize>,
        /// Null of a core without sessions.
        pub usage: Option<UsageSum>,
        pub procedures: usize,
        /// Refused requests since the start.
        pub refused: u64,
        pub ues_unauthenticated: Option<usize>,
        /// Share of time that the AMF's thread works.
        pub busy_percent: Option<u64>,
        /// Overload that gNBs are told of; null if none.
        pub overload: Option<OverloadNow>,
        /// The store of contexts; null without one.
        pub contexts: Option<ContextsState>,
        /// Null without a database.
        pub subscriber_database_up: Option<bool>,
        /// Null of a core without sessions.
        pub upfs: Option<Vec<Upf>>,
    }

    /// Usage of all sessions that UPFs have reported since the start.
    #[derive(Deserialize)]
    UsageSum {
        pub uplink_octets: u64,
        pub downlink_octets: u64,
    }

    /// A UPF.
    #[derive(Deserialize)]
    Upf {
        /// Address and port.
        pub n4: String,
        pub associated: bool,
        pub sessions: usize,
        /// Features that sessions need and the UPF does not have.
        pub lacks: Option<Cow<'static, str>>,
        /// gNBs that do not answer it on the user plane.
        pub paths_down: Vec<PathDown>,
    }

    /// A gNB that does not answer on the user plane.
    #[derive(Deserialize)]
    PathDown {
        pub gnb: String,
        pub sessions: usize,
    }

    /// The store of contexts.
    #[derive(Deserialize)]
    ContextsState {
        pub up: bool,
        /// Contexts that wait for it.
        pub pending: usize,
        pub failures: u64,
        pub last_failure: Option<String>,
    }

    /// UEs that gNBs keep away (TS 38.413, 9.3.1.105).
    #[derive(Deserialize)]
    OverloadNow {
        pub action: Action,
        /// Of a hundred; null for all.
        pub percent: Option<u8>,
    }

    /// An instance of a function as it stands after a drain was begun or taken back.
    Drained {
        pub r#type: String,
        pub instance: u8,
        pub drains: bool,
        /// Functions of its program, which drain with it.
        pub functions: Vec<String>,
    }

    /// Overload as gNBs are told of it.
    Overloaded {
        pub overload: Option<OverloadNow>,
        pub gnbs: usize,
    }

    /// gNBs that are told what is served.
    Told {
        pub told: usize,
    }

    /// Outcome of a reload.
    Reloaded {
        /// The file.
        pub reloaded: String,
        pub changed: Vec<&'static str>,
        pub warnings: Vec<String>,
    }

    /// Procedures under way.
    Procedures {
        pub procedures: Vec<Procedure>,
    }

    /// A procedure under way.
    #[derive(Deserialize)]
    Procedure {
        pub function: Function,
        pub imsi: Option<String>,
        pub session: Option<u8>,
        /// Step of the call flow.
        pub waits_at: Cow<'static, str>,
    }

    /// gNBs.
    Gnbs {
        /// By their identities.
        pub gnbs: Vec<Gnb>,
        /// The last of the page, if there are more.
        pub next_after: Option<String>,
        pub associations_without_setup: usize,
    }

    /// A gNB.
    #[derive(Deserialize)]
    Gnb {
        /// Global RAN node identity.
        pub id: String,
        pub name: Option<String>,
        pub address: Option<String>,
        /// Connected UEs.
        pub ues: usize,
        /// Tracking areas, each with its slices.
        pub areas: String,
    }

    /// Refused requests.
    Refusals {
        pub total: u64,
        pub by_cause: Vec<Cause>,
        /// The newest first.
        pub refusals: Vec<Refusal>,
    }

    /// Refusals of a kind of request for a cause.
    Cause {
        pub count: u64,
        pub request: Cow<'static, str>,
        pub cause: String,
    }

    /// A refused request.
    Refusal {
        /// From 1 on, since the start.
        pub number: u64,
        pub unix_s: u64,
        /// UE, gNB or address.
        pub who: String,
        pub request: Cow<'static, str>,
        pub cause: String,
        pub why: String,
        pub remedy: Cow<'static, str>,
    }

    /// A refused request of a UE.
    #[derive(Deserialize)]
    RefusalOfUe {
        pub unix_s: u64,
        pub request: Cow<'static, str>,
        pub cause: String,
        pub why: String,
        pub remedy: Cow<'static, str>,
    }

    /// UEs, a row each.
    Ues {
        pub known: usize,
        pub registered: usize,
        pub connected: usize,
        pub ues: Vec<UeRow>,
    }

    /// A UE in short.
    #[derive(Deserialize)]
    UeRow {
        pub imsi: String,
        pub state: UeState,
        pub gnb: Option<String>,
        pub sessions: usize,
        /// Addresses of its sessions, with blanks between them.
        pub addresses: String,
        /// Step of its procedure.
        pub waits_at: Option<Cow<'static, str>>,
    }

    /// One UE.
    Ue {
        pub ue: UeDetails,
    }

    /// A UE with its sessions.
    #[derive(Deserialize)]
    UeDetails {
        pub imsi: String,
        pub state: UeState,
        pub guti: Option<String>,
        pub imeisv: Option<String>,
        pub allowed_slices: Vec<String>,
        /// The last authentication.
        pub authentication: Option<Authentication>,
        pub ambr_down_bps: Option<u64>,
        pub ambr_up_bps: Option<u64>,
        pub connected: Option<Connected>,
        /// Step of its procedure.
        pub waits_at: Option<Cow<'static, str>>,
        pub sessions: Vec<Session>,
        /// The newest refused requests.
        pub refused: Vec<RefusalOfUe>,
    }

    /// The last authentication of a subscriber (AuthEvent: TS 29.503, 6.3.6.2.7).
    #[derive(Deserialize)]
    Authentication {
        pub success: bool,
        pub method: AuthenticationMethod,
        pub serving_network: String,
        pub unix_s: u64,
    }

    /// Connection of a UE.
    #[derive(Deserialize)]
    Connected {
        pub gnb: String,
        pub tracking_area: String,
        /// NR Cell Identity, nine hexadecimal digits.
        pub cell: String,
        pub amf_ue_ngap_id: u64,
        pub ran_ue_ngap_id: u32,
    }

    /// A PDU session. What the SMF knows of it is missing while it does not know the session.
    #[derive(Default, Deserialize)]
    Session {
        pub id: u8,
        pub dnn: String,
        pub slice: String,
        pub user_plane: UserPlane,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub r#type: Option<Cow<'static, str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub addresses: Option<Vec<String>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ambr_down_bps: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ambr_up_bps: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub five_qi: Option<u8>,
        /// SEID of the SMF.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub seid: Option<String>,
        /// SEID of the UPF; null until it has the session.
        #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
        pub upf_seid: Option<Option<String>>,
        /// Address and TEID.
        #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
        pub upf_tunnel: Option<Option<String>>,
        /// Address and TEID; null while the user plane is down.
        #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
        pub gnb_tunnel: Option<Option<String>>,
        /// The policy: required, preferred or not needed; null without one.
        #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
        pub up_integrity: Option<Option<Cow<'static, str>>>,
        /// The policy: required, preferred or not needed; null without one.
        #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
        pub up_confidentiality: Option<Option<Cow<'static, str>>>,
        /// As the gNB has said last; null if it has not.
        #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
        pub integrity_protected: Option<Option<bool>>,
        /// As the gNB has said last; null if it has not.
        #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
        pub confidentiality_protected: Option<Option<bool>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub uplink_octets: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub downlink_octets: Option<u64>,
        /// Step of its procedure; null if there is none.
        #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
        pub waits_at: Option<Option<Cow<'static, str>>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub rules: Option<Vec<Rule>>,
    }

    /// Steps of the newest procedures of a UE.
    Flow {
        pub imsi: String,
        pub lines: Vec<FlowLine>,
    }

    /// A UE that is being deregistered.
    Deregistering {
        pub deregistering: String,
    }

    /// A QoS flow that is being started.
    QosStarting {
        pub starting: String,
    }

    /// A QoS flow that is being stopped.
    QosStopping {
        pub stopping: String,
    }

    /// Number of an application's session.
    AppSessionId {
        pub id: u64,
    }

    /// Session of an application.
    AppSession {
        pub id: u64,
        /// AppSessionContextReqData (TS 29.514, 5.6.2.3).
        #[serde(rename = "ascReqData")]
        pub asc_req_data: Map<String, Value>,
    }
}

/// Words of an answer.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($word:ident = $text:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
        #[allow(missing_docs, reason = "the words say it")]
        pub enum $name { $(#[serde(rename = $text)] $word,)* }
    )*};
}

words! {
    /// State of a UE.
    UeState {
        Connected = "connected",
        Idle = "idle",
        Registering = "registering",
        Deregistered = "deregistered",
    }

    /// User plane of a session.
    UserPlane {
        Up = "up",
        Down = "down",
    }

    /// Function of a procedure.
    Function {
        Amf = "AMF",
        Smf = "SMF",
    }

    /// Method of an authentication (TS 29.503, 6.3.6.3.3).
    AuthenticationMethod {
        FiveGAka = "5G_AKA",
        EapAkaPrime = "EAP_AKA_PRIME",
    }
}

#[allow(clippy::derivable_impls, reason = "the words are made by a macro")]
impl Default for UserPlane {
    fn default() -> Self {
        Self::Down
    }
}
