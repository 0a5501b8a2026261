//! Limits of an endpoint, each with its derivation.

/// Associations of an endpoint: gNBs of a large network, as each has one.
pub const ASSOCIATIONS: usize = 1024;

/// Associations of one peer: a gNB has one, or a few behind one address translator.
pub const ASSOCIATIONS_PER_PEER: usize = 16;

/// Peers that are remembered: those with associations, and as many again that are being set up.
pub const PEERS: usize = 2 * ASSOCIATIONS;

/// Octets of a message. The longest of NGAP are far shorter (a Paging with 256 areas has 4 KiB).
pub const MESSAGE_BYTES: usize = 64 << 10;

/// Fewest octets of a datagram: the common header and a chunk without a value (RFC 9260, 3).
pub const DATAGRAM_BYTES_MIN: usize = 12 + 4;

/// Octets of a datagram: no IP packet is longer.
pub const DATAGRAM_BYTES: usize = 65_535;

/// Streams that are offered each way. TS 38.412, 7, wants one for the gNB itself and at least one
/// for its UEs; each costs memory in every association.
pub const STREAMS: u16 = 16;

/// How far timers may be moved in one go: what they start then begins at most so much too early.
pub const TICK_MS: u32 = 10;

/// Ticks that are made up for after a pause of the process; more time than that is skipped.
pub const TICKS_AT_ONCE: u64 = 6_000;

/// Receive buffer that a socket asks for: a message of each of [`ASSOCIATIONS`] gNBs that come back
/// at once, as the kernel counts them with its overhead.
pub const BUFFER_BYTES: usize = ASSOCIATIONS << 12;

/// Addresses that may not speak and are named to operators at a time; others are counted.
pub const STRANGERS: usize = 16;

/// Octets that wait for the program that speaks NGAP, or for the front, before no more are taken: some 10,000 messages
/// of UEs.
pub const FRONT_BYTES: usize = 4 << 20;
