//! Rules of the benchmark's sessions beside the usual ones: SDF filters in PDRs before the default ones, of which all
//! are tried for a packet and the last one is met; URRs, and the answer that takes what they report.

use super::form::UE_PORT;
use super::topology::{self, SERVER, SERVER_PORT};
use sluice_datapath::limits::{self, SHARDS};
use sluice_wire::ids::{PdrId, Precedence, Seid};
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::group::{CreatePdr, CreateUrr};
use sluice_wire::pfcp::ie::Ies;
use sluice_wire::pfcp::message::SessionReportResponse;
use sluice_wire::pfcp::value::{FTeid, ReportingTriggers, SdfFilter, Seconds, Volume};
use sluice_wire::pfcp::{
    Cause, Full, Header, IeType, MessageType, SequenceNumber, Writer, write_message,
};
use std::net::Ipv4Addr;

/// How many filters a session has in each direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filters {
    pdrs: u16,
    filters: u16,
    own: bool,
}

/// Ports that nobody sends from, one for each filter that is not met.
const FIRST_PORT: u16 = 20_000;
/// Addresses that nobody has, one for each session with filters of its own.
const NOBODY: u32 = u32::from_be_bytes([44, 0, 0, 0]);
/// Rules that a block of the path holds.
const BLOCK_RULES: u32 = limits::BLOCK_RULES as u32;

impl Filters {
    pub const NONE: Self = Self::shared(0, 0);

    pub const fn shared(pdrs: u16, filters: u16) -> Self {
        let own = false;
        Self { pdrs, filters, own }
    }

    /// PDRs with one filter each, which differ between sessions.
    pub const fn own(pdrs: u16) -> Self {
        Self {
            own: true,
            ..Self::shared(pdrs, 1)
        }
    }

    /// Blocks of rules that so many sessions need in both directions; each shard has its own, and as many
    /// sessions as another.
    pub fn blocks(self, sessions: u32) -> u32 {
        match self.pdrs {
            0 => sessions + 1,
            pdrs => {
                let each = 2 * (u32::from(pdrs) + 1).div_ceil(BLOCK_RULES);
                each * sessions.next_multiple_of(SHARDS) + SHARDS
            }
        }
    }

    /// Places in the path's table of filters, of all sessions in both directions.
    pub fn places(self, sessions: u32) -> usize {
        let each = 2 * usize::from(self.pdrs) * usize::from(self.filters);
        each * if self.own { sessions as usize } else { 1 }
    }

    /// The flow descriptions of a session's PDR.
    fn descriptions(self, pdr: u16, index: u32) -> Vec<String> {
        let last = self.pdrs * self.filters - 1;
        let first = pdr * self.filters;
        let one = |n: u16| match (n == last, self.own) {
            (true, false) => format!("permit out 17 from any {SERVER_PORT} to assigned"),
            (true, true) => {
                let ue = topology::ue_address(index);
                format!("permit out 17 from {SERVER}/32 {SERVER_PORT} to {ue}/32 {UE_PORT}")
            }
            (false, false) => format!("permit out 17 from any {} to assigned", FIRST_PORT + n),
            (false, true) => {
                let nobody = Ipv4Addr::from(NOBODY + index);
                format!(
                    "permit out 17 from {nobody}/32 {} to assigned",
                    FIRST_PORT + n
                )
            }
        };
        (first..first + self.filters).map(one).collect()
    }

    /// Writes the Session Establishment Request again, and with each of its PDRs copies that have filters
    /// and come first; all of the uplink get one F-TEID.
    pub fn add(self, request: &[u8], index: u32, out: &mut [u8]) -> Result<usize, Full> {
        write_again(request, IeType::CREATE_PDR, out, |w, value| {
            let mut pdr = CreatePdr::decode(value).map_err(|_| Full)?;
            if let Some(FTeid::Choose { choose_id, .. }) = &mut pdr.pdi.local_f_teid {
                *choose_id = Some(1);
            }
            w.ie(IeType::CREATE_PDR, |w| pdr.encode(w))?;
            for nth in 0..self.pdrs {
                let texts = self.descriptions(nth, index);
                let mut copy = pdr.clone();
                // The default ones have 1 and 2.
                copy.pdr_id = PdrId(pdr.pdr_id.0 + 2 * (nth + 1));
                copy.precedence = Precedence(u32::from(nth) + 1);
                copy.pdi.sdf_filter = texts
                    .iter()
                    .map(|text| SdfFilter::flow(text.as_bytes()))
                    .collect();
                w.ie(IeType::CREATE_PDR, |w| copy.encode(w))?;
            }
            Ok(())
        })
    }
}

/// Octets after which an armed session reports.
const THRESHOLD_BYTES: u64 = 1 << 20;
/// The same where sessions report all the time, and how often they do besides: free5GC's default.
pub const STORM_THRESHOLD_BYTES: u64 = 1_000;
const STORM_PERIOD: Seconds = Seconds(10);

/// Usage reports of sessions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Usage {
    /// Nothing: they have no URR.
    None,
    /// A volume URR whose threshold, a tebibyte, nobody reaches.
    Counted,
    /// A volume URR that reports each mebibyte.
    Armed,
    /// A volume URR that reports each 1,000 octets, and every ten seconds.
    Storm,
}

impl Usage {
    /// Sets what makes a session report.
    fn set(self, urr: &mut CreateUrr<'_>) {
        let threshold = match self {
            Self::None | Self::Counted => return,
            Self::Armed => THRESHOLD_BYTES,
            Self::Storm => {
                urr.measurement_period = Some(STORM_PERIOD);
                urr.reporting_triggers = urr.reporting_triggers.union(ReportingTriggers::PERIO);
                STORM_THRESHOLD_BYTES
            }
        };
        urr.volume_threshold = Some(Volume {
            total: Some(threshold),
            ..Volume::default()
        });
    }
}

/// Writes the Session Establishment Request again, with URRs that report so.
pub fn arm(request: &[u8], usage: Usage, out: &mut [u8]) -> Result<usize, Full> {
    write_again(request, IeType::CREATE_URR, out, |w, value| {
        let mut urr = CreateUrr::decode(value).map_err(|_| Full)?;
        usage.set(&mut urr);
        w.ie(IeType::CREATE_URR, |w| urr.encode(w))
    })
}

/// Writes a request again, with something else in the places of IEs of this type.
fn write_again(
    request: &[u8],
    ie_type: IeType,
    out: &mut [u8],
    mut write: impl FnMut(&mut Writer<'_>, &[u8]) -> Result<(), Full>,
) -> Result<usize, Full> {
    let (header, body) = Header::parse(request).map_err(|_| Full)?;
    write_message(out, &header, |w| {
        let mut ies = Ies::new(body).map_while(Result::ok);
        ies.try_for_each(|ie| match ie.ie_type == ie_type {
            true => write(w, ie.value),
            false => w.ie(ie.ie_type, |w| w.bytes(ie.value)),
        })
    })
}

/// Writes the answer that takes a Session Report Request.
pub fn taken(out: &mut [u8], sequence: SequenceNumber) -> Result<usize, Full> {
    // Reports are told apart by their sequence numbers.
    let header = Header::session(MessageType::SESSION_REPORT_RESPONSE, Seid(0), sequence);
    let response = SessionReportResponse {
        cause: Cause::REQUEST_ACCEPTED,
        ..Default::default()
    };
    write_message(out, &header, |w| response.emit(w))
}
