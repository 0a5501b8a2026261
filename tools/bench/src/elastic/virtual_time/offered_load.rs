//! Offered load of a simulated overload.

use super::Model;

/// As with the real workers: shares of what one worker is able to.
const EVEN: f64 = 0.4;
const ON_TOP: f64 = 0.75;
/// Where all poll for all, a worker has less to do than its UEs' packets alone: for it to be
/// overloaded before all of them are, more has to come on top of less.
const EVEN_MIXED: f64 = 0.25;
/// Of what all workers are able to, that much is asked for at the most.
const OF_ALL: f64 = 0.85;

/// Packets in a nanosecond.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// To each queue, of all UEs.
    pub even: f64,
    /// In a burst besides, of heavy UEs of one worker.
    pub on_top: f64,
}

impl Offer {
    /// If one worker is able to so many.
    pub fn usual(able: f64) -> Self {
        Self {
            even: EVEN * able,
            on_top: ON_TOP * able,
        }
    }

    /// Some, smallest first.
    pub fn all(model: Model, workers: usize, able: f64) -> Vec<Self> {
        match model {
            Model::Mixed => {
                let even = EVEN_MIXED * able;
                let most = (OF_ALL - EVEN_MIXED) * workers as f64;
                let steps =
                    (0..=20).map(|step| ON_TOP + f64::from(step) / 20.0 * (most - ON_TOP).max(0.0));
                let on_top = steps.filter(|on_top| *on_top <= most + 0.001);
                on_top
                    .map(|on_top| Self {
                        even,
                        on_top: on_top * able,
                    })
                    .collect()
            }
            _ => {
                let factors = [1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0];
                let all = factors.map(|factor| Self::usual(factor * able)).into_iter();
                // Beyond what all are able to, nobody can level it.
                let most = able * workers as f64;
                all.filter(|offer| offer.of_all(workers) <= most).collect()
            }
        }
    }

    /// Of all UEs together in a burst.
    pub fn of_all(&self, workers: usize) -> f64 {
        self.even * workers as f64 + self.on_top
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_burst_asks_for_more_than_all_are_able_to() {
        for model in Model::ALL {
            for workers in [2, 4, 16] {
                let all = Offer::all(model, workers, 0.02);
                assert!(!all.is_empty());
                let most = 0.02 * workers as f64;
                assert!(all.iter().all(|offer| offer.of_all(workers) <= most + 1e-9));
            }
        }
    }
}
