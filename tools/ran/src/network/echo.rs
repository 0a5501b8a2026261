//! Echo Requests of gNBs, and their responses.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::EchoAnswer;

use super::Network;

/// How long an answer to an Echo Request by the clock may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Echo Requests under way, and the time of the next ones.
pub struct Echoes {
    every: Option<Duration>,
    last: Instant,
    pending: Vec<EchoAnswer>,
}

impl Echoes {
    /// None on its way.
    pub fn new(every: Option<Duration>) -> Self {
        Self {
            every,
            last: Instant::now(),
            pending: Vec::new(),
        }
    }
}

impl Network {
    /// A gNB asks whether `to`, or where its UEs' packets go, is there.
    pub fn send_echo(&mut self, gnb: usize, to: Option<IpAddr>, wait: Duration) {
        let peers = match to {
            Some(to) => vec![to],
            None => self.upfs_of(gnb),
        };
        for peer in peers {
            let begun = self
                .stations
                .get(gnb)
                .map(|station| station.handle().begin_echo(peer, wait));
            match begun {
                Some(Ok(answer)) => self.echoes.pending.push(answer),
                Some(Err(error)) => self.fail(error),
                None => {}
            }
        }
    }

    /// Counts answers, and says how many are still awaited.
    pub fn settle_echoes(&mut self) -> usize {
        let totals = &mut self.totals;
        self.echoes.pending.retain(|echo| match echo.poll() {
            Ok(None) => true,
            Ok(Some(_)) => {
                totals.echoes_answered += 1;
                false
            }
            Err(_) => {
                totals.echoes_unanswered += 1;
                false
            }
        });
        self.echoes.pending.len()
    }

    pub(super) fn look_after_echoes(&mut self, now: Instant) {
        self.settle_echoes();
        let due = |every: Duration| now.duration_since(self.echoes.last) >= every;
        if self.echoes.every.is_some_and(due) {
            self.echoes.last = now;
            (0..self.stations.len()).for_each(|gnb| self.send_echo(gnb, None, PATIENCE));
        }
    }
}
