//! NG Setup: a gNB and an AMF get to know each other (TS 38.413, 8.7.1).

use sluice_n2::{Cause, FromAmf, NgSetupRequest, NgSetupResponse};
use sluice_sbi::{AssociationId, Effect, Line};

use crate::limits;
use crate::state::{Gnb, State};

/// Answers a request. What the gNB had before is gone; the caller has made its UEs idle.
pub(crate) fn answer(state: &mut State, association: AssociationId, request: NgSetupRequest) {
    let answer = match admit(state, &request) {
        Ok(()) => {
            state.gnbs.insert(
                association,
                Gnb {
                    areas: request.areas,
                },
            );
            FromAmf::NgSetupResponse(NgSetupResponse {
                name: state.config.name.clone(),
                guamis: vec![state.config.guami],
                capacity: state.config.capacity,
                plmns: state.config.plmns.clone(),
            })
        }
        Err((cause, why)) => {
            state.gnbs.remove(&association);
            state.counters.refusals += 1;
            line(state, &format!("gNB {:?} is refused: {why}", request.gnb));
            FromAmf::NgSetupFailure { cause }
        }
    };
    line(state, answer.name());
    state.send_n2(association, None, &answer);
}

fn line(state: &mut State, what: &str) {
    let line = Line {
        from: "AMF",
        to: "gNB",
        what: what.to_owned(),
        step: "",
        supi: None,
    };
    state.effects.push(Effect::Ladder(line));
}

/// Whether anything that the gNB offers is served here, or what it offers and what is expected.
fn admit(state: &State, request: &NgSetupRequest) -> Result<(), (Cause, String)> {
    let config = &state.config;
    if state.gnbs.len() >= limits::GNBS {
        return Err((
            Cause::Misc(0),
            format!("{} gNBs are the most", limits::GNBS),
        ));
    }
    let offered = || {
        request
            .areas
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
        let areas: Vec<_> = offered().map(|(tac, plmn)| (plmn.plmn, tac)).collect();
        let why = format!(
            "it offers areas {areas:?}, expected is one of {:?}",
            config.areas
        );
        return Err((Cause::UNKNOWN_PLMN, why));
    }
    let ours = |plmn| config.plmns.iter().filter(move |one| one.plmn == plmn);
    let is_common = |(_, plmn): (sluice_ids::Tac, &sluice_n2::PlmnSlices)| {
        ours(plmn.plmn).any(|one| one.slices.iter().any(|slice| plmn.slices.contains(slice)))
    };
    if !offered().filter(in_areas).any(is_common) {
        let slices: Vec<_> = offered().map(|(_, plmn)| plmn).collect();
        let why = format!(
            "it offers slices {slices:?}, expected is one of {:?}",
            config.plmns
        );
        return Err((Cause::SLICE_NOT_SUPPORTED, why));
    }
    Ok(())
}
