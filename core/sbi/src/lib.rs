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
mod container;
mod effect;
mod executor;
mod field;
mod ladder;
mod message;
pub mod server;
mod slab;
mod time;

pub use call::{Answer, CallId, Calls, Request};
pub use container::{CONTAINER_OCTETS, Container};
pub use effect::{AssociationId, CommitId, Effect, Input, NetworkFunction, Nf, RequestId};
pub use executor::{Handle, Poll, TaskId, Tasks, Wake};
pub use field::{Identity, N2Sm, Problem, Resynchronisation, SmChange};
pub use ladder::{Ladder, Line};
pub use message::{
    AccessAndMobility, AdvanceSqn, Authenticate, AuthenticationData, AuthenticationOutcome,
    AuthenticationSubscription, Challenge, Confirm, Confirmed, CreateSmContext, DNNS,
    DeregisterAmf, Done, Failure, GetAccessAndMobility, GetAuthenticationData,
    GetSessionManagement, GetSmfSelection, LONGEST, Message, NotifySmContext,
    QueryAccessAndMobility, QuerySessionManagement, QuerySmfSelection, QuerySubscription,
    RegisterAmf, ReleaseSmContext, SLICES, SessionManagement, SmContextCreated, SmContextUpdated,
    SmfSelection, StoreAmf, TransferN1N2, UpdateSmContext,
};
pub use slab::{Key, Slab};
pub use time::{Instant, Now, Random};
