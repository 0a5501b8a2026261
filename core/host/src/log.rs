//! Log of a host: what its functions say, refuse and trace, bounded where nobody takes it.

use std::collections::VecDeque;

use sluice_sbi::{CallFlow, Line, Refused, TracedMessage};

/// Lines of the call flow that are kept: some hundred procedures.
pub const LINES: usize = 8192;

/// Refusals that wait to be taken; the oldest go.
pub const REFUSALS: usize = 1024;

/// Messages as octets that wait to be taken; the oldest go.
pub const SEEN: usize = 16_384;

/// Reports of functions since they were taken last.
#[derive(Debug, Default)]
pub struct Log {
    call_flow: CallFlow,
    refused: VecDeque<Refused>,
    traced: VecDeque<TracedMessage>,
}

impl Log {
    pub(crate) fn line(&mut self, line: Line) {
        // The oldest go, many at a time.
        if self.call_flow.0.len() >= LINES {
            self.call_flow.0.drain(..LINES / 2);
        }
        self.call_flow.0.push(line);
    }

    pub(crate) fn refused(&mut self, refused: Refused) {
        if self.refused.len() >= REFUSALS {
            self.refused.pop_front();
        }
        self.refused.push_back(refused);
    }

    pub(crate) fn traced(&mut self, message: TracedMessage) {
        if self.traced.len() >= SEEN {
            self.traced.pop_front();
        }
        self.traced.push_back(message);
    }

    /// Lines of procedures, oldest first.
    pub fn take_call_flow(&mut self) -> CallFlow {
        std::mem::take(&mut self.call_flow)
    }

    /// Refusals, oldest first.
    pub fn take_refused(&mut self) -> Vec<Refused> {
        self.refused.drain(..).collect()
    }

    /// Messages as octets, oldest first.
    pub fn take_traced_messages(&mut self) -> Vec<TracedMessage> {
        self.traced.drain(..).collect()
    }

    /// Nobody wants messages any more.
    pub fn forget_traced_messages(&mut self) {
        self.traced.clear();
    }
}
