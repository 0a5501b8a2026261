//! N2SmInfoType (TS 29.502, 6.1.6.3.3) of what an SMF tells a gNB.

use sluice_sbi::N2Sm;

/// Each with its name, and whether it is of a handover: that has the name of another.
const KINDS: &[(N2Sm, &str, bool)] = &[
    (N2Sm::Setup, "PDU_RES_SETUP_REQ", false),
    (N2Sm::Release, "PDU_RES_REL_CMD", false),
    (N2Sm::Modify, "PDU_RES_MOD_REQ", false),
    (N2Sm::PathSwitched, "PATH_SWITCH_REQ_ACK", false),
    (N2Sm::NotSwitched, "PATH_SWITCH_REQ_FAIL", false),
    (N2Sm::HandoverRequest, "PDU_RES_SETUP_REQ", true),
    (N2Sm::HandoverCommand, "HANDOVER_CMD", false),
    (N2Sm::ModifyConfirmed, "PDU_RES_MOD_CFM", false),
    (N2Sm::NotModified, "PDU_RES_MOD_IND_FAIL", false),
];

/// Name; none of nothing.
pub(crate) fn name(kind: N2Sm) -> Option<&'static str> {
    let mut all = KINDS.iter();
    all.find(|(one, ..)| *one == kind).map(|(_, name, _)| *name)
}

/// Kind of a name; a setup may be that of a handover.
pub(crate) fn kind(name: &str, is_handover: bool) -> Option<N2Sm> {
    let mut named = KINDS.iter().filter(|(_, one, _)| *one == name);
    let first = named.next()?;
    let other = named.find(|(.., of_handover)| *of_handover == is_handover);
    Some(other.unwrap_or(first).0)
}
