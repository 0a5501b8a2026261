//! The management API: what `sluice ctl` asks, by HTTP with JSON.
//!
//! | module | what it has |
//! |---|---|
//! | [`routes`], [`route`] | the table of all operations, and an operation of it |
//! | [`readers`] | how a request becomes a question to the core |
//! | [`openapi`], [`schemas`] | the OpenAPI document, made from that table, and the forms of bodies |
//! | [`problem`] | refusals (RFC 9457) |
//! | [`access`], [`users`] | who may ask; log-in and users |
//! | `events` | streams of events, for pages that show what happens |
//! | `assets` | pages of the screen, as HTTP sends them |
//! | `server` | HTTP, on a thread of its own |
//!
//! Questions go the way of those of the control socket, so both have the same answers. What reads a
//! request is a plain function of its parts: fuzzing needs no socket.

pub mod access;
mod assets;
mod events;
pub mod openapi;
pub mod problem;
pub mod readers;
pub mod route;
pub mod routes;
pub mod schemas;
mod server;
pub mod users;

pub(crate) use server::Server;
