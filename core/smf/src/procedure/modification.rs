//! PDU session modification (TS 23.502, 4.3.3.2; TS 24.501, 6.3.2 and 6.4.2): flows come and go, or the
//! session AMBR is another, by the network's wish or the UE's.

use sluice_n1::{ModificationCommand, SessionCause, SessionDownlink};
use sluice_n2::ModifyResponse;
use sluice_sbi::tally::ABORTED;
use sluice_sbi::{Container, GetSessionManagement, Instant, N2Sm, Problem, SmContextUpdated};
use sluice_wire::pfcp::value::UeIpAddress;
use sluice_wire::pfcp::{Full, MessageType, Writer};

use crate::context::flows::{Bound, Change};
use crate::context::session::SessionId;
use crate::context::state::State;
use crate::limits;
use crate::procedure::paging;
use crate::procedure::release;
use crate::procedure::unheard::Unheard;
use crate::procedure::{Event, Procedure};
use crate::upf::flow_rules::{self, FlowRules};
use crate::upf::n4::Answer;
use crate::upf::rules::assigned_f_teid;

/// The network wants it: a policy or a subscription is otherwise.
pub(crate) async fn by_network(p: Procedure) {
    let is_stale = p.with_session(|session| std::mem::take(&mut session.flows.is_stale));
    if is_stale == Some(true) && !refresh(&p).await {
        return release::by_network(p, SessionCause::REGULAR_DEACTIVATION).await;
    }
    let Some(change) = p.with(|state| state.change_of(p.session)) else {
        // What is wanted is there.
        p.with_session(|session| session.flows.wanted_ambr = None);
        return;
    };
    let is_up = p.with_session(|session| session.downlink.is_some());
    if is_up == Some(true) {
        carry_out(&p, &change, None).await;
        return;
    }
    // 3b: an idle UE is called for a new flow; what goes waits until it comes by itself.
    p.with_session(|session| session.flows.is_called = true);
    let is_reached = p.with_session(|session| session.reaching.is_some());
    if !change.added.is_empty() && is_reached == Some(false) {
        paging::run(p, 1).await;
    }
}

/// Nudm_SDM_Get: what the subscriber may do now. False if there is no such subscriber any more (4.3.4.2, 1).
async fn refresh(p: &Procedure) -> bool {
    let of = p.with_session(|session| GetSessionManagement {
        supi: session.supi,
        slice: session.slice,
        dnn: session.dnn,
    });
    let Some(of) = of else { return true };
    match p.call("1d", of).await {
        Ok(subscription) => {
            let ambr = (
                subscription.ambr_down_bps.get(),
                subscription.ambr_up_bps.get(),
            );
            p.with_session(|session| session.flows.wanted_ambr = Some(ambr));
            true
        }
        // Other changes end sessions by another way: the UE is deregistered.
        Err(problem) => problem != Problem::UserNotFound,
    }
}

/// Answers of UE and gNB.
struct Outcome {
    /// None: the UE has not answered.
    ue: Option<Result<(), SessionCause>>,
    /// None: the gNB has not answered, or has changed nothing.
    gnb: Option<ModifyResponse>,
    /// The gNB has changed nothing, for the UE is about to go to another one.
    is_moving: bool,
    /// Something else ended it.
    is_interrupted: bool,
}

/// Request of a UE that the command answers (TS 24.501, 6.3.2.2 and 6.4.2.3).
pub(crate) struct Asked {
    /// The transaction.
    pub procedure: u8,
    /// Whether its user plane is always up.
    pub always_on: Option<bool>,
    /// Requested extended protocol configuration options.
    pub options: Option<Vec<u8>>,
}

impl Asked {
    /// Nothing else is to become otherwise.
    pub async fn confirm(&self, p: &Procedure) {
        if let Some(Outcome { ue: None, .. }) = tell(p, &Change::default(), Some(self)).await {
            p.failed("the UE does not answer");
        }
    }
}

/// Carries a change out at UPF, UE and gNB, where the UE wants it by what it has `asked`. False if nothing has become of
/// what is new.
pub(crate) async fn carry_out(p: &Procedure, change: &Change, asked: Option<&Asked>) -> bool {
    const MODIFY: MessageType = MessageType::SESSION_MODIFICATION_REQUEST;
    // 2a and 2b: the UPF takes packets from the UE
    let added = change.added.as_slice();
    if !added.is_empty() {
        let is_done = ask(p, "2", MODIFY, |rules, w| rules.create_uplink(w, added)).await;
        if !is_done {
            p.with(|state| {
                state.counters.modifications_failed += 1;
                let why = "the UPF refused them, or did not answer";
                p.failed(why);
                state.rules_failed(p.session, change.added_ids(), why);
            });
            return false;
        }
    }
    p.with_session(|session| {
        let there = added.iter().map(|rule| Bound {
            is_at_upf: true,
            ..*rule
        });
        session.flows.rules.extend(there);
    });
    // 3a or 3b, 4 and 5: the gNB and the UE
    let Some(outcome) = tell(p, change, asked).await else {
        // It is idle by now. It is told when it is back: asked at once it would be asked for ever.
        p.with_session(|session| session.flows.is_out_of_reach = true);
        return stop(p, added).await;
    };
    if outcome.is_interrupted {
        return stop(p, added).await;
    }
    if outcome.is_moving {
        // It begins anew when the UE is there.
        p.with(|state| state.wait_for_handover(p.session));
        return stop(p, added).await;
    }
    // 8a and 8b: the UPF sends packets to the UE, and forgets what is gone
    let mut failed = failed(change, &outcome);
    let is_good = |rule: &&Bound| failed & 1 << rule.pcc.id == 0;
    let good: Vec<Bound> = added.iter().filter(is_good).copied().collect();
    let (removed, ambr) = (change.removed.as_slice(), change.ambr);
    let is_at_upf = |rule: &Bound| rule.is_at_upf;
    let mut is_done = true;
    if !good.is_empty() || removed.iter().any(is_at_upf) || ambr.is_some() {
        is_done = ask(p, "8", MODIFY, |rules, w| {
            rules.create_downlink(w, &good)?;
            rules.remove(w, removed)?;
            ambr.map_or(Ok(()), |ambr| flow_rules::write_ambr(w, ambr))
        })
        .await;
    }
    if !is_done {
        p.failed("the UPF refused them, or did not answer");
        failed |= good.iter().fold(0, |bits, rule| bits | 1 << rule.pcc.id);
    }
    p.with(|state| {
        state.settle(p.session, change, &outcome, failed, is_done);
        if failed != 0 {
            let why = match outcome.ue {
                _ if !is_done => "the UPF refused them, or did not answer".to_owned(),
                Some(Err(cause)) => format!("the UE refused them: {cause}"),
                None => "the UE does not answer".to_owned(),
                Some(Ok(())) => "the gNB has no room for them".to_owned(),
            };
            p.failed(&why);
            state.rules_failed(p.session, failed, &why);
        }
        state.reconcile(p.session, change);
    });
    failed == 0
}

/// Something else comes first: nothing has become of what is new.
async fn stop(p: &Procedure, added: &[Bound]) -> bool {
    p.failed(ABORTED);
    take_back(p, added).await;
    false
}

/// N4 Session Modification of flows; false if it is not done.
async fn ask(
    p: &Procedure,
    step: &'static str,
    kind: MessageType,
    write: impl FnOnce(&FlowRules<'_>, &mut Writer<'_>) -> Result<(), Full>,
) -> bool {
    answer(p, step, kind, write).await == Answer::Done
}

/// The same with the answer.
pub(crate) async fn answer(
    p: &Procedure,
    step: &'static str,
    kind: MessageType,
    write: impl FnOnce(&FlowRules<'_>, &mut Writer<'_>) -> Result<(), Full>,
) -> Answer {
    let known = p.with(|state| state.at_upf(p.session));
    let Some((access, network, rules)) = known else {
        return Answer::Nothing;
    };
    let rules = FlowRules {
        access: access.as_deref(),
        network: &network,
        ..rules
    };
    p.ask_upf(step, kind, |w| write(&rules, w)).await
}

/// New rules go again, as if nothing had been done; those that are wanted still are tried anew later.
async fn take_back(p: &Procedure, added: &[Bound]) {
    if added.is_empty() {
        return;
    }
    let kind = MessageType::SESSION_MODIFICATION_REQUEST;
    let is_added = |rule: &Bound| added.iter().any(|one| one.pcc == rule.pcc);
    let there = p.with_session(|session| {
        let there = session.flows.rules.iter().copied();
        there.filter(is_added).collect::<Vec<_>>()
    });
    let there = there.unwrap_or_default();
    if ask(p, "8", kind, |rules, w| rules.remove(w, &there)).await {
        p.with_session(|session| session.flows.rules.retain(|rule| !is_added(rule)));
        return;
    }
    // The UPF has them still: they are not wanted until they are gone.
    let ids = added.iter().fold(0, |bits, rule| bits | 1 << rule.pcc.id);
    p.with(|state| {
        let why = "the UPF did not take them back";
        state.rules_failed(p.session, ids, why);
        state.try_again_later(p.session);
    });
}

/// Messages for UE and gNB, and their answers. None if the UE is idle.
async fn tell(p: &Procedure, change: &Change, asked: Option<&Asked>) -> Option<Outcome> {
    let mut command = change.command();
    if let Some(asked) = asked {
        let command = command.get_or_insert_default();
        (command.always_on, command.options) = (asked.always_on, asked.options.clone());
    }
    let is_up = p.with_session(|session| session.downlink.is_some()) == Some(true);
    let request = change.request().filter(|_| is_up);
    let n2 = request.and_then(|request| Container::new(&request.encode()));
    let mut outcome = Outcome {
        ue: command.is_none().then_some(Ok(())),
        gnb: n2.is_none().then(ModifyResponse::default),
        is_moving: false,
        is_interrupted: false,
    };
    let Some(command) = command else {
        let n2 = n2.map(|n2| (N2Sm::Modify, n2));
        let is_told = say(p, &mut outcome, None, n2, asked).await;
        return is_told.then_some(outcome);
    };
    // From here on the UE may have what the command says, until its answer is heard.
    let named = Unheard::of(&command);
    let only_repeats = change.only_repeats(&command);
    let unheard = p.with_session(|session| {
        let before = session.flows.unheard;
        session.flows.unheard = before.and(named);
        before
    });
    let unheard = unheard.unwrap_or_default();
    let n2 = n2.map(|n2| (N2Sm::Modify, n2));
    let is_told = say(p, &mut outcome, Some(command), n2, asked).await;
    p.with_session(|session| {
        session.flows.command = None;
        session.flows.unheard = match outcome.ue {
            _ if !is_told => unheard,
            // It has what is taken back by the network.
            Some(Ok(())) if outcome.is_interrupted || outcome.is_moving => unheard.and(named),
            Some(Ok(())) => unheard.without(named),
            // One that does not take it as done, though the TS has it so, has it not.
            Some(Err(SessionCause::SEMANTICS_OF_QOS | SessionCause::SYNTAX_OF_QOS))
                if only_repeats =>
            {
                unheard.without(named)
            }
            Some(Err(_)) => unheard,
            None => unheard.and(named),
        };
    });
    is_told.then_some(outcome)
}

/// 3 to 10: both are told, and their answers waited for. False if they are not told: the UE is idle.
async fn say(
    p: &Procedure,
    outcome: &mut Outcome,
    command: Option<ModificationCommand>,
    n2: Option<(N2Sm, Container)>,
    asked: Option<&Asked>,
) -> bool {
    let command = command.map(|command| SessionDownlink::ModificationCommand(Box::new(command)));
    let transaction = asked.map_or(0, |asked| asked.procedure);
    let n1 = command
        .as_ref()
        .map_or(Container::NONE, |command| p.n1(command, transaction));
    let (n2_kind, n2) = n2.unwrap_or((N2Sm::None, Container::NONE));
    if let Some(command) = &command {
        p.say("3", command);
    }
    p.with_session(|session| session.flows.command = command.is_some().then_some(transaction));
    if asked.is_some() {
        let updated = SmContextUpdated { n1, n2_kind, n2 };
        p.with(|state| state.answer(p.session, updated.into()));
    } else if (n1, n2_kind) != (Container::NONE, N2Sm::None)
        && !p.transfer("3", n1, n2_kind, n2).await
    {
        return false;
    }
    let mut is_gnb_silent = outcome.gnb.is_none();
    for attempt in 0..limits::MODIFICATION_SENDS {
        if attempt > 0
            && let Some(command) = &command
        {
            p.say("3", command);
            p.transfer("3", n1, N2Sm::None, Container::NONE).await;
        }
        listen(p, outcome, &mut is_gnb_silent).await;
        if outcome.is_interrupted || outcome.is_moving || outcome.ue.is_some() {
            break;
        }
    }
    true
}

/// 6 to 10: until both have answered, or T3591 runs out.
async fn listen(p: &Procedure, outcome: &mut Outcome, is_gnb_silent: &mut bool) {
    let until: Instant = p.with(|state| state.now.instant.plus_ms(limits::MODIFICATION_TIMER_MS));
    while outcome.ue.is_none() || *is_gnb_silent {
        match p.is_modified("10", until).await {
            Some(Event::ModificationAnswer(answer)) => outcome.ue = Some(answer),
            Some(Event::AtGnb(response)) => {
                outcome.gnb = response;
                *is_gnb_silent = false;
            }
            Some(Event::Moving) => {
                outcome.is_moving = true;
                return;
            }
            Some(_) => {
                outcome.is_interrupted = true;
                return;
            }
            None => return,
        }
    }
}

/// New rules that are none, a bit for each.
fn failed(change: &Change, outcome: &Outcome) -> u16 {
    if !matches!(outcome.ue, Some(Ok(()))) {
        return change.added_ids();
    }
    let asked = change
        .request()
        .map(|request| request.flows)
        .unwrap_or_default();
    let has_failed = |qfi: u8| {
        let was_asked = asked.iter().any(|flow| flow.qfi == qfi);
        let response = outcome.gnb.as_ref();
        was_asked && response.is_none_or(|response| response.failed.contains(&qfi))
    };
    let failed = change.added.iter().filter(|rule| has_failed(rule.qfi));
    failed.fold(0, |bits, rule| bits | 1 << rule.pcc.id)
}

impl State {
    /// Wanted change of an existing session.
    pub fn change_of(&self, id: SessionId) -> Option<Change> {
        let session = self.sessions.get(id.0)?;
        let is_there = session.is_accepted && session.upf.is_some();
        let is_there = is_there && session.flows.in_doubt == 0;
        session.flows.change(&session.qos).filter(|_| is_there)
    }

    /// Whether a modification is to begin: an idle UE is called once, and for new flows alone.
    pub fn is_to_be_modified(&self, id: SessionId) -> bool {
        let Some(session) = self.sessions.get(id.0) else {
            return false;
        };
        if session.flows.is_stale && session.is_accepted {
            return true;
        }
        let change = self.change_of(id).filter(|_| !self.is_postponed(id));
        // What somebody has not taken so often is left alone.
        let is_given_up = session.flows.failures > limits::RECONCILIATIONS;
        let change = change.filter(|change| !(is_given_up && change.added.is_empty()));
        change.is_some_and(|change| match session.downlink {
            Some(_) => !session.flows.is_out_of_reach,
            None => !change.added.is_empty() && !session.flows.is_called,
        })
    }

    /// A change that was carried out.
    fn settle(
        &mut self,
        id: SessionId,
        change: &Change,
        outcome: &Outcome,
        failed: u16,
        is_at_upf: bool,
    ) {
        self.counters.modified += 1;
        let request = change.request();
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        if let Some(ambr) = change.ambr.filter(|_| is_at_upf) {
            session.qos.ambr_bps = ambr;
        }
        let flows = &mut session.flows;
        // Whoever does not answer may know them.
        let is_told = !matches!(outcome.ue, Some(Err(_)));
        let has_forgotten = outcome.ue == Some(Ok(()));
        for rule in &mut flows.rules {
            if change.removed.iter().any(|one| one.pcc == rule.pcc) {
                rule.is_told &= !has_forgotten;
                rule.is_at_upf &= !is_at_upf;
                rule.has_downlink &= rule.is_at_upf;
            }
            let is_new = change.added.iter().any(|one| one.pcc == rule.pcc);
            rule.is_told |= is_new && is_told;
            rule.has_downlink |= is_new && failed & 1 << rule.pcc.id == 0;
        }
        flows.rules.retain(|rule| rule.is_told || rule.is_at_upf);
        if let (Some(request), Some(response)) = (request, &outcome.gnb) {
            for qfi in &request.released {
                flows.at_gnb &= !(1 << qfi);
            }
            for qfi in &response.done {
                flows.at_gnb |= 1 << (qfi & 63);
            }
        }
    }

    /// Requests again the parts that a side should have removed with this change and still has.
    fn reconcile(&mut self, id: SessionId, change: &Change) {
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        let flows = &mut session.flows;
        let is_there = |rule: &Bound| flows.rules.iter().any(|one| one.pcc == rule.pcc);
        let has_kept = change.removed.iter().any(is_there)
            || change.added.is_empty() && (flows.has_leftovers() || flows.unheard.is_any())
            || change.ambr.is_some_and(|ambr| ambr != session.qos.ambr_bps);
        match has_kept {
            true => self.try_again_later(id),
            false => flows.failures = 0,
        }
    }

    /// A change that somebody has not taken is tried again.
    fn try_again_later(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        let failures = session.flows.failures.saturating_add(1);
        session.flows.failures = failures;
        let after_ms = u64::from(failures) * limits::RECONCILIATION_MS;
        let at = self.now.instant.plus_ms(after_ms);
        self.postpone(id, Some(at));
    }

    /// A gNB says that the UE is about to go. If nothing comes of that, it is tried again all the same.
    fn wait_for_handover(&mut self, id: SessionId) {
        if !self.is_postponed(id) {
            let until = self.now.instant.plus_ms(limits::RECONCILIATION_MS);
            self.postpone(id, Some(until));
        }
    }

    /// Flows of a session are not changed before then; none: now.
    pub fn postpone(&mut self, id: SessionId, until: Option<Instant>) {
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        if let Some(before) = std::mem::replace(&mut session.flows.postponed, until) {
            self.postponed.remove(&(before, id));
        }
        self.postponed.extend(until.map(|until| (until, id)));
    }

    fn is_postponed(&self, id: SessionId) -> bool {
        let until = self.sessions.get(id.0).and_then(|s| s.flows.postponed);
        until.is_some_and(|until| until > self.now.instant)
    }

    /// A session whose flows are to be looked at again now.
    pub fn next_postponed(&mut self) -> Option<SessionId> {
        let (until, id) = *self.postponed.first()?;
        (until <= self.now.instant).then(|| {
            self.postpone(id, None);
            id
        })
    }

    /// Whether a UPF has kept so long what it should not have that the session is better begun anew.
    pub fn is_beyond_repair(&self, id: SessionId) -> bool {
        let Some(session) = self.sessions.get(id.0) else {
            return false;
        };
        let flows = &session.flows;
        let is_wanted = |rule: &Bound| flows.wanted.contains(&rule.pcc);
        let mut leftovers = flows.rules.iter().filter(|rule| !is_wanted(rule));
        flows.failures > limits::RECONCILIATIONS && leftovers.any(|rule| rule.is_at_upf)
    }

    /// Network Instances of a session's UPF, and what its rules have in common.
    fn at_upf(&self, id: SessionId) -> Option<(Option<Vec<u8>>, Vec<u8>, FlowRules<'static>)> {
        let session = self.sessions.get(id.0)?;
        let upf = session.upf?;
        let (at, _) = session.flows.place?;
        let known = self.config.upfs.get(at)?;
        let network = self.config.network(&session.dnn)?;
        let names = (known.access_instance(), known.instance(&network.instance));
        let tunnel = upf.uplink;
        let rules = FlowRules {
            access: None,
            network: &[],
            f_teid: assigned_f_teid(tunnel)?,
            ue: UeIpAddress {
                ipv4: session.address.ipv4,
                ipv6: upf.ipv6_prefix.map(crate::upf::rules::prefix_address),
                ..UeIpAddress::default()
            },
            charging_octets: network.charging_octets,
        };
        Some((names.0, names.1, rules))
    }
}
