//! The SMF towards UPFs: N4, rules, reports, selection and restoration.

pub(crate) mod doubtful_rules;
pub(crate) mod flow_rules;
pub(crate) mod handover_rules;
pub(crate) mod n4;
pub(crate) mod orphans;
pub(crate) mod reports;
pub(crate) mod restoration;
pub(crate) mod rules;
pub(crate) mod traced_message;
pub(crate) mod upfs;
