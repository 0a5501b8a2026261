//! Parts of answers to operators: each program tells what its functions know, and the core's puts them together.

use crate::operators::answers::{ContextsState, FlowLine, Rule};
use crate::operators::counters::{N4Counters, NssfCounters};
use crate::operators::nfs::{self, NrfPart};
use crate::operators::qos;
use crate::operators::request::{Request, subscriber};
use crate::operators::sessions::{self, SmfPart};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sluice_sbi::{Nf, Now};
use sluice_wiring::Apart;
use std::collections::BTreeMap;

/// Knowledge of a program's functions for an answer; none of a function that it does not have.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Part {
    pub smf: Option<SmfPart>,
    /// Datagrams with UPFs, of the program that has the SMF.
    pub n4: Option<N4Counters>,
    /// Store of contexts of the program that has the SMF.
    pub contexts: Option<ContextsState>,
    /// Charging records that the program of the SMF could not write.
    #[serde(default)]
    pub records_lost: u64,
    pub nrf: Option<NrfPart>,
    pub nssf: Option<NssfCounters>,
    /// Rules of a UE's sessions, by their numbers.
    pub pcf: Option<BTreeMap<u8, Vec<Rule>>>,
    /// Call flow of a UE.
    pub lines: Vec<FlowLine>,
    /// Whole answer, of the one that was to do something.
    pub done: Option<Value>,
}

impl Request {
    /// Functions that have a part of the answer, and may be those of another program.
    pub(crate) fn asks(&self) -> &'static [Nf] {
        match self {
            Self::Status | Self::Ues { .. } | Self::Procedures | Self::Reload => &[Nf::Smf],
            Self::Ue { .. } => &[Nf::Smf, Nf::Pcf],
            Self::QosStart { .. }
            | Self::QosStop { .. }
            | Self::AppSessionCreate { .. }
            | Self::AppSessionUpdate { .. }
            | Self::AppSessionDelete { .. }
            | Self::AppSession { .. } => &[Nf::Pcf],
            Self::Nfs => &[Nf::Nrf],
            Self::Counters | Self::Metrics => &[Nf::Smf, Nf::Nrf, Nf::Nssf],
            Self::Flow { .. } => &Apart::ALL,
            Self::Gnbs
            | Self::Trace { .. }
            | Self::Refusals
            | Self::UpdateGnbs
            | Self::OverloadStart { .. }
            | Self::OverloadStop
            | Self::Deregister { .. } => &[],
        }
    }
}

impl Part {
    /// Of the functions that this program has, for a question that only looks.
    pub fn of(request: &Request, functions: &Apart, now: Now) -> Self {
        let mut part = Self::default();
        let asks = |nf| request.asks().contains(&nf);
        if let Some(smf) = functions.smf.as_ref().filter(|_| asks(Nf::Smf)) {
            part.smf = Some(sessions::part(request, smf));
        }
        if let Some(nrf) = functions.nrf.as_ref().filter(|_| asks(Nf::Nrf)) {
            part.nrf = Some(nfs::part(nrf, now));
        }
        if let Some(nssf) = functions.nssf.as_ref().filter(|_| asks(Nf::Nssf)) {
            part.nssf = Some(nssf.counters().into());
        }
        if let Request::Ue { imsi } = request
            && let Ok(supi) = subscriber(imsi)
        {
            part.pcf = functions.pcf.as_ref().map(|pcf| qos::rules(pcf, &supi));
        }
        part
    }

    /// Answer to a question that was to do something.
    pub fn done(answer: Value) -> Self {
        Self {
            done: Some(answer),
            ..Self::default()
        }
    }

    /// Both, of which none has what the other has.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.lines.extend(other.lines);
        Self {
            smf: self.smf.or(other.smf),
            n4: self.n4.or(other.n4),
            contexts: self.contexts.or(other.contexts),
            records_lost: self.records_lost + other.records_lost,
            nrf: self.nrf.or(other.nrf),
            nssf: self.nssf.or(other.nssf),
            pcf: self.pcf.or(other.pcf),
            lines: self.lines,
            done: self.done.or(other.done),
        }
    }
}
