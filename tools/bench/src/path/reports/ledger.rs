//! Usage reported to an SMF for each session: octets by direction, and gaps between report numbers.

use crate::Failure;
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::group::UsageReport;
use sluice_wire::pfcp::message::{SessionDeletionResponse, SessionReportRequest};
use sluice_wire::pfcp::{Cause, Header, SequenceNumber};

#[derive(Clone, Copy, Default, Debug)]
struct Told {
    /// Octets up and down.
    octets: [u64; 2],
    /// UR-SEQN of the next report.
    next: u32,
    /// The Session Report Request that came last: it comes again if its answer was late.
    last: Option<SequenceNumber>,
    is_deleted: bool,
}

/// All sessions of an SMF, by number.
#[derive(Debug)]
pub struct Ledger {
    sessions: Vec<Told>,
    /// Session Report Requests; what came again does not count.
    pub reports: u64,
    pub deleted: usize,
}

/// Octets that a UPF forwarded, all of which were reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Balance {
    pub reports: u64,
    /// Octets of both directions.
    pub octets: u64,
}

impl Ledger {
    /// Of so many sessions that have reported nothing.
    pub fn new(sessions: u32) -> Self {
        Self {
            sessions: vec![Told::default(); sessions as usize],
            reports: 0,
            deleted: 0,
        }
    }

    /// Takes a Session Report Request.
    pub fn reported(&mut self, header: &Header, body: &[u8]) -> Result<(), Failure> {
        let (number, session) = self.session(header.seid)?;
        if session.last.replace(header.sequence) == Some(header.sequence) {
            return Ok(());
        }
        if session.is_deleted {
            return Err(format!("session {number} reports though it has ended"));
        }
        let request = SessionReportRequest::parse(body).map_err(|e| format!("a report: {e:?}"))?;
        take(number, session, &request.usage_report)?;
        self.reports += 1;
        Ok(())
    }

    /// Takes the last usage of a session.
    pub fn ended(&mut self, header: &Header, body: &[u8]) -> Result<(), Failure> {
        let (number, session) = self.session(header.seid)?;
        let answer = SessionDeletionResponse::parse(body).map_err(|e| format!("an end: {e:?}"))?;
        if answer.cause != Cause::REQUEST_ACCEPTED {
            return Err(format!("session {number} does not end: {:?}", answer.cause));
        }
        if !std::mem::replace(&mut session.is_deleted, true) {
            take(number, session, &answer.usage_report)?;
            self.deleted += 1;
        }
        Ok(())
    }

    fn session(&mut self, seid: Option<Seid>) -> Result<(u64, &mut Told), Failure> {
        let number = seid.map_or(0, |seid| seid.0).wrapping_sub(1);
        let place = usize::try_from(number).ok();
        let session = place.and_then(|place| self.sessions.get_mut(place));
        Ok((number, session.ok_or("a report of an unknown session")?))
    }

    /// Compares what was told with the octets up and down that sessions of these numbers forwarded.
    pub fn balance(
        &self,
        forwarded: impl IntoIterator<Item = (u32, [u64; 2])>,
    ) -> Result<Balance, Failure> {
        let (mut octets, mut wrong, mut first) = (0, 0_u64, None);
        for (number, forwarded) in forwarded {
            let told = self.sessions.get(number as usize).copied();
            let told = told.unwrap_or_default().octets;
            octets += forwarded.iter().sum::<u64>();
            if told != forwarded {
                wrong += 1;
                first.get_or_insert((number, forwarded, told));
            }
        }
        match first {
            None => Ok(Balance {
                reports: self.reports,
                octets,
            }),
            Some((number, forwarded, told)) => Err(format!(
                "{wrong} sessions reported other octets than they forwarded; the first, {number}, forwarded \
                 {forwarded:?} up and down and reported {told:?}"
            )),
        }
    }
}

/// Reports of one message, each with the number behind that of the one before.
fn take(number: u64, session: &mut Told, reports: &[UsageReport<'_>]) -> Result<(), Failure> {
    for report in reports {
        if report.ur_seqn != session.next {
            return Err(format!(
                "session {number}: UR-SEQN {} where {} is next",
                report.ur_seqn, session.next
            ));
        }
        session.next += 1;
        let volume = report.volume_measurement.unwrap_or_default();
        let octets = [volume.uplink, volume.downlink];
        for (sum, octets) in session.octets.iter_mut().zip(octets) {
            *sum += octets.ok_or_else(|| format!("session {number}: a report without octets"))?;
        }
    }
    Ok(())
}
