//! Empty `mmsghdr`, `iovec` and control buffers for system calls.

use std::mem::MaybeUninit;

pub(super) const EMPTY_VECTOR: libc::iovec = libc::iovec {
    iov_base: std::ptr::null_mut(),
    iov_len: 0,
};

pub(super) fn empty_header() -> libc::mmsghdr {
    // SAFETY: `mmsghdr` is plain data; null pointers with zero lengths are a legal value.
    unsafe { MaybeUninit::zeroed().assume_init() }
}
