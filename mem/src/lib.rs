//! The small unsafe crate: prefetch, arenas, rings, quiescence.
