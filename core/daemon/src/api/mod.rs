//! The management API: what `sluice ctl` asks, by HTTP with JSON.
//!
//! | module | what it has |
//! |---|---|
//! | [`routes`] | the table of all operations |
//! | [`readers`] | how a request becomes a question to the core |
//! | [`openapi`], [`schemas`] | the OpenAPI document, made from that table, and the forms of bodies |
//! | [`problem`] | refusals (RFC 9457) |
//! | [`access`] | who may ask |
//! | `server` | HTTP, on a thread of its own |
//!
//! Questions go the way of those of the control socket, so both have the same answers. What reads a
//! request is a plain function of its parts: fuzzing needs no socket.

pub mod access;
pub mod openapi;
pub mod problem;
pub mod readers;
pub mod routes;
pub mod schemas;
mod server;

pub(crate) use server::Server;
