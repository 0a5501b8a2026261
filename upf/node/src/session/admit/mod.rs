//! From IEs to rules: one file for each kind. Whatever a rule asks that this path cannot do is
//! refused by name; nothing that would change what happens to packets is passed over.

mod far;
mod pdr;
mod qer;
mod urr;
