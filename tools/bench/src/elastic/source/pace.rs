//! Packet rate of a source.

/// How fast packets come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// None.
    Still,
    /// So many nanoseconds apart, both directions together, from each source; and which share of
    /// them is of the hot UEs alone.
    Every { apart_ns: f64, hot: f64 },
    /// As fast as they are taken, in bursts of so many from each source for each queue.
    Bursts(usize),
}

impl Pace {
    /// As fast as they are taken.
    pub const FULL: Self = Self::Bursts(64);

    /// Of all UEs alike.
    pub fn every(apart_ns: f64) -> Self {
        Self::Every { apart_ns, hot: 0.0 }
    }
}
