//! The stages of the packet path, in their order: one file, one public function or two.

pub mod far;
pub mod gtpu;
pub mod ohc;
pub mod ohr;
pub mod parse;
pub mod pdr;
pub mod place;
pub mod qer;
pub mod relay;
pub mod route;
pub mod session;
pub mod transmit;
pub mod urr;
