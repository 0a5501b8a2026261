//! Usage reporting of the benchmark's sessions: their URRs, and the SMF that takes what they report.

use sluice_wire::ids::Seid;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::group::CreateUrr;
use sluice_wire::pfcp::ie::Ies;
use sluice_wire::pfcp::message::SessionReportResponse;
use sluice_wire::pfcp::value::{ReportingTriggers, Seconds, Volume};
use sluice_wire::pfcp::{Cause, Full, Header, IeType, MessageType, SequenceNumber, write_message};

/// Octets after which an armed session reports.
const THRESHOLD_BYTES: u64 = 1 << 20;
/// The same where sessions report all the time, and how often they do besides: free5GC's default.
pub const STORM_THRESHOLD_BYTES: u64 = 1_000;
const STORM_PERIOD: Seconds = Seconds(10);

/// What sessions report.
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
    let (header, body) = Header::parse(request).map_err(|_| Full)?;
    write_message(out, &header, |w| {
        for ie in Ies::new(body).map_while(Result::ok) {
            if ie.ie_type != IeType::CREATE_URR {
                w.ie(ie.ie_type, |w| w.bytes(ie.value))?;
                continue;
            }
            let mut urr = CreateUrr::decode(ie.value).map_err(|_| Full)?;
            usage.set(&mut urr);
            w.ie(ie.ie_type, |w| urr.encode(w))?;
        }
        Ok(())
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
