//! A simulated link: delay, loss, duplication and reordering of frames between two ports.

use crate::rng::Rng;

/// One direction of a link. Chances are in parts per million of the frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkConfig {
    /// Time from leaving one port to reaching the other.
    pub delay_ns: u64,
    /// Frames lost.
    pub loss_ppm: u32,
    /// Frames that arrive twice.
    pub duplicate_ppm: u32,
    /// Frames that take [`Self::reorder_delay_ns`] longer, so that others
    /// overtake them.
    pub reorder_ppm: u32,
    /// How much longer those take.
    pub reorder_delay_ns: u64,
}

/// One direction of a link in use.
#[derive(Debug)]
pub(crate) struct Link {
    /// Index of the port at the other end.
    pub(crate) to: usize,
    config: LinkConfig,
    rng: Rng,
}

/// What becomes of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Lost,
    Arrives { after_ns: u64 },
    ArrivesTwice { after_ns: u64 },
}

impl Link {
    pub(crate) fn new(to: usize, config: LinkConfig, rng: Rng) -> Self {
        Self { to, config, rng }
    }

    /// Throws the dice for the next frame. Always as often, so that one setting
    /// does not change what another does to later frames.
    pub(crate) fn next_fate(&mut self) -> Fate {
        let lost = self.rng.chance(self.config.loss_ppm);
        let twice = self.rng.chance(self.config.duplicate_ppm);
        let late = self.rng.chance(self.config.reorder_ppm);
        let extra_ns = if late {
            self.config.reorder_delay_ns
        } else {
            0
        };
        let after_ns = self.config.delay_ns.saturating_add(extra_ns);
        match (lost, twice) {
            (true, _) => Fate::Lost,
            (false, false) => Fate::Arrives { after_ns },
            (false, true) => Fate::ArrivesTwice { after_ns },
        }
    }
}
