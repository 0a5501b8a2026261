//! AF_PACKET sockets: whole frames on one interface, with the VLAN tags that the kernel strips.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::time::Duration;

use crate::link::Link;
use crate::{HostError, poll};

/// The longest frame that is read: what a 16-bit length can tell.
const FRAME_MAX: usize = 65_535;
/// Both MAC addresses; a tag stands behind them (IEEE 802.1Q, 9).
const TAG_AT: usize = 12;

/// Sends and receives whole Ethernet frames. What this host itself sends by the interface is not
/// received.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
}

impl PacketSocket {
    /// Opens `link`, which must be there. Needs CAP_NET_RAW.
    pub fn open(link: &Link) -> Result<Self, HostError> {
        let action = format!("open {} in {}", link.name(), link.ns().describe());
        let opened = link.ns().run(|| open(link.name()))?;
        let socket = opened.map_err(HostError::os(action))?;
        Ok(Self { socket })
    }

    /// Sends a frame from its destination address to the end of its payload.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: the pointer and the length are those of `frame`, which is only read.
        let sent = unsafe {
            let fd = self.socket.as_raw_fd();
            libc::send(fd, frame.as_ptr().cast(), frame.len(), 0)
        };
        check(sent).map(drop)
    }

    /// The next frame, waited for at most `timeout`; `None` if none came. A tag that the kernel
    /// took off is put back.
    pub fn recv(&self, timeout: Duration) -> io::Result<Option<Vec<u8>>> {
        if !poll::wait_readable(&self.socket, timeout)? {
            return Ok(None);
        }
        let mut frame = vec![0; FRAME_MAX];
        let mut control = Control([0; CONTROL_BYTES]);
        let mut vector = libc::iovec {
            iov_base: frame.as_mut_ptr().cast(),
            iov_len: frame.len(),
        };
        // SAFETY: `msghdr` is plain data; null pointers with zero lengths are a legal value.
        let mut header: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
        header.msg_iov = &raw mut vector;
        header.msg_iovlen = 1;
        header.msg_control = control.0.as_mut_ptr().cast();
        header.msg_controllen = control.0.len() as _;
        // SAFETY: the header points to memory of this function that nothing else touches.
        let length = unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut header, 0) };
        match check(length) {
            Ok(length) => frame.truncate(length),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
        if let Some([tpid, tci]) = tag_taken_off(&header) {
            let tag = [tpid.to_be_bytes(), tci.to_be_bytes()].concat();
            let at = TAG_AT.min(frame.len());
            frame.splice(at..at, tag);
        }
        Ok(Some(frame))
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Room for one control message with `tpacket_auxdata`, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

// SAFETY: CMSG_SPACE only computes a length.
const CONTROL_BYTES: usize =
    unsafe { libc::CMSG_SPACE(size_of::<libc::tpacket_auxdata>() as libc::c_uint) } as usize;

fn open(interface: &str) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // Protocol 0: nothing is received before the socket is bound to its interface.
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    check(fd as isize)?;
    // SAFETY: the kernel just gave us this descriptor.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    set(&socket, libc::PACKET_AUXDATA)?;
    set(&socket, libc::PACKET_IGNORE_OUTGOING)?;
    let index = rustix::net::netdevice::name_to_index(&socket, interface)?;
    // SAFETY: `sockaddr_ll` is plain data; all zero bytes are a value.
    let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sll_family = libc::AF_PACKET as libc::sa_family_t;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index.cast_signed();
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address is a `sockaddr_ll` of this length, which is only read.
    let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    check(bound as isize)?;
    Ok(socket)
}

/// Switches an option of packet(7) on.
fn set(socket: &OwnedFd, option: libc::c_int) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: both options take a c_int, and get the address and size of one.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    check(outcome as isize).map(drop)
}

/// TPID and TCI of the tag that the kernel took off a frame, if it did.
fn tag_taken_off(header: &libc::msghdr) -> Option<[u16; 2]> {
    // SAFETY: the kernel filled `msg_control` and set its length; both describe live memory.
    let message = unsafe { libc::CMSG_FIRSTHDR(header).as_ref() }?;
    if message.cmsg_level != libc::SOL_PACKET || message.cmsg_type != libc::PACKET_AUXDATA {
        return None;
    }
    // SAFETY: a message of that type carries a `tpacket_auxdata`; the read needs no alignment.
    let data: libc::tpacket_auxdata = unsafe {
        let data = libc::CMSG_DATA(message);
        data.cast::<libc::tpacket_auxdata>().read_unaligned()
    };
    let tagged = data.tp_status & libc::TP_STATUS_VLAN_VALID != 0;
    tagged.then_some([data.tp_vlan_tpid, data.tp_vlan_tci])
}

fn check(outcome: isize) -> io::Result<usize> {
    usize::try_from(outcome).map_err(|_| io::Error::last_os_error())
}
