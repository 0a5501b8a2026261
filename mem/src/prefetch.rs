//! Cache prefetch hints. They change no state of the program, only its speed; on targets without a
//! known instruction they do nothing.

/// Bytes of a cache line.
pub const CACHE_LINE: usize = 64;

/// Asks for the first cache line of `value`, to be read.
#[inline(always)]
pub fn read<T: ?Sized>(value: &T) {
    hint_read((value as *const T).cast());
}

/// Asks for all cache lines of `value`, to be read.
#[inline(always)]
pub fn read_whole<T>(value: &T) {
    let first = (value as *const T).cast::<u8>();
    let (size, align) = (size_of::<T>(), align_of::<T>());
    for at in (0..size).step_by(CACHE_LINE) {
        hint_read(first.wrapping_add(at));
    }
    // What is shorter than a line may begin in one and end in the next.
    if size > 0 && size > align && align < CACHE_LINE {
        hint_read(first.wrapping_add(size - 1));
    }
}

/// Asks for the first cache line of `value`, to be written: the line is brought
/// in already taken from other cores.
#[inline(always)]
pub fn write<T: ?Sized>(value: &T) {
    hint_write((value as *const T).cast());
}

/// Asks for the first `lines` cache lines of `value`, to be written.
#[inline(always)]
pub fn write_first<T>(value: &T, lines: usize) {
    let first = (value as *const T).cast::<u8>();
    for at in (0..size_of::<T>()).step_by(CACHE_LINE).take(lines) {
        hint_write(first.wrapping_add(at));
    }
}

/// Asks for the cache line of the first byte of `bytes`, to be read.
#[inline(always)]
pub fn read_bytes(bytes: &[u8]) {
    hint_read(bytes.as_ptr());
}

/// Asks for all cache lines of `bytes`, to be read.
#[inline(always)]
pub fn read_all_bytes(bytes: &[u8]) {
    bytes.chunks(CACHE_LINE).for_each(read_bytes);
    bytes.last().into_iter().for_each(read);
}

/// Asks for the first cache line of `slice[index]`, to be read; does nothing if
/// there is no such element.
#[inline(always)]
pub fn read_index<T>(slice: &[T], index: usize) {
    if index < slice.len() {
        hint_read(slice.as_ptr().wrapping_add(index).cast());
    }
}

/// The same, to be written.
#[inline(always)]
pub fn write_index<T>(slice: &[T], index: usize) {
    if index < slice.len() {
        hint_write(slice.as_ptr().wrapping_add(index).cast());
    }
}

/// Hint for any address; a bad address is no error.
#[inline(always)]
pub(crate) fn hint_read(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction never faults and changes no memory; SSE is
        // part of every x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: PRFM never faults and changes neither memory, stack nor flags.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) address.addr(),
            options(nomem, nostack, preserves_flags));
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = address;
}

/// As [`hint_read`], with the intent to write.
#[inline(always)]
pub(crate) fn hint_write(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: PREFETCHW never faults and changes neither memory, stack nor
    // flags; 64-bit processors that lack it run it as a no-op.
    unsafe {
        core::arch::asm!("prefetchw byte ptr [{}]", in(reg) address.addr(),
            options(nomem, nostack, preserves_flags));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: PRFM never faults and changes neither memory, stack nor flags.
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{}]", in(reg) address.addr(),
            options(nomem, nostack, preserves_flags));
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = address;
}

/// Write hint for every cache line of the `bytes` bytes at `address`.
#[inline(always)]
pub(crate) fn hint_write_all(address: *const u8, bytes: usize) {
    for offset in (0..bytes).step_by(CACHE_LINE) {
        hint_write(address.wrapping_add(offset));
    }
}

/// Read hint for every cache line of the `bytes` bytes at `address`.
#[inline(always)]
pub(crate) fn hint_read_all(address: *const u8, bytes: usize) {
    for offset in (0..bytes).step_by(CACHE_LINE) {
        hint_read(address.wrapping_add(offset));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_accept_any_address_and_change_nothing() {
        let words = [1_u64, 2, 3];
        read(&words);
        write(&words);
        read_whole(&words);
        read_whole(&());
        read_bytes(&[]);
        read_all_bytes(&[]);
        read_all_bytes(&[7; 100]);
        read_index(&words, 2);
        read_index(&words, usize::MAX);
        write_index(&words, 1);
        write_index(&words, 3);
        hint_read_all(core::ptr::null(), 200);
        hint_write_all(core::ptr::without_provenance(usize::MAX - 63), 200);
        assert_eq!(words, [1, 2, 3]);
    }
}
