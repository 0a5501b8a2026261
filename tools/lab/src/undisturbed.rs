//! Undisturbed measurement: what other processes disturbed is measured again.

use crate::experiments::{Job, Problem};
use sluice_bench::elastic::testbed::Testbed;
use sluice_host::clock;
use sluice_port::Packet;

/// If others had a worker's CPU for more of the time, the figures tell of them as well.
const SHARE_MOST: f64 = 0.01;
/// What was disturbed is measured again, until it has been so often.
const ATTEMPTS: usize = 3;

/// What was measured, and why it cannot be trusted, if so.
pub struct Seen<T> {
    /// Of the attempt that was disturbed least.
    pub what: T,
    /// Who disturbed that.
    pub disturbed: Option<String>,
}

/// Measures until nothing disturbs it, three times at the most.
pub fn undisturbed<P: Packet + Send + 'static, T>(
    world: &mut Testbed<P>,
    job: &Job<'_>,
    mut measure: impl FnMut(&mut Testbed<P>) -> T,
) -> Result<Seen<T>, Problem> {
    best_of(SHARE_MOST, || {
        job.go_on()?;
        world.watch.take_away_ns();
        let began_ns = clock::monotonic_ns();
        let what = measure(world);
        let took_ns = clock::monotonic_ns() - began_ns;
        Ok((what, world.watch.take_away_ns() as f64 / took_ns as f64))
    })
}

/// `attempt` gives what it measured, and in which share of the time others had a CPU: more than
/// `share_most` disturbs.
pub fn best_of<T>(
    share_most: f64,
    mut attempt: impl FnMut() -> Result<(T, f64), Problem>,
) -> Result<Seen<T>, Problem> {
    let (mut what, mut share) = attempt()?;
    for _ in 1..ATTEMPTS {
        if share <= share_most {
            break;
        }
        let (other, others_share) = attempt()?;
        if others_share < share {
            (what, share) = (other, others_share);
        }
    }
    let says = |percent: f64| format!("others had a CPU for {percent:.1} % of the time");
    let disturbed = (share > share_most).then(|| says(share * 100.0));
    Ok(Seen { what, disturbed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(shares: &[f64]) -> (usize, Option<String>) {
        let mut attempts = shares.iter().copied().enumerate();
        let best = best_of(SHARE_MOST, || attempts.next().ok_or(Problem::Interrupted)).unwrap();
        (best.what, best.disturbed)
    }

    #[test]
    fn what_was_disturbed_is_measured_again_and_the_quietest_counts() {
        assert_eq!(seen(&[0.0]), (0, None));
        assert_eq!(seen(&[0.3, 0.009]), (1, None));
        let (which, why) = seen(&[0.3, 0.02, 0.05]);
        assert_eq!(which, 1);
        let why = why.unwrap();
        assert!(why.ends_with("for 2.0 % of the time"), "{why}");
    }
}
