//! Answers to operators that only look, made of what the core has.

use crate::daemon::Daemon;
use crate::operators::answers;
use crate::operators::part::Part;
use crate::operators::request::Action;
use crate::parts::contexts;
use serde_json::Value;
use sluice_amf::view::{Connected, Gnb, Ue};
use sluice_ids::Supi;
use sluice_program::control::refusal;
use sluice_sbi::{AssociationId, AuthMethod};
use sluice_udr::AuthEvent;
use std::collections::BTreeMap;

/// The core in short.
pub(crate) fn status(daemon: &Daemon, part: &Part) -> answers::Status {
    let core = daemon.runtime.core();
    let smf = part.smf.as_ref();
    answers::Status {
        version: env!("CARGO_PKG_VERSION"),
        uptime_s: daemon.started.elapsed().as_secs(),
        gnbs: core.amf().gnbs().len(),
        associations: daemon.runtime.n2().gnbs().count(),
        ues_registered: core.amf().registered(),
        ues_connected: core.amf().connected(),
        sessions: smf.map(|smf| smf.sessions),
        procedures: core.amf().procedures().len() + smf.map_or(0, |smf| smf.procedures),
        refused: daemon.refusals.total(),
        ues_unauthenticated: core.amf().unauthenticated(),
        busy_percent: daemon.runtime.load().busy_percent(),
        overload: core.amf().overloaded().map(overload),
        contexts: contexts_state(daemon, part),
        subscriber_database_up: daemon.subscribers.is_up(),
        upfs: smf.map(|smf| smf.upfs.clone()),
    }
}

/// How it is with the stores of contexts, of the core's program and of that with the SMF; none without one.
pub(crate) fn contexts_state(daemon: &Daemon, part: &Part) -> Option<answers::ContextsState> {
    let core = daemon.runtime.core();
    let (_, last_failure) = core.contexts_failed();
    let own = contexts::state(core.contexts_state()?, last_failure);
    let Some(other) = &part.contexts else {
        return Some(own);
    };
    Some(answers::ContextsState {
        up: own.up && other.up,
        pending: own.pending + other.pending,
        failures: own.failures + other.failures,
        last_failure: own.last_failure.or_else(|| other.last_failure.clone()),
    })
}

/// What gNBs keep away.
pub(crate) fn overload(overload: sluice_n2::Overload) -> answers::OverloadNow {
    answers::OverloadNow {
        action: Action::of_ngap(overload.action),
        percent: overload.percent,
    }
}

/// UEs, a row each.
pub(crate) fn ues(daemon: &Daemon, from: Option<Supi>, count: usize, part: &Part) -> answers::Ues {
    let core = daemon.runtime.core();
    let gnbs = names(daemon);
    let row = |ue: &Ue| {
        let of_smf = part.smf.as_ref();
        let addresses = of_smf.and_then(|smf| smf.addresses.get(ue.supi.imsi()));
        answers::UeRow {
            imsi: ue.supi.imsi().to_owned(),
            state: state(ue),
            gnb: ue.connected.as_ref().map(|at| gnb_of(at, &gnbs)),
            sessions: ue.sessions.len(),
            addresses: addresses.cloned().unwrap_or_default(),
            waits_at: ue.step,
        }
    };
    let ues = core.amf().ues(from, count);
    answers::Ues {
        known: core.amf().known(),
        registered: core.amf().registered(),
        connected: core.amf().connected(),
        ues: ues.iter().map(row).collect(),
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

/// One UE.
///
/// # Errors
/// The refusal of an IMSI whose UE is not there.
pub(crate) fn ue(daemon: &Daemon, supi: &Supi, part: &Part) -> Result<answers::Ue, Value> {
    let core = daemon.runtime.core();
    let refused = daemon.refusals.of(&supi.to_string());
    let Some(ue) = core.amf().ue(supi) else {
        let is_subscriber = core.udr().sqn_of(supi).is_some();
        let why = match is_subscriber {
            false => "there is no subscriber of this IMSI",
            true => {
                "the subscriber is not registered; see sluice ctl flow and sluice ctl --core refusals"
            }
        };
        return Err(refusal("not_found", why));
    };
    let gnbs = names(daemon);
    let at = ue.connected.as_ref().map(|at| answers::Connected {
        gnb: gnb_of(at, &gnbs),
        tracking_area: at.location.tai.to_string(),
        cell: hex_digits(at.location.cell),
        amf_ue_ngap_id: at.amf.0,
        ran_ue_ngap_id: at.ran.0,
    });
    let known = part.smf.as_ref().map_or(&[][..], |smf| &smf.of_ue);
    let session = |one: &sluice_amf::view::Session| {
        let known = known.iter().find(|known| known.id == one.identity);
        let rules = part.pcf.as_ref().and_then(|all| all.get(&one.identity));
        session_row(one, known, rules)
    };
    let allowed_slices = ue.allowed_nssai.iter().map(ToString::to_string);
    let ue = answers::UeDetails {
        imsi: ue.supi.imsi().to_owned(),
        state: state(&ue),
        guti: ue.guti.map(|guti| guti.to_string()),
        imeisv: ue.imeisv.map(|imeisv| imeisv.to_string()),
        allowed_slices: allowed_slices.collect(),
        authentication: core.udr().authentication_of(supi).map(authentication),
        ambr_down_bps: ue.ambr_bps.map(|(down, _)| down),
        ambr_up_bps: ue.ambr_bps.map(|(_, up)| up),
        connected: at,
        waits_at: ue.step,
        sessions: ue.sessions.iter().map(session).collect(),
        refused,
    };
    Ok(answers::Ue { ue })
}

/// How a subscriber was authenticated last.
fn authentication(event: &AuthEvent) -> answers::Authentication {
    answers::Authentication {
        success: event.success,
        method: match event.method {
            AuthMethod::FiveGAka => answers::AuthenticationMethod::FiveGAka,
            AuthMethod::EapAkaPrime => answers::AuthenticationMethod::EapAkaPrime,
        },
        serving_network: String::from_utf8_lossy(event.network.octets()).into_owned(),
        unix_s: event.unix_s,
    }
}

/// A session as the AMF knows it, and as the SMF does if it does, with its rules.
fn session_row(
    one: &sluice_amf::view::Session,
    known: Option<&answers::Session>,
    rules: Option<&Vec<answers::Rule>>,
) -> answers::Session {
    let known = known.cloned();
    let rules = known.as_ref().map(|_| rules.cloned().unwrap_or_default());
    answers::Session {
        id: one.identity,
        dnn: one.dnn.to_string(),
        slice: one.slice.to_string(),
        user_plane: match one.is_up {
            true => answers::UserPlane::Up,
            false => answers::UserPlane::Down,
        },
        rules,
        ..known.unwrap_or_default()
    }
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

/// What gNBs are called.
fn names(daemon: &Daemon) -> BTreeMap<AssociationId, String> {
    let gnbs = daemon.runtime.core().amf().gnbs().into_iter();
    gnbs.map(|gnb| (gnb.association, name_of(&gnb))).collect()
}

fn name_of(gnb: &Gnb) -> String {
    match &gnb.name {
        Some(name) => name.clone(),
        None => gnb.identity.to_string(),
    }
}

fn gnb_of(at: &Connected, names: &BTreeMap<AssociationId, String>) -> String {
    names.get(&at.association).cloned().unwrap_or_default()
}

/// gNBs, a row each.
pub(crate) fn gnbs(daemon: &Daemon) -> answers::Gnbs {
    let peers: BTreeMap<_, _> = daemon.runtime.n2().gnbs().collect();
    let row = |gnb: &Gnb| {
        let areas = gnb.areas.iter().flat_map(|area| {
            area.plmns.iter().map(move |plmn| {
                let slices: Vec<_> = plmn.slices.iter().map(ToString::to_string).collect();
                format!("{} {} slices {}", plmn.plmn, area.tac, slices.join(","))
            })
        });
        answers::Gnb {
            id: gnb.identity.to_string(),
            name: gnb.name.clone(),
            address: peers
                .get(&gnb.association)
                .map(|peer| peer.address.to_string()),
            ues: gnb.connected,
            areas: areas.collect::<Vec<_>>().join("; "),
        }
    };
    let gnbs = daemon.runtime.core().amf().gnbs();
    let silent = peers
        .keys()
        .filter(|association| !gnbs.iter().any(|gnb| gnb.association == **association));
    answers::Gnbs {
        gnbs: gnbs.iter().map(row).collect(),
        associations_without_setup: silent.count(),
    }
}

/// Procedures under way.
pub(crate) fn procedures(daemon: &Daemon, part: Part) -> answers::Procedures {
    use answers::{Function, Procedure};
    let core = daemon.runtime.core();
    let of_amf = core.amf().waiting().into_iter().map(|one| Procedure {
        function: Function::Amf,
        imsi: one.supi.map(|supi| supi.imsi().to_owned()),
        session: one.session,
        waits_at: one.step.into(),
    });
    let of_smf = part.smf.map(|smf| smf.waiting).unwrap_or_default();
    let procedures = of_amf.chain(of_smf).collect();
    answers::Procedures { procedures }
}

/// Call flow of a UE, with the lines of other programs.
pub(crate) fn flow(daemon: &Daemon, supi: &Supi, part: Part) -> answers::Flow {
    let mut lines = daemon.flow.of(supi);
    lines.extend(part.lines);
    // Each program's own lines keep their order.
    lines.sort_by_key(|line| line.unix_ms);
    answers::Flow {
        imsi: supi.imsi().to_owned(),
        lines,
    }
}

/// All counters.
pub(crate) fn counters(daemon: &Daemon, part: &Part) -> answers::Counters {
    let core = daemon.runtime.core();
    let own_n4 = daemon.runtime.n4().map(|n4| n4.counters().into());
    answers::Counters {
        n2: daemon.runtime.n2().counters().into(),
        sctp: daemon.runtime.n2().sctp_counters().into(),
        n4: own_n4.or(part.n4),
        amf: core.amf().counters().into(),
        smf: part.smf.as_ref().map(|smf| smf.counters),
        nssf: part.nssf,
        nrf: part.nrf.as_ref().map(|nrf| nrf.counters),
        wiring: core.remote_counters().into(),
    }
}
