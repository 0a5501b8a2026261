//! UEs and gNBs as the AMF knows them: for `sluice ctl`, HTTP and metrics.

use crate::operators::answers::{self, Function, Procedure};
use crate::operators::counters::{AmfCounters, N2Counters, SctpCounters};
use crate::operators::ended::{self, Ended};
use crate::operators::request::{Action, Request, UES_MAX, subscriber, told};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sluice_amf::Amf;
use sluice_amf::view::{Connected, Gnb, Ue, Waiting};
use sluice_core_host as host;
use sluice_core_runtime::{Load, N2, system};
use sluice_ids::Supi;
use sluice_n2::Overload;
use sluice_program::control::refusal;
use sluice_sbi::AssociationId;
use sluice_wiring::{Apart, Mobility};
use std::collections::BTreeMap;

/// Knowledge of an AMF.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AmfPart {
    pub gnbs: Vec<answers::Gnb>,
    /// SCTP associations, also of gNBs that are not set up.
    pub associations: usize,
    pub associations_without_setup: usize,
    pub known: usize,
    pub registered: usize,
    pub connected: usize,
    pub unauthenticated: usize,
    pub procedures: usize,
    /// Share of time that the AMF's thread works.
    pub busy_percent: u64,
    pub overload: Option<answers::OverloadNow>,
    pub counters: AmfCounters,
    pub n2: N2Counters,
    pub sctp: SctpCounters,
    /// Rows of UEs, where these are asked for; their addresses are the SMF's to tell.
    pub ues: Vec<answers::UeRow>,
    /// The UE that is asked for; the SMF tells more of its sessions.
    pub ue: Option<answers::UeDetails>,
    /// Procedures under way, where they are asked for.
    pub waiting: Vec<Procedure>,
    /// Procedures that ended, where metrics are asked for.
    pub ended: Vec<Ended>,
}

/// All that a question needs of an AMF.
pub(crate) fn part(request: &Request, amf: &Amf, n2: &N2, load: &Load) -> AmfPart {
    let peers: BTreeMap<_, _> = n2.gnbs().collect();
    let gnbs = amf.gnbs();
    let names: BTreeMap<AssociationId, String> = gnbs
        .iter()
        .map(|gnb| (gnb.association, name_of(gnb)))
        .collect();
    let is_silent = |one: &&AssociationId| !names.contains_key(*one);
    let row = |gnb: &Gnb| {
        let address = peers.get(&gnb.association);
        gnb_row(gnb, address.map(|peer| peer.address.to_string()))
    };
    let mut part = AmfPart {
        gnbs: gnbs.iter().map(row).collect(),
        associations: peers.len(),
        associations_without_setup: peers.keys().filter(is_silent).count(),
        known: amf.known(),
        registered: amf.registered(),
        connected: amf.connected(),
        unauthenticated: amf.unauthenticated(),
        procedures: amf.procedures().len(),
        busy_percent: load.busy_percent(),
        overload: amf.overloaded().map(overload_now),
        counters: amf.counters().into(),
        n2: n2.counters().into(),
        sctp: n2.sctp_counters().into(),
        ues: Vec::new(),
        ue: None,
        waiting: Vec::new(),
        ended: Vec::new(),
    };
    match request {
        Request::Procedures => part.waiting = amf.waiting().into_iter().map(procedure).collect(),
        Request::Metrics => part.ended = ended::of(amf.tally()),
        Request::Ue { imsi } => {
            let ue = subscriber(imsi).ok().and_then(|supi| amf.ue(&supi));
            part.ue = ue.map(|ue| details(ue, &names));
        }
        Request::Ues { from, count } => {
            let from = from.as_deref().and_then(|from| subscriber(from).ok());
            let count = count.unwrap_or(UES_MAX).min(UES_MAX);
            let ues = amf.ues(from, count);
            part.ues = ues.iter().map(|ue| ue_row(ue, &names)).collect();
        }
        _ => {}
    }
    part
}

/// Answer to what an AMF is to do; none to any other question.
pub(crate) fn act<F: host::Functions + AsMut<Apart>>(
    request: &Request,
    mut mobility: Mobility<'_, F>,
) -> Option<Value> {
    let now = system::now();
    Some(match request {
        Request::UpdateGnbs => told(answers::Told {
            told: mobility.update_gnbs(now),
        }),
        Request::OverloadStart { action, percent } => overload(mobility, *action, *percent),
        Request::OverloadStop => {
            mobility.overload(now, None);
            told(answers::Overloaded {
                overload: None,
                gnbs: mobility.gnbs(),
            })
        }
        Request::Deregister {
            imsi,
            registers_again,
        } => match subscriber(imsi) {
            Ok(supi) => deregister(mobility, &supi, *registers_again),
            Err(refused) => refused,
        },
        _ => return None,
    })
}

/// The UE is told with the next turn; whether it then answers, `ue` and `flow` tell.
fn deregister<F: host::Functions + AsMut<Apart>>(
    mut mobility: Mobility<'_, F>,
    supi: &Supi,
    registers_again: bool,
) -> Value {
    match mobility.deregister(system::now(), supi, registers_again) {
        true => told(answers::Deregistering {
            deregistering: supi.imsi().to_owned(),
        }),
        false => refusal("not_found", "no UE of this IMSI is registered"),
    }
}

/// gNBs are told with the next turn.
fn overload<F: host::Functions + AsMut<Apart>>(
    mut mobility: Mobility<'_, F>,
    action: Action,
    percent: Option<u8>,
) -> Value {
    if percent.is_some_and(|percent| !(1..=99).contains(&percent)) {
        let what = "percent: expected 1 to 99, or none for all";
        return refusal("invalid", what);
    }
    let overload = Overload {
        action: action.to_ngap(),
        percent,
    };
    mobility.overload(system::now(), Some(overload));
    told(answers::Overloaded {
        overload: Some(overload_now(overload)),
        gnbs: mobility.gnbs(),
    })
}

fn overload_now(overload: Overload) -> answers::OverloadNow {
    answers::OverloadNow {
        action: Action::of_ngap(overload.action),
        percent: overload.percent,
    }
}

fn procedure(one: Waiting) -> Procedure {
    Procedure {
        function: Function::Amf,
        imsi: one.supi.map(|supi| supi.imsi().to_owned()),
        session: one.session,
        waits_at: one.step.into(),
    }
}

fn name_of(gnb: &Gnb) -> String {
    match &gnb.name {
        Some(name) => name.clone(),
        None => gnb.identity.to_string(),
    }
}

fn gnb_row(gnb: &Gnb, address: Option<String>) -> answers::Gnb {
    let areas = gnb.areas.iter().flat_map(|area| {
        area.plmns.iter().map(move |plmn| {
            let slices: Vec<_> = plmn.slices.iter().map(ToString::to_string).collect();
            format!("{} {} slices {}", plmn.plmn, area.tac, slices.join(","))
        })
    });
    answers::Gnb {
        id: gnb.identity.to_string(),
        name: gnb.name.clone(),
        address,
        ues: gnb.connected,
        areas: areas.collect::<Vec<_>>().join("; "),
    }
}

fn gnb_of(at: &Connected, names: &BTreeMap<AssociationId, String>) -> String {
    names.get(&at.association).cloned().unwrap_or_default()
}

fn state(ue: &Ue) -> answers::UeState {
    use answers::UeState;
    match (ue.is_registered, &ue.connected) {
        (true, Some(_)) => UeState::Connected,
        (true, None) => UeState::Idle,
        (false, Some(_)) => UeState::Registering,
        (false, None) => UeState::Deregistered,
    }
}

fn ue_row(ue: &Ue, gnbs: &BTreeMap<AssociationId, String>) -> answers::UeRow {
    answers::UeRow {
        imsi: ue.supi.imsi().to_owned(),
        state: state(ue),
        gnb: ue.connected.as_ref().map(|at| gnb_of(at, gnbs)),
        sessions: ue.sessions.len(),
        addresses: String::new(),
        waits_at: ue.step.map(Into::into),
    }
}

fn details(ue: Ue, gnbs: &BTreeMap<AssociationId, String>) -> answers::UeDetails {
    let at = ue.connected.as_ref().map(|at| answers::Connected {
        gnb: gnb_of(at, gnbs),
        tracking_area: at.location.tai.to_string(),
        cell: hex_digits(at.location.cell),
        amf_ue_ngap_id: at.amf.0,
        ran_ue_ngap_id: at.ran.0,
    });
    let session = |one: &sluice_amf::view::Session| answers::Session {
        id: one.identity,
        dnn: one.dnn.to_string(),
        slice: one.slice.to_string(),
        user_plane: match one.is_up {
            true => answers::UserPlane::Up,
            false => answers::UserPlane::Down,
        },
        ..answers::Session::default()
    };
    let allowed_slices = ue.allowed_nssai.iter().map(ToString::to_string);
    answers::UeDetails {
        imsi: ue.supi.imsi().to_owned(),
        state: state(&ue),
        guti: ue.guti.map(|guti| guti.to_string()),
        imeisv: ue.imeisv.map(|imeisv| imeisv.to_string()),
        allowed_slices: allowed_slices.collect(),
        authentication: None,
        ambr_down_bps: ue.ambr_bps.map(|(down, _)| down),
        ambr_up_bps: ue.ambr_bps.map(|(_, up)| up),
        connected: at,
        waits_at: ue.step.map(Into::into),
        sessions: ue.sessions.iter().map(session).collect(),
        refused: Vec::new(),
    }
}

/// NR Cell Identity, 36 bits, as nine hexadecimal digits (TS 38.413, 9.3.1.7).
fn hex_digits(cell: sluice_ids::NrCellIdentity) -> String {
    let octets = cell
        .0
        .iter()
        .fold(0_u64, |all, octet| all << 8 | u64::from(*octet));
    format!("{:09x}", octets >> 4)
}
