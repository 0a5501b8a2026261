//! Events as operators count them.

/// Event counters of the AMF.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// NGAP messages that broke the rules.
    pub faulty_ngap: u64,
    /// NGAP messages of procedures that are not served, answered as their criticality says.
    pub not_served_ngap: u64,
    /// NAS messages that cannot be read.
    pub unreadable_nas: u64,
    /// NAS messages whose MAC was wrong.
    pub wrong_macs: u64,
    /// NAS messages that came without the protection that they need.
    pub unprotected: u64,
    /// NAS and NGAP messages that do not fit what is under way.
    pub unexpected: u64,
    /// Registrations that were accepted and completed.
    pub registrations: u64,
    /// Procedures that ended with a refusal.
    pub refusals: u64,
    /// Procedures that were ended where they were.
    pub aborts: u64,
    /// Procedures that panicked.
    pub panics: u64,
    /// Registrations that waited until their UEs had come to another gNB.
    pub deferred: u64,
    /// UEs and connections that found no room.
    pub no_room: u64,
    /// Updates of our configuration that gNBs refused.
    pub refused_updates: u64,
    /// Pagings that were sent, each to all gNBs of the UE's areas: up to three for a UE that does not answer.
    pub pagings: u64,
    /// UEs that were paged, each once however often it is called.
    pub paged: u64,
    /// UEs that did not answer their paging.
    pub unanswered_pagings: u64,
    /// Events of UEs that subscribers were told.
    pub told_events: u64,
    /// Notifications that subscribers did not take.
    pub lost_events: u64,
    /// UEs that came to another gNB by Xn.
    pub path_switches: u64,
    /// UEs that came to another gNB by N2.
    pub handovers: u64,
    /// Handovers by Xn or N2 that were refused, cancelled or not completed.
    pub handover_failures: u64,
    /// UEs that were shed as their gNB has too many that have not proved who they are.
    pub shed_of_gnb: u64,
    /// UEs that were shed as there are too many of these in all.
    pub shed_in_all: u64,
    /// UEs of both that were left unanswered, as gNBs were to keep UEs away.
    pub unanswered: u64,
    /// SMFs that the NRF has found for a session.
    pub smfs_by_nrf: u64,
    /// The same by an answer of before that is still valid.
    pub smfs_by_cache: u64,
    /// The same by an answer that is not valid any more, as the NRF does not answer.
    pub smfs_by_old_answer: u64,
    /// The default SMF, as the NRF does not answer and has never answered that.
    pub smfs_by_default: u64,
    /// Sessions for which there is no SMF.
    pub no_smf: u64,
}
