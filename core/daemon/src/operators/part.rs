//! Parts of answers to operators: each program tells what its functions know, and the core's puts them together.

use crate::operators::answers::{ContextsState, FlowLine, NfInstance, Rule};
use crate::operators::counters::{N4Counters, NssfCounters, SbiPart};
use crate::operators::mobility::{self, AmfPart};
use crate::operators::nfs::{self, NrfPart};
use crate::operators::qos;
use crate::operators::request::{Request, subscriber};
use crate::operators::sessions::{self, SmfPart};
use crate::operators::subscribers::{self, UdrPart};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sluice_amf::Amf;
use sluice_core_runtime::{Load, N2};
use sluice_sbi::{Nf, Now};
use sluice_udr::Udr;
use sluice_wiring::Apart;
use std::collections::BTreeMap;

/// Knowledge of a program's functions for an answer; none of a function that it does not have.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Part {
    pub amf: Option<AmfPart>,
    pub smf: Option<SmfPart>,
    pub udr: Option<UdrPart>,
    /// Datagrams with UPFs, of the program that has the SMF.
    pub n4: Option<N4Counters>,
    /// Stores of contexts of programs that have an AMF, an SMF or a UDR, as one.
    pub contexts: Option<ContextsState>,
    /// Charging records that the program of the SMF could not write.
    #[serde(default)]
    pub records_lost: u64,
    pub nrf: Option<NrfPart>,
    pub nssf: Option<NssfCounters>,
    /// HTTP/2 of programs that have it, as one.
    pub sbi: Option<SbiPart>,
    /// Instances of the program's functions.
    #[serde(default)]
    pub instances: Vec<NfInstance>,
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
            Self::Status => &[Nf::Amf, Nf::Smf, Nf::Udr],
            Self::Ues { .. } | Self::Procedures | Self::Reload => &[Nf::Amf, Nf::Smf],
            Self::Ue { .. } => &[Nf::Amf, Nf::Smf, Nf::Pcf, Nf::Udr],
            Self::QosStart { .. }
            | Self::QosStop { .. }
            | Self::AppSessionCreate { .. }
            | Self::AppSessionUpdate { .. }
            | Self::AppSessionDelete { .. }
            | Self::AppSession { .. } => &[Nf::Pcf],
            Self::Counters | Self::Metrics | Self::Flow { .. } | Self::Nfs => &Apart::ALL,
            Self::Gnbs { .. }
            | Self::UpdateGnbs
            | Self::OverloadStart { .. }
            | Self::OverloadStop
            | Self::Deregister { .. } => &[Nf::Amf],
            Self::Trace { .. } | Self::Refusals | Self::Drain { .. } | Self::Undrain { .. } => &[],
        }
    }
}

impl Part {
    /// Of the functions that this program has but for its AMF and its UDR, for a question that only looks.
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

    /// The same with what the AMF knows, if it is this program's and the question is for it.
    #[must_use]
    pub fn with_amf(
        mut self,
        request: &Request,
        amf: Option<&Amf>,
        n2: Option<&N2>,
        load: &Load,
    ) -> Self {
        if let (Some(amf), Some(n2)) = (amf, n2)
            && request.asks().contains(&Nf::Amf)
        {
            self.amf = Some(mobility::part(request, amf, n2, load));
        }
        self
    }

    /// The same with what the UDR knows, if it is this program's and the question is for it, and whether its database
    /// answers.
    #[must_use]
    pub fn with_udr(mut self, request: &Request, udr: Option<&Udr>, is_up: Option<bool>) -> Self {
        if let Some(udr) = udr
            && request.asks().contains(&Nf::Udr)
        {
            self.udr = Some(subscribers::part(request, udr, is_up));
        }
        self
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
        self.instances.extend(other.instances);
        Self {
            amf: self.amf.or(other.amf),
            smf: self.smf.or(other.smf),
            udr: self.udr.or(other.udr),
            n4: self.n4.or(other.n4),
            contexts: both(self.contexts, other.contexts),
            records_lost: self.records_lost + other.records_lost,
            nrf: self.nrf.or(other.nrf),
            nssf: self.nssf.or(other.nssf),
            sbi: match (self.sbi, other.sbi) {
                (Some(one), Some(other)) => Some(one.and(other)),
                (one, other) => one.or(other),
            },
            pcf: self.pcf.or(other.pcf),
            instances: self.instances,
            lines: self.lines,
            done: self.done.or(other.done),
        }
    }
}

/// How it is with the stores of contexts of two programs.
fn both(one: Option<ContextsState>, other: Option<ContextsState>) -> Option<ContextsState> {
    match (one, other) {
        (Some(one), Some(other)) => Some(ContextsState {
            up: one.up && other.up,
            pending: one.pending + other.pending,
            failures: one.failures + other.failures,
            last_failure: one.last_failure.or(other.last_failure),
        }),
        (one, other) => one.or(other),
    }
}
