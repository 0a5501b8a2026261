//! Host networking: namespaces, veth pairs, TUN devices, kernel UDP sockets, captures.
//!
//! What this crate makes in the kernel is owned by a value and goes away with it, also when
//! the owner panics. What a killed process could not take down, [`netns::sweep`] finds by its
//! name.
//!
//! | module | what it gives |
//! |---|---|
//! | [`netns`] | named namespaces of this process, work and commands inside them |
//! | [`link`], [`veth`], [`tun`] | interfaces, their offloads, routes, neighbours and counters |
//! | [`udp`], [`poll`] | datagrams in batches, readiness of many descriptors, an alarm |
//! | [`datagram_ring`] | datagrams between two threads, in place of sockets |
//! | [`icmp`] | ICMP messages of one address |
//! | [`packet`] | whole frames on one interface, VLAN tags included |
//! | [`claim`] | one UPF at a time on an interface |
//! | [`process`] | children that end with us |
//! | [`postgres`], [`redis`] | a PostgreSQL or Redis server of a test's own |
//! | [`capture`], [`stream`], [`tshark`] | tcpdump, to a file or frame by frame; tshark's verdict |
//! | [`pcap`], [`pcapng`] | files of frames, the latter with names, directions and comments |
//! | [`clock`], [`signal`], [`env_check`] | time, SIGINT and SIGTERM, what the environment lacks |
//! | [`thread`], [`terminal`] | a thread's CPUs and the precision of its sleep; a terminal's size |

pub mod alloc;
pub mod capture;
pub mod claim;
pub mod clock;
pub mod datagram_ring;
pub mod env_check;
mod error;
pub mod icmp;
pub mod link;
pub mod netns;
pub mod packet;
pub mod pcap;
pub mod pcapng;
pub mod poll;
pub mod postgres;
pub mod process;
pub mod redis;
pub mod signal;
pub mod stream;
pub mod terminal;
pub mod thread;
pub mod tool;
pub mod tshark;
pub mod tun;
pub mod udp;
pub mod veth;

pub use error::HostError;
