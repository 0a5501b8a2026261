//! The traffic source: packet times, flows and lengths.

mod alias;
mod capture;
mod pace;
mod pick;
mod sizes;

pub use capture::Capture;
pub use pace::{Plan, RateStep, Unit};
pub use pick::Popularity;
pub use sizes::{IP_BYTES_MAX, SizeOf, Sizes};

pub(crate) use pace::Pace;
pub(crate) use pick::Pick;
pub(crate) use sizes::SizeDraw;
