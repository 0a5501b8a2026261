//! GTP-U, the tunnel protocol of N3 and N9 (TS 29.281), with the PDU Session Container
//! (TS 38.415).
//!
//! ```text
//!         8   7   6   5   4   3   2   1        (TS 29.281, figure 5.1-1)
//!  1    |  version  |PT | * | E | S |PN |
//!  2    |         message type          |
//!  3-4  |  length, from octet 9 on      |
//!  5-8  |            TEID               |
//!  9-10 |       sequence number         |   octets 9 to 12 exist if any of E, S, PN is set;
//!  11   |        N-PDU number           |   each field counts only if its own flag is
//!  12   |  next extension header type   |
//! ```
//!
//! The packet path uses [`GPdu::parse`], [`OuterIpv4`] and [`OuterIpv6`]; the control core [`Message::parse`] and
//! the functions that build signalling messages.

mod build;
mod container;
mod cursor;
mod error;
mod extension;
mod gpdu;
mod header;
mod ie;
mod message;
mod outer;
mod outer_ipv6;

pub use build::{
    SUPPORTED_EXTENSION_HEADERS, echo_request, echo_response, end_marker,
    end_marker_with_container, g_pdu_header, g_pdu_header_with_container,
    supported_extension_headers_notification, write_error_indication, write_g_pdu_header,
};
pub use container::{
    DlPduSessionInformation, MAX_CONTAINER_LEN, MonitoringTimeStamps, PduSessionInformation, Ppi,
    ShortContainer, UlPduSessionInformation,
};
pub use error::GtpuError;
pub use extension::{Extension, ExtensionType, Extensions, MAX_EXTENSION_HEADERS};
pub use gpdu::{GPdu, PduType};
pub use header::{HEADER_LEN, Header, LONG_HEADER_LEN, MessageType};
pub use ie::{Ie, IeType, Ies};
pub use message::{ErrorIndication, Message};
pub use outer::{OUTER_IPV4_LEN, OUTER_IPV4_PLAIN_LEN, OuterFields, OuterIpv4};
pub use outer_ipv6::{OUTER_IPV6_LEN, OUTER_IPV6_PLAIN_LEN, OuterIpv6, PlainForm};

/// The UDP port that GTP-U is received on (TS 29.281, 4.4.2.3).
pub const PORT: u16 = 2152;

#[cfg(test)]
mod tests;
