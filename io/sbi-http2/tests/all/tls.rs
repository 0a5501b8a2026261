//! TLS with certificates of both sides.
