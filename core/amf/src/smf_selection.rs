//! SMF selection (TS 23.502, 4.3.2.2.3; TS 23.501, 6.3.2): by discovery at the NRF, whose answers are kept as
//! long as they are valid. While the NRF does not answer, the last answer counts, or else the default SMF.

use sluice_n1::Cause;
use sluice_sbi::{DiscoverNfs, Nf, NfInstance, NfQuery, NfsFound, NoMatch, Problem, Requester};

use crate::limits;
use crate::nrf_cache::Wanted;
use crate::procedure::Procedure;
use crate::refusal_text::Reason;

/// The SMF for a new session; none is the default one.
///
/// # Errors
/// What the UE is told when there is none (TS 24.501, 5.4.5.2.5), and what operators are.
pub(crate) async fn run(
    p: &Procedure,
    wanted: &Wanted,
) -> Result<Option<NfInstance>, (Cause, Reason)> {
    let (known, is_silent) = p.with(|state| {
        let now = state.now.instant;
        let known = state.discovered.valid(wanted, now);
        state.counters.smfs_by_cache += u64::from(known.is_some());
        (known, now < state.discovered.silent_until)
    });
    if known.is_some() {
        return Ok(known);
    }
    if !is_silent {
        let plmn = p.with(|state| state.config.guami.plmn);
        let query = NfQuery::new(
            Requester::new(Nf::Amf, Some(wanted.slice), Some(plmn)),
            Nf::Smf,
            Some(wanted.slice),
            Some(wanted.dnn),
            Some(wanted.area),
        );
        let found = match p.call("2", DiscoverNfs { query }).await {
            Ok(answer) => Ok(answer.found),
            // None is for us, and what was known does not count any more.
            Err(Problem::DiscoveryForbidden) => Err(forbidden(wanted)),
            Err(_) => return by_old_answer(p, wanted, is_silent),
        };
        return p.with(|state| {
            let nobody = NfsFound::none(NoMatch::NotServed);
            let answer = found.as_ref().unwrap_or(&nobody);
            let best = state.discovered.take(wanted, answer, state.now.instant);
            match best {
                Some(_) => state.counters.smfs_by_nrf += 1,
                None => state.counters.no_smf += 1,
            }
            let reason = found?.reason;
            best.map(Some).ok_or_else(|| none(wanted, reason))
        });
    }
    by_old_answer(p, wanted, is_silent)
}

/// The NRF does not answer: the SMF of its last answer, or else the default one.
fn by_old_answer(
    p: &Procedure,
    wanted: &Wanted,
    is_silent: bool,
) -> Result<Option<NfInstance>, (Cause, Reason)> {
    p.with(|state| {
        let until = state.now.instant.plus_ms(limits::NRF_SILENT_MS);
        if !is_silent {
            state.discovered.silent_until = until;
        }
        let last = state.discovered.last(wanted);
        let counters = &mut state.counters;
        match last {
            Some(_) => counters.smfs_by_old_answer += 1,
            None if state.config.default_smf => counters.smfs_by_default += 1,
            None => {
                counters.no_smf += 1;
                let why = "the NRF does not answer, and there is no default SMF".to_owned();
                let remedy = "look at sluice ctl --core nfs; set nrf.default_smf";
                let cause = Cause::INSUFFICIENT_RESOURCES_FOR_SLICE_AND_DNN;
                return Err((cause, (why, remedy)));
            }
        }
        Ok(last)
    })
}

/// The NRF says 403: no SMF lets itself be discovered by this AMF.
fn forbidden(wanted: &Wanted) -> (Cause, Reason) {
    (
        Cause::PAYLOAD_NOT_FORWARDED,
        (
            format!(
                "the NRF lets this AMF discover no SMF for the slice {} (403)",
                wanted.slice
            ),
            "compare allowed types, slices and PLMNs in sluice ctl --core nfs with the AMF's own",
        ),
    )
}

/// Why there is no SMF.
fn none(wanted: &Wanted, reason: NoMatch) -> (Cause, Reason) {
    let Wanted { slice, dnn, .. } = wanted;
    match reason {
        NoMatch::NotServed => (
            Cause::DNN_NOT_SUPPORTED,
            (
                format!("no SMF serves the data network {dnn} in the slice {slice}"),
                "add it to data_networks, and to data_networks and slices of one of upfs, in core.yaml, and reload",
            ),
        ),
        NoMatch::NotInArea => (
            Cause::PAYLOAD_NOT_FORWARDED,
            (
                format!("no SMF serves {dnn} in the slice {slice} where the UE is"),
                "add the tracking area to tais of one of upfs in core.yaml, and reload",
            ),
        ),
        NoMatch::Suspended => (
            Cause::PAYLOAD_NOT_FORWARDED,
            (
                format!("the SMF of {dnn} in the slice {slice} has missed its heart-beats"),
                "look at sluice ctl --core nfs, and at the SMF",
            ),
        ),
        NoMatch::NotRegistered | NoMatch::Matched => (
            Cause::PAYLOAD_NOT_FORWARDED,
            (
                "no SMF is registered at the NRF".to_owned(),
                "look at sluice ctl --core nfs; sessions need n4, upfs and data_networks in core.yaml",
            ),
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use sluice_ids::{Dnn, Plmn, Snssai, Tac, Tai};

    use super::*;

    #[test]
    fn what_the_ue_is_told_follows_from_why_there_is_none() {
        let wanted = Wanted {
            slice: Snssai::new(1, None),
            dnn: Dnn::new("internet").unwrap(),
            area: Tai {
                plmn: Plmn::new("001", "01").unwrap(),
                tac: Tac([0, 0, 1]),
            },
        };
        let cause = |reason| none(&wanted, reason).0;
        assert_eq!(cause(NoMatch::NotServed), Cause::DNN_NOT_SUPPORTED);
        for reason in [
            NoMatch::NotRegistered,
            NoMatch::Suspended,
            NoMatch::NotInArea,
        ] {
            assert_eq!(cause(reason), Cause::PAYLOAD_NOT_FORWARDED, "{reason:?}");
        }
    }
}
