//! Beginning of a core with programs: these are started, and waited for until their functions are reached.

use super::{Programs, name};
use crate::config::ProgramSection;
use crate::needs::{StartError, problem};
use crate::parts::services;
use sluice_core_runtime::{Runtime, system};
use sluice_host::poll::wait_readable;
use sluice_program::exit::Exit;
use sluice_sbi::{Nf, Place};
use sluice_wiring::Core;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How long the core waits at its start for its programs.
const JOIN_WITHIN: Duration = Duration::from_secs(10);
/// Time between two looks at its links meanwhile.
const POLL_EVERY: Duration = Duration::from_millis(10);

impl Programs {
    /// The core's own functions reach those of the programs, which are started, from now on.
    pub fn start(
        &mut self,
        runtime: &mut Runtime,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), StartError> {
        let failed = |what: String| {
            let expected =
                "the program sluice-core beside the one that runs, and memory for its links";
            StartError::from(problem(0, "wiring", what, expected))
        };
        let is_own = |nf: &Nf| !self.is_apart(*nf) && !self.others.contains(nf);
        let (own, others): (Vec<Nf>, Vec<Nf>) = Nf::ALL.into_iter().partition(is_own);
        let member = self.manager.join("the core", &own);
        let member = member.map_err(|e| failed(format!("its own functions: {e}")))?;
        let watched = runtime
            .also_wait_for(&member)
            .and_then(|()| runtime.also_wait_for(&self.manager));
        watched.map_err(|e| failed(e.to_string()))?;
        if let Some(services) = &self.services {
            let watched = services.with(|services| runtime.also_wait_for(services));
            watched.map_err(|e| failed(e.to_string()))?;
        }
        let core = runtime.core_mut();
        if let Some(services) = &self.services {
            services::identify(services, 0, self.identities(core));
            core.connect(Box::new(services.clone()), &others);
        }
        core.connect(Box::new(member), &others);
        for at in 0..self.programs.len() {
            self.start_one(at).map_err(failed)?;
        }
        self.wait_until_reached(core, is_over)
    }

    /// Waits until all functions of programs are reached; the core begins without those that are not, unless their program
    /// says that the file is wrong: to start it again would change nothing.
    fn wait_until_reached(
        &mut self,
        core: &mut Core,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), StartError> {
        let until = Instant::now() + JOIN_WITHIN;
        let sections = self.programs.iter().map(|one| &one.section);
        let all: BTreeSet<Place> = sections.flat_map(ProgramSection::places).collect();
        // By HTTP the core reaches those alone that it asks; of the others it hears that they have joined.
        let wanted = self
            .services
            .as_ref()
            .map(|one| one.with(|one| one.wanted()));
        let is_asked = |place: &Place| wanted.as_ref().is_none_or(|all| all.contains(&place.nf));
        let of_others = self.others.iter().map(|nf| Place::from(*nf));
        let mut missing: BTreeSet<Place> = all
            .iter()
            .copied()
            .chain(of_others)
            .filter(is_asked)
            .collect();
        let have_joined = |one: &Self| all.iter().all(|place| one.manager.has(*place));
        let lacks_keys = |one: &Self| one.lacks_home_keys && one.home_keys.is_none();
        let waits = |one: &Self, missing: &BTreeSet<Place>| {
            !missing.is_empty() || !have_joined(one) || lacks_keys(one)
        };
        // Functions have to be registered for the tokens by which they discover others.
        let needs_tokens = self.services.as_ref();
        let needs_tokens = needs_tokens.is_some_and(|one| one.with(|one| one.asks_for_tokens()));
        let mut registers = false;
        while waits(self, &missing) && Instant::now() < until && !is_over() {
            for news in self.manager.turn() {
                self.take(news, core);
            }
            // A program may end at once.
            self.look(Instant::now());
            if let Some(refused) = self.refused_program() {
                return Err(refused);
            }
            // Arenas pass the manager, and are taken before a sleep.
            core.may_sleep();
            core.receive(system::now());
            self.serve_nrf(core);
            if registers && core.next_deadline() <= system::now().instant {
                core.time(system::now());
            }
            if registers {
                core.send(system::now());
            }
            for reached in core.take_reached(system::now()) {
                registers |= reached.place.nf == Nf::Nrf && needs_tokens;
                match reached.lost {
                    None => missing.remove(&reached.place),
                    Some(_) => missing.insert(reached.place),
                };
            }
            if waits(self, &missing) {
                let _ = wait_readable(&self.manager, POLL_EVERY);
            }
        }
        for place in missing {
            tracing::warn!("{place} is not reached yet; the core begins without it");
        }
        Ok(())
    }

    /// A program that refuses the file, and whose functions no other one has.
    fn refused_program(&self) -> Option<StartError> {
        let is_missing = |place: Place| !self.manager.has(place);
        let mut refused = self.programs.iter().filter(|one| one.is_refused);
        let program =
            refused.find(|one| one.section.is_front || one.section.places().any(is_missing))?;
        let what = format!("{} does not start with this file", name(&program.section));
        let expected = "what it has said before";
        Some(StartError {
            problem: problem(0, "wiring.programs", what, expected),
            exit: Exit::Usage,
        })
    }
}
