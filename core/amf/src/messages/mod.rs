//! Messages of gNBs and UEs: how they are read, checked and dispatched.

pub(crate) mod collisions;
pub(crate) mod n1;
pub(crate) mod n2;
pub(crate) mod ng_setup;
pub(crate) mod ngap_faults;
pub(crate) mod not_understood;
