//! The reference interpreter ("twin") of the packet path: slow and obvious.
//!
//! It interprets PFCP rules (TS 29.244) as they were received, packet by packet, with a packet
//! parser that is not ours (etherparse). It knows no slot, shard, compiled line or classifier: a
//! packet is matched against every PDR of every session. What the fast path does must be what
//! the twin does; `tests/differential/` compares them byte for byte.
//!
//! Where the TS leaves something open, the choice of the house is written here a second time:
//! - A rule without a Network Instance means the first of its side.
//! - A UE must send from its session's address, whether or not the PDI asks for it.
//! - The direction of a UE IP Address is told by the Source Interface, not by the S/D flag,
//!   which some SMFs leave 0 in both directions.
//! - A packet meets, in this order: gate, FAR, rates, hop count, route, size. A rate is charged
//!   for a packet that a later check drops.
//! - What exceeds a shaped rate pays at once, and meets gate, FAR and all else again when it leaves. An End
//!   Marker that comes meanwhile goes behind it.
//! - A bucket stays as full as it is while a PDR draws on it, wherever it has to stand.
//! - An End Marker is sent only where packets could have gone before.
//! - The hop is counted between tunnel and data network, not from tunnel to tunnel.
//! - Outer headers have a TTL of 64, DF, identification 0, no UDP checksum; the source port is
//!   one of 49152 to 65535 and the same for all packets of a flow (TS 29.281, 4.4.2.3).
//! - UDP checksums of outer headers are verified where there is one and the link wants it.
//! - Who relays from tunnel to tunnel passes extension headers on as TS 29.281, 5.2.1 says, if there
//!   is a PDU Session Container among them and no QER writes another.
//! - An End Marker goes on where the first PDR of its tunnel sends; other PDRs of it are not asked.
//! - What a gNB has forwarded to another one counts as downlink.
//! - A UE reaches our addresses on the links of its data network, whatever its hop count.
//! - What a FAR would buffer is dropped, as what it drops. Tunnels of the CP
//!   function (N4-u) end at an address towards the RAN; a FAR to it without a tunnel drops.
//! - Of several QFIs the first counts that is not 0. N6-LAN is N6 where nothing else is configured.
//! - Of an IPv6 and an IPv4 address for an outer header the IPv4 address is taken, if our tunnels have one.
//! - A TEID is that of a tunnel end, which may have an address of both families: packets may come to either.
//! - Outer fragments of IPv6 are put together where nothing stands before the fragment header, else dropped.
//! - UE addresses are chosen when a session is established, in the data network that the first PDI of its
//!   own that asks means. Any free one will do.
//! - IPv6 packets come in on every link. What is for a link-local address or a group there is for the
//!   control core, whosever address it is.
//! - A flow description that no packet can meet, for its ends are of two versions, is refused.
//! - Packets between addresses of a link (link-local, unspecified, groups of no wider scope) are met by a
//!   PDR first, then by nothing but tunnels that go on. Who solicits a router is answered elsewhere.
//! - A bidirectional SDF filter is the session's, and the last message that tells it counts; it may stand
//!   behind those who refer to it, and goes with the last of them.
//! - Of a later fragment whose first header is an extension header the protocol is not known, nor of a
//!   packet that ends among its extension headers. No condition on the protocol is met then.
//! - A PDR that activates predefined rules matches what one of them does. Of those the first of the configuration
//!   counts; its rate is one for all PDRs of the session, and its QFI gives way to the PDR's.
//! - A PDR with an application matches the application's flows as they are at the time; without any it matches
//!   nothing. A session with which the rules would not be granted keeps the flows that it had.
//! - Translated packets from outside are dropped by what their mapping says, then by their hop count, before a
//!   session is asked. Their senders hear of the addresses that they know.
//! - A packet that does not fit is cut if it may be; usage is that of the packet. Outer fragments are put together within a second; overlapping ones are dropped.
#![forbid(unsafe_code)]

mod admit;
mod applications;
mod bucket;
pub mod config;
mod ecn;
mod flow_description;
mod forward;
mod fragment;
mod gtpu;
mod hold;
mod ip;
mod ipv4;
mod ipv6;
mod lost;
mod mss;
mod nat;
pub mod outcome;
mod outer;
mod parse;
mod pdr_detection;
mod pfd_management;
mod predefined;
mod rules;
mod sdf;
mod shaping;
mod twin;
mod ue_addresses;
mod up_address;
mod up_fteid;
mod usage;
mod usage_time;

pub use admit::Refused;
pub use config::{
    AddressPool, InterfaceName, Link, Nat, PredefinedRule, Shaping, Side, TunnelEnd, TwinConfig,
};
pub use hold::Paged;
pub use outcome::{Drop, IcmpCause, Notice, Outcome, Sender, Sent};
pub use rules::SessionId;
pub use twin::{Modified, Twin};
