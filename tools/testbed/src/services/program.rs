//! A function as a program of its own: its API root, its memory, and where it found the others.

use std::collections::BTreeMap;

use sluice_core_host::Home;
use sluice_sbi::{Nf, Requester};
use sluice_services::directory::{self, FoundInstance};
use sluice_services::{Memory, Own, Request, Response};

/// Method and path of a request.
pub(crate) fn line(request: &Request) -> String {
    format!("{} {}", request.method(), request.uri().path())
}

/// Service of a request.
pub(crate) fn service(request: &Request) -> String {
    let service = request.uri().path().split('/').nth(1);
    service.unwrap_or_default().to_owned()
}

/// API root of a function.
pub(crate) fn root_of(nf: Nf) -> String {
    format!("http://127.0.0.{}:7777", 10 + nf as u8)
}

/// Function at an API root.
pub(crate) fn at(root: &str) -> Option<Nf> {
    Nf::ALL.into_iter().find(|nf| root_of(*nf) == root)
}

/// A function as a program.
pub(crate) struct Program {
    pub nf: Nf,
    pub memory: Memory,
    found: BTreeMap<Nf, FoundInstance>,
}

impl Program {
    pub fn new(nf: Nf, home: &Home) -> Self {
        let own = Own {
            root: root_of(nf),
            guami: home.guami,
            plmn: home.guami.plmn,
            slice: home.slices.first().copied(),
            areas: Vec::new(),
            needs_tokens: false,
            instances: BTreeMap::new(),
        };
        Self {
            nf,
            memory: Memory::new(own),
            found: BTreeMap::new(),
        }
    }

    /// Function at the API root that the NRF named for this request; none before it did.
    pub fn receiver(&self, of: Nf, request: &Request) -> Option<Nf> {
        at(self.found.get(&of)?.root(&service(request))?)
    }

    /// Question for the NRF where a function is.
    pub fn question(&self, of: Nf) -> Request {
        let own = &self.memory.own;
        let requester = Requester::new(self.nf, own.slice, Some(own.plmn));
        directory::query(of, requester)
    }

    /// The NRF's answer.
    pub fn heard(&mut self, of: Nf, response: &Response) {
        let found = directory::read(response);
        let first = found.and_then(|found| found.instances.into_iter().next());
        self.found.extend(first.map(|one| (of, one)));
    }
}
