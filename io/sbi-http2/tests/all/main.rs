//! Client and server of the service-based interfaces on loopback: against each other, and against peers that write frames
//! by hand.

mod bounds;
mod calls;
mod floods;
mod frames;
mod idle;
mod lost;
mod others;
mod support;
mod tls;
