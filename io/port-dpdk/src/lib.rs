//! Ports and packets by DPDK.
