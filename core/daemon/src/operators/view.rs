//! Answers to operators that only look, made of what the core has.

use crate::daemon::Daemon;
use crate::operators::answers;
use crate::operators::mobility::AmfPart;
use crate::operators::part::Part;
use crate::operators::request::not_reached;
use crate::operators::sessions::SmfPart;
use serde_json::Value;
use sluice_ids::Supi;
use sluice_program::control::refusal;
use sluice_sbi::Nf;

/// The core in short.
pub(crate) fn status(daemon: &Daemon, part: &Part) -> answers::Status {
    let (amf, smf) = (part.amf.as_ref(), part.smf.as_ref());
    let of_amf = amf.map_or(0, |amf| amf.procedures);
    answers::Status {
        version: env!("CARGO_PKG_VERSION"),
        uptime_s: daemon.started.elapsed().as_secs(),
        gnbs: amf.map(|amf| amf.gnbs.len()),
        associations: amf.map(|amf| amf.associations),
        ues_registered: amf.map(|amf| amf.registered),
        ues_connected: amf.map(|amf| amf.connected),
        sessions: smf.map(|smf| smf.sessions),
        usage: smf.map(|smf| smf.usage.clone()),
        procedures: of_amf + smf.map_or(0, |smf| smf.procedures),
        refused: daemon.refusals.total(),
        ues_unauthenticated: amf.map(|amf| amf.unauthenticated),
        busy_percent: amf.map(|amf| amf.busy_percent),
        overload: amf.and_then(|amf| amf.overload.clone()),
        contexts: part.contexts.clone(),
        subscriber_database_up: is_database_up(daemon, part),
        upfs: smf.map(|smf| smf.upfs.clone()),
    }
}

/// Whether the database of subscribers answers, which it does not where its UDR is not reached; none if there is none.
pub(crate) fn is_database_up(daemon: &Daemon, part: &Part) -> Option<bool> {
    daemon.in_force.running.database.as_ref()?;
    let udr = part.udr.as_ref();
    Some(udr.and_then(|udr| udr.is_database_up).unwrap_or(false))
}

/// UEs, a row each.
pub(crate) fn ues(amf: AmfPart, smf: Option<&SmfPart>) -> answers::Ues {
    let AmfPart {
        known,
        registered,
        connected,
        ues,
        ..
    } = amf;
    let row = |ue: answers::UeRow| {
        let addresses = smf.and_then(|smf| smf.addresses.get(&ue.imsi));
        answers::UeRow {
            addresses: addresses.cloned().unwrap_or_default(),
            ..ue
        }
    };
    answers::Ues {
        known,
        registered,
        connected,
        ues: ues.into_iter().map(row).collect(),
    }
}

/// One UE.
///
/// # Errors
/// The refusal of an IMSI whose UE is not there.
pub(crate) fn ue(
    daemon: &Daemon,
    supi: &Supi,
    ue: Option<answers::UeDetails>,
    part: &Part,
) -> Result<answers::Ue, Value> {
    let udr = part.udr.as_ref();
    let Some(ue) = ue else {
        let udr = udr.ok_or_else(|| not_reached(Nf::Udr))?;
        let why = match udr.is_subscriber {
            false => "there is no subscriber of this IMSI",
            true => {
                "the subscriber is not registered; see sluice ctl flow and sluice ctl --core refusals"
            }
        };
        return Err(refusal("not_found", why));
    };
    let known = part.smf.as_ref().map_or(&[][..], |smf| &smf.of_ue);
    let session = |one: answers::Session| {
        let known = known.iter().find(|known| known.id == one.id);
        let rules = part.pcf.as_ref().and_then(|all| all.get(&one.id));
        session_row(one, known, rules)
    };
    let ue = answers::UeDetails {
        authentication: udr.and_then(|udr| udr.authentication.clone()),
        sessions: ue.sessions.into_iter().map(session).collect(),
        refused: daemon.refusals.of(&supi.to_string()),
        ..ue
    };
    Ok(answers::Ue { ue })
}

/// A session as the AMF knows it, and as the SMF does if it does, with its rules.
fn session_row(
    one: answers::Session,
    known: Option<&answers::Session>,
    rules: Option<&Vec<answers::Rule>>,
) -> answers::Session {
    let Some(known) = known.cloned() else {
        return one;
    };
    answers::Session {
        id: one.id,
        dnn: one.dnn,
        slice: one.slice,
        user_plane: one.user_plane,
        rules: Some(rules.cloned().unwrap_or_default()),
        ..known
    }
}

/// gNBs, a row each: those after an identity, at most so many.
pub(crate) fn gnbs(amf: AmfPart, after: Option<&str>, count: Option<usize>) -> answers::Gnbs {
    let (gnbs, next_after) = page_of(amf.gnbs, after, count);
    answers::Gnbs {
        gnbs,
        next_after,
        associations_without_setup: amf.associations_without_setup,
    }
}

/// A page, and its last identity if there are more.
fn page_of(
    mut gnbs: Vec<answers::Gnb>,
    after: Option<&str>,
    count: Option<usize>,
) -> (Vec<answers::Gnb>, Option<String>) {
    gnbs.sort_by(|one, other| one.id.cmp(&other.id));
    gnbs.retain(|gnb| after.is_none_or(|after| gnb.id.as_str() > after));
    let has_more = count.is_some_and(|count| gnbs.len() > count);
    gnbs.truncate(count.unwrap_or(usize::MAX));
    let last = gnbs.last().map(|gnb| gnb.id.clone());
    (gnbs, last.filter(|_| has_more))
}

/// Procedures under way.
pub(crate) fn procedures(part: Part) -> answers::Procedures {
    let of_amf = part.amf.into_iter().flat_map(|amf| amf.waiting);
    let of_smf = part.smf.into_iter().flat_map(|smf| smf.waiting);
    answers::Procedures {
        procedures: of_amf.chain(of_smf).collect(),
    }
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
    let amf = part.amf.as_ref();
    answers::Counters {
        n2: amf.map(|amf| amf.n2),
        sctp: amf.map(|amf| amf.sctp),
        n4: part.n4,
        amf: amf.map(|amf| amf.counters),
        smf: part.smf.as_ref().map(|smf| smf.counters),
        nssf: part.nssf,
        nrf: part.nrf.as_ref().map(|nrf| nrf.counters),
        wiring: core.remote_counters().into(),
        sbi: part.sbi.as_ref().map(|sbi| sbi.http),
        sbi_tokens: part.sbi.as_ref().map(|sbi| sbi.tokens),
        sbi_deviations: part.sbi.as_ref().map(|sbi| sbi.deviations.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_gnbs_follow_each_other_without_a_gap() {
        let gnb = |id: &str| answers::Gnb {
            id: id.to_owned(),
            name: None,
            address: None,
            ues: 0,
            areas: String::new(),
        };
        let all = || ["c", "a", "d", "b"].map(gnb).to_vec();
        let ids = |page: &[answers::Gnb]| page.iter().map(|gnb| gnb.id.clone()).collect::<String>();
        let (mut after, mut seen) = (None, Vec::new());
        loop {
            let (page, next) = page_of(all(), after.as_deref(), Some(2));
            seen.push(ids(&page));
            after = next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, ["ab", "cd"]);
        let (whole, next) = page_of(all(), None, None);
        assert_eq!((ids(&whole).as_str(), next), ("abcd", None));
    }
}
