//! Changes of a script: of the order of its steps, of their times, of what goes with them.

use super::{Mutate, bytes};
use crate::random::Rng;
use crate::script::{STEPS, Step, all_steps, push};

/// A step that holds its octets.
#[derive(Clone)]
pub(super) struct Owned {
    pub kind: u8,
    pub wait: u8,
    pub bytes: Vec<u8>,
}

/// One change; `inner` changes the octets of one step.
pub(super) fn mutate(input: &mut Vec<u8>, donor: &[u8], inner: Mutate, rng: &mut Rng) {
    if rng.one_in(30) {
        return bytes::mutate(input, donor, rng);
    }
    let mut steps = owned(input);
    let others = owned(donor);
    if steps.is_empty() {
        steps.extend(others.iter().take(1).cloned());
    }
    let at = rng.below(steps.len());
    match rng.below(12) {
        0 => list(&mut steps, at, rng),
        1 => insert(&mut steps, &others, rng),
        2 => time(&mut steps, at, rng),
        3 => {
            if let Some(step) = steps.get_mut(at) {
                step.kind = match rng.one_in(2) {
                    true => step.kind ^ 1 << rng.below(8),
                    false => rng.octet(),
                };
            }
        }
        4 => splice(&mut steps, &others, rng),
        _ => {
            if let Some(step) = steps.get_mut(at) {
                let from = rng.pick(&others).map_or(&[][..], |step| &step.bytes);
                inner(&mut step.bytes, from, rng);
            }
        }
    }
    steps.truncate(STEPS);
    *input = written(&steps);
}

fn list(steps: &mut Vec<Owned>, at: usize, rng: &mut Rng) {
    if steps.is_empty() {
        return;
    }
    match rng.below(3) {
        0 => drop(steps.remove(at)),
        1 => {
            let copy = steps[at].clone();
            let to = rng.below(steps.len() + 1);
            steps.insert(to, copy);
        }
        _ => {
            let to = rng.below(steps.len());
            steps.swap(at, to);
        }
    }
}

fn insert(steps: &mut Vec<Owned>, others: &[Owned], rng: &mut Rng) {
    if let Some(step) = rng.pick(others) {
        let to = rng.below(steps.len() + 1);
        steps.insert(to, step.clone());
    }
}

fn time(steps: &mut [Owned], at: usize, rng: &mut Rng) {
    if let Some(step) = steps.get_mut(at) {
        step.wait = match rng.below(4) {
            0 => 0,
            1 => step.wait.saturating_add(8),
            2 => step.wait.saturating_sub(8),
            _ => rng.octet(),
        };
    }
}

fn splice(steps: &mut Vec<Owned>, others: &[Owned], rng: &mut Rng) {
    let keep = rng.below(steps.len() + 1);
    let from = rng.below(others.len() + 1);
    steps.truncate(keep);
    steps.extend(others.iter().skip(from).cloned());
}

/// The steps of a script.
pub(super) fn owned(input: &[u8]) -> Vec<Owned> {
    let copy = |step: Step<'_>| Owned {
        kind: step.kind,
        wait: step.wait,
        bytes: step.bytes.to_vec(),
    };
    all_steps(input).map(copy).collect()
}

/// The script of these steps.
pub(super) fn written(steps: &[Owned]) -> Vec<u8> {
    let mut script = Vec::new();
    for Owned { kind, wait, bytes } in steps {
        push(
            &mut script,
            Step {
                kind: *kind,
                wait: *wait,
                bytes,
            },
        );
    }
    script
}
