//! DPDK declarations for Rust: the layout of an mbuf, and the generated bindings of the shim.

use std::mem::offset_of;

pub(crate) use bindings::*;

/// The part of `struct rte_mbuf` that Sluice reads and writes. It is written by hand because
/// the C structure nests its fields in other unions in every release; the assertions below hold
/// it against the offsets that clang computed from the installed headers.
#[repr(C)]
pub(crate) struct rte_mbuf {
    pub(crate) buf_addr: *mut u8,
    iova: u64,
    pub(crate) data_off: u16,
    pub(crate) refcnt: u16,
    pub(crate) nb_segs: u16,
    pub(crate) port: u16,
    pub(crate) ol_flags: u64,
    packet_type: u32,
    pub(crate) pkt_len: u32,
    pub(crate) data_len: u16,
    vlan_tci: u16,
    pub(crate) hash: [u32; 2],
    vlan_tci_outer: u16,
    pub(crate) buf_len: u16,
    pub(crate) pool: *mut rte_mempool,
    pub(crate) next: *mut rte_mbuf,
}

/// `struct rte_mempool`, never looked into.
#[repr(C)]
pub(crate) struct rte_mempool {
    opaque: [u8; 0],
}

/// Reads the text of a fixed array that C filled, up to its NUL.
pub(crate) fn text(bytes: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> = bytes
        .iter()
        .map(|b| *b as u8)
        .take_while(|b| *b != 0)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

macro_rules! assert_offsets {
    ($($field:ident = $constant:ident),* $(,)?) => {
        $(const _: () = assert!(
            offset_of!(rte_mbuf, $field) == $constant as usize,
            concat!("struct rte_mbuf of this DPDK keeps ", stringify!($field), " elsewhere"),
        );)*
    };
}

assert_offsets! {
    buf_addr = SDP_MBUF_BUF_ADDR,
    data_off = SDP_MBUF_DATA_OFF,
    refcnt = SDP_MBUF_REFCNT,
    nb_segs = SDP_MBUF_NB_SEGS,
    port = SDP_MBUF_PORT,
    ol_flags = SDP_MBUF_OL_FLAGS,
    packet_type = SDP_MBUF_PACKET_TYPE,
    pkt_len = SDP_MBUF_PKT_LEN,
    data_len = SDP_MBUF_DATA_LEN,
    hash = SDP_MBUF_HASH,
    buf_len = SDP_MBUF_BUF_LEN,
    pool = SDP_MBUF_POOL,
    next = SDP_MBUF_NEXT,
}

#[allow(
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    dead_code,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unreachable_pub,
    unsafe_op_in_unsafe_fn
)]
mod bindings {
    use super::{rte_mbuf, rte_mempool};

    include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_compiler_and_clang_agree_on_the_mbuf() {
        let by_clang = [
            SDP_MBUF_BUF_ADDR,
            SDP_MBUF_DATA_OFF,
            SDP_MBUF_REFCNT,
            SDP_MBUF_NB_SEGS,
            SDP_MBUF_PORT,
            SDP_MBUF_OL_FLAGS,
            SDP_MBUF_PACKET_TYPE,
            SDP_MBUF_PKT_LEN,
            SDP_MBUF_DATA_LEN,
            SDP_MBUF_HASH,
            SDP_MBUF_BUF_LEN,
            SDP_MBUF_POOL,
            SDP_MBUF_NEXT,
            SDP_MBUF_SIZE,
        ];
        for (index, offset) in by_clang.into_iter().enumerate() {
            // SAFETY: the function only reads a constant table and checks the index.
            let by_c = unsafe { sdp_mbuf_offset(index as u32) };
            assert_eq!(by_c, offset as usize, "field number {index}");
        }
    }
}
