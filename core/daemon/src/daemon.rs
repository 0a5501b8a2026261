//! The daemon's loop: the core with its doors, `sluice ctl`, log, charging records, shutdown.

use crate::contexts::Watch;
use crate::control::{self, Ask, Ctl};
use crate::convert;
use crate::ending;
use crate::flow::Flow;
use crate::needs;
use crate::refusals::{RefusalLog, Strangers};
use crate::reload::Reload;
use crate::store::{Outcome, Subscribers, Taken, provision};
use crate::trace::Trace;
use sluice_core_runtime::charging::Records;
use sluice_core_runtime::{Runtime, system};
use sluice_host::signal::Shutdown;
use sluice_ids::Supi;
use sluice_program::control::{Asked, refusal};
use sluice_program::lines::{self, Kind, Peer, PeerNames};
use sluice_sbi::Line;
use sluice_security::suci::HomeKey;
use sluice_udr::Provisioned;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};

/// Longest wait: limits on log lines end by time.
const PATIENCE: Duration = Duration::from_millis(500);
/// Questions answered between two turns of the core.
const QUESTIONS_OF_A_TURN: usize = 4;

/// All that the loop works with.
pub(crate) struct Daemon {
    pub runtime: Runtime,
    pub flow: Flow,
    /// Who is followed.
    pub trace: Option<Trace>,
    pub refusals: RefusalLog,
    strangers: Strangers,
    pub started: Instant,
    ctl: Ctl,
    records: Option<Records>,
    pub records_lost: u64,
    subscribers: Option<Subscribers>,
    /// How often the core has waited too long for it.
    kept_late: u64,
    contexts: Watch,
    /// What core.yaml has beside a database, no change of that takes away.
    pub reload: Reload,
    /// Who is in the database.
    pub of_database: BTreeSet<Supi>,
    /// Keys of the home network of the database.
    home_keys: BTreeMap<u8, HomeKey>,
}

/// What the database had at the start.
#[derive(Default)]
pub(crate) struct OfDatabase {
    pub subscribers: BTreeSet<Supi>,
    pub home_keys: BTreeMap<u8, HomeKey>,
}

impl Daemon {
    /// Of its parts.
    pub fn new(
        runtime: Runtime,
        ctl: Ctl,
        records: Option<Records>,
        subscribers: Option<Subscribers>,
        reload: Reload,
        of_database: OfDatabase,
    ) -> Self {
        Self {
            runtime,
            flow: Flow::default(),
            trace: None,
            refusals: RefusalLog::default(),
            strangers: Strangers::default(),
            started: Instant::now(),
            ctl,
            records,
            records_lost: 0,
            subscribers,
            kept_late: 0,
            contexts: Watch::default(),
            reload,
            of_database: of_database.subscribers,
            home_keys: of_database.home_keys,
        }
    }

    /// Charging records go there from now on.
    pub fn take_records_to(&mut self, records: Option<Records>) {
        self.charge();
        self.records = records;
    }

    /// Keys of the file are these from now on; those of the database count more.
    pub fn set_home_keys_of_file(&mut self, mut keys: BTreeMap<u8, HomeKey>) {
        keys.extend(self.home_keys.iter().map(|(id, key)| (*id, key.clone())));
        self.runtime.core_mut().set_home_keys(keys);
    }

    /// Has signals end the loop's wait.
    pub fn watch(&self, shutdown: &Shutdown) -> io::Result<()> {
        self.runtime.also_wait_for(shutdown)
    }

    /// Serves all sides until a signal comes.
    ///
    /// # Errors
    /// SCTP's socket fails.
    pub fn run(mut self, shutdown: &Shutdown) -> io::Result<()> {
        let mut has_more = false;
        while !shutdown.is_requested() {
            let patience = if has_more { Duration::ZERO } else { PATIENCE };
            self.runtime.turn(patience)?;
            self.said();
            self.tend_contexts();
            self.charge();
            // gNBs and UPFs are not kept waiting by however many ask.
            let mut asked = 0;
            while asked < QUESTIONS_OF_A_TURN
                && let Some(question) = self.ctl.next()
            {
                asked += 1;
                self.answer(question);
            }
            has_more = asked == QUESTIONS_OF_A_TURN;
            self.hear_of_subscribers();
            lines::tell_withheld(&PeerNames::default());
        }
        tracing::info!("ends; a second signal ends it at once");
        ending::run(&mut self, shutdown)?;
        self.runtime.close();
        if let Some(subscribers) = self.subscribers {
            subscribers.close();
        }
        Ok(())
    }

    /// Whether the database of subscribers answers; none if there is none.
    pub fn is_database_up(&self) -> Option<bool> {
        self.subscribers.as_ref().map(Subscribers::is_up)
    }

    /// What the database's thread has done, and whether the core waits for it in vain.
    fn hear_of_subscribers(&mut self) {
        while let Some(outcome) = self.subscribers.as_ref().and_then(Subscribers::next) {
            let Outcome {
                answer,
                taken,
                kept,
            } = outcome;
            let core = self.runtime.core_mut();
            for (number, not_kept) in kept {
                core.stored_for_good(system::now(), number, &not_kept);
            }
            self.take_over(taken);
            if let Some((asked, answer)) = answer {
                asked.answer(answer);
            }
        }
        let core = self.runtime.core();
        let late = core.stored_late();
        if std::mem::replace(&mut self.kept_late, late) != late
            && let Some(subscribers) = &self.subscribers
        {
            subscribers.is_late(core.udr().shares_sequence_numbers());
        }
    }

    /// The lease of contexts is renewed, and failures are told.
    fn tend_contexts(&mut self) {
        self.runtime.core_mut().tend_contexts();
        self.contexts.look(self.runtime.core());
    }

    /// What happened meanwhile; nobody is answered any more.
    pub fn told_at_end(&mut self) {
        self.said();
        self.tend_contexts();
        self.charge();
        while let Some(asked) = self.ctl.next() {
            asked.answer(refusal("refused", "the core ends"));
        }
        while let Some(outcome) = self.subscribers.as_ref().and_then(Subscribers::next) {
            if let Some((asked, answer)) = outcome.answer {
                asked.answer(answer);
            }
        }
    }

    fn answer(&mut self, asked: Asked<Ask>) {
        match (&asked.request, &self.subscribers) {
            (Ask::Core(request), _) => {
                let answer = control::answer(&request.clone(), self);
                asked.answer(answer);
            }
            (Ask::Subscribers(_), Some(subscribers)) => subscribers.operate(asked),
            (Ask::Subscribers(_), None) => {
                let what = "this core has no subscriber_database in its core.yaml";
                asked.answer(refusal("no_database", what));
            }
        }
    }

    /// What is otherwise in the database acts at once: who is removed or barred is deregistered, and who
    /// may do something else registers again.
    fn take_over(&mut self, taken: Taken) {
        let now = system::now();
        if let Some(keys) = taken.home_keys {
            self.home_keys = keys;
            match needs::home_keys(&self.reload.running.home_keys) {
                Ok(of_file) => self.set_home_keys_of_file(of_file),
                Err(problems) => {
                    for problem in problems {
                        tracing::error!("home network keys stay: {}", problem.what);
                    }
                }
            }
        }
        let core = self.runtime.core_mut();
        let mut gone: Vec<Supi> = Vec::new();
        if taken.all {
            let there: BTreeSet<_> = taken.subscribers.iter().map(|(supi, _)| *supi).collect();
            let known = core.udr().supis();
            gone.extend(known.filter(|supi| !there.contains(supi)));
            self.of_database.clear();
        }
        for (supi, record) in taken.subscribers {
            let Some(record) = record else {
                self.of_database.remove(&supi);
                gone.push(supi);
                continue;
            };
            self.of_database.insert(supi);
            match core.udr_mut().provision(supi, provision(&record)) {
                Provisioned::Changed if record.profile.barred => {
                    core.deregister(now, &supi, false);
                }
                Provisioned::Changed => core.subscriber_changed(now, &supi),
                Provisioned::SessionRates => core.session_rates_changed(now, &supi),
                Provisioned::Full => tracing::error!("{supi}: there are too many subscribers"),
                Provisioned::New | Provisioned::Same => {}
            }
        }
        for supi in gone {
            // Whom core.yaml has, too, is what that says from now on.
            let mut of_file = self.reload.running.subscribers.iter();
            let account = of_file.find(|one| one.supi.value == supi);
            if let Some(account) = account {
                match core.udr_mut().provision(supi, convert::subscriber(account)) {
                    Provisioned::Changed => core.subscriber_changed(now, &supi),
                    Provisioned::SessionRates => core.session_rates_changed(now, &supi),
                    _ => {}
                }
            } else if core.udr_mut().remove(&supi) {
                core.subscriber_removed(now, &supi);
            }
        }
    }

    /// What was said and refused since the last turn.
    fn said(&mut self) {
        self.see();
        for line in self.runtime.take_call_flow().0 {
            log(&line);
            self.flow.add(line);
        }
        for refused in self.runtime.core_mut().take_refused() {
            self.refusals.add(refused);
        }
        for stranger in self.runtime.take_strangers() {
            let refused = self.strangers.refused(stranger, Instant::now());
            refused.into_iter().for_each(|one| self.refusals.add(one));
        }
    }

    fn charge(&mut self) {
        let made = self.runtime.core_mut().take_records();
        let Some(records) = &mut self.records else {
            return;
        };
        if let Err(e) = records.write(&made) {
            self.records_lost += made.len() as u64;
            if lines::permits(Peer::Local, Kind::Charging) {
                let lost = self.records_lost;
                tracing::error!("charging records are lost, {lost} since the start: {e}");
            }
        }
    }
}

/// What concerns a gNB or a UPF as a whole is news; what is said of UEs is for those who ask.
fn log(line: &Line) {
    let is_node = |name| matches!(name, "gNB" | "UPF");
    let is_of_node = is_node(line.from) || is_node(line.to);
    let is_news = is_of_node && line.supi.is_none() && line.ue.is_none();
    if !is_news {
        tracing::debug!(target: "sluice_flow", "{line}");
    } else if lines::permits(Peer::Local, Kind::Association) {
        tracing::info!("{} to {}: {}", line.from, line.to, line.what);
    }
}
