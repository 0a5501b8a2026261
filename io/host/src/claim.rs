//! The claim on a kernel interface: one UPF at a time may have its packets.
//!
//! Packet sockets of two programs on one interface each get every packet, so two UPFs there would both
//! forward it, without a word. A claim is an abstract Unix socket named after the interface: it
//! belongs to the network namespace, as the interface does, and goes with the process, however that ends.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use rustix::net::sockopt::socket_peercred;

/// The claim on an interface of the current network namespace, for as long as the value lives.
#[derive(Debug)]
pub struct InterfaceClaim {
    _socket: UnixListener,
}

/// Why an interface cannot be claimed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Another process has it.
    #[error("{interface} is used by {}", whose(*.pid))]
    Taken {
        /// The interface.
        interface: String,
        /// The other process, if the kernel tells.
        pid: Option<u32>,
    },
    /// The kernel gave no socket for it.
    #[error("{interface} cannot be claimed: {source}")]
    Os {
        /// The interface.
        interface: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

fn whose(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!("another UPF, process {pid}"),
        None => "another UPF".to_owned(),
    }
}

impl InterfaceClaim {
    /// Claims `interface`.
    ///
    /// # Errors
    /// Another process has it, or the kernel refuses a socket.
    pub fn take(interface: &str) -> Result<Self, ClaimError> {
        let failed = |source| ClaimError::Os {
            interface: interface.to_owned(),
            source,
        };
        let name = format!("sluice-upf-interface-{interface}");
        let address = SocketAddr::from_abstract_name(name).map_err(failed)?;
        match UnixListener::bind_addr(&address) {
            Ok(_socket) => Ok(Self { _socket }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(ClaimError::Taken {
                interface: interface.to_owned(),
                pid: holder(&address),
            }),
            Err(error) => Err(failed(error)),
        }
    }
}

/// The process that listens there. The kernel answers for it; nobody need accept.
fn holder(address: &SocketAddr) -> Option<u32> {
    let stream = UnixStream::connect_addr(address).ok()?;
    let credentials = socket_peercred(&stream).ok()?;
    u32::try_from(credentials.pid.as_raw_nonzero().get()).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_claimed_once_and_free_again_afterwards() {
        let interface = format!("t{}", std::process::id());
        let claim = InterfaceClaim::take(&interface).unwrap();
        let said = InterfaceClaim::take(&interface).unwrap_err().to_string();
        let pid = std::process::id();
        assert_eq!(
            said,
            format!("{interface} is used by another UPF, process {pid}")
        );
        let other = InterfaceClaim::take(&format!("u{pid}"));
        assert!(other.is_ok());
        drop(claim);
        assert!(InterfaceClaim::take(&interface).is_ok());
    }
}
