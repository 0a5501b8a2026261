//! Services of network functions (TS 29.500 and the parts after it): each call of a function as HTTP requests with JSON
//! bodies, and each HTTP request as calls of a function.
//!
//! No socket, clock or thread: whoever carries requests hands in what came, and sends what comes out. A *consumer* begins
//! with a message ([`begin`]) and sends requests until it has the message that answers it. A *producer* begins with a
//! request ([`accept`]) and asks its function until it has the response.
//!
//! Types are by hand, for what is served. What is read may have members that are not known; a mandatory one that is
//! missing is refused by name (TS 29.500, 5.2.7.2). Deviations of other cores that are taken all the same are listed and
//! counted ([`Deviation`]).
#![forbid(unsafe_code)]

mod abandoned;
pub mod body;
mod calls;
mod deviations;
pub mod directory;
mod exchange;
#[cfg(test)]
mod judge;
mod location;
mod multipart;
mod names;
mod namf;
mod nausf_auth;
pub mod nnrf;
mod nnssf;
mod npcf;
mod nsmf;
mod nssai_availability;
mod nudm;
mod nudr;
pub mod patch;
pub mod problem;
mod resources;
mod route;
mod routes;
mod subscriber;
mod subscription;
#[cfg(test)]
mod tests;
pub mod values;

pub use abandoned::{is_creation, undo};
pub use deviations::{Deviation, Deviations};
pub use exchange::{
    Came, Consumer, OnAnswer, OnResponse, Outgoing, Producer, Request, Response, To,
};
pub use names::{Memory, Own};
pub use route::{Route, not_allowed, unknown};
pub use routes::{accept, begin};
