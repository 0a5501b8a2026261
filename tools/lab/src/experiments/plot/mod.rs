//! Results as pictures: a [`Figure`] is made of points ([`figure`]), drawn as SVG ([`svg`]) and
//! turned into PNG ([`png`]).

mod draw;
mod figure;
mod lines;
mod marks;
mod png;
mod ticks;

pub use draw::svg;
pub use figure::{Curve, CurvePoint, Figure, Panel, figure};
pub use png::png;
#[cfg(test)]
pub(crate) use png::tree;

/// A picture that could not be made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Blot {
    /// No font of this machine can write the labels.
    #[error("no font was found to write PNGs with; `apt-get install fonts-dejavu-core` has one")]
    NoFont,
    /// The library refused.
    #[error("{0}")]
    Refused(String),
}
