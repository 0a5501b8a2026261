//! Counters of the core as JSON: for `sluice ctl`, HTTP, and events of metrics.
//!
//! Each structure is taken apart whole, so that a counter that is new does not compile until it is told; the
//! forms of the API's document have their names from here.

use serde_json::{Value, json};
use sluice_sbi::Nf;
use std::collections::BTreeMap;

/// All fields of a structure of counters, each by its name.
macro_rules! told {
    ($counters:expr, $whole:path, $($name:ident),+ $(,)?) => {{
        let $whole { $($name),+ } = $counters;
        json!({ $( (stringify!($name)): $name ),+ })
    }};
}

/// Messages with gNBs.
pub(crate) fn of_n2(counters: sluice_core_runtime::n2::Counters) -> Value {
    told!(
        counters,
        sluice_core_runtime::n2::Counters,
        received,
        sent,
        other_protocol,
        stuck
    )
}

/// Datagrams with gNBs.
pub(crate) fn of_sctp(counters: sluice_sctp::Counters) -> Value {
    told!(
        counters,
        sluice_sctp::Counters,
        taken,
        not_allowed,
        other_port,
        malformed,
        no_room,
        too_many,
        too_long,
        received,
        sent
    )
}

/// Datagrams with UPFs.
pub(crate) fn of_n4(counters: sluice_core_runtime::n4::Counters) -> Value {
    told!(
        counters,
        sluice_core_runtime::n4::Counters,
        received,
        sent,
        too_long,
        not_sent
    )
}

/// UEs and their procedures.
pub(crate) fn of_amf(counters: sluice_amf::Counters) -> Value {
    told!(
        counters,
        sluice_amf::Counters,
        faulty_ngap,
        not_served_ngap,
        unreadable_nas,
        wrong_macs,
        unprotected,
        unexpected,
        registrations,
        refusals,
        aborts,
        panics,
        deferred,
        no_room,
        refused_updates,
        pagings,
        paged,
        unanswered_pagings,
        path_switches,
        handovers,
        handover_failures,
        shed_of_gnb,
        shed_in_all,
        unanswered,
        smfs_by_nrf,
        smfs_by_cache,
        smfs_by_old_answer,
        smfs_by_default,
        no_smf,
    )
}

/// Sessions and what becomes of them.
pub(crate) fn of_smf(counters: sluice_smf::Counters) -> Value {
    told!(
        counters,
        sluice_smf::Counters,
        established,
        refused,
        released,
        modified,
        modifications_failed,
        modifications_refused,
        rules_refused,
        security_refused,
        security_mismatches,
        late_establishments,
        restored,
        usage_reports,
        downlink_data_reports,
        error_indications,
        node_reports,
        unreachable,
        unexpected,
        records_lost,
        panics,
        no_room,
    )
}

/// Selections of slices.
pub(crate) fn of_nssf(counters: sluice_nssf::Counters) -> Value {
    told!(counters, sluice_nssf::Counters, selected, none, rejected)
}

/// Profiles and discoveries, those by type as one.
pub(crate) fn of_nrf(counters: &sluice_nrf::Counters) -> Value {
    let sluice_nrf::Counters {
        registrations,
        deregistrations,
        heart_beats,
        unknown,
        no_room,
        missed,
        suspended,
        forgotten,
        found,
        none,
        forbidden,
    } = counters;
    let sum = |by_type: &BTreeMap<Nf, u64>| by_type.values().sum::<u64>();
    json!({
        "registrations": registrations,
        "deregistrations": deregistrations,
        "heart_beats": heart_beats,
        "missed": sum(missed),
        "suspended": suspended,
        "forgotten": forgotten,
        "unknown": unknown,
        "no_room": no_room,
        "found": sum(found),
        "not_found": sum(none),
        "forbidden": sum(forbidden),
    })
}
