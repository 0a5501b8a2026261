//! PDU session modification that a UE asks for (TS 23.502, 4.3.3.2, step 1a; TS 24.501, 6.4.2): a flow of
//! its own, other filters or bit rates of one, or its end; or nothing but that the SMF knows of something.

use sluice_n1::{
    FilterDirection, FlowDescription, FlowOperation, ModificationRequest, PacketFilter, QosRule,
    RuleOperation, SessionCause, SessionDownlink, options,
};
use sluice_sbi::{
    FILTERS, Filter, FlowDirection, PccRule, PolicyTrigger, Problem, RuleName, SmContextUpdated,
    UpdateSmPolicy,
};

use crate::context::flows::{Flows, rule_id};
use crate::procedure::Procedure;
use crate::procedure::modification::{self, Asked};

/// The number of the default rule in NAS.
const DEFAULT_RULE: u8 = 1;

/// Request of a UE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wish {
    /// The SMF knows what it was told, and tells what it was asked.
    Know,
    /// A flow of its own.
    Create(PccRule),
    /// The end of rules, a bit for each.
    Delete(u16),
    /// The rule of this number is to be otherwise.
    Change(u8, PccRule),
}

/// The procedure; it answers the AMF's request.
pub(crate) async fn run(p: &Procedure, request: &ModificationRequest, procedure: u8) {
    let wish = match procedure {
        1..=254 => p.with_session(|session| wish(&session.flows, request)),
        // No transaction of a UE's has this number (7.3.1).
        _ => return status(p, procedure),
    };
    let wish = wish.unwrap_or(Err(SessionCause::REJECTED));
    let asked = asked(p, request, procedure);
    let carried_out = match wish {
        Ok(Wish::Know) => {
            asked.confirm(p).await;
            Ok(())
        }
        Ok(wish) => carry_out(p, wish, &asked).await,
        Err(cause) => Err(cause),
    };
    if let Err(cause) = carried_out {
        reject(p, cause, procedure);
    }
}

/// Parts of the command that answer the UE's request.
fn asked(p: &Procedure, request: &ModificationRequest, procedure: u8) -> Asked {
    let dnn = p.with_session(|session| {
        // A STATUS of this transaction is not about the accept from now on.
        if session.transaction == procedure {
            session.transaction = 0;
        }
        session.dnn
    });
    let options = request.options.as_ref().and_then(|options| {
        p.with(|state| {
            let network = state.config.network(&dnn?)?;
            options::answer(options, &network.settings)
        })
    });
    Asked {
        procedure,
        always_on: request.always_on.then_some(false),
        options,
    }
}

fn status(p: &Procedure, procedure: u8) {
    let status = SessionDownlink::Status(SessionCause::INVALID_PTI);
    answer(p, &status, procedure);
}

/// 6.4.2.4: the UE is told why.
fn reject(p: &Procedure, cause: SessionCause, procedure: u8) {
    p.failed(cause);
    p.with(|state| state.counters.modifications_refused += 1);
    answer(p, &SessionDownlink::ModificationReject(cause), procedure);
}

fn answer(p: &Procedure, message: &SessionDownlink, procedure: u8) {
    let n1 = p.n1(message, procedure);
    p.say("3", message);
    let updated = SmContextUpdated {
        n1,
        ..SmContextUpdated::NOTHING
    };
    p.with(|state| state.answer(p.session, updated.into()));
}

/// Asks the PCF, and does what it allows.
async fn carry_out(p: &Procedure, wish: Wish, asked: &Asked) -> Result<(), SessionCause> {
    let policy = p.with_session(|session| session.flows.policy).flatten();
    let policy = policy.ok_or(SessionCause::NOT_SUPPORTED)?;
    let (trigger, rules, requested) = match wish {
        Wish::Know => return Err(SessionCause::REJECTED),
        Wish::Create(rule) => (PolicyTrigger::ResourceRequested, 0, rule),
        Wish::Delete(rules) => (PolicyTrigger::ResourceReleased, rules, PccRule::NONE),
        Wish::Change(id, rule) => {
            // The one that is there stays if there is no room for the other.
            if !p.with(|state| state.may_change(p.session, id, &rule)) {
                return Err(SessionCause::INSUFFICIENT_RESOURCES);
            }
            (PolicyTrigger::ResourceModified, 1 << id, rule)
        }
    };
    let update = UpdateSmPolicy {
        policy: policy.into(),
        trigger,
        ipv4: [0; 4],
        ipv6_prefix: [0; 8],
        rules: rules.into(),
        requested,
    };
    // 1a: Npcf_SMPolicyControl_Update
    let decision = p.call("1a", update).await.map_err(by_problem)?;
    let refused = p.with(|state| state.want(p.session, decision.rules.get()));
    if refused != 0 {
        p.with(|state| state.report_failed(p.session, refused));
        return Err(SessionCause::INSUFFICIENT_RESOURCES);
    }
    let change = p.with(|state| state.change_of(p.session));
    let change = change.ok_or(SessionCause::REJECTED)?;
    // From here on the command answers the UE's request, unless the UPF has no room.
    let is_done = modification::carry_out(p, &change, Some(asked)).await;
    let is_answered = p.with_session(|session| session.request.is_none());
    match (is_done, is_answered) {
        (false, Some(false)) => Err(SessionCause::INSUFFICIENT_RESOURCES),
        _ => Ok(()),
    }
}

fn by_problem(problem: Problem) -> SessionCause {
    match problem {
        Problem::ServiceNotAllowed => SessionCause::NOT_SUPPORTED,
        Problem::FiveQiNotAuthorized => SessionCause::UNSUPPORTED_FIVE_QI,
        Problem::QosNotAuthorized => SessionCause::QOS_NOT_ACCEPTED,
        Problem::NoResources | Problem::Overload => SessionCause::INSUFFICIENT_RESOURCES,
        _ => SessionCause::REJECTED,
    }
}

/// Request of the UE: one new rule with its flow, one changed rule, or the removal of rules. More in one message is not
/// supported.
fn wish(flows: &Flows, request: &ModificationRequest) -> Result<Wish, SessionCause> {
    let is = |operation| move |rule: &&QosRule| rule.operation == operation;
    let new: Vec<&QosRule> = request
        .rules
        .iter()
        .filter(is(RuleOperation::Create))
        .collect();
    let gone: Vec<&QosRule> = request
        .rules
        .iter()
        .filter(is(RuleOperation::Delete))
        .collect();
    match (new.as_slice(), gone.as_slice()) {
        _ if request.has_others => Err(SessionCause::NOT_SUPPORTED),
        // Capabilities, errors of rules, and what it wants to be told (6.4.2.1, 6.4.2.2).
        _ if request.rules.is_empty() && request.flows.is_empty() => Ok(Wish::Know),
        ([rule], []) if request.rules.len() == 1 => create(flows, rule, request).map(Wish::Create),
        ([], [_, ..]) if gone.len() == request.rules.len() => {
            let mut ids = 0;
            for rule in gone {
                let known = flows.rules.iter().find(|one| rule_id(&one.pcc) == rule.id);
                // The default rule, and those that are not there (6.4.2.5).
                ids |= 1 << known.ok_or(SessionCause::SEMANTICS_OF_QOS)?.pcc.id;
            }
            Ok(Wish::Delete(ids))
        }
        ([], []) if let [rule] = request.rules.as_slice() => change(flows, rule, request),
        _ => Err(SessionCause::NOT_SUPPORTED),
    }
}

fn create(
    flows: &Flows,
    rule: &QosRule,
    request: &ModificationRequest,
) -> Result<PccRule, SessionCause> {
    let is_taken = |one: &crate::context::flows::Bound| one.pcc.precedence == rule.precedence;
    if rule.is_default || matches!(rule.precedence, 0 | 255) || flows.rules.iter().any(is_taken) {
        return Err(SessionCause::SEMANTICS_OF_QOS);
    }
    check_filters(&rule.filters)?;
    let mut wanted = request.flows.iter();
    let flow = wanted.find(|flow| flow.qfi == rule.qfi && flow.operation == FlowOperation::Create);
    let flow = flow.ok_or(SessionCause::SEMANTICS_OF_QOS)?;
    let five_qi = flow.five_qi.ok_or(SessionCause::SYNTAX_OF_QOS)?;
    let filters: Vec<Filter> = rule.filters.iter().map(filter).collect();
    let name = RuleName::new(&format!("ue-{}", rule.precedence));
    let name = name.ok_or(SessionCause::REJECTED)?;
    let new = PccRule::new(name, rule.precedence, five_qi, &filters);
    let (least_down, least_up) = flow.guaranteed_bps.unwrap_or_default();
    let (most_down, most_up) = flow.maximum_bps.unwrap_or_default();
    Ok(PccRule {
        guaranteed_down_bps: least_down.into(),
        guaranteed_up_bps: least_up.into(),
        maximum_down_bps: most_down.into(),
        maximum_up_bps: most_up.into(),
        ..new.ok_or(SessionCause::INSUFFICIENT_RESOURCES)?
    })
}

/// New filters of a rule. They have no numbers of their own yet (9.11.4.13), or different ones.
fn check_filters(filters: &[PacketFilter]) -> Result<(), SessionCause> {
    if filters.is_empty() {
        return Err(SessionCause::SYNTAX_OF_QOS);
    }
    if filters.len() > FILTERS {
        return Err(SessionCause::INSUFFICIENT_RESOURCES);
    }
    for (at, filter) in filters.iter().enumerate() {
        let mut before = filters[..at].iter();
        if filter.id != 0 && before.any(|before| before.id == filter.id) {
            return Err(SessionCause::SYNTAX_OF_FILTERS);
        }
        // Conditions that no packet of the session can be asked for, as those of Ethernet.
        if filter.has_others {
            return Err(SessionCause::SEMANTICS_OF_FILTERS);
        }
    }
    Ok(())
}

/// A rule of the UE's own with other filters, another precedence, or a flow of other bit rates.
fn change(
    flows: &Flows,
    rule: &QosRule,
    request: &ModificationRequest,
) -> Result<Wish, SessionCause> {
    let mut there = flows.rules.iter();
    let known = there.find(|one| rule_id(&one.pcc) == rule.id);
    let known = known.ok_or(match rule.id {
        DEFAULT_RULE => SessionCause::NOT_SUPPORTED,
        _ => SessionCause::SEMANTICS_OF_QOS,
    })?;
    // It stays in its flow.
    if !matches!(rule.qfi, 0) && rule.qfi != known.qfi {
        return Err(SessionCause::NOT_SUPPORTED);
    }
    let precedence = match rule.precedence {
        0 => known.pcc.precedence,
        255 => return Err(SessionCause::SEMANTICS_OF_QOS),
        precedence => precedence,
    };
    let is_taken = |one: &crate::context::flows::Bound| {
        one.pcc.id != known.pcc.id && one.pcc.precedence == precedence
    };
    if flows.rules.iter().any(is_taken) {
        return Err(SessionCause::SEMANTICS_OF_QOS);
    }
    let filters = changed_filters(&known.pcc, rule)?;
    let name = RuleName::new(&format!("ue-{precedence}")).ok_or(SessionCause::REJECTED)?;
    let new = PccRule::new(name, precedence, known.pcc.five_qi, &filters);
    let new = new.ok_or(SessionCause::INSUFFICIENT_RESOURCES)?;
    let new = PccRule {
        id: 0,
        name,
        precedence,
        filters: new.filters,
        filter: new.filter,
        ..known.pcc
    };
    let mut others = request.flows.iter();
    let flow = others.find(|flow| flow.qfi == known.qfi);
    let new = match flow {
        Some(flow) => changed_flow(flows, known, new, flow)?,
        None => new,
    };
    match flow.is_some() || request.flows.is_empty() {
        true => Ok(Wish::Change(known.pcc.id, new)),
        // Another flow has nothing to do with the rule.
        false => Err(SessionCause::SEMANTICS_OF_QOS),
    }
}

/// Filters of a rule as they are to be.
fn changed_filters(known: &PccRule, rule: &QosRule) -> Result<Vec<Filter>, SessionCause> {
    let there: Vec<Filter> = known.filters().collect();
    let new = || rule.filters.iter().map(filter);
    let filters = match rule.operation {
        RuleOperation::AddFilters => {
            check_filters(&rule.filters)?;
            there.into_iter().chain(new()).collect()
        }
        RuleOperation::ReplaceFilters => {
            check_filters(&rule.filters)?;
            new().collect()
        }
        RuleOperation::DeleteFilters => {
            // As the UE was told them: from 1 on.
            let is_gone = |at: usize| rule.filters.iter().any(|one| usize::from(one.id) == at);
            let numbered = (1..).zip(there);
            let kept = numbered.filter(|(at, _)| !is_gone(*at));
            kept.map(|(_, filter)| filter).collect()
        }
        _ if rule.filters.is_empty() => there,
        _ => return Err(SessionCause::SYNTAX_OF_QOS),
    };
    match filters.len() {
        0 => Err(SessionCause::SEMANTICS_OF_QOS),
        1..=FILTERS => Ok(filters),
        _ => Err(SessionCause::INSUFFICIENT_RESOURCES),
    }
}

/// The same rule in a flow of other bit rates or another 5QI, which it must have for itself.
fn changed_flow(
    flows: &Flows,
    known: &crate::context::flows::Bound,
    rule: PccRule,
    flow: &FlowDescription,
) -> Result<PccRule, SessionCause> {
    let mut others = flows.rules.iter().filter(|one| one.pcc.id != known.pcc.id);
    let is_shared =
        others.any(|one| one.qfi == known.qfi) || known.qfi == crate::context::session::QFI;
    if is_shared {
        return Err(SessionCause::NOT_SUPPORTED);
    }
    if flow.operation != FlowOperation::Modify {
        return Err(SessionCause::SEMANTICS_OF_QOS);
    }
    let (least_down, least_up) = flow
        .guaranteed_bps
        .unwrap_or((rule.guaranteed_down_bps.get(), rule.guaranteed_up_bps.get()));
    let (most_down, most_up) = flow.maximum_bps.unwrap_or(rule.maximum_bps());
    Ok(PccRule {
        five_qi: flow.five_qi.unwrap_or(rule.five_qi),
        guaranteed_down_bps: least_down.into(),
        guaranteed_up_bps: least_up.into(),
        maximum_down_bps: most_down.into(),
        maximum_up_bps: most_up.into(),
        ..rule
    })
}

fn filter(told: &PacketFilter) -> Filter {
    Filter {
        direction: match told.direction {
            FilterDirection::Downlink => FlowDirection::Downlink,
            FilterDirection::Uplink => FlowDirection::Uplink,
            FilterDirection::Both => FlowDirection::Both,
        },
        remote: told.remote,
        protocol: told.protocol,
        remote_ports: told.remote_ports,
        local_ports: told.local_ports,
        tos: told.tos,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(rule: QosRule, flow: FlowDescription) -> ModificationRequest {
        ModificationRequest {
            rules: vec![rule],
            flows: vec![flow],
            ..ModificationRequest::default()
        }
    }

    fn rule() -> QosRule {
        QosRule {
            id: 0,
            is_default: false,
            precedence: 20,
            qfi: 0,
            ..QosRule::default_of(0)
        }
    }

    #[test]
    fn what_a_ue_asks_for_wrongly_has_its_cause() {
        let flows = Flows::default();
        let flow = FlowDescription::new(0, 9);
        let told = wish(&flows, &request(rule(), flow)).expect("a wish");
        assert!(matches!(told, Wish::Create(rule) if rule.five_qi == 9 && rule.precedence == 20));
        let others = PacketFilter {
            has_others: true,
            ..PacketFilter::ALL
        };
        for (rule, cause) in [
            (
                QosRule {
                    is_default: true,
                    ..rule()
                },
                SessionCause::SEMANTICS_OF_QOS,
            ),
            (
                QosRule {
                    precedence: 255,
                    ..rule()
                },
                SessionCause::SEMANTICS_OF_QOS,
            ),
            (
                QosRule {
                    filters: vec![],
                    ..rule()
                },
                SessionCause::SYNTAX_OF_QOS,
            ),
            (
                QosRule {
                    filters: vec![PacketFilter::ALL; 2],
                    ..rule()
                },
                SessionCause::SYNTAX_OF_FILTERS,
            ),
            (
                QosRule {
                    filters: vec![others],
                    ..rule()
                },
                SessionCause::SEMANTICS_OF_FILTERS,
            ),
            (QosRule { qfi: 5, ..rule() }, SessionCause::SEMANTICS_OF_QOS),
            (QosRule::deleted(1), SessionCause::SEMANTICS_OF_QOS),
        ] {
            let asked = request(rule.clone(), flow);
            assert_eq!(wish(&flows, &asked), Err(cause), "{rule:?}");
        }
        let without = FlowDescription {
            five_qi: None,
            ..flow
        };
        assert_eq!(
            wish(&flows, &request(rule(), without)),
            Err(SessionCause::SYNTAX_OF_QOS)
        );
    }

    #[test]
    fn what_only_informs_is_no_wish_for_qos() {
        let flows = Flows::default();
        let flow = FlowDescription::new(0, 9);
        let informs = ModificationRequest {
            cause: Some(SessionCause::SEMANTICS_OF_QOS),
            ..ModificationRequest::default()
        };
        assert_eq!(wish(&flows, &informs), Ok(Wish::Know));
        let flow_alone = ModificationRequest {
            flows: vec![flow],
            ..ModificationRequest::default()
        };
        let others = ModificationRequest {
            has_others: true,
            ..informs
        };
        for asked in [flow_alone, others] {
            assert_eq!(wish(&flows, &asked), Err(SessionCause::NOT_SUPPORTED));
        }
    }

    #[test]
    fn rules_that_cannot_be_changed_have_their_causes() {
        let (flows, flow) = (Flows::default(), FlowDescription::new(0, 9));
        for (id, cause) in [
            (DEFAULT_RULE, SessionCause::NOT_SUPPORTED),
            // It is not there.
            (7, SessionCause::SEMANTICS_OF_QOS),
        ] {
            let rule = QosRule {
                operation: RuleOperation::AddFilters,
                id,
                ..rule()
            };
            assert_eq!(wish(&flows, &request(rule, flow)), Err(cause), "{id}");
        }
    }
}
