//! NG Setup, and updates of configuration: a gNB and an AMF get to know each other, and what changes
//! (TS 38.413, 8.7.1 to 8.7.3); the AMF's end (8.7.6); overload (8.7.7, 8.7.8).

use sluice_ids::{Plmn, Tac, Tai};
use sluice_n2::{
    AmfConfigurationUpdate, AmfStatusIndication, Cause, DownlinkConfigurationTransfer, FromAmf,
    NgSetupFailure, NgSetupRequest, NgSetupResponse, Overload, PlmnSlices,
    RanConfigurationUpdateFailure, SupportedArea,
};
use sluice_sbi::{AssociationId, Effect, Line, Refused};

use crate::context::state::{Gnb, State};
use crate::limits;

/// Why a gNB is not admitted, in words, and what to do about it.
type NotAdmitted = (Cause, String, &'static str);

/// Whether a gNB can be served.
pub(crate) fn admit_gnb(
    state: &State,
    association: AssociationId,
    request: &NgSetupRequest,
) -> Result<(), NotAdmitted> {
    let is_there = state.gnbs.contains_key(&association);
    let is_known = is_there || !state.others_of(association, &request.gnb).is_empty();
    if !is_known && state.gnbs.len() >= limits::GNBS {
        return Err((
            Cause::CONTROL_PROCESSING_OVERLOAD,
            format!("{} gNBs are the most", limits::GNBS),
            "use another AMF for further gNBs",
        ));
    }
    admit(state, &request.areas)
}

/// Answers a request. What the gNB had before is gone; the caller has made its UEs idle.
pub(crate) fn answer(
    state: &mut State,
    association: AssociationId,
    request: NgSetupRequest,
    admitted: Result<(), NotAdmitted>,
) {
    let (gnb, retains_ues) = (request.gnb, request.retains_ues);
    let answer = match admitted {
        Ok(()) => {
            state.gnbs.insert(
                association,
                Gnb {
                    identity: request.gnb,
                    name: request.name,
                    areas: request.areas,
                },
            );
            FromAmf::NgSetupResponse(NgSetupResponse {
                // Both have the contexts of its UEs (8.7.1.2).
                retains_ues: retains_ues && state.awaits(&gnb),
                ..ours(state)
            })
        }
        Err((cause, why, remedy)) => {
            state.gnbs.remove(&association);
            state.counters.refusals += 1;
            line(state, &format!("gNB {} is refused: {why}", request.gnb));
            let name = request.name.map(|name| format!(" ({name})"));
            state.effects.push(Effect::Refused(Box::new(Refused {
                who: format!("gNB {}{}", request.gnb, name.unwrap_or_default()),
                supi: None,
                request: "NG Setup",
                cause: cause.to_string(),
                why,
                remedy,
            })));
            FromAmf::NgSetupFailure(NgSetupFailure { cause })
        }
    };
    line(state, answer.name());
    state.send_n2(association, None, &answer);
    let is_retained = matches!(&answer, FromAmf::NgSetupResponse(response) if response.retains_ues);
    state.gnb_is_back(&gnb, is_retained.then_some(association));
    if let Some(overload) = state.overload()
        && state.gnbs.contains_key(&association)
    {
        state.send_n2(association, None, &FromAmf::OverloadStart(overload));
    }
}

/// NG Setup Response with the AMF's configuration.
fn ours(state: &State) -> NgSetupResponse {
    NgSetupResponse {
        name: state.config.name.clone(),
        guamis: vec![state.config.guami],
        capacity: state.config.capacity,
        plmns: state.config.plmns.clone(),
        retains_ues: false,
    }
}

/// RAN Configuration Update: a gNB that would not be served any more stays what it was, and is told so.
/// Its UEs are not touched (8.7.2.2).
pub(crate) fn ran_update(
    state: &mut State,
    association: AssociationId,
    name: Option<String>,
    areas: Option<Vec<SupportedArea>>,
) {
    let admitted = areas.as_ref().map_or(Ok(()), |areas| admit(state, areas));
    let answer = match admitted {
        Ok(()) => {
            if let Some(gnb) = state.gnbs.get_mut(&association) {
                gnb.name = name.or(gnb.name.take());
                gnb.areas = areas.unwrap_or_else(|| std::mem::take(&mut gnb.areas));
            }
            FromAmf::RanConfigurationUpdateAcknowledge
        }
        Err((cause, why, remedy)) => {
            state.counters.refusals += 1;
            let gnb = state.gnbs.get(&association);
            let who = gnb.map_or("a gNB".to_owned(), |gnb| format!("gNB {}", gnb.identity));
            line(state, &format!("an update of {who} is refused: {why}"));
            state.effects.push(Effect::Refused(Box::new(Refused {
                who,
                supi: None,
                request: "RAN Configuration Update",
                cause: cause.to_string(),
                why,
                remedy,
            })));
            FromAmf::RanConfigurationUpdateFailure(RanConfigurationUpdateFailure { cause })
        }
    };
    line(state, answer.name());
    state.send_n2(association, None, &answer);
}

/// AMF Configuration Update: all gNBs are told what is served now.
pub(crate) fn amf_update(state: &mut State) {
    let ours = ours(state);
    let update = FromAmf::AmfConfigurationUpdate(AmfConfigurationUpdate {
        name: Some(ours.name),
        guamis: Some(ours.guamis),
        capacity: Some(ours.capacity),
        plmns: Some(ours.plmns),
    });
    tell_all(state, &update);
}

/// Uplink RAN Configuration Transfer: another gNB is told what this one tells it (8.8). What is for a gNB that is not
/// here, or is no gNB's, ends here (8.8.1.2 has no answer).
pub(crate) fn relay(state: &mut State, target: Option<sluice_n2::Gnb>, transfer: Vec<u8>) {
    line(state, "Uplink RAN Configuration Transfer");
    let is_it = |gnb: &Gnb| Some(gnb.identity) == target;
    let there = state.gnbs.iter().find(|(_, gnb)| is_it(gnb));
    let Some(association) = there.map(|(association, _)| *association) else {
        state.counters.unexpected += 1;
        return;
    };
    let message = FromAmf::ConfigurationTransfer(DownlinkConfigurationTransfer { transfer });
    line(state, message.name());
    state.send_n2(association, None, &message);
}

/// AMF Status Indication, to all gNBs: this AMF is about to go (8.7.6).
pub(crate) fn end(state: &mut State) {
    let unavailable = vec![state.config.guami];
    tell_all(
        state,
        &FromAmf::AmfStatusIndication(AmfStatusIndication { unavailable }),
    );
    state.tell_unavailable();
}

/// Overload Start or Stop, to all gNBs (8.7.7, 8.7.8).
pub(crate) fn tell_overload(state: &mut State, overload: Option<Overload>) {
    let message = match overload {
        Some(overload) => FromAmf::OverloadStart(overload),
        None => FromAmf::OverloadStop,
    };
    tell_all(state, &message);
}

fn tell_all(state: &mut State, message: &FromAmf) {
    let gnbs: Vec<AssociationId> = state.gnbs.keys().copied().collect();
    line(state, message.name());
    for gnb in gnbs {
        state.send_n2(gnb, None, message);
    }
}

fn line(state: &mut State, what: &str) {
    let line = Line {
        from: "AMF",
        to: "gNB",
        what: what.to_owned(),
        step: "",
        supi: None,
        ue: None,
    };
    state.effects.push(Effect::CallFlow(line));
}

/// Whether anything that the gNB offers is served here, or what it offers and what is expected.
fn admit(state: &State, areas: &[SupportedArea]) -> Result<(), NotAdmitted> {
    let config = &state.config;
    let offered = || {
        areas
            .iter()
            .flat_map(|area| area.plmns.iter().map(move |plmn| (area.tac, plmn)))
    };
    let in_areas = |(tac, plmn): &(sluice_ids::Tac, &sluice_n2::PlmnSlices)| {
        config
            .areas
            .iter()
            .any(|area| area.tac == *tac && area.plmn == plmn.plmn)
    };
    if !offered().any(|one| in_areas(&one)) {
        let areas = named(offered().map(|(tac, plmn)| area(plmn.plmn, tac)));
        let expected = named(config.areas.iter().map(|one| area(one.plmn, one.tac)));
        let why = format!("it offers areas {areas}, expected is one of {expected}");
        let remedy = "correct PLMN and TAC at the gNB, or add the area to tracking_areas";
        return Err((Cause::UNKNOWN_PLMN, why, remedy));
    }
    let ours = |plmn| config.plmns.iter().filter(move |one| one.plmn == plmn);
    let is_common = |(_, plmn): (sluice_ids::Tac, &sluice_n2::PlmnSlices)| {
        ours(plmn.plmn).any(|one| one.slices.iter().any(|slice| plmn.slices.contains(slice)))
    };
    if !offered().filter(in_areas).any(is_common) {
        let slices = named(offered().flat_map(|(_, plmn)| each_of(plmn)));
        let expected = named(config.plmns.iter().flat_map(each_of));
        let why = format!("it offers slices {slices}, expected is one of {expected}");
        let remedy = "correct the slices at the gNB, or add one of its to plmns";
        return Err((Cause::SLICE_NOT_SUPPORTED, why, remedy));
    }
    Ok(())
}

/// An area as operators read it elsewhere: `001-01 000001`.
fn area(plmn: Plmn, tac: Tac) -> String {
    Tai { plmn, tac }.to_string()
}

fn each_of(plmn: &PlmnSlices) -> impl Iterator<Item = String> + '_ {
    let of = plmn.plmn;
    plmn.slices.iter().map(move |slice| format!("{of} {slice}"))
}

/// The first of them by name, and how many more there are: a request may hold thousands.
fn named(all: impl Iterator<Item = String>) -> String {
    let mut all = all.fuse();
    let first: Vec<String> = all.by_ref().take(limits::NAMED).collect();
    let first = first.join(", ");
    match (all.count(), first.is_empty()) {
        (_, true) => "none".to_owned(),
        (0, _) => first,
        (more, _) => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_named_and_the_others_counted() {
        let upto = |most: u16| named((1..=most).map(|one| one.to_string()));
        assert_eq!(upto(0), "none");
        assert_eq!(upto(2), "1, 2");
        assert_eq!(upto(8), "1, 2, 3, 4, 5, 6, 7, 8");
        assert_eq!(upto(1_000), "1, 2, 3, 4, 5, 6, 7, 8 and 992 more");
    }
}
