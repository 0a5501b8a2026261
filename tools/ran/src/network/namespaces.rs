//! Namespaces, rules and addresses of a scenario, with their removal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sluice_host::netns::{Netns, Ns};

use crate::Failure;
use crate::scenario::NetnsPlace;

/// `ip` commands that undo what was done to namespaces that stay. Whoever is to take things away
/// has a clone; it is done once.
#[derive(Clone, Default)]
pub struct Undo {
    lines: Arc<Mutex<Vec<(Ns, String)>>>,
}

impl Undo {
    fn add(&self, ns: &Ns, lines: String) {
        let mut all = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((ns.clone(), lines));
    }

    /// Takes away what is still there.
    pub fn run(&self) {
        let mut all = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        for (ns, lines) in all.drain(..) {
            // Some of it may be gone by itself.
            let _ = ns.ip_batch_all(&lines);
        }
    }
}

/// Namespaces that were made.
#[derive(Default)]
pub struct Namespaces {
    undo: Undo,
    known: HashMap<String, Ns>,
    made: Vec<Netns>,
}

impl Namespaces {
    pub fn existing(&mut self, place: &NetnsPlace) -> Result<Ns, Failure> {
        let name = match place {
            NetnsPlace::Named(name) => name.as_str(),
            _ => "",
        };
        if let Some(ns) = self.known.get(name) {
            return Ok(ns.clone());
        }
        let ns = match name {
            "" => Ns::current(),
            name => Ns::named(name),
        };
        let ns = ns.map_err(Failure::lacking)?;
        self.known.insert(name.to_owned(), ns.clone());
        Ok(ns)
    }

    /// A namespace of our own.
    pub fn make(&mut self, label: &str) -> Result<Ns, Failure> {
        let made = Netns::create(label).map_err(Failure::lacking)?;
        let ns = made.ns().clone();
        self.made.push(made);
        Ok(ns)
    }

    /// Runs `ip` commands now, and those of `undo` in the end, where the namespace stays.
    pub fn set(&mut self, ns: &Ns, lines: &str, undo: String) -> Result<(), Failure> {
        if lines.is_empty() {
            return Ok(());
        }
        if let Err(error) = ns.ip_batch(lines) {
            // Lines before the one that failed.
            let _ = ns.ip_batch_all(&undo);
            return Err(Failure::lacking(error));
        }
        if !self.is_made(ns) {
            self.undo.add(ns, undo);
        }
        Ok(())
    }

    /// The same for what would be there twice if a killed run of the same scenario has left it.
    pub fn set_anew(&mut self, ns: &Ns, lines: &str, undo: String) -> Result<(), Failure> {
        if !self.is_made(ns) {
            // As a rule nothing is there.
            let _ = ns.ip_batch_all(&undo);
        }
        self.set(ns, lines, undo)
    }

    /// Runs `ip` commands in the end, where the namespace stays; and now, for what a killed run has
    /// left.
    pub fn undo_later(&mut self, ns: &Ns, undo: String) {
        if !self.is_made(ns) {
            let _ = ns.ip_batch_all(&undo);
            self.undo.add(ns, undo);
        }
    }

    fn is_made(&self, ns: &Ns) -> bool {
        self.made.iter().any(|made| made.ns().name() == ns.name())
    }

    /// For whoever must end before this value does.
    pub fn undo(&self) -> Undo {
        self.undo.clone()
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        self.undo.run();
    }
}
