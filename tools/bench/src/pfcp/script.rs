//! Series of encoded requests, with their expected responses.

use super::lifecycle::{Act, RequestInfo, SessionProgress};
use super::subscribers::{Subscribers, dialect};
use crate::path::smf::cp_seid;
use sluice_smf_emulator::dialect::profile::Numbering;
use sluice_wire::ids::PdrId;
use sluice_wire::pfcp::group::CreatedPdr;
use sluice_wire::pfcp::message::{
    SessionDeletionResponse, SessionEstablishmentResponse, SessionModificationResponse,
};
use sluice_wire::pfcp::{Cause, Header, MessageType};
use std::ops::Range;

/// Longest request; those of the dialects have up to some 700 octets.
pub const REQUEST_MAX: usize = 1400;

/// Of 100 messages so many are of each kind; the others bring sessions on: connect, path switch,
/// idle, active again.
const ESTABLISHMENTS: usize = 15;
const DELETIONS: usize = 15;
const QUERIES: usize = 8;
const HEARTBEATS: usize = 2;
/// Draws for a session that stands, before it is looked for.
const TRIES: usize = 64;

#[derive(Debug, Default)]
pub struct Script {
    bytes: Vec<u8>,
    /// By request: where its octets end.
    ends: Vec<usize>,
    asked: Vec<RequestInfo>,
}

impl Script {
    /// Requests in it.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn octets(&self) -> usize {
        self.bytes.len()
    }

    /// Request `at`.
    pub fn request(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[at]]
    }

    /// Subscriber of request `at`.
    pub fn subscriber(&self, at: usize) -> u32 {
        self.asked[at].index
    }

    /// The place of the request with this sequence number: they are numbered one after the other.
    pub fn place(&self, sequence: u32) -> Option<usize> {
        const MASK: u32 = 0xff_ffff;
        let first = self.asked.first()?.sequence;
        let at = (sequence.wrapping_sub(first) & MASK) as usize;
        (at < self.len()).then_some(at)
    }

    /// Share of each kind of requests, by name.
    pub fn shares(&self) -> [(&'static str, f64); 5] {
        let kinds = [
            ("establish", Act::Establish),
            ("modify", Act::Proceed),
            ("query", Act::Query),
            ("delete", Act::Delete),
            ("heartbeat", Act::Heartbeat),
        ];
        kinds.map(|(name, act)| {
            let count = self.asked.iter().filter(|a| a.act == act).count();
            (name, count as f64 / self.len().max(1) as f64)
        })
    }

    /// An establishment of each subscriber from `first` on, `count` of them.
    pub fn establishing(&mut self, subscribers: &mut Subscribers, first: u32, count: u32) {
        self.each(subscribers, first..first + count, Act::Establish);
    }

    /// The same request of each of these subscribers.
    pub fn each(&mut self, subscribers: &mut Subscribers, which: Range<u32>, act: Act) {
        self.clear();
        for index in which {
            self.add(subscribers, index, act);
        }
    }

    /// `count` requests of all kinds, of sessions at random.
    pub fn mixed(&mut self, subscribers: &mut Subscribers, count: usize) {
        self.clear();
        for _ in 0..count {
            let draw = subscribers.random(100);
            let ends = [ESTABLISHMENTS, DELETIONS, QUERIES, HEARTBEATS].map({
                let mut sum = 0;
                move |share| {
                    sum += share;
                    sum
                }
            });
            let absent = subscribers.absent.len();
            let act = match draw {
                draw if draw < ends[0] && absent > 0 => Act::Establish,
                draw if draw < ends[1] => Act::Delete,
                draw if draw < ends[2] => Act::Query,
                draw if draw < ends[3] => Act::Heartbeat,
                _ => Act::Proceed,
            };
            let (index, act) = match act {
                Act::Establish => {
                    let at = subscribers.random(absent);
                    (subscribers.absent.swap_remove(at), act)
                }
                Act::Heartbeat => (0, act),
                // With no session left only the node itself can be asked.
                _ => known(subscribers).map_or((0, Act::Heartbeat), |index| (index, act)),
            };
            self.add(subscribers, index, act);
        }
    }

    /// `count` modifications of sessions at random with numbers from `first` on, each one step of
    /// its life.
    pub fn modifying(&mut self, subscribers: &mut Subscribers, first: usize, count: usize) {
        self.clear();
        while self.len() < count {
            let at = first + subscribers.random(subscribers.all.len() - first);
            if subscribers.all[at].up_seid != 0 {
                self.add(subscribers, at as u32, Act::Proceed);
            }
        }
    }

    /// The next step of each session that is not connected; empty if all are.
    pub fn connecting(&mut self, subscribers: &mut Subscribers) {
        self.clear();
        for index in 0..subscribers.all.len() as u32 {
            let state = subscribers.all[index as usize].state;
            if !matches!(state, SessionProgress::Absent | SessionProgress::Connected) {
                self.add(subscribers, index, Act::Proceed);
            }
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.asked.clear();
    }

    fn add(&mut self, subscribers: &mut Subscribers, index: u32, act: Act) {
        let start = self.bytes.len();
        self.bytes.resize(start + REQUEST_MAX, 0);
        let written = subscribers.write(&mut self.bytes[start..], index, act);
        let (len, asked) = written.expect("requests of the dialects are short");
        self.bytes.truncate(start + len);
        self.ends.push(self.bytes.len());
        self.asked.push(asked);
    }

    /// Reads the answer to one of the requests: it must say yes, and may tell SEID and TEID.
    /// Gives the place of the request.
    pub fn judge(&self, subscribers: &mut Subscribers, bytes: &[u8]) -> Result<usize, String> {
        let (header, body) = Header::parse(bytes).map_err(|e| e.to_string())?;
        let at = self.place(header.sequence.get());
        let at = at.ok_or("an answer to no request")?;
        let asked = self.asked[at];
        let expected = match asked.act {
            Act::Establish => MessageType::SESSION_ESTABLISHMENT_RESPONSE,
            Act::Proceed | Act::Query => MessageType::SESSION_MODIFICATION_RESPONSE,
            Act::Delete => MessageType::SESSION_DELETION_RESPONSE,
            Act::Heartbeat => MessageType::HEARTBEAT_RESPONSE,
        };
        let seid = cp_seid(asked.index);
        let right_seid = header.seid.is_none_or(|found| found == seid);
        if header.message_type != expected || !right_seid {
            return Err(format!("{asked:?} was answered by {header:?}"));
        }
        read(subscribers, asked, body).map_err(|why| {
            let dialect = dialect(asked.index);
            format!("{asked:?} of {dialect} was refused: {why}")
        })?;
        Ok(at)
    }
}

/// A session at random whose SEID is known, if any is.
fn known(subscribers: &mut Subscribers) -> Option<u32> {
    let count = subscribers.all.len();
    let drawn = (0..TRIES).find_map(|_| {
        let at = subscribers.random(count);
        (subscribers.all[at].up_seid != 0).then_some(at)
    });
    // Hardly any is known: the next one behind some place.
    let found = drawn.or_else(|| {
        let first = subscribers.random(count);
        let mut around = (first..count).chain(0..first);
        around.find(|at| subscribers.all[*at].up_seid != 0)
    });
    found.map(|at| at as u32)
}

fn read(subscribers: &mut Subscribers, asked: RequestInfo, body: &[u8]) -> Result<(), String> {
    let reject = |e| format!("{e:?}");
    let session = &mut subscribers.all[asked.index as usize];
    let generation = session.generation;
    let teid = |created: &[CreatedPdr]| uplink_teid(asked.index, generation, created);
    let (cause, offending, f_seid, teid) = match asked.act {
        Act::Heartbeat => return Ok(()),
        Act::Establish => {
            let answer = SessionEstablishmentResponse::parse(body).map_err(reject)?;
            let teid = teid(&answer.created_pdr);
            (answer.cause, answer.offending_ie, answer.up_f_seid, teid)
        }
        Act::Proceed | Act::Query => {
            let answer = SessionModificationResponse::parse(body).map_err(reject)?;
            let teid = teid(&answer.created_pdr);
            (answer.cause, answer.offending_ie, None, teid)
        }
        Act::Delete => {
            let answer = SessionDeletionResponse::parse(body).map_err(reject)?;
            (answer.cause, answer.offending_ie, None, None)
        }
    };
    if cause != Cause::REQUEST_ACCEPTED {
        return Err(format!("{cause:?}, offending {offending:?}"));
    }
    if asked.act == Act::Establish {
        session.up_seid = f_seid.ok_or("no UP F-SEID")?.seid.0;
    }
    session.teid = teid.unwrap_or(session.teid);
    Ok(())
}

/// The TEID that was chosen for the uplink PDR, whose number the dialect tells.
fn uplink_teid(index: u32, generation: u8, created: &[CreatedPdr]) -> Option<u32> {
    let profile = dialect(index).profile();
    if profile.numbering == Numbering::PerUpf {
        return None;
    }
    let id = u16::from(generation) * 2 + u16::from(profile.downlink_first) + 1;
    let mut uplink = created.iter().filter(|pdr| pdr.pdr_id == PdrId(id));
    let f_teid = uplink.next()?.local_f_teid.first()?;
    f_teid.teid().map(|teid| teid.get())
}
