//! Making a failing input smaller by leaving parts of it out.

use crate::mutate::Parts;

/// Runs that one input is worth: with a millisecond each a few seconds.
const TRIES: usize = 3000;

/// The smallest input found that still `fails`. First whole parts are left out, as `parts` knows
/// them (see [`Parts`]), then octets, from halves of the input down to single ones, and at last
/// octets are made 0.
pub fn shrink(input: &[u8], parts: Parts, fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut search = Search {
        best: input.to_vec(),
        tries: TRIES,
        fails,
    };
    search.without_parts(parts);
    search.without_octets();
    search.without_parts(parts);
    search.zeroed();
    search.best
}

struct Search<F> {
    best: Vec<u8>,
    tries: usize,
    fails: F,
}

impl<F: Fn(&[u8]) -> bool> Search<F> {
    fn try_out(&mut self, candidate: Vec<u8>) -> bool {
        self.tries = self.tries.saturating_sub(1);
        let better = self.tries > 0 && (self.fails)(&candidate);
        if better {
            self.best = candidate;
        }
        better
    }

    fn without_parts(&mut self, parts: Parts) {
        let mut at = 0;
        loop {
            let mut candidates = parts(&self.best);
            if at >= candidates.len() || self.tries == 0 {
                return;
            }
            let candidate = candidates.swap_remove(at);
            if !self.try_out(candidate) {
                at += 1;
            }
        }
    }

    fn without_octets(&mut self) {
        let mut size = self.best.len().div_ceil(2);
        while size > 0 {
            let mut at = 0;
            while at < self.best.len() {
                let end = (at + size).min(self.best.len());
                let without = [&self.best[..at], &self.best[end..]].concat();
                if !self.try_out(without) {
                    at = end;
                }
            }
            size /= 2;
        }
    }

    fn zeroed(&mut self) {
        for at in 0..self.best.len() {
            let mut zeroed = self.best.clone();
            zeroed[at] = 0;
            if self.best[at] != 0 {
                self.try_out(zeroed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutate::parts;

    #[test]
    fn what_does_not_matter_goes() {
        let noise: Vec<u8> = (0..200).map(|i| i as u8).collect();
        let fails = |input: &[u8]| input.contains(&77) && input.contains(&150);
        assert_eq!(shrink(&noise, parts::none, fails), [77, 150]);
    }

    #[test]
    fn an_input_that_fails_only_whole_stays_whole() {
        let whole = [1, 2, 3];
        assert_eq!(shrink(&whole, parts::none, |input| input == whole), whole);
        assert_eq!(shrink(&whole, parts::none, |_| true), [0; 0]);
    }

    #[test]
    fn parts_go_with_their_lengths_set_right() {
        let heartbeat = [
            0x20, 1, 0, 17, 0, 0, 1, 0, 0, 96, 0, 4, 1, 2, 3, 4, 0, 7, 0, 1, 9,
        ];
        let fails = |input: &[u8]| {
            let parsed = sluice_wire::pfcp::Header::parse(input);
            parsed.is_ok_and(|(_, body)| body.ends_with(&[0, 7, 0, 1, 9]))
        };
        let smallest = shrink(&heartbeat, parts::pfcp, fails);
        assert_eq!(smallest.len(), 13, "{smallest:?}");
    }
}
