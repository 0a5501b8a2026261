//! Packet pacing: rate profile and due times.
//!
//! Each due time is computed from the origin and from what was sent before, never from the packet
//! before it, so that nothing adds up: the millionth packet of a constant rate is due exactly when
//! a million packets of that rate take.

use std::sync::Arc;

use crate::LoadError;

const NS_PER_S: f64 = 1e9;

/// Units of a rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Packets per second.
    Packets,
    /// Bits per second of the UEs' IP packets.
    Bits,
}

/// A stretch of time in which the rate goes straight from one to another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateStep {
    /// How long, in nanoseconds.
    pub duration_ns: u64,
    /// The rate at its beginning, per second.
    pub from: f64,
    /// The rate at its end, per second.
    pub to: f64,
}

impl RateStep {
    pub fn constant(rate: f64, duration_ns: u64) -> Self {
        Self {
            duration_ns,
            from: rate,
            to: rate,
        }
    }

    fn seconds(&self) -> f64 {
        self.duration_ns as f64 / NS_PER_S
    }

    /// Amount sent in the segment.
    fn amount(&self) -> f64 {
        (self.from + self.to) / 2.0 * self.seconds()
    }

    /// When so much of it has been sent, in seconds from its beginning: the root of
    /// `from t + (to - from) / 2T t^2 = amount`, in the form that loses no digits.
    fn when_s(&self, amount: f64) -> f64 {
        let growth = (self.to - self.from) / self.seconds();
        let root = (self.from * self.from + 2.0 * growth * amount)
            .max(0.0)
            .sqrt();
        match self.from + root {
            0.0 => 0.0,
            sum => 2.0 * amount / sum,
        }
    }
}

/// The plan of one lane.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Open loop: steps, one after the other.
    Steps { unit: Unit, steps: Vec<RateStep> },
    /// Open loop: due times from a capture in nanoseconds, again and again, each round as long as
    /// `round_ns`.
    Recorded {
        /// From the first packet of the capture, ascending.
        offsets_ns: Arc<[u64]>,
        /// From one round to the next.
        round_ns: u64,
        duration_ns: u64,
    },
    /// Closed loop: the next packet is due when fewer than so many are on their way.
    Window {
        /// Packets on their way.
        packets: u32,
        duration_ns: u64,
    },
    /// As fast as the generator can.
    Flood { duration_ns: u64 },
}

impl Plan {
    pub fn constant(unit: Unit, rate: f64, duration_ns: u64) -> Self {
        Self::Steps {
            unit,
            steps: vec![RateStep::constant(rate, duration_ns)],
        }
    }

    /// How long it takes, in nanoseconds.
    pub fn duration_ns(&self) -> u64 {
        match self {
            Self::Steps { steps, .. } => steps.iter().map(|step| step.duration_ns).sum(),
            Self::Recorded { duration_ns, .. }
            | Self::Window { duration_ns, .. }
            | Self::Flood { duration_ns } => *duration_ns,
        }
    }

    /// The same plan, with every rate times `factor`: of a capture, the time between packets
    /// becomes shorter. Closed loops and floods stay as they are.
    pub fn scaled(&self, factor: f64) -> Self {
        let mut plan = self.clone();
        match &mut plan {
            Self::Steps { steps, .. } => {
                for step in steps {
                    step.from *= factor;
                    step.to *= factor;
                }
            }
            Self::Recorded {
                offsets_ns,
                round_ns,
                ..
            } => {
                let shorter = |ns: u64| (ns as f64 / factor) as u64;
                *offsets_ns = offsets_ns.iter().map(|ns| shorter(*ns)).collect();
                *round_ns = shorter(*round_ns);
            }
            Self::Window { .. } | Self::Flood { .. } => {}
        }
        plan
    }

    /// Whether it can be followed.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn check(&self) -> Result<(), LoadError> {
        if self.duration_ns() == 0 {
            return Err(LoadError::NoTime);
        }
        match self {
            Self::Steps { steps, .. } => {
                for rate in steps.iter().flat_map(|step| [step.from, step.to]) {
                    if !rate.is_finite() || rate < 0.0 {
                        return Err(LoadError::Rate(rate));
                    }
                }
                let amount: f64 = steps.iter().map(RateStep::amount).sum();
                if amount <= 0.0 {
                    return Err(LoadError::Rate(0.0));
                }
            }
            Self::Recorded {
                offsets_ns,
                round_ns,
                ..
            } => {
                if offsets_ns.is_empty() || *round_ns == 0 {
                    return Err(LoadError::NoTime);
                }
            }
            Self::Window { packets: 0, .. } => return Err(LoadError::Rate(0.0)),
            Self::Window { .. } | Self::Flood { .. } => {}
        }
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct Pace {
    plan: Plan,
    /// Steps: which one, when it began, and what was sent in it.
    step: usize,
    step_began_ns: u64,
    in_step: f64,
    /// Packets so far.
    sent: u64,
}

impl Pace {
    pub(crate) fn new(plan: Plan) -> Result<Self, LoadError> {
        plan.check()?;
        Ok(Self {
            plan,
            step: 0,
            step_began_ns: 0,
            in_step: 0.0,
            sent: 0,
        })
    }

    /// How many may be on their way, if there is a limit.
    pub(crate) fn window(&self) -> Option<u64> {
        match self.plan {
            Plan::Window { packets, .. } => Some(u64::from(packets)),
            _ => None,
        }
    }

    /// Whether packets have a time of their own, and are not sent whenever they can be.
    pub(crate) fn is_timed(&self) -> bool {
        matches!(self.plan, Plan::Steps { .. } | Plan::Recorded { .. })
    }

    /// When the next packet is due, in nanoseconds from the origin; none when the plan is over.
    /// Without times of their own packets are due at `now_ns`.
    #[inline]
    pub(crate) fn due_ns(&mut self, now_ns: u64) -> Option<u64> {
        let due_ns = match &self.plan {
            Plan::Steps { .. } => return self.due_in_steps(),
            Plan::Recorded {
                offsets_ns,
                round_ns,
                ..
            } => {
                let all = offsets_ns.len() as u64;
                let place = (self.sent % all) as usize;
                let offset_ns = offsets_ns.get(place).copied().unwrap_or(0);
                (self.sent / all) * round_ns + offset_ns
            }
            Plan::Window { .. } | Plan::Flood { .. } => now_ns,
        };
        (due_ns < self.plan.duration_ns()).then_some(due_ns)
    }

    fn due_in_steps(&mut self) -> Option<u64> {
        let Plan::Steps { steps, .. } = &self.plan else {
            return None;
        };
        loop {
            let step = steps.get(self.step)?;
            let amount = step.amount();
            if self.in_step < amount {
                let ns = step.when_s(self.in_step) * NS_PER_S;
                // At the very end of a step rounding may not carry a packet into the next.
                let last_ns = step.duration_ns.saturating_sub(1);
                return Some(self.step_began_ns + (ns.round() as u64).min(last_ns));
            }
            self.in_step -= amount;
            self.step_began_ns += step.duration_ns;
            self.step += 1;
        }
    }

    /// The packet that was due, of so many octets, is made.
    #[inline]
    pub(crate) fn advance(&mut self, ip_bytes: u16) {
        self.sent += 1;
        if let Plan::Steps { unit, .. } = self.plan {
            self.in_step += match unit {
                Unit::Packets => 1.0,
                Unit::Bits => f64::from(ip_bytes) * 8.0,
            };
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;

    fn dues(plan: Plan, ip_bytes: u16) -> Vec<u64> {
        let mut pace = Pace::new(plan).unwrap();
        let mut dues = Vec::new();
        while let Some(due) = pace.due_ns(0) {
            dues.push(due);
            pace.advance(ip_bytes);
        }
        dues
    }

    #[test]
    fn a_constant_rate_does_not_drift() {
        // 3 packets per second have no whole number of nanoseconds between them.
        let dues = dues(Plan::constant(Unit::Packets, 3.0, 1000 * S), 100);
        assert_eq!(dues.len(), 3000);
        for (k, due) in (0u64..).zip(&dues) {
            let exact = k * S / 3;
            assert!(
                due.abs_diff(exact) <= 1,
                "packet {k}: {due}, exactly {exact}"
            );
        }
    }

    #[test]
    fn bits_pace_by_length() {
        // 100 octets at 8000 bit/s take 100 ms.
        let dues = dues(Plan::constant(Unit::Bits, 8000.0, S), 100);
        let want: Vec<u64> = (0..10).map(|k| k * S / 10).collect();
        assert_eq!(dues, want);
    }

    #[test]
    fn steps_follow_each_other_and_a_rest_is_quiet() {
        let steps = [(10.0, 1), (0.0, 1), (20.0, 1)];
        let steps = steps
            .map(|(rate, s)| RateStep::constant(rate, s * S))
            .to_vec();
        let unit = Unit::Packets;
        let dues = dues(Plan::Steps { unit, steps }, 100);
        let within = |second: u64| dues.iter().filter(|due| **due / S == second).count();
        assert_eq!([within(0), within(1), within(2)], [10, 0, 20]);
    }

    #[test]
    fn a_ramp_sends_the_area_below_it() {
        let steps = vec![RateStep {
            duration_ns: 10 * S,
            from: 0.0,
            to: 1000.0,
        }];
        let dues = dues(
            Plan::Steps {
                unit: Unit::Packets,
                steps,
            },
            100,
        );
        assert_eq!(dues.len(), 5000);
        assert!(dues.is_sorted());
        // After half of the time a quarter is sent.
        let half = dues.iter().filter(|due| **due < 5 * S).count();
        assert!(half.abs_diff(1250) <= 1, "{half}");
    }

    #[test]
    fn a_capture_goes_round() {
        let plan = Plan::Recorded {
            offsets_ns: [0, 10, 30].into(),
            round_ns: 50,
            duration_ns: 120,
        };
        assert_eq!(dues(plan.clone(), 100), [0, 10, 30, 50, 60, 80, 100, 110]);
        assert_eq!(dues(plan.scaled(2.0), 100)[..4], [0, 5, 15, 25]);
    }

    #[test]
    fn what_cannot_be_followed_is_refused() {
        for rate in [-1.0, f64::NAN, 0.0] {
            assert!(Plan::constant(Unit::Packets, rate, S).check().is_err());
        }
        assert!(Plan::constant(Unit::Packets, 1.0, 0).check().is_err());
        let duration_ns = S;
        assert!(
            Plan::Window {
                packets: 0,
                duration_ns
            }
            .check()
            .is_err()
        );
    }

    proptest! {
        #[test]
        fn any_steps_are_in_order_and_send_their_area(
            rates in proptest::collection::vec((0.0f64..500.0, 0.0f64..500.0, 1u64..5), 1..6),
        ) {
            let step = |(from, to, s): &(f64, f64, u64)| RateStep { duration_ns: s * S, from: *from, to: *to };
            let steps: Vec<RateStep> = rates.iter().map(step).collect();
            let amount: f64 = steps.iter().map(RateStep::amount).sum();
            prop_assume!(amount > 1.0);
            let total_ns: u64 = steps.iter().map(|s| s.duration_ns).sum();
            let dues = dues(Plan::Steps { unit: Unit::Packets, steps }, 100);
            prop_assert!(dues.is_sorted());
            prop_assert!((dues.len() as f64 - amount).abs() <= 1.5);
            prop_assert!(dues.last().is_none_or(|due| *due < total_ns));
        }
    }
}
