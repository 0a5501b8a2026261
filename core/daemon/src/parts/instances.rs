//! Instances of functions in programs: taken out and in by operators, added and drained when core.yaml is read again.

use super::programs::{Program, Programs, name};
use crate::config::WiringSection;
use crate::operators::answers::{Drained, NfInstance};
use sluice_core_runtime::system;
use sluice_host::process::Process;
use sluice_sbi::{Instance, NfInstance as NfIdentity, Place};
use sluice_wiring::Core;
use std::collections::BTreeSet;
use std::time::Instant;

impl Programs {
    /// core.yaml was read again: programs that it has no more are drained, new ones are started.
    pub fn reload(&mut self, core: &mut Core, wiring: &WiringSection) {
        self.reloads += 1;
        for program in &mut self.programs {
            let leaves = !wiring.programs.contains(&program.section);
            if leaves != program.leaves {
                (program.leaves, program.drains) = (leaves, leaves);
            }
        }
        for section in &wiring.programs {
            let mut sections = self.programs.iter().map(|one| &one.section);
            if !sections.any(|one| one == section) {
                self.programs.push(Program::new(section, Instant::now()));
            }
        }
        let further = wiring.further_instances();
        core.identify_as(&self.newly_named(core, &further));
        core.identify_further(&further, &mut system::random);
        core.drain(self.draining());
        self.tell(core);
    }

    /// Identities of instances that have none yet, of those that the certificate names and nobody has.
    fn newly_named(&self, core: &Core, further: &[Place]) -> Vec<(Place, NfIdentity)> {
        let known = core.instances();
        let used: Vec<NfIdentity> = known.iter().map(|(_, one)| one).collect();
        let free = self.named.iter().filter(|one| !used.contains(one));
        let new = further.iter().filter(|place| known.of(**place).is_none());
        new.copied().zip(free.copied()).collect()
    }

    /// Instances of functions that operators have taken out.
    pub(super) fn draining(&self) -> BTreeSet<Place> {
        let programs = self.programs.iter().filter(|one| one.drains);
        programs.flat_map(|one| one.section.places()).collect()
    }

    /// Takes the program with an instance of a function out, or in again.
    ///
    /// # Errors
    /// No program has it, or a function of the program would have no instance left.
    pub fn drain(
        &mut self,
        core: &mut Core,
        function: &str,
        instance: u8,
        drains: bool,
    ) -> Result<Drained, String> {
        let function = function.to_uppercase();
        let is_it = |place: Place| place.nf.to_string() == function && place.instance() == instance;
        let mut programs = self.programs.iter();
        let at = programs.position(|one| one.section.places().any(is_it));
        let at = at.ok_or_else(|| format!("no program has instance {instance} of {function}"))?;
        if self.programs.get(at).is_some_and(|one| one.leaves) {
            return Err("core.yaml has no such program any more".to_owned());
        }
        if drains {
            self.may_drain(at)?;
        }
        let program = self.programs.get_mut(at).ok_or("no program has it")?;
        if program.drains != drains {
            program.drains = drains;
            // One that was drained is started at once.
            program.due = Instant::now();
            let verb = if drains {
                "is taken out"
            } else {
                "is taken in again"
            };
            tracing::info!("{} {verb}", name(&program.section));
        }
        let functions = program.section.functions.iter();
        let functions = functions.map(|one| one.value.to_string()).collect();
        core.drain(self.draining());
        self.tell(core);
        Ok(Drained {
            r#type: function,
            instance,
            drains,
            functions,
        })
    }

    /// Whether each function of a program has another instance, which is reached and not taken out.
    fn may_drain(&self, at: usize) -> Result<(), String> {
        let draining = self.draining();
        let own = self.programs.get(at).map(|one| one.section.places());
        for place in own.into_iter().flatten() {
            let mut joined = self.joined.iter();
            if !joined.any(|one| one.nf == place.nf && *one != place && !draining.contains(one)) {
                return Err(format!(
                    "{place} is the last instance of the {} that is reached",
                    place.nf
                ));
            }
        }
        Ok(())
    }

    /// Instances of functions of programs, with what these have told.
    pub fn instances(&self, told: &[NfInstance]) -> Vec<NfInstance> {
        let mut all = Vec::new();
        for program in &self.programs {
            for place in program.section.places() {
                let (r#type, instance) = (place.nf.to_string(), place.instance());
                let is_its = |one: &&NfInstance| one.r#type == r#type && one.instance == instance;
                let its = told.iter().find(is_its);
                let Instance {
                    priority, capacity, ..
                } = program.section.instance;
                all.push(NfInstance {
                    r#type,
                    instance,
                    pid: program.process.as_ref().map(Process::number),
                    reached: self.joined.contains(&place),
                    drains: program.drains,
                    priority,
                    capacity,
                    load_percent: its.and_then(|one| one.load_percent),
                    answered: its.and_then(|one| one.answered),
                });
            }
        }
        all
    }
}
