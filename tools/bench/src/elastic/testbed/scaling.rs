//! Load-driven scaling in the testbed, by the daemon's code.

use super::Testbed;
use crate::elastic::steered::steerer;
use serde_json::Value;
use sluice::config;
use sluice::upf::scaling::Scaling;
use sluice_port::Packet;

/// So many turns without a step are the end of what the card was asked for.
const QUIET_TURNS: u32 = 64;

impl<P: Packet + Send + 'static> Testbed<P> {
    /// From now on the load decides who owns what, and the card follows, by the daemon's code; or
    /// nobody decides. Shards lie as they are dealt at first, and no packet is under way. What was
    /// decided until now.
    pub fn scale(&mut self, scaling: Option<config::Scaling>) -> Option<Value> {
        self.scale_with(scaling, true)
    }

    /// As [`scale`](Self::scale); the card follows, or stays as it is.
    pub fn scale_with(&mut self, scaling: Option<config::Scaling>, follows: bool) -> Option<Value> {
        let was = self.scaling();
        self.scaling = None;
        self.let_the_card_follow();
        let follows = follows && scaling.is_some();
        self.steerer = follows.then(|| steerer(&self.steering));
        self.scaling = scaling.map(|config| Scaling::new(config, &mut self.core));
        was
    }

    /// What scaling has decided so far, while it is on.
    pub fn scaling(&self) -> Option<Value> {
        self.scaling.as_ref().map(Scaling::view)
    }

    /// What the card is being asked for comes into force: a group on its way would stay there.
    fn let_the_card_follow(&mut self) {
        let mut quiet = 0;
        while self.steerer.is_some() && quiet < QUIET_TURNS {
            self.turn();
            let steps = self
                .steerer
                .as_mut()
                .map_or(0, |steerer| steerer.turn(self.core.end_mut()));
            let left = self.core.end().mover().progress().1;
            quiet = if steps == 0 && left == 0 {
                quiet + 1
            } else {
                0
            };
        }
    }
}
