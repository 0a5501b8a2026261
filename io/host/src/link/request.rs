//! Interface ioctls of netdevice(7): the MTU and the up flag.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd as _;

use super::Link;
use crate::HostError;

impl Link {
    /// Longest packet that it takes, in bytes of layer 3.
    pub fn mtu(&self) -> Result<u32, HostError> {
        let told = self.ask(libc::SIOCGIFMTU, request_for(self.name()));
        let told = told.map_err(HostError::os(format!("read the MTU of {}", self.name())))?;
        // SAFETY: the kernel filled this member; any bytes are an integer.
        Ok(unsafe { told.ifr_ifru.ifru_mtu }.unsigned_abs())
    }

    /// Changes that.
    pub fn set_mtu(&self, mtu: u16) -> Result<(), HostError> {
        let mut request = request_for(self.name());
        request.ifr_ifru.ifru_mtu = mtu.into();
        let action = format!("give {} an MTU of {mtu} bytes", self.name());
        let set = self.ask(libc::SIOCSIFMTU, request);
        set.map(drop).map_err(HostError::os(action))
    }

    /// Whether it is up, and so is what it is connected to; `None` if it is not there any more.
    pub fn is_running(&self) -> Result<Option<bool>, HostError> {
        let told = match self.ask(libc::SIOCGIFFLAGS, request_for(self.name())) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(None),
            told => told.map_err(HostError::os(format!("look at {}", self.name())))?,
        };
        // SAFETY: the kernel filled this member; any bytes are an integer.
        let flags = libc::c_int::from(unsafe { told.ifr_ifru.ifru_flags });
        let wanted = libc::IFF_UP | libc::IFF_RUNNING;
        Ok(Some(flags & wanted == wanted))
    }

    /// netdevice(7), which needs no tool and works where `/sys` shows another namespace.
    fn ask(&self, what: libc::Ioctl, mut request: libc::ifreq) -> io::Result<libc::ifreq> {
        // The socket belongs to the namespace, and so does what is asked by it.
        let socket = self
            .ns
            .run(|| std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)));
        let socket = socket.map_err(io::Error::other)??;
        // SAFETY: these requests read and write one `ifreq`, which lives across the call.
        let outcome = unsafe { libc::ioctl(socket.as_raw_fd(), what, &mut request) };
        if outcome < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(request)
    }
}

/// A request to the kernel about an interface, with nothing but its name.
pub(crate) fn request_for(name: &str) -> libc::ifreq {
    // SAFETY: `ifreq` is plain data of the kernel's interface; all zero bytes are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // One byte less than the field holds: the kernel wants a zero at the end.
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name.iter_mut().take(room).zip(name.bytes()) {
        *to = from.cast_signed();
    }
    request
}
