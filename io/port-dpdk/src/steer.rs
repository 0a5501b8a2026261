//! Flow steering of an ethdev port: rte_flow rules and RSS tables ([`sluice_port::steer`]).

use std::ffi::c_char;
use std::ptr::{self, NonNull};

use sluice_port::steer::{Field, FlowRule, Hash, KEY_BYTES, Refusal, Steer};
use sluice_port::{PortId, QueueId};

use crate::error::Errno;
use crate::port::Port;
use crate::sys;

/// Drivers know TEIDs by one of these.
const TEID_ITEMS: [u32; 2] = [sys::SDP_FLOW_GTPU, sys::SDP_FLOW_GTP];

/// Longest words of a driver.
const WHY_BYTES: usize = 200;

/// Wanted steering of one port's device.
#[derive(Debug)]
pub struct PortSteer {
    port: Port,
    rx_queues: u16,
    table_entries: usize,
    key_bytes: usize,
}

/// A rule of a device; it ends with the port at the latest.
#[derive(Debug)]
pub struct DeviceRule(NonNull<sys::rte_flow>);

// SAFETY: DPDK's flow rules belong to no thread; calls are made one at a time, by `PortSteer`, under
// the EAL's lock.
unsafe impl Send for DeviceRule {}

impl PortSteer {
    /// Of an open port.
    #[must_use]
    pub fn new(port: &Port) -> Self {
        let mut caps = sys::sdp_port_caps::default();
        // SAFETY: the port exists; `caps` is a place to write to.
        let rc = unsafe { sys::sdp_port_caps(port.number(), &mut caps) };
        // What a device does not tell it has not got.
        let has = |n: usize| if rc == 0 { n } else { 0 };
        Self {
            rx_queues: port.info(PortId(0)).rx_queues,
            table_entries: has(caps.reta_size.into()),
            key_bytes: has(caps.hash_key_size.into()).max(KEY_BYTES),
            port: port.clone(),
        }
    }

    /// The port.
    #[must_use]
    pub fn device(&self) -> &Port {
        &self.port
    }

    /// The queues in the table of hashes.
    ///
    /// # Errors
    /// The driver does not tell.
    pub fn table(&self) -> Result<Vec<QueueId>, Refusal> {
        let mut queues = vec![0; self.table_entries];
        let _alone = self.port.alone();
        let n = queues.len() as u16;
        // SAFETY: the port exists; there are `n` places to write to.
        let rc = unsafe { sys::sdp_get_table(self.port.number(), queues.as_mut_ptr(), n) };
        refused(rc, "").map(|()| queues.into_iter().map(QueueId).collect())
    }

    /// Asks for each way in which a driver may know the rule.
    fn ask<T>(
        &self,
        rule: &FlowRule,
        mut call: impl FnMut(&sys::sdp_flow, *mut c_char) -> Result<T, i32>,
    ) -> Result<T, Refusal> {
        let items = match rule.traffic.field {
            Field::Destination => &[sys::SDP_FLOW_DESTINATION][..],
            Field::Teid => &TEID_ITEMS,
        };
        let mut first = None;
        for item in items {
            let flow = sys::sdp_flow {
                value: rule.traffic.value,
                mask: rule.traffic.mask,
                priority: rule.priority,
                queue: rule.queue.0,
                vlan: rule.traffic.vlan.unwrap_or(0),
                tagged: rule.traffic.vlan.is_some().into(),
                item: *item as u8,
            };
            let mut why = [0; WHY_BYTES];
            let _alone = self.port.alone();
            match call(&flow, why.as_mut_ptr()) {
                Ok(done) => return Ok(done),
                Err(rc) => {
                    first.get_or_insert(refused(rc, &sys::text(&why)));
                }
            }
        }
        match first {
            Some(Err(refusal)) => Err(refusal),
            _ => Err(Refusal("the driver gives no reason".to_owned())),
        }
    }
}

impl Steer for PortSteer {
    type Rule = DeviceRule;

    fn rx_queues(&self) -> u16 {
        self.rx_queues
    }

    fn try_rule(&mut self, rule: &FlowRule) -> Result<(), Refusal> {
        let port = self.port.number();
        self.ask(rule, |flow, why| {
            // SAFETY: the port exists, `flow` is read only, `why` has room for `WHY_BYTES`.
            match unsafe { sys::sdp_flow_try(port, flow, why, WHY_BYTES) } {
                0 => Ok(()),
                rc => Err(rc),
            }
        })
    }

    fn add_rule(&mut self, rule: &FlowRule) -> Result<DeviceRule, Refusal> {
        let port = self.port.number();
        self.ask(rule, |flow, why| {
            let mut made = ptr::null_mut();
            // SAFETY: as in `try_rule`; `made` is a place to write to.
            let rc = unsafe { sys::sdp_flow_make(port, flow, &mut made, why, WHY_BYTES) };
            match NonNull::new(made) {
                Some(made) if rc == 0 => Ok(DeviceRule(made)),
                _ => Err(rc),
            }
        })
    }

    fn remove_rule(&mut self, rule: DeviceRule) -> Result<(), (DeviceRule, Refusal)> {
        let mut why = [0; WHY_BYTES];
        let _alone = self.port.alone();
        // SAFETY: the port exists and made this rule, which is destroyed once: if that succeeds, it
        // is forgotten here.
        let rc = unsafe {
            let why = why.as_mut_ptr();
            sys::sdp_flow_end(self.port.number(), rule.0.as_ptr(), why, WHY_BYTES)
        };
        refused(rc, &sys::text(&why)).map_err(|refusal| (rule, refusal))
    }

    fn table_entries(&self) -> usize {
        self.table_entries
    }

    fn hash_by(&mut self, hash: &Hash) -> Result<(), Refusal> {
        let mut key = vec![0; self.key_bytes];
        key[..KEY_BYTES].copy_from_slice(&hash.key);
        let _alone = self.port.alone();
        let (inside, len) = (hash.inside.into(), key.len().min(255) as u8);
        // SAFETY: the port exists; `len` bytes of the key are read.
        let rc = unsafe { sys::sdp_hash_by(self.port.number(), inside, key.as_mut_ptr(), len) };
        refused(rc, "")
    }

    fn set_table(&mut self, table: &[QueueId]) -> Result<(), Refusal> {
        let queues: Vec<u16> = table.iter().map(|queue| queue.0).collect();
        let _alone = self.port.alone();
        let n = queues.len() as u16;
        // SAFETY: the port exists; `n` numbers are read.
        let rc = unsafe { sys::sdp_set_table(self.port.number(), queues.as_ptr(), n) };
        refused(rc, "")
    }
}

/// The driver's own words, and what the number says.
fn refused(rc: i32, why: &str) -> Result<(), Refusal> {
    let Err(errno) = Errno::check(rc) else {
        return Ok(());
    };
    let errno = errno.to_string();
    // Some words say no more than the number.
    Err(Refusal(match errno.starts_with(why) {
        true => errno,
        false => format!("{why} ({errno})"),
    }))
}
