//! What network functions of the 5G core have in common: messages between them, and the executor
//! on which their procedures are `async fn`.
//!
//! A network function is one deterministic function: [`Input`]s and time go in, [`Effect`]s come
//! out in order. It has no clock, socket, thread or source of random numbers; the caller hands in
//! [`Now`] and [`Random`]. Functions never call each other: a call is an effect, which whoever
//! wires them together delivers as another's input, its answer as an input again. So the same
//! inputs give the same octets in every wiring.
#![forbid(unsafe_code)]

mod call;
mod call_flow;
mod container;
mod context_data;
pub mod context_store;
mod effect;
mod executor;
mod exposure;
mod field;
mod message;
mod nrf;
mod pcc;
mod place;
mod refused;
pub mod server;
mod slab;
mod slot;
pub mod tally;
mod time;
mod traced_message;

pub use call::{Answer, CallId, Calls, Request};
pub use call_flow::{CallFlow, Line};
pub use container::{APP_SESSION_OCTETS, AppSessionText, CONTAINER_OCTETS, Container};
pub use context_data::{SdmData, SdmSubscription, SmfRegistration};
pub use effect::{AssociationId, CommitId, Effect, Input, NetworkFunction, NotStored, RequestId};
pub use executor::{Handle, Poll, TaskId, Tasks, Wake};
pub use exposure::subscriptions::{SUBSCRIPTION_S, Subscriptions, end_of_subscription};
pub use exposure::{
    AmfEvent, AmfEventSubscription, ForUe, SmfEvent, SmfEventSubscription, UeState,
};
pub use field::{
    AppSessionNews, AuthMethod, AuthResult, DNNS, DataChange, Identity, N2Sm, Nf, OFFERED,
    PolicyTrigger, Problem, REQUESTED, Removal, Resynchronisation, SLICES, SimAlgorithm, SmChange,
    SubscribedUpSecurity, TransferCause,
};
pub use message::ue_context::{
    MOVED_SESSIONS, MovedKeys, MovedSession, MovedSessions, SomeDevice, SomeKeys, TransferReason,
    UeName,
};
pub use message::*;
pub use nrf::{
    AREAS, Allowed, FOUND, Found, NfInstance, NfProfile, NfQuery, NfStatus, NfsFound, NoMatch,
    PLMNS, Requester, Served,
};
pub use pcc::{
    FILTERS, FILTERS_OF_A_SESSION, Filter, FlatFilter, FlowDirection, NAME_OCTETS, PccRule,
    PccRules, Ports, RULES, RuleName,
};
pub use place::{INSTANCES, Instance, Place};
pub use refused::Refused;
pub use slab::{Key, Slab};
pub use slot::Slot;
pub use tally::Tally;
pub use time::{Instant, Now, Random};
pub use traced_message::{Followed, ReferencePoint, TracedMessage};
