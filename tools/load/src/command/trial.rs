//! Conversion of options to a trial.

use std::time::Duration;

use crate::engine::{LanePlan, Trial};
use crate::source::{Capture, Plan, Popularity, RateStep, Sizes, Unit};

use super::Failure;
use super::args::LoadArgs;
use super::units::{Lengths, Pick, Rate};

/// Settings that all trials share.
pub struct Recipe {
    uplink: (Sizes, Option<Capture>),
    downlink: (Sizes, Option<Capture>),
    popularity: Popularity,
}

impl Recipe {
    /// Reads captures, if any.
    pub fn new(args: &LoadArgs) -> Result<Self, Failure> {
        let uplink = lengths(&args.size, args)?;
        let downlink = match &args.downlink_size {
            Some(size) => lengths(size, args)?,
            None => uplink.clone(),
        };
        for (sizes, _) in [&uplink, &downlink] {
            sizes.check().map_err(Failure::usage)?;
        }
        let popularity = match args.popularity {
            Pick::Uniform => Popularity::Uniform,
            Pick::RoundRobin => Popularity::RoundRobin,
            Pick::Zipf(exponent) => Popularity::Zipf { exponent },
            Pick::Hot(ues, share) => Popularity::Hot {
                // Spread over all, as users are.
                ues: (0..ues.min(args.ues))
                    .map(|n| (u64::from(n) * u64::from(args.ues) / u64::from(ues)) as u32)
                    .collect(),
                share,
            },
        };
        Ok(Self {
            uplink,
            downlink,
            popularity,
        })
    }

    pub fn longest_bytes(&self) -> u16 {
        let [up, down] = [&self.uplink.0, &self.downlink.0].map(Sizes::longest_bytes);
        up.max(down)
    }

    /// As the options say.
    pub fn trial(&self, args: &LoadArgs) -> Trial {
        let [up, down] = [args.uplink, 1.0 - args.uplink];
        let plan = |share: f64| match args.steps.first() {
            Some(first) => steps(args, first.unit, share),
            None => constant(args.rate, share, args.duration),
        };
        self.with(args, plan(up), plan(down))
    }

    pub fn trial_at(&self, args: &LoadArgs, rate: Rate, duration: Duration) -> Trial {
        let plan = |share| constant(rate, share, duration);
        self.with(args, plan(args.uplink), plan(1.0 - args.uplink))
    }

    fn with(&self, args: &LoadArgs, uplink: Plan, downlink: Plan) -> Trial {
        let lane = |share: f64, plan: Plan, (sizes, capture): &(Sizes, Option<Capture>)| {
            let spaced = capture
                .as_ref()
                .map(|capture| capture.plan(plan.duration_ns()));
            (share > 0.0).then(|| LanePlan {
                plan: spaced.unwrap_or(plan),
                sizes: sizes.clone(),
                popularity: self.popularity.clone(),
            })
        };
        Trial {
            uplink: lane(args.uplink, uplink, &self.uplink)
                .filter(|_| args.n3.is_some() || args.self_test),
            downlink: lane(1.0 - args.uplink, downlink, &self.downlink)
                .filter(|_| args.n6.is_some() || args.self_test),
            mirror: args.mirror && args.n6.is_some(),
            expect_returns: args.mirror,
            seed: args.seed,
            ..Trial::default()
        }
    }
}

fn lengths(size: &Lengths, args: &LoadArgs) -> Result<(Sizes, Option<Capture>), Failure> {
    let read = |file| Capture::read(file).map_err(Failure::usage);
    Ok(match size {
        Lengths::Octets(octets) => {
            let ip = crate::source::SizeOf::from(args.size_of).to_ip_bytes(*octets);
            let ip = ip.ok_or_else(|| {
                Failure::usage(format!("--size {octets} is no length of a packet"))
            })?;
            (Sizes::Fixed(ip), None)
        }
        Lengths::Imix => (Sizes::imix(), None),
        Lengths::LiveUplink => (Sizes::live_uplink(), None),
        Lengths::LiveDownlink => (Sizes::live_downlink(), None),
        Lengths::Pcap(file) => (read(file)?.sizes(), None),
        Lengths::PcapSpaced(file) => {
            let capture = read(file)?;
            (capture.sizes(), Some(capture))
        }
    })
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn constant(rate: Rate, share: f64, duration: Duration) -> Plan {
    let duration_ns = ns(duration);
    match rate {
        Rate::Open(rate, unit) => Plan::constant(unit, rate * share, duration_ns),
        Rate::Window(packets) => Plan::Window {
            packets: ((f64::from(packets) * share).round() as u32).max(1),
            duration_ns,
        },
        Rate::Max => Plan::Flood { duration_ns },
    }
}

/// Rates of all steps count what the first does; mixtures are refused before.
fn steps(args: &LoadArgs, unit: Unit, share: f64) -> Plan {
    let step = |step: &super::units::StepText| RateStep {
        duration_ns: ns(step.duration),
        from: step.from * share,
        to: step.to * share,
    };
    Plan::Steps {
        unit,
        steps: args.steps.iter().map(step).collect(),
    }
}
