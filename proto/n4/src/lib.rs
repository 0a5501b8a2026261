//! Sans-IO PFCP endpoint, both ends of N4.
#![forbid(unsafe_code)]
