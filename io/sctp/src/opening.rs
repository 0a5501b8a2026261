//! Choice between the kernel's SCTP and usrsctp, and the opening of either.

use std::io;
use std::net::{IpAddr, SocketAddr};

use sluice_host::HostError;
use sluice_host::netns::Ns;

use crate::carrier::Carrier;
use crate::endpoint::{Config, Endpoint, OpenError};
use crate::kernel::{KernelEndpoint, KernelError, kernel_has_sctp};
use crate::node::Node;

/// Wanted SCTP implementation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Choice {
    /// The kernel's, where it has one and SCTP is over IP; else usrsctp's.
    #[default]
    Auto,
    /// The kernel's alone.
    Kernel,
    /// usrsctp's. A kernel that has SCTP, too, aborts its associations over IP.
    Userspace,
}

/// Settings of a node.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Wanted SCTP implementation.
    pub choice: Choice,
    /// Our addresses, the first of which is enough for usrsctp.
    pub addresses: Vec<IpAddr>,
    /// Our UDP port, where SCTP is inside UDP.
    pub udp_port: Option<u16>,
    /// Port, timers, and who may speak.
    pub config: Config,
    /// Whether others may begin associations.
    pub listens: bool,
}

/// Why a node cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpeningError {
    /// usrsctp refuses.
    #[error(transparent)]
    Port(#[from] OpenError),
    /// The socket that carries it is refused.
    #[error(transparent)]
    Carrier(#[from] HostError),
    /// The kernel's is not there, or refuses.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// Several addresses, or inside UDP, by whom that cannot be.
    #[error("{0}")]
    Unfit(&'static str),
}

impl OpeningError {
    /// Whether an address is none of the namespace's.
    pub fn is_not_our_address(&self) -> bool {
        self.kind() == Some(io::ErrorKind::AddrNotAvailable)
    }

    /// Whether somebody else has an address and port.
    pub fn is_taken(&self) -> bool {
        self.kind() == Some(io::ErrorKind::AddrInUse)
    }

    fn kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Carrier(HostError::Os { source, .. })
            | Self::Kernel(KernelError::Refused { source, .. }) => Some(source.kind()),
            _ => None,
        }
    }
}

impl Opening {
    /// Whether it is the kernel's SCTP.
    ///
    /// # Errors
    /// When what is wanted cannot be by whom it is wanted.
    pub fn is_by_kernel(&self, ns: &Ns) -> Result<bool, OpeningError> {
        let is_kernel = match (self.choice, self.udp_port) {
            (Choice::Kernel, Some(_)) => {
                let why = "SCTP inside UDP is usrsctp's: choose sctp: userspace";
                return Err(OpeningError::Unfit(why));
            }
            (Choice::Userspace, _) | (Choice::Auto, Some(_)) => false,
            (Choice::Auto, None) => kernel_has_sctp(ns).is_ok(),
            (Choice::Kernel, None) => kernel_has_sctp(ns).map(|()| true)?,
        };
        if !is_kernel && self.addresses.len() > 1 {
            let why = "several addresses need the kernel's SCTP, which is not there or not chosen";
            return Err(OpeningError::Unfit(why));
        }
        Ok(is_kernel)
    }

    /// Opens the node in `ns`.
    ///
    /// # Errors
    /// Why not.
    pub fn open(self, ns: &Ns) -> Result<Node, OpeningError> {
        if self.is_by_kernel(ns)? {
            let endpoint = KernelEndpoint::open(ns, &self.addresses, self.config, self.listens)?;
            return Ok(Node::of_kernel(endpoint));
        }
        let Some(address) = self.addresses.first().copied() else {
            return Err(OpeningError::Unfit("no address"));
        };
        let endpoint = Endpoint::open(self.config)?;
        let carrier = match self.udp_port {
            None => Carrier::ip(ns, address)?,
            Some(port) => Carrier::udp(ns, SocketAddr::new(address, port))?,
        };
        Ok(Node::new(endpoint, carrier))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allow::AllowList;

    #[test]
    fn what_cannot_be_is_told_in_words() {
        let ns = Ns::current().expect("a namespace");
        let opening = |choice, more: bool, udp_port| {
            let mut addresses = vec![IpAddr::from([127, 0, 0, 1])];
            addresses.extend(more.then(|| IpAddr::from([127, 0, 0, 2])));
            Opening {
                choice,
                addresses,
                udp_port,
                config: Config::new(38_412, AllowList::default()),
                listens: true,
            }
        };
        let told = |choice, more, udp_port| {
            let decided = opening(choice, more, udp_port).is_by_kernel(&ns);
            decided.map_err(|error| error.to_string())
        };
        assert_eq!(told(Choice::Userspace, false, None), Ok(false));
        assert_eq!(told(Choice::Auto, false, Some(9899)), Ok(false));
        let inside = told(Choice::Kernel, false, Some(9899)).expect_err("not by the kernel");
        assert!(inside.contains("choose sctp: userspace"), "{inside}");
        let several = told(Choice::Userspace, true, None).expect_err("not by usrsctp");
        assert!(several.contains("several addresses"), "{several}");
        // What this machine's kernel has decides the rest, and alike.
        match kernel_has_sctp(&ns) {
            Ok(()) => {
                assert_eq!(told(Choice::Auto, true, None), Ok(true));
                assert_eq!(told(Choice::Kernel, true, None), Ok(true));
            }
            Err(_) => {
                assert_eq!(told(Choice::Auto, false, None), Ok(false));
                let absent = told(Choice::Kernel, false, None).expect_err("there is none");
                assert!(absent.starts_with("this kernel has no SCTP"), "{absent}");
            }
        }
    }
}
