//! The daemon: a core with its doors, and a part for each concern beside it.

use crate::config::CoreConfig;
use crate::operators::qos;
use crate::operators::request::{Ask, Ctl, Request};
use crate::parts::charging::Charging;
use crate::parts::contexts::Watch;
use crate::parts::flow::{Flow, log};
use crate::parts::home_keys::HomeKeys;
use crate::parts::programs::Programs;
use crate::parts::refusals::{RefusalLog, Strangers};
use crate::parts::subscriber_sync::SubscriberSync;
use crate::parts::trace::Tracing;
use crate::parts::ways::{log_front, log_rings};
use serde_json::Value;
use sluice_core_runtime::Runtime;
use sluice_host::signal::Shutdown;
use sluice_ids::Supi;
use sluice_program::control::{Asked, refusal};
use std::io;
use std::path::PathBuf;
use std::time::Instant;

/// The configuration that is in force, and its file.
pub(crate) struct InForce {
    pub file: PathBuf,
    pub running: CoreConfig,
}

/// All that the loop works with.
pub(crate) struct Daemon {
    pub runtime: Runtime,
    pub flow: Flow,
    tracing: Tracing,
    pub refusals: RefusalLog,
    strangers: Strangers,
    pub started: Instant,
    pub ctl: Ctl,
    pub charging: Charging,
    /// None where the UDR is another program's.
    pub subscribers: Option<SubscriberSync<Asked<Ask>>>,
    pub home_keys: HomeKeys,
    /// None where all functions are the core's own.
    pub programs: Option<Programs>,
    contexts: Watch,
    /// Questions to the PCF that wait for an SMF of another program.
    pub asked: Vec<(Asked<Ask>, qos::Asked)>,
    /// What core.yaml has beside a database, no change of that takes away.
    pub in_force: InForce,
}

impl Daemon {
    /// Of its parts.
    pub fn new(
        runtime: Runtime,
        ctl: Ctl,
        charging: Charging,
        subscribers: Option<SubscriberSync<Asked<Ask>>>,
        home_keys: HomeKeys,
        programs: Option<Programs>,
        in_force: InForce,
    ) -> Self {
        Self {
            runtime,
            flow: Flow::default(),
            tracing: Tracing::default(),
            refusals: RefusalLog::default(),
            strangers: Strangers::default(),
            started: Instant::now(),
            ctl,
            charging,
            subscribers,
            home_keys,
            programs,
            contexts: Watch::default(),
            asked: Vec::new(),
            in_force,
        }
    }

    /// Has signals end the loop's wait.
    pub fn watch(&self, shutdown: &Shutdown) -> io::Result<()> {
        self.runtime.also_wait_for(shutdown)
    }

    /// Messages of a UE since the last question.
    pub fn tracing(&mut self, supi: Option<Supi>, ends: bool) -> Value {
        self.tracing.answer(self.runtime.core_mut(), supi, ends)
    }

    /// Takes what the core has said, refused, made and stored since the last turn.
    pub fn take(&mut self) {
        self.tracing.turn(self.runtime.core_mut());
        for line in self.runtime.take_call_flow().0 {
            log(&line);
            self.flow.add(line);
        }
        for refused in self.runtime.core_mut().take_refused() {
            self.refusals.add(refused);
        }
        log_front(self.runtime.take_front_news());
        self.runtime.n4_mut().map(log_rings);
        for stranger in self.runtime.take_strangers() {
            let refused = self.strangers.refused(stranger, Instant::now());
            refused.into_iter().for_each(|one| self.refusals.add(one));
        }
        let core = self.runtime.core_mut();
        core.tend_contexts();
        self.contexts.look(core.contexts_failed());
        let made = core.sessions().take_records();
        self.charging.take(made, core.contexts());
        let Some(programs) = &mut self.programs else {
            return;
        };
        programs.turn(core);
        programs.hand_over_home_keys(core, &mut self.home_keys);
        for refused in programs.take_refused() {
            self.refusals.add(refused);
        }
        for (unix_us, seen) in programs.take_traced() {
            self.tracing.add(unix_us, seen);
        }
    }

    /// The same at the end; nobody is answered any more.
    pub fn take_at_end(&mut self) {
        self.take();
        while let Some(asked) = self.ctl.next() {
            asked.answer(refusal("refused", "the core ends"));
        }
        let answers = self
            .subscribers
            .as_ref()
            .map(SubscriberSync::answers_at_end);
        for (asked, answer) in answers.into_iter().flatten() {
            asked.answer(answer);
        }
    }

    /// Takes what the database has done, and answers who has asked for it.
    pub fn take_subscribers(&mut self) {
        let Some(subscribers) = &mut self.subscribers else {
            return;
        };
        let core = self.runtime.core_mut();
        let turned = subscribers.turn(&mut core.repository());
        if let Some(keys) = turned.home_keys {
            self.home_keys.set_of_database(core, keys);
        }
        for (asked, answer) in turned.answers {
            asked.answer(answer);
        }
    }

    /// Has the program that has the UDR do what an operator asks of subscribers.
    pub fn operate(&mut self, mut asked: Asked<Ask>) {
        let request = std::mem::replace(&mut asked.request, Ask::Core(Request::Status));
        let Ask::Subscribers(operation) = request else {
            return;
        };
        if let Some(subscribers) = &self.subscribers {
            let answered = subscribers.operate(operation, asked);
            if let Some((asked, answer)) = answered {
                asked.answer(answer);
            }
        } else if let Some(programs) = &mut self.programs {
            programs.operate(asked, &operation);
        }
    }
}
