//! PDU session modification that a UE asks for (TS 23.502, 4.3.3.2, step 1a; TS 24.501, 6.4.2): a flow of
//! its own, or the end of one.

use sluice_n1::{
    FilterDirection, FlowOperation, ModificationRequest, PacketFilter, QosRule, RuleOperation,
    SessionCause, SessionDownlink,
};
use sluice_sbi::{
    FILTERS, Filter, FlowDirection, PccRule, PolicyTrigger, Problem, RuleName, SmContextUpdated,
    UpdateSmPolicy,
};

use crate::flows::{Flows, rule_id};
use crate::modification;
use crate::procedure::Procedure;

/// What a UE wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wish {
    /// A flow of its own.
    Create(PccRule),
    /// The end of rules, a bit for each.
    Delete(u16),
}

/// The procedure; it answers the AMF's request.
pub(crate) async fn run(p: &Procedure, request: &ModificationRequest, procedure: u8) {
    let wish = match procedure {
        1..=254 => p.with_session(|session| wish(&session.flows, request)),
        // No transaction of a UE's has this number (7.3.1).
        _ => return status(p, procedure),
    };
    let wish = wish.unwrap_or(Err(SessionCause::REJECTED));
    let carried_out = match wish {
        Ok(wish) => carry_out(p, wish, procedure).await,
        Err(cause) => Err(cause),
    };
    if let Err(cause) = carried_out {
        reject(p, cause, procedure);
    }
}

fn status(p: &Procedure, procedure: u8) {
    let status = SessionDownlink::Status(SessionCause::INVALID_PTI);
    answer(p, &status, procedure);
}

/// 6.4.2.4: the UE is told why.
fn reject(p: &Procedure, cause: SessionCause, procedure: u8) {
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
async fn carry_out(p: &Procedure, wish: Wish, procedure: u8) -> Result<(), SessionCause> {
    let policy = p.with_session(|session| session.flows.policy).flatten();
    let policy = policy.ok_or(SessionCause::NOT_SUPPORTED)?;
    let (trigger, rules, requested) = match wish {
        Wish::Create(rule) => (PolicyTrigger::ResourceRequested, 0, rule),
        Wish::Delete(rules) => (PolicyTrigger::ResourceReleased, rules, PccRule::NONE),
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
    let is_done = modification::carry_out(p, &change, Some(procedure)).await;
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

/// What the UE wants: one new rule with its flow, or the end of rules; anything else is not offered.
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
        _ => Err(SessionCause::NOT_SUPPORTED),
    }
}

fn create(
    flows: &Flows,
    rule: &QosRule,
    request: &ModificationRequest,
) -> Result<PccRule, SessionCause> {
    let is_taken = |one: &crate::flows::Bound| one.pcc.precedence == rule.precedence;
    if rule.is_default || matches!(rule.precedence, 0 | 255) || flows.rules.iter().any(is_taken) {
        return Err(SessionCause::SEMANTICS_OF_QOS);
    }
    if rule.filters.is_empty() {
        return Err(SessionCause::SYNTAX_OF_QOS);
    }
    if rule.filters.len() > FILTERS {
        return Err(SessionCause::INSUFFICIENT_RESOURCES);
    }
    for (at, filter) in rule.filters.iter().enumerate() {
        if rule.filters[..at]
            .iter()
            .any(|before| before.id == filter.id)
        {
            return Err(SessionCause::SYNTAX_OF_FILTERS);
        }
        if filter.has_others {
            return Err(SessionCause::SEMANTICS_OF_FILTERS);
        }
    }
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
    use sluice_n1::FlowDescription;

    fn request(rule: QosRule, flow: FlowDescription) -> ModificationRequest {
        ModificationRequest {
            rules: vec![rule],
            flows: vec![flow],
            cause: None,
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
            (
                QosRule {
                    operation: RuleOperation::AddFilters,
                    ..rule()
                },
                SessionCause::NOT_SUPPORTED,
            ),
            (QosRule::deleted(1), SessionCause::SEMANTICS_OF_QOS),
        ] {
            let asked = request(rule.clone(), flow);
            assert_eq!(wish(&flows, &asked), Err(cause), "{rule:?}");
        }
        assert_eq!(
            wish(&flows, &ModificationRequest::default()),
            Err(SessionCause::NOT_SUPPORTED)
        );
        let without = FlowDescription {
            five_qi: None,
            ..flow
        };
        assert_eq!(
            wish(&flows, &request(rule(), without)),
            Err(SessionCause::SYNTAX_OF_QOS)
        );
    }
}
