//! Requests that were refused, kept for the operator: the newest, in memory that never grows.

use core::fmt;
use std::collections::VecDeque;
use std::net::SocketAddr;

use sluice_wire::ids::Seid;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::value::{FailedRuleId, OffendingIe};
use sluice_wire::pfcp::{Cause, Header, IeType, MessageType, ie};

use crate::time::Instant;

/// Refused requests that are kept for the operator, the newest. A mistaken SMF refuses the same way
/// for every session, so some dozens tell it; 256 of at most 120 octets take 30 KB and are more lines
/// than anybody reads.
pub const REFUSALS: usize = 256;

/// One request that was answered with a cause that does not accept it (TS 29.244, 8.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused {
    /// Of all refusals since the start, the first is 1.
    pub number: u64,
    /// When it was answered.
    pub at: Instant,
    /// Sender of the request.
    pub peer: SocketAddr,
    /// Message type of the request.
    pub request: MessageType,
    /// Why not.
    pub cause: Cause,
    /// The IE that stands in the way; association responses cannot tell it, but are told here.
    pub offending_ie: Option<IeType>,
    /// The rule that could not be created or modified.
    pub rule: Option<FailedRuleId>,
    /// The SEID of the CP function, where it is known.
    pub cp_seid: Option<Seid>,
    /// The SEID of the UP function that the request names.
    pub up_seid: Option<Seid>,
    /// The address that holds the Node ID which the request names, where that is why.
    pub holder: Option<SocketAddr>,
}

/// Details of a refusal that the response does not contain.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct RefusedFor {
    pub offending_ie: Option<IeType>,
    pub holder: Option<SocketAddr>,
}

/// The newest refusals in the order of their numbers.
#[derive(Debug)]
pub struct Refusals {
    newest: VecDeque<Refused>,
    total: u64,
}

impl Refusals {
    pub(crate) fn new() -> Self {
        Self {
            newest: VecDeque::with_capacity(REFUSALS),
            total: 0,
        }
    }

    /// All since the start; also the number of the newest.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Kept refusals, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Refused> {
        self.newest.iter()
    }

    /// Kept refusals with a number above `number`, oldest first.
    pub fn since(&self, number: u64) -> impl Iterator<Item = &Refused> {
        let unread = usize::try_from(self.total.saturating_sub(number)).unwrap_or(usize::MAX);
        self.newest
            .iter()
            .skip(self.newest.len().saturating_sub(unread))
    }

    /// Reads a response of ours that refuses `request` of `peer`.
    #[cold]
    pub(crate) fn note(
        &mut self,
        at: Instant,
        peer: SocketAddr,
        request: &Header,
        (cause, refused_for): (Cause, RefusedFor),
        response: &[u8],
    ) {
        let parsed = Header::parse(response).ok();
        let (seid, body) = parsed.map_or((None, &[][..]), |(header, body)| (header.seid, body));
        let offending_ie =
            ie::first(body, IeType::OFFENDING_IE).and_then(|value| OffendingIe::decode(value).ok());
        let rule = ie::first(body, IeType::FAILED_RULE_ID)
            .and_then(|value| FailedRuleId::decode(value).ok());
        self.total += 1;
        if self.newest.len() == REFUSALS {
            self.newest.pop_front();
        }
        self.newest.push_back(Refused {
            number: self.total,
            at,
            peer,
            request: request.message_type,
            cause,
            offending_ie: offending_ie.map(|ie| ie.0).or(refused_for.offending_ie),
            rule,
            cp_seid: seid.filter(|seid| *seid != Seid(0)),
            up_seid: request.seid.filter(|seid| *seid != Seid(0)),
            holder: refused_for.holder,
        });
    }
}

/// The rule as the TS calls it, with its identifier.
pub struct RuleName(pub FailedRuleId);

impl fmt::Display for RuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, id) = match self.0 {
            FailedRuleId::Pdr(id) => ("PDR", u32::from(id.0)),
            FailedRuleId::Far(id) => ("FAR", id.0),
            FailedRuleId::Qer(id) => ("QER", id.0),
            FailedRuleId::Urr(id) => ("URR", id.0),
            FailedRuleId::Bar(id) => ("BAR", u32::from(id.0)),
            FailedRuleId::Mar(id) => ("MAR", u32::from(id)),
            FailedRuleId::Srr(id) => ("SRR", u32::from(id)),
        };
        write!(f, "{kind} {id}")
    }
}

/// Everything but the time, in one line.
impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = self.request.name().unwrap_or("request");
        write!(f, "{request} of {} refused: {}", self.peer, self.cause)?;
        if let Some(ie) = self.offending_ie {
            write!(f, ", IE {ie}")?;
        }
        if let Some(rule) = self.rule {
            write!(f, ", {}", RuleName(rule))?;
        }
        if let Some(seid) = self.cp_seid {
            write!(f, ", CP SEID {:#x}", seid.0)?;
        }
        if let Some(seid) = self.up_seid {
            write!(f, ", UP SEID {:#x}", seid.0)?;
        }
        match self.holder {
            Some(holder) => write!(f, ", its Node ID is that of {holder}"),
            None => Ok(()),
        }
    }
}
