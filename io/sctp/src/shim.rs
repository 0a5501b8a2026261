//! usrsctp behind its C shim: one stack for the process, entered by one thread at a time.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::io;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::limits;
use crate::peers::Token;

/// `struct sls_config` of c/shim.h.
#[repr(C)]
pub(crate) struct RawConfig {
    pub(crate) port: u16,
    pub(crate) streams: u16,
    pub(crate) init_attempts: u16,
    pub(crate) retransmissions: u16,
    pub(crate) rto_initial_ms: u32,
    pub(crate) rto_min_ms: u32,
    pub(crate) rto_max_ms: u32,
    pub(crate) heartbeat_ms: u32,
    pub(crate) sack_ms: u32,
    pub(crate) message_bytes: u32,
}

/// `struct sls_received` of c/shim.h.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Received {
    pub(crate) peer: u64,
    pub(crate) association: u32,
    pub(crate) ppid: u32,
    pub(crate) length: u32,
    pub(crate) stream: u16,
    pub(crate) outbound_streams: u16,
    pub(crate) kind: u8,
    pub(crate) is_last: u8,
    pub(crate) was_aborted: u8,
    padding: [u8; 5],
}

/// `enum sls_kind`.
pub(crate) mod kind {
    pub(crate) const MESSAGE: u8 = 0;
    pub(crate) const UP: u8 = 1;
    pub(crate) const RESTART: u8 = 2;
    pub(crate) const LOST: u8 = 3;
    pub(crate) const ENDED: u8 = 4;
    pub(crate) const REFUSED: u8 = 5;
}

type Output = extern "C" fn(*mut c_void, *mut c_void, usize, u8, u8) -> c_int;

unsafe extern "C" {
    fn sls_start(output: Output);
    fn sls_open(config: *const RawConfig) -> *mut c_void;
    fn sls_close(socket: *mut c_void);
    fn sls_peer_add(peer: *mut c_void);
    fn sls_peer_remove(peer: *mut c_void);
    fn sls_connect(
        socket: *mut c_void,
        peer: *mut c_void,
        port: u16,
        association: *mut u32,
    ) -> c_int;
    fn sls_send(
        socket: *mut c_void,
        association: u32,
        stream: u16,
        ppid: u32,
        flags: u16,
        octets: *const c_void,
        length: usize,
    ) -> c_int;
    fn sls_abort(socket: *mut c_void, association: u32) -> c_int;
    fn sls_shutdown(socket: *mut c_void, association: u32) -> c_int;
    fn sls_receive(
        socket: *mut c_void,
        room: *mut c_void,
        bytes: usize,
        received: *mut Received,
    ) -> c_int;
    fn sls_input(peer: *mut c_void, octets: *const c_void, length: usize);
    fn sls_time(elapsed_ms: u32);
}

/// Datagrams of one endpoint that wait to be sent.
pub(crate) type Outbox = Vec<(Token, Vec<u8>)>;

/// Datagrams that usrsctp wants to send, by endpoint. Nobody enters usrsctp while holding this.
static OUTBOXES: Mutex<BTreeMap<u32, Outbox>> = Mutex::new(BTreeMap::new());

/// The stack of this process.
static STACK: Mutex<Stack> = Mutex::new(Stack {
    started: false,
    now_ms: None,
    endpoints: 0,
});

/// State of usrsctp. Its holder may enter usrsctp.
pub(crate) struct Stack {
    started: bool,
    now_ms: Option<u64>,
    endpoints: u32,
}

/// A panic in between leaves nothing half-done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn stack() -> MutexGuard<'static, Stack> {
    lock(&STACK)
}

/// Told by usrsctp, inside any call into it.
extern "C" fn output(
    peer: *mut c_void,
    octets: *mut c_void,
    length: usize,
    _tos: u8,
    _df: u8,
) -> c_int {
    let token = Token(peer.addr() as u64);
    let mut outboxes = lock(&OUTBOXES);
    // An endpoint that has closed has no outbox: what usrsctp still says for it is lost.
    if let Some(outbox) = outboxes.get_mut(&token.endpoint())
        && !octets.is_null()
    {
        // SAFETY: usrsctp hands over `length` readable octets, which stay until we return.
        let octets = unsafe { std::slice::from_raw_parts(octets.cast::<u8>(), length) };
        outbox.push((token, octets.to_vec()));
    }
    0
}

/// A peer's name as usrsctp has it.
fn address(token: Token) -> *mut c_void {
    ptr::without_provenance_mut(token.0 as usize)
}

/// A socket of usrsctp, for all associations of a port. Whoever has it closes it.
#[derive(Debug)]
pub(crate) struct Socket(NonNull<c_void>);

// SAFETY: usrsctp ties sockets to no thread, and all calls need the stack, which is one at a time.
unsafe impl Send for Socket {}

impl Stack {
    /// Opens a socket, and gives it a number by which its peers are named.
    pub(crate) fn open(&mut self, config: &RawConfig) -> io::Result<(u32, Socket)> {
        if !self.started {
            self.started = true;
            // SAFETY: called once; `output` may be called from any thread at any time.
            unsafe { sls_start(output) };
        }
        // SAFETY: `config` is laid out as C has it and lives through the call.
        let socket = NonNull::new(unsafe { sls_open(config) });
        let socket = Socket(socket.ok_or_else(io::Error::last_os_error)?);
        self.endpoints += 1;
        lock(&OUTBOXES).insert(self.endpoints, Outbox::new());
        Ok((self.endpoints, socket))
    }

    /// Aborts all associations and closes; what is said of that is the result.
    pub(crate) fn close(&mut self, endpoint: u32, socket: &Socket) -> Outbox {
        // SAFETY: the socket is open; its owner calls this once, when it goes.
        unsafe { sls_close(socket.0.as_ptr()) };
        lock(&OUTBOXES).remove(&endpoint).unwrap_or_default()
    }

    /// Makes a peer known.
    pub(crate) fn add_peer(&mut self, token: Token) {
        // SAFETY: usrsctp compares the address and never reads there.
        unsafe { sls_peer_add(address(token)) };
    }

    /// Forgets a peer.
    pub(crate) fn remove_peer(&mut self, token: Token) {
        // SAFETY: as in `add_peer`.
        unsafe { sls_peer_remove(address(token)) };
    }

    /// Begins an association; usrsctp's number of it.
    pub(crate) fn connect(&mut self, socket: &Socket, to: Token, port: u16) -> Option<u32> {
        let mut association = 0;
        // SAFETY: the socket is open, and `association` is written before the call returns.
        let failed =
            unsafe { sls_connect(socket.0.as_ptr(), address(to), port, &raw mut association) };
        (failed == 0).then_some(association)
    }

    /// Sends a message.
    pub(crate) fn send(
        &mut self,
        socket: &Socket,
        association: u32,
        (stream, ppid): (u16, u32),
        octets: &[u8],
    ) -> io::Result<()> {
        // SAFETY: the socket is open; the octets are readable and copied in the call.
        let failed = unsafe {
            sls_send(
                socket.0.as_ptr(),
                association,
                stream,
                ppid,
                0,
                octets.as_ptr().cast(),
                octets.len(),
            )
        };
        match failed {
            0 => Ok(()),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    /// Aborts an association. One that has gone meanwhile is fine.
    pub(crate) fn abort(&mut self, socket: &Socket, association: u32) {
        // SAFETY: the socket is open.
        let _ = unsafe { sls_abort(socket.0.as_ptr(), association) };
    }

    /// Ends an association in order. One that has gone meanwhile is fine.
    pub(crate) fn shutdown(&mut self, socket: &Socket, association: u32) {
        // SAFETY: the socket is open.
        let _ = unsafe { sls_shutdown(socket.0.as_ptr(), association) };
    }

    /// The next message, part of a message or notification; its octets stand in `room`.
    pub(crate) fn receive(&mut self, socket: &Socket, room: &mut [u8]) -> Option<Received> {
        let mut received = Received::default();
        // SAFETY: the socket is open; at most `room.len()` octets and one `Received`, laid out as C
        // has it, are written.
        let some = unsafe {
            sls_receive(
                socket.0.as_ptr(),
                room.as_mut_ptr().cast(),
                room.len(),
                &raw mut received,
            )
        };
        (some == 1).then_some(received)
    }

    /// Takes a datagram.
    pub(crate) fn input(&mut self, from: Token, datagram: &[u8]) {
        // SAFETY: the octets are readable and copied in the call.
        unsafe { sls_input(address(from), datagram.as_ptr().cast(), datagram.len()) };
    }

    /// Moves the timers of all endpoints on, in small steps; time never goes back.
    pub(crate) fn time(&mut self, now_ms: u64) {
        let before = self.now_ms.unwrap_or(now_ms);
        let tick = u64::from(limits::TICK_MS);
        let mut left = now_ms.saturating_sub(before);
        left = left.min(limits::TICKS_AT_ONCE * tick);
        while left > 0 {
            let step = left.min(tick);
            // SAFETY: usrsctp was started by whoever opened the socket of the caller.
            unsafe { sls_time(step as u32) };
            left -= step;
        }
        self.now_ms = Some(before.max(now_ms));
    }

    /// Datagrams that an endpoint has to send.
    pub(crate) fn take_outbox(&mut self, endpoint: u32) -> Outbox {
        lock(&OUTBOXES)
            .get_mut(&endpoint)
            .map(std::mem::take)
            .unwrap_or_default()
    }
}
