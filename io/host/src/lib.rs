//! Kernel sockets, TUN devices, namespaces.
