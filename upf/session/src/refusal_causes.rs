//! Causes of refusals for operators: why each is given, and what to do about it.

use sluice_wire::pfcp::{Cause, IeType};

/// Why requests are refused with a cause, or with a cause and an Offending IE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefusalWords {
    /// The cause of the response (TS 29.244, 8.2.1).
    pub cause: Cause,
    /// With this Offending IE; none: with any other one, and without.
    pub offending_ie: Option<IeType>,
    /// Why it is given.
    pub why: &'static str,
    /// The operator's next step.
    pub remedy: &'static str,
}

const fn of(cause: Cause, why: &'static str, remedy: &'static str) -> RefusalWords {
    RefusalWords {
        cause,
        offending_ie: None,
        why,
        remedy,
    }
}

/// Of the cause with which rules are refused (73).
const fn rule(ie: IeType, why: &'static str, remedy: &'static str) -> RefusalWords {
    RefusalWords {
        offending_ie: Some(ie),
        ..of(Cause::RULE_CREATION_MODIFICATION_FAILURE, why, remedy)
    }
}

const WORDS: &[RefusalWords] = &[
    of(
        Cause::REQUEST_REJECTED,
        "the request is right in form and cannot be done: an association whose Node ID belongs to another address \
         that still answers, or an update for no reason",
        "compare the two addresses in `sluice ctl refusals`: two SMFs must not have one Node ID",
    ),
    of(
        Cause::SESSION_CONTEXT_NOT_FOUND,
        "the SEID is no session of the association that asks: it has ended, or the UPF has restarted",
        "nothing, if it comes once after a restart: the SMF sets the session up again; if it goes on, look whether two \
         SMFs share an address",
    ),
    of(
        Cause::MANDATORY_IE_MISSING,
        "an IE is not there without which the request cannot be understood; the Offending IE names it",
        "report it to the SMF's vendor with a capture",
    ),
    of(
        Cause::CONDITIONAL_IE_MISSING,
        "an IE is not there that has to be in this case, such as the FAR ID of a PDR; the Offending IE names it",
        "report it to the SMF's vendor with a capture",
    ),
    of(
        Cause::INVALID_LENGTH,
        "the message or an IE is shorter or longer than it says",
        "report it to the SMF's vendor with a capture",
    ),
    of(
        Cause::MANDATORY_IE_INCORRECT,
        "an IE has a value that the TS does not allow; the Offending IE names it",
        "correct the SMF's profile of the DNN, if the value is from there, else report it to the SMF's vendor",
    ),
    of(
        Cause::INVALID_FORWARDING_POLICY,
        "a FAR names a forwarding policy, and none can be configured yet",
        "take the forwarding policy out of the SMF's profile",
    ),
    of(
        Cause::INVALID_F_TEID_ALLOCATION_OPTION,
        "the SMF chooses F-TEIDs itself and `n4.accept_cp_fteid` is false, it leaves them to us and `n4.choose_fteid` is \
         false, or one request does both",
        "let the SMF set CHOOSE, or set `n4.accept_cp_fteid: true`; the other way round, set `n4.choose_fteid: true`",
    ),
    of(
        Cause::NO_ESTABLISHED_PFCP_ASSOCIATION,
        "the address has no association. A request with the Node ID of an SMF that has one, as every establishment has \
         it, makes another address of its known for sessions whose CP F-SEID has that address; node related requests \
         have to come from the SMF's own",
        "let the SMF associate first; look at `n4.peers`, and whether it speaks from another address than it associated \
         from",
    ),
    of(
        Cause::RULE_CREATION_MODIFICATION_FAILURE,
        "a rule cannot be carried out; Failed Rule ID and Offending IE name it. Without Offending IE the rule's \
         identifier is there already, or is not there",
        "correct the named IE in the SMF's profile; the page n4.md tells which values of it are served",
    ),
    rule(
        IeType::NETWORK_INSTANCE,
        "no interface of upf.yaml serves this Network Instance on this side (access or core)",
        "give the interface this name (`network_instance`) in upf.yaml, or correct the DNN or the name in the SMF's \
         profile",
    ),
    rule(
        IeType::UE_IP_ADDRESS,
        "the UE address or prefix is another session's, is not the one of the session's other PDRs, or says something \
         that cannot be served",
        "look for the address in `sluice ctl sessions`; two SMFs must not give UEs the same addresses in one network \
         instance",
    ),
    rule(
        IeType::F_TEID,
        "the PDR of the access side has no tunnel, the F-TEID is in use, or its address is none of ours for this Network \
         Instance",
        "let the SMF set CHOOSE, or correct the N3 address in its profile",
    ),
    rule(
        IeType::SDF_FILTER,
        "the filter says more than `permit out` with addresses, protocol and ports, or stands beside an application or \
         predefined rule that has filters",
        "correct the filter in the PCF's or SMF's rule",
    ),
    rule(
        IeType::OUTER_HEADER_REMOVAL,
        "Outer Header Removal is not that of the PDR's tunnel: it is absent where packets come in a tunnel, there where \
         they do not, or of the other IP version",
        "report it to the SMF's vendor with a capture",
    ),
    rule(
        IeType::OUTER_HEADER_CREATION,
        "the tunnel's other end is of a kind or IP version that our interface there does not serve",
        "give the interface in upf.yaml an address of that IP version, or correct the peer's",
    ),
    rule(
        IeType::FAR_ID,
        "the PDR names a FAR that the session does not have",
        "report it to the SMF's vendor with a capture",
    ),
    rule(
        IeType::QER_ID,
        "the PDR names a QER that the session does not have",
        "report it to the SMF's vendor with a capture",
    ),
    rule(
        IeType::URR_ID,
        "the PDR names a URR that the session does not have",
        "report it to the SMF's vendor with a capture",
    ),
    of(
        Cause::PFCP_ENTITY_IN_CONGESTION,
        "more requests are under way than the UPF holds",
        "nothing, if it is short: the SMF tries again; if it lasts, look at `sluice ctl workers`",
    ),
    of(
        Cause::NO_RESOURCES_AVAILABLE,
        "sessions, TEIDs, rule blocks or peers are used up, or the UPF is ending",
        "compare `sluice ctl counters` with `limits` of upf.yaml, and raise the one that is reached",
    ),
    of(
        Cause::SERVICE_NOT_SUPPORTED,
        "the request asks for something that is not served, and no feature bit promised it; the Offending IE names it",
        "take it out of the SMF's profile; `n4.unserved: admit` lets reports pass that are only not made",
    ),
    of(
        Cause::SYSTEM_FAILURE,
        "the response did not fit a datagram",
        "report it to us with a capture of the request",
    ),
    of(
        Cause::ALL_DYNAMIC_ADDRESSES_ARE_OCCUPIED,
        "the SMF leaves the UE's address to us, and the pools of its network instance that say `allocate` have none left",
        "make the pools larger, or `rest_s` shorter",
    ),
    of(
        Cause::UNKNOWN_PREDEFINED_RULE,
        "a PDR activates or deactivates a predefined rule that upf.yaml does not have",
        "add the rule to `predefined` of upf.yaml, or correct its name in the SMF or PCF",
    ),
    of(
        Cause::UNKNOWN_APPLICATION_ID,
        "a PDI names an application of which no flows are known: it is not in upf.yaml, and PFD Management did not tell \
         of it (see `sluice ctl applications`)",
        "add the application to `applications` of upf.yaml, or let the SMF provision its PFDs",
    ),
];

/// All that requests are refused for here, each cause before its Offending IEs.
pub fn refusal_words() -> impl Iterator<Item = &'static RefusalWords> {
    WORDS.iter()
}

/// Why a request was refused with this cause and Offending IE, and what to do; none if we never give the cause.
pub fn words_of(cause: Cause, offending_ie: Option<IeType>) -> Option<&'static RefusalWords> {
    let of_cause = || WORDS.iter().filter(|words| words.cause == cause);
    let of_ie =
        of_cause().find(|words| offending_ie.is_some() && words.offending_ie == offending_ie);
    of_ie.or_else(|| of_cause().find(|words| words.offending_ie.is_none()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// All `.rs` files below a folder but for tests, as one text.
    fn sources(folder: &Path) -> String {
        let entries = std::fs::read_dir(folder).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let mut all = String::new();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name == "tests" || name.starts_with("refusal_causes") {
                continue;
            }
            all += &if path.is_dir() {
                sources(&path)
            } else {
                std::fs::read_to_string(&path).expect("a text")
            };
        }
        all
    }

    fn is_name(c: char) -> bool {
        c.is_ascii_uppercase() || c == '_'
    }

    /// Constants of `Cause` that refuse, as the session machine, the endpoint and the parser have them.
    fn given() -> BTreeSet<u8> {
        let session = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folders = ["src", "../../proto/n4/src", "../../wire/src/pfcp"];
        let text: String = folders.map(|f| sources(&session.join(f))).concat();
        let list = sources(&session.join("../../wire/src/pfcp"));
        let number_of = |name: &str| {
            let line = list.split(&format!("    {name} = ")).nth(1)?;
            line.split(',').next()?.parse::<u8>().ok()
        };
        let names = text.split("Cause::").skip(1).map(|rest| {
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            &rest[..end]
        });
        let numbers = names.filter_map(number_of);
        numbers.filter(|n| !Cause(*n).is_acceptance()).collect()
    }

    #[test]
    fn every_cause_that_refuses_has_its_reason_and_its_remedy() {
        let given = given();
        assert!(given.len() >= 15, "{given:?}");
        let silent: Vec<_> = given
            .iter()
            .filter(|number| words_of(Cause(**number), None).is_none())
            .collect();
        assert!(silent.is_empty(), "without words: {silent:?}");
        for words in refusal_words() {
            assert!(given.contains(&words.cause.0), "never given: {words:?}");
            for text in [words.why, words.remedy] {
                assert!(text.len() > 20 && !text.ends_with('.'), "{words:?}");
            }
        }
    }

    #[test]
    fn an_offending_ie_with_words_of_its_own_comes_before_its_cause() {
        let cause = Cause::RULE_CREATION_MODIFICATION_FAILURE;
        let why = |ie| words_of(cause, ie).expect("words").why;
        assert!(why(Some(IeType::NETWORK_INSTANCE)).contains("no interface"));
        assert_eq!(why(Some(IeType::PDI)), why(None));
        assert!(words_of(Cause::REQUEST_ACCEPTED, None).is_none());
    }
}
