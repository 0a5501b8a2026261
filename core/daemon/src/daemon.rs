//! The daemon: a core with its doors, and a part for each concern beside it.

use crate::config::CoreConfig;
use crate::operators::qos;
use crate::operators::request::{Ask, Ctl};
use crate::parts::charging::Charging;
use crate::parts::contexts::Watch;
use crate::parts::flow::{Flow, log};
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
    pub subscribers: SubscriberSync,
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
        subscribers: SubscriberSync,
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
        self.subscribers.answer_at_end();
    }
}
