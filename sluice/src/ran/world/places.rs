//! Namespaces, rules and addresses that the scenario needs and takes away again.

use std::collections::HashMap;

use sluice_host::netns::{Netns, Ns};

use super::super::Failure;
use super::super::scenario::Place;

/// What was made.
#[derive(Default)]
pub struct Places {
    /// `ip` commands that undo what was done to namespaces that stay.
    undo: Vec<(Ns, String)>,
    known: HashMap<String, Ns>,
    made: Vec<Netns>,
}

impl Places {
    /// A namespace that exists.
    pub fn existing(&mut self, place: &Place) -> Result<Ns, Failure> {
        let name = match place {
            Place::Named(name) => name.as_str(),
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
        ns.ip_batch(lines).map_err(Failure::lacking)?;
        if !self.made.iter().any(|made| made.ns().name() == ns.name()) {
            self.undo.push((ns.clone(), undo));
        }
        Ok(())
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        for (ns, lines) in self.undo.drain(..) {
            for line in lines.lines() {
                // It may be gone by itself, and the others must not stay for that.
                let _ = ns.ip_batch(&format!("{line}\n"));
            }
        }
    }
}
