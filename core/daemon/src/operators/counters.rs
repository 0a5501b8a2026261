//! Counters of the core: for `sluice ctl`, HTTP, and events of metrics.
//!
//! Each structure is taken apart whole, so that a counter that is new does not compile until it is told.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sluice_bus_http2::{GuardCounters, WalletCounters};
use sluice_sbi::Nf;
use std::collections::BTreeMap;

/// Counters of a part, with the fields of the structure that they are told of.
macro_rules! told {
    ($($(#[$doc:meta])* $name:ident of $whole:path { $($field:ident),+ $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
        #[schemars(deny_unknown_fields)]
        #[allow(missing_docs, reason = "the part's own structure says what they count")]
        pub struct $name { $(pub $field: u64),+ }

        impl From<$whole> for $name {
            fn from(counters: $whole) -> Self {
                let $whole { $($field),+ } = counters;
                Self { $($field),+ }
            }
        }
    )*};
}

told! {
    /// Messages with gNBs.
    N2Counters of sluice_core_runtime::n2::Counters { received, sent, other_protocol, stuck }

    /// Datagrams with gNBs.
    SctpCounters of sluice_sctp::Counters { taken, not_allowed, other_port, malformed, no_room, too_many, too_long, received, sent }

    /// Datagrams with UPFs.
    N4Counters of sluice_core_runtime::n4::Counters { received, sent, by_rings, too_long, not_sent }

    /// UEs and their procedures.
    AmfCounters of sluice_amf::Counters { faulty_ngap, not_served_ngap, unreadable_nas, wrong_macs, unprotected, unexpected, registrations, refusals, aborts, panics, deferred, no_room, refused_updates, pagings, paged, unanswered_pagings, told_events, lost_events, path_switches, handovers, handover_failures, shed_of_gnb, shed_in_all, unanswered, smfs_by_nrf, smfs_by_cache, smfs_by_old_answer, smfs_by_default, no_smf }

    /// Sessions and what becomes of them.
    SmfCounters of sluice_smf::Counters { established, refused, released, modified, modifications_failed, modifications_refused, rules_refused, security_refused, security_mismatches, late_establishments, restored, usage_reports, downlink_data_reports, error_indications, node_reports, unreachable, unexpected, records_lost, told_events, lost_events, panics, no_room }

    /// Messages with functions of other programs.
    WiringCounters of sluice_wiring::Counters { sent, received, full, refused, again, unanswered, late, unreadable }

    /// Selections of slices.
    NssfCounters of sluice_nssf::Counters { selected, none, rejected }
}

/// Profiles and discoveries, those by type as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(missing_docs, reason = "the NRF's own structure says what they count")]
pub struct NrfCounters {
    pub registrations: u64,
    pub deregistrations: u64,
    pub heart_beats: u64,
    pub missed: u64,
    pub suspended: u64,
    pub forgotten: u64,
    pub unknown: u64,
    pub no_room: u64,
    pub found: u64,
    pub not_found: u64,
    pub forbidden: u64,
    pub tokens: u64,
    pub tokens_refused: u64,
}

impl From<&sluice_nrf::Counters> for NrfCounters {
    fn from(counters: &sluice_nrf::Counters) -> Self {
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
            others,
            tokens,
            tokens_refused,
            ..
        } = counters;
        let sum = |by_type: &BTreeMap<Nf, u64>| by_type.values().sum::<u64>();
        Self {
            registrations: *registrations,
            deregistrations: *deregistrations,
            heart_beats: *heart_beats,
            missed: sum(missed) + others.missed,
            suspended: *suspended,
            forgotten: *forgotten,
            unknown: *unknown,
            no_room: *no_room,
            found: sum(found) + others.found,
            not_found: sum(none) + others.none,
            forbidden: sum(forbidden) + others.forbidden,
            tokens: *tokens,
            tokens_refused: *tokens_refused,
        }
    }
}

/// Counters that several programs have, as one.
macro_rules! summed {
    ($($(#[$doc:meta])* $name:ident of $whole:path { $($field:ident),+ $(,)? })*) => {
        told! {$($(#[$doc])* $name of $whole { $($field),+ })*}

        $(impl std::ops::AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)+
            }
        })*
    };
}

summed! {
    /// HTTP/2 of the programs of the core.
    SbiCounters of sluice_sbi_http2::Counters { connections, connections_refused, peer_connections_refused, half_open, tls_refused, other_protocols, protocol_errors, silent, reset_floods, requests, streams_refused, octets_refused, bodies_too_long, bodies_late, requests_refused, resets, abandoned, answers_not_read, answers_late, calls, calls_refused, calls_failed, connections_opened, retries, redirects, tls_renewals, tls_renewals_failed }
}

/// Access tokens of the programs of the core, and who may ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(
    missing_docs,
    reason = "GuardCounters and WalletCounters of sluice_bus_http2 say what they count"
)]
pub struct TokenCounters {
    pub verified: u64,
    pub known: u64,
    pub no_token: u64,
    pub invalid_token: u64,
    pub wrong_issuer: u64,
    pub wrong_audience: u64,
    pub wrong_scope: u64,
    pub wrong_subject: u64,
    pub wrong_instance: u64,
    pub asked: u64,
    pub not_given: u64,
}

impl TokenCounters {
    fn of((guard, wallet): (GuardCounters, WalletCounters)) -> Self {
        let GuardCounters {
            verified,
            known,
            missing,
            invalid,
            issuer,
            audience,
            scope,
            subject,
            instance,
        } = guard;
        let WalletCounters { asked, refused } = wallet;
        Self {
            verified,
            known,
            no_token: missing,
            invalid_token: invalid,
            wrong_issuer: issuer,
            wrong_audience: audience,
            wrong_scope: scope,
            wrong_subject: subject,
            wrong_instance: instance,
            asked,
            not_given: refused,
        }
    }
}

impl std::ops::AddAssign for TokenCounters {
    fn add_assign(&mut self, other: Self) {
        self.verified += other.verified;
        self.known += other.known;
        self.no_token += other.no_token;
        self.invalid_token += other.invalid_token;
        self.wrong_issuer += other.wrong_issuer;
        self.wrong_audience += other.wrong_audience;
        self.wrong_scope += other.wrong_scope;
        self.wrong_subject += other.wrong_subject;
        self.wrong_instance += other.wrong_instance;
        self.asked += other.asked;
        self.not_given += other.not_given;
    }
}

/// HTTP/2 of programs, and deviations of other cores that they took, by their names.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SbiPart {
    pub http: SbiCounters,
    pub tokens: TokenCounters,
    pub deviations: BTreeMap<String, u64>,
}

impl SbiPart {
    /// Of a program.
    pub fn of(services: &sluice_bus_http2::SharedServices) -> Self {
        services.with(|services| {
            let http = services.counters().into();
            let tokens = TokenCounters::of(services.token_counters());
            let deviations = services.memory_mut().deviations.all();
            let deviations = deviations.map(|(one, count)| (one.name().to_owned(), count));
            Self {
                http,
                tokens,
                deviations: deviations.collect(),
            }
        })
    }

    /// Of two programs.
    pub fn and(mut self, other: Self) -> Self {
        self.http += other.http;
        self.tokens += other.tokens;
        for (name, count) in other.deviations {
            *self.deviations.entry(name).or_default() += count;
        }
        self
    }
}

/// All counters.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Counters {
    /// Messages with gNBs; null while the AMF is not reached.
    pub n2: Option<N2Counters>,
    /// Datagrams with gNBs; null while the AMF is not reached.
    pub sctp: Option<SctpCounters>,
    /// Datagrams with UPFs; null of a core without sessions.
    pub n4: Option<N4Counters>,
    /// UEs and their procedures; null while the AMF is not reached.
    pub amf: Option<AmfCounters>,
    /// Sessions; null of a core without sessions.
    pub smf: Option<SmfCounters>,
    /// Selections of slices; null while its program is not reached.
    pub nssf: Option<NssfCounters>,
    /// Profiles and discoveries; null while its program is not reached.
    pub nrf: Option<NrfCounters>,
    /// Messages with functions of other programs.
    pub wiring: WiringCounters,
    /// HTTP/2 of all programs; null where functions have none.
    pub sbi: Option<SbiCounters>,
    /// Access tokens, and requests that were refused for want of a right one; null where functions have no HTTP/2.
    pub sbi_tokens: Option<TokenCounters>,
    /// Deviations of other cores from the TS that were taken, by their names; null where functions have no HTTP/2.
    pub sbi_deviations: Option<BTreeMap<String, u64>>,
}
