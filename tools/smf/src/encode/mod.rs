//! Session related requests as bytes: pure functions of dialect, plan and state.
//!
//! The `encode_...` functions give whole messages, for benchmarks that prepare many of them. The
//! [`crate::Machine`] hands the same bodies to the PFCP endpoint.

use sluice_n4::NodeId;
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::{Full, Header, MessageType, SequenceNumber, write_message};

use crate::{Dialect, SessionPlan, Tunnel};

mod change;
mod channels;
mod context;
mod establishment;
mod flow;
mod qers;
mod rules;

pub use change::SessionChange;
pub(crate) use context::{Direction, EncodeContext};
pub(crate) use establishment::write_establishment;
pub(crate) use flow::is_sendable;

/// The CP function that speaks.
#[derive(Clone, Debug)]
pub struct CpNode {
    pub node_id: NodeId,
    /// Address of the SMF on N4, for F-SEIDs and for tunnels to it.
    pub ipv4: std::net::Ipv4Addr,
}

impl CpNode {
    /// A CP function that is named by its address.
    pub fn new(ipv4: std::net::Ipv4Addr) -> Self {
        Self {
            node_id: NodeId::v4(ipv4),
            ipv4,
        }
    }
}

/// State of an established session that messages need.
#[derive(Clone, Copy, Debug)]
pub struct SessionView<'a> {
    pub plan: &'a SessionPlan,
    pub cp_seid: Seid,
    pub up_seid: Seid,
    /// The gNB's tunnel that the UPF was told last.
    pub gnb: Option<Tunnel>,
    /// How often the rules were removed and made anew ([`SessionChange::MakeUplink`]).
    pub generation: u32,
}

/// Writes a Session Establishment Request (TS 29.244, 7.5.2); gives its length. With
/// names of usual length it has 250 to 600 octets.
pub fn encode_establishment(
    out: &mut [u8],
    dialect: Dialect,
    cp: &CpNode,
    plan: &SessionPlan,
    cp_seid: Seid,
    sequence: SequenceNumber,
) -> Result<usize, Full> {
    let scene = EncodeContext::new(dialect, cp, plan, cp_seid, 0);
    // The peer's SEID is not known yet (7.2.2.4.2).
    let header = Header {
        message_type: MessageType::SESSION_ESTABLISHMENT_REQUEST,
        seid: Some(Seid(0)),
        sequence,
        priority: dialect.profile().priority.establishment,
    };
    write_message(out, &header, |w| write_establishment(w, &scene))
}

/// Writes the Session Modification Request of one step (7.5.4); gives its length.
pub fn encode_modification(
    out: &mut [u8],
    dialect: Dialect,
    cp: &CpNode,
    session: &SessionView<'_>,
    step: SessionChange,
    sequence: SequenceNumber,
) -> Result<usize, Full> {
    let scene = EncodeContext::of(dialect, cp, session);
    let header = Header {
        message_type: MessageType::SESSION_MODIFICATION_REQUEST,
        seid: Some(session.up_seid),
        sequence,
        priority: dialect.profile().priority.modification,
    };
    write_message(out, &header, |w| scene.write_step(w, session.gnb, step))
}

/// Writes a Session Deletion Request (7.5.6); gives its length.
pub fn encode_deletion(
    out: &mut [u8],
    dialect: Dialect,
    cp: &CpNode,
    session: &SessionView<'_>,
    sequence: SequenceNumber,
) -> Result<usize, Full> {
    let scene = EncodeContext::of(dialect, cp, session);
    let header = Header {
        message_type: MessageType::SESSION_DELETION_REQUEST,
        seid: Some(session.up_seid),
        sequence,
        priority: dialect.profile().priority.deletion,
    };
    write_message(out, &header, |w| scene.write_deletion(w))
}
