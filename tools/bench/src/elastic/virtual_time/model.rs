//! Execution models of any number of workers.

use super::costs::Measured;
use super::traffic::Feed;
use sluice_datapath::limits::SHARDS;

/// Who polls and who owns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// The card knows the shards.
    RunToCompletion,
    /// Some poll, the others own.
    Pipeline,
    /// All poll what the card gives them, knowing no shards, and all own.
    Mixed,
}

impl Model {
    pub(super) const ALL: [Self; 3] = [Self::RunToCompletion, Self::Pipeline, Self::Mixed];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::RunToCompletion => "rtc",
            Self::Pipeline => "pipeline",
            Self::Mixed => "mixed",
        }
    }

    /// How many workers poll: of a pipeline as many as keep the others busy.
    pub fn pollers(self, workers: usize, measured: &Measured) -> usize {
        let (hand, take) = (measured.hand.full_ns(), measured.take.full_ns());
        match self {
            Self::Pipeline => {
                let share = hand / (hand + take);
                ((workers as f64 * share).round() as usize).clamp(1, workers - 1)
            }
            _ => workers,
        }
    }

    pub(super) fn owner(self, shard: u32, workers: usize, pollers: usize) -> usize {
        match self {
            Self::Pipeline => pollers + shard as usize % (workers - pollers),
            _ => shard as usize % workers,
        }
    }

    pub(super) fn feeds(self, workers: usize, pollers: usize) -> Vec<Feed> {
        let comes = |queue: usize, shard: u16| match self {
            Self::RunToCompletion => usize::from(shard) % workers == queue,
            _ => queue < pollers,
        };
        let feed = |queue| Feed {
            shards: (0..SHARDS as u16).filter(|s| comes(queue, *s)).collect(),
            ..Feed::default()
        };
        (0..workers).map(feed).collect()
    }
}
