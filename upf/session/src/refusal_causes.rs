//! Causes of refusals for operators: when each is given, and what to do about it.

use sluice_wire::pfcp::Cause;

const CAUSES: &[(Cause, &str)] = &[
    (
        Cause::REQUEST_REJECTED,
        "A request that is right in form and cannot be done: an association whose Node ID belongs to another \
         address that still answers, an update for no reason. Look at both addresses in `sluice ctl refusals`; \
         two SMFs must not have one Node ID.",
    ),
    (
        Cause::SESSION_CONTEXT_NOT_FOUND,
        "The SEID is no session of the association that asks: it ended, or the UPF has restarted. The SMF sets \
         the session up again.",
    ),
    (
        Cause::MANDATORY_IE_MISSING,
        "An IE without which the request cannot be understood is not there; the Offending IE names it. Report it \
         to the SMF's vendor.",
    ),
    (
        Cause::CONDITIONAL_IE_MISSING,
        "An IE is not there that has to be in this case, such as the FAR ID of a PDR; the Offending IE names it.",
    ),
    (
        Cause::INVALID_LENGTH,
        "The message or an IE is shorter or longer than it says. Report it to the SMF's vendor with a capture.",
    ),
    (
        Cause::MANDATORY_IE_INCORRECT,
        "An IE has a value that the TS does not allow; the Offending IE names it.",
    ),
    (
        Cause::INVALID_FORWARDING_POLICY,
        "A FAR names a forwarding policy. None can be configured yet: take it out of the SMF's profile.",
    ),
    (
        Cause::INVALID_F_TEID_ALLOCATION_OPTION,
        "The SMF chooses F-TEIDs itself and `n4.accept_cp_fteid` is false, or one request does both. Let the SMF \
         set CHOOSE, or allow it.",
    ),
    (
        Cause::NO_ESTABLISHED_PFCP_ASSOCIATION,
        "A request from an address without association. The SMF has to associate first; look at \
         `n4.peers`, and whether the SMF speaks from another address than it associated from: a request \
         with its Node ID, as every establishment has it, makes such an address known for sessions whose CP F-SEID has \
         it; node related requests have to come from the SMF's own.",
    ),
    (
        Cause::RULE_CREATION_MODIFICATION_FAILURE,
        "A rule cannot be carried out; Failed Rule ID and Offending IE name it: a Network Instance that upf.yaml \
         does not have, a UE address or prefix that another session holds, an SDF filter that says more than \
         `permit out`, an identifier that is there twice or not at all.",
    ),
    (
        Cause::PFCP_ENTITY_IN_CONGESTION,
        "More requests are under way than the UPF holds. The SMF tries again; if it lasts, look at `sluice ctl \
         workers`.",
    ),
    (
        Cause::NO_RESOURCES_AVAILABLE,
        "Sessions, TEIDs, rule blocks or peers are used up (see `limits` of upf.yaml and `sluice ctl counters`), \
         or the UPF is ending.",
    ),
    (
        Cause::SERVICE_NOT_SUPPORTED,
        "The request asks for something that is not served, and no feature bit promised it; the Offending IE \
         names it. `n4.unserved: admit` lets reports pass that are only not made.",
    ),
    (
        Cause::SYSTEM_FAILURE,
        "The response did not fit a datagram. Please report it with the request.",
    ),
    (
        Cause::UNKNOWN_PREDEFINED_RULE,
        "A PDR activates or deactivates a predefined rule that `predefined` of upf.yaml does not have.",
    ),
    (
        Cause::ALL_DYNAMIC_ADDRESSES_ARE_OCCUPIED,
        "The SMF leaves the UE's address to us, and the pools of its network instance that say `allocate` have none \
         left: make them larger, or `rest_s` shorter.",
    ),
    (
        Cause::UNKNOWN_APPLICATION_ID,
        "A PDI names an application of which no flows are known: it is neither in `applications` of upf.yaml nor was \
         it told by PFD Management (see `sluice ctl applications`).",
    ),
];

/// The causes that refuse a request here, each with when it is given and what an operator does.
pub fn refusal_causes() -> impl Iterator<Item = (Cause, &'static str)> {
    CAUSES.iter().copied()
}
