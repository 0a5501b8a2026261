//! Twins that read precedence, QERs or quotas wrongly, or say something else of a refusal.

use crate::refusal::Told;
use crate::run::Falsify;
use sluice_twin::{Paged, Refused};
use sluice_wire::ids::Precedence;
use sluice_wire::pfcp::group::{CreateFar, CreatePdr, CreateQer, CreateUrr, UpdateQer};
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::{BitRate, Edit, GateStatus};
use sluice_wire::pfcp::{Cause, IeType};

type OfPdr = fn(&mut CreatePdr<'_>);
type OfRate = fn(BitRate) -> BitRate;
type OfUrr = fn(&mut CreateUrr<'_>);
type OfAnswer = fn(&mut Result<(), Refused>);

/// What a wrong twin does, in words and in fact.
type Wrong<F> = (&'static str, F);

/// All of them, with what they do.
pub fn all() -> Vec<(&'static str, Box<dyn Falsify>)> {
    let mut all: Vec<(&'static str, Box<dyn Falsify>)> = Vec::new();
    let of_pdrs: [Wrong<OfPdr>; 4] = [
        ("knows no precedence", |p| p.precedence = Precedence(7)),
        ("tries the last PDR first", |p| {
            p.precedence = Precedence(u32::MAX - p.precedence.0);
        }),
        ("knows no QFI of a PDI", |p| p.pdi.qfi.clear()),
        ("knows one QER of a PDR", |p| p.qer_id.truncate(1)),
    ];
    all.extend(of_pdrs.map(|(name, f)| (name, Box::new(Pdrs(f)) as Box<dyn Falsify>)));
    let of_rates: [Wrong<OfRate>; 4] = [
        ("gives one part in a hundred more", |rate| BitRate {
            uplink_kbps: rate.uplink_kbps * 101 / 100,
            downlink_kbps: rate.downlink_kbps * 101 / 100,
        }),
        ("gives one part in a hundred less", |rate| BitRate {
            uplink_kbps: rate.uplink_kbps * 99 / 100,
            downlink_kbps: rate.downlink_kbps * 99 / 100,
        }),
        ("confuses the rates of both directions", |rate| BitRate {
            uplink_kbps: rate.downlink_kbps,
            downlink_kbps: rate.uplink_kbps,
        }),
        ("knows no rates", |_| BitRate::default()),
    ];
    all.extend(of_rates.map(|(name, f)| (name, Box::new(Rates(f)) as Box<dyn Falsify>)));
    all.push(("knows no gates", Box::new(NoGates)));
    all.push(("marks no outer headers", Box::new(NoMarking)));
    let of_quotas: [Wrong<OfUrr>; 3] = [
        ("knows no quotas", |u| u.volume_quota = None),
        ("adds an octet to quotas", |u| {
            of_quota(u, |octets| octets + 1)
        }),
        // A packet passes while used < quota: not when all is used.
        ("takes an octet off quotas", |u| {
            of_quota(u, |octets| octets.saturating_sub(1))
        }),
    ];
    all.extend(of_quotas.map(|(name, f)| (name, Box::new(Quotas(f)) as Box<dyn Falsify>)));
    let of_refusals: [Wrong<OfAnswer>; 4] = [
        ("grants what is refused", |said| *said = Ok(())),
        ("refuses what is granted", |said| {
            *said = said.clone().and_then(|()| {
                Err(Refused::Request {
                    why: "no".to_owned(),
                    said: None,
                })
            });
        }),
        ("refuses with another cause", |said| {
            of_refusal(said, |(_, ie)| (Cause::SYSTEM_FAILURE, ie));
        }),
        ("blames another IE", |said| {
            of_refusal(said, |(cause, _)| (cause, Some(OTHER_IE)));
        }),
    ];
    all.extend(of_refusals.map(|(name, f)| (name, Box::new(Refusals(f)) as Box<dyn Falsify>)));
    all.push(("tells of no idle UE", Box::new(TellsNobody)));
    all
}

/// Of which no rule has any.
const OTHER_IE: IeType = IeType::FQ_CSID;

fn of_quota(urr: &mut CreateUrr<'_>, change: fn(u64) -> u64) {
    if let Some(volume) = &mut urr.volume_quota {
        let parts = [&mut volume.total, &mut volume.uplink, &mut volume.downlink];
        let parts = parts.into_iter().flatten();
        parts.for_each(|octets| *octets = change(*octets));
    }
}

fn of_refusal(said: &mut Result<(), Refused>, change: fn(Told) -> Told) {
    if let Err(Refused::Request {
        said: Some(told), ..
    }) = said
    {
        *told = change(*told);
    }
}

struct Pdrs(OfPdr);

impl Falsify for Pdrs {
    fn establishment(&mut self, request: &mut SessionEstablishmentRequest<'_>) {
        request.create_pdr.iter_mut().for_each(self.0);
    }

    fn modification(&mut self, request: &mut SessionModificationRequest<'_>) {
        request.create_pdr.iter_mut().for_each(self.0);
    }
}

struct Rates(OfRate);

impl Rates {
    fn create(&self, qer: &mut CreateQer<'_>) {
        qer.maximum_bitrate = qer.maximum_bitrate.map(self.0);
    }

    fn update(&self, qer: &mut UpdateQer<'_>) {
        if let Some(Edit::Set(rate)) = &mut qer.maximum_bitrate {
            *rate = (self.0)(*rate);
        }
    }
}

impl Falsify for Rates {
    fn establishment(&mut self, request: &mut SessionEstablishmentRequest<'_>) {
        let mut qers = request.create_qer.iter_mut();
        qers.by_ref().for_each(|qer| self.create(qer));
    }

    fn modification(&mut self, request: &mut SessionModificationRequest<'_>) {
        request.create_qer.iter_mut().for_each(|q| self.create(q));
        request.update_qer.iter_mut().for_each(|q| self.update(q));
    }
}

struct NoGates;

impl Falsify for NoGates {
    fn establishment(&mut self, request: &mut SessionEstablishmentRequest<'_>) {
        let qers = request.create_qer.iter_mut();
        qers.for_each(|qer| qer.gate_status = GateStatus::OPEN);
    }
}

struct Quotas(OfUrr);

impl Falsify for Quotas {
    fn establishment(&mut self, request: &mut SessionEstablishmentRequest<'_>) {
        request.create_urr.iter_mut().for_each(self.0);
    }
}

struct Refusals(OfAnswer);

impl Falsify for Refusals {
    fn admission(&mut self, said: &mut Result<(), Refused>) {
        (self.0)(said);
    }
}

struct TellsNobody;

impl Falsify for TellsNobody {
    fn paged(&mut self, paged: &mut Vec<Paged>) {
        paged.clear();
    }
}

struct NoMarking;

impl Falsify for NoMarking {
    fn establishment(&mut self, request: &mut SessionEstablishmentRequest<'_>) {
        unmark(&mut request.create_far);
    }

    fn modification(&mut self, request: &mut SessionModificationRequest<'_>) {
        unmark(&mut request.create_far);
        for far in &mut request.update_far {
            if let Some(parameters) = &mut far.update_forwarding_parameters {
                parameters.transport_level_marking = None;
            }
        }
    }
}

fn unmark(fars: &mut [CreateFar<'_>]) {
    for far in fars {
        if let Some(parameters) = &mut far.forwarding_parameters {
            parameters.transport_level_marking = None;
        }
    }
}
