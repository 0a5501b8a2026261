//! Registration of threads with the EAL.

use std::marker::PhantomData;

use crate::eal::Eal;
use crate::error::Errno;
use crate::sys;

/// The calling thread is known to DPDK while this lives: it has its own cache of packets in
/// each pool, so that allocation and freeing rarely touch shared memory. It stays on its thread.
#[derive(Debug)]
pub struct RegisteredThread {
    eal: Eal,
    stays_on_its_thread: PhantomData<*const ()>,
}

/// Registers the calling thread, once, before it touches packets. The main thread (the one that
/// called [`Eal::init`]) already is. Other threads work too, more slowly.
///
/// # Errors
/// `EEXIST` when DPDK knows this thread already; `ENOMEM` when it has no more places (128 threads
/// in Debian's build).
pub fn register_thread(eal: &Eal) -> Result<RegisteredThread, Errno> {
    const EEXIST: Errno = Errno(17);
    // SAFETY: reads a thread-local of DPDK.
    if unsafe { sys::sdp_thread_is_registered() } != 0 {
        return Err(EEXIST);
    }
    // SAFETY: the EAL is running; no preconditions else.
    if unsafe { sys::rte_thread_register() } < 0 {
        // SAFETY: reads a thread-local of DPDK.
        return Err(Errno(unsafe { sys::sdp_errno() }));
    }
    Ok(RegisteredThread {
        eal: eal.clone(),
        stays_on_its_thread: PhantomData,
    })
}

impl RegisteredThread {
    /// The EAL that knows this thread.
    #[must_use]
    pub fn eal(&self) -> &Eal {
        &self.eal
    }
}

impl Drop for RegisteredThread {
    fn drop(&mut self) {
        // SAFETY: the value cannot leave the thread that was registered.
        unsafe { sys::rte_thread_unregister() };
    }
}
