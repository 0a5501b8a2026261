//! Bytes to meaning and back: Ethernet, ARP, IP, UDP, ICMP, GTP-U, PFCP; ids and units.

#![forbid(unsafe_code)]
