//! Usage reporting of the benchmark's sessions: their URRs, and the SMF that takes what they report.

use sluice_wire::ids::Seid;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::group::CreateUrr;
use sluice_wire::pfcp::ie::Ies;
use sluice_wire::pfcp::message::SessionReportResponse;
use sluice_wire::pfcp::value::Volume;
use sluice_wire::pfcp::{Cause, Full, Header, IeType, MessageType, SequenceNumber, write_message};

/// Octets after which an armed session reports.
const THRESHOLD_BYTES: u64 = 1 << 20;

/// What sessions report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Usage {
    /// Nothing: they have no URR.
    None,
    /// A volume URR whose threshold, a tebibyte, nobody reaches.
    Counted,
    /// A volume URR that reports each mebibyte.
    Armed,
}

/// Writes the Session Establishment Request again, with the threshold of armed sessions.
pub fn arm(request: &[u8], out: &mut [u8]) -> Result<usize, Full> {
    let (header, body) = Header::parse(request).map_err(|_| Full)?;
    write_message(out, &header, |w| {
        for ie in Ies::new(body).map_while(Result::ok) {
            if ie.ie_type != IeType::CREATE_URR {
                w.ie(ie.ie_type, |w| w.bytes(ie.value))?;
                continue;
            }
            let mut urr = CreateUrr::decode(ie.value).map_err(|_| Full)?;
            urr.volume_threshold = Some(Volume {
                total: Some(THRESHOLD_BYTES),
                ..Volume::default()
            });
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
