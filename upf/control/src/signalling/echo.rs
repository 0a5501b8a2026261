//! Echo Requests to tunnel peers, and their responses (TS 29.281, 7.2.1, 7.2.2).

use super::Control;
use crate::frame::{self, Frames};
use crate::paths::{Change, Echo, PathEnds};
use sluice_session::{PathChange, RemotePath};
use sluice_wire::gtpu::{PORT, echo_request};
use sluice_wire::udp::UdpHeader;

/// Echo Requests that one tick sends: 32,768 peers that are asked every 60 s come to 546 in a second, and a
/// tick is a quarter of one.
const ECHOES_PER_TICK: usize = 512;

impl Control {
    /// Asks the peers whose time has come, and those whose station was not known at their time and is now.
    pub(super) fn send_echoes(&mut self, now_ns: u64, out: &mut impl Frames) {
        if self.directory.neighbours.take_found() {
            self.ask_found(now_ns);
        }
        for _ in 0..ECHOES_PER_TICK {
            let Some(echo) = self.directory.paths.next_echo(now_ns) else {
                return;
            };
            if self.send_echo(now_ns, echo, out).is_none() {
                self.directory.paths.not_sent(echo);
            }
        }
    }

    /// Stations were found: requests that waited for them are due.
    fn ask_found(&mut self, now_ns: u64) {
        let directory = &self.directory;
        let is_found = |ends: &PathEnds| {
            let id = directory.interface_of(ends.local)?;
            let station = directory.station_towards(id, ends.remote)?;
            directory.neighbours.mac(id, station)
        };
        let unsent = directory.paths.unsent();
        let found: Vec<PathEnds> = unsent.filter(|ends| is_found(ends).is_some()).collect();
        for ends in found {
            self.directory.paths.ask_again(ends, now_ns);
        }
    }

    /// If the peer's station is not known yet it is asked for; the request goes out when it is.
    fn send_echo(&mut self, now_ns: u64, echo: Echo, out: &mut impl Frames) -> Option<()> {
        let PathEnds { local, remote } = echo.ends;
        let id = self.directory.interface_of(local)?;
        let interface = self.interface(id)?;
        let station = self.directory.station_towards(id, remote)?;
        let Some(mac) = self.directory.neighbours.mac(id, station) else {
            let question = self.directory.want(id, station, now_ns)?;
            self.ask(question, out);
            return None;
        };
        let ports = UdpHeader {
            source_port: PORT,
            destination_port: PORT,
        };
        let frame = frame::udp(
            &interface,
            mac,
            (local, remote),
            ports,
            &echo_request(echo.sequence),
        )?;
        self.counters.gtpu_echo_requests += 1;
        out.transmit(id, &frame);
        Some(())
    }

    pub(super) fn echo_answered(&mut self, now_ns: u64, ends: PathEnds, sequence: u16) {
        if self.directory.paths.answered(ends, sequence, now_ns) {
            self.counters.gtpu_echo_answers += 1;
        } else {
            self.counters.ignored += 1;
        }
    }

    /// Changes of paths since the last call, as CP functions know them.
    pub fn take_path_changes(&mut self) -> Vec<PathChange> {
        let changes = self.directory.paths.take_changes();
        let changes = changes.into_iter().map(|change| match change {
            Change::Failed(ends) => PathChange::Failed(self.remote_path(ends)),
            Change::Recovered(ends) => PathChange::Recovered(self.remote_path(ends)),
            Change::Forgotten(ends) => PathChange::Forgotten(self.remote_path(ends)),
        });
        changes.collect()
    }

    fn remote_path(&self, ends: PathEnds) -> RemotePath {
        RemotePath {
            peer: ends.remote,
            place: self.directory.place_of(ends.local),
        }
    }
}
