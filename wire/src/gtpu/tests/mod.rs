//! Tests over the whole of GTP-U, with octets typed from the figures of TS 29.281 and TS 38.415.

mod forms;
mod properties;
