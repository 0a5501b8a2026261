//! pcapng capture of traced packets.

use super::super::time;
use super::line;
use serde_json::Value;
use sluice_host::pcapng::{Frame, FrameDirection, LinkType, Writer};
use sluice_program::ask::AskError;
use sluice_program::follow::{INTERFACES, Message, octets};
use std::collections::VecDeque;
use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const APPLICATION: &str = concat!("sluice ", env!("CARGO_PKG_VERSION"));

/// Frames whose packets are with another worker: their verdict is to come.
const OPEN_MAX: usize = 1024;

/// A file of frames as received and as sent.
pub struct Capture {
    path: PathBuf,
    /// Begun when the UPF has told its ports.
    file: Option<File>,
    writer: Option<Writer<File>>,
    ports: Vec<String>,
    /// Interfaces before the ports.
    before: usize,
    open: VecDeque<Value>,
}

impl Capture {
    /// An empty one, which nobody but its owner may read.
    pub fn create(path: &Path) -> Result<Self, AskError> {
        let file = create(path).map_err(|e| AskError::File(path.to_owned(), e))?;
        Ok(Self {
            path: path.to_owned(),
            file: Some(file),
            writer: None,
            ports: Vec::new(),
            before: 0,
            open: VecDeque::new(),
        })
    }

    /// An empty one of messages as well.
    pub fn create_with_messages(path: &Path) -> Result<Self, AskError> {
        let mut this = Self::create(path)?;
        if let Some(file) = this.file.take() {
            let writer = Writer::begin_with(file, APPLICATION, INTERFACES);
            this.writer = Some(writer.map_err(|e| this.failed(e))?);
        }
        this.before = INTERFACES.len();
        Ok(this)
    }

    /// A message of the core.
    pub fn message(&mut self, message: &Message) -> Result<(), AskError> {
        let written = match &mut self.writer {
            Some(writer) => writer.frame(&message.frame()),
            None => Ok(()),
        };
        written.map_err(|e| self.failed(e))
    }

    fn failed(&self, e: io::Error) -> AskError {
        AskError::File(self.path.clone(), e)
    }

    /// One more step of a packet.
    pub fn step(&mut self, step: &Value) -> Result<(), AskError> {
        if let Some(ports) = step["ports"].as_array() {
            let is_known = !self.ports.is_empty();
            // The UPF has begun anew, and counts packets from the first one.
            while !self.open.is_empty() {
                self.give_up_oldest()?;
            }
            self.ports = ports
                .iter()
                .filter_map(|p| p.as_str().map(str::to_owned))
                .collect();
            return if is_known { Ok(()) } else { self.begin() };
        }
        if step.get("packet").is_none() {
            return Ok(());
        }
        let packet = &step["packet"];
        let before = self.open.iter().position(|open| open["packet"] == *packet);
        let before = before.and_then(|at| self.open.remove(at));
        let mut story = before.as_ref().map_or_else(String::new, |open| {
            open["story"].as_str().unwrap_or_default().to_owned() + " | "
        });
        story += &line::verdict(step);
        // The frame as the port received it; what came from another worker is the same once more.
        let received = before.unwrap_or_else(|| step.clone());
        if matches!(step["verdict"].as_str(), Some("handed over" | "waits")) {
            let mut open = received;
            open["story"] = Value::String(story);
            self.open.push_back(open);
            return match self.open.len() > OPEN_MAX {
                true => self.give_up_oldest(),
                false => Ok(()),
            };
        }
        self.received(&received, &story)?;
        self.sent(step, &story)
    }

    /// Writes what is left.
    pub fn finish(mut self) -> Result<(), AskError> {
        while !self.open.is_empty() {
            self.give_up_oldest()?;
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), AskError> {
        let Some(file) = self.file.take() else {
            return self.add_ports();
        };
        let names = self.ports.iter().map(String::as_str);
        let writer = Writer::begin(file, APPLICATION, names);
        self.writer = Some(writer.map_err(|e| self.failed(e))?);
        Ok(())
    }

    /// Behind what there was before.
    fn add_ports(&mut self) -> Result<(), AskError> {
        let names = self.ports.iter();
        let added = self.writer.as_mut().map_or(Ok(()), |writer| {
            let mut names = names.map(|name| writer.add_interface(name, LinkType::Ethernet));
            names.try_for_each(|added| added)
        });
        added.map_err(|e| self.failed(e))
    }

    fn give_up_oldest(&mut self) -> Result<(), AskError> {
        match self.open.pop_front() {
            Some(open) => self.received(&open, open["story"].as_str().unwrap_or_default()),
            None => Ok(()),
        }
    }

    fn received(&mut self, step: &Value, story: &str) -> Result<(), AskError> {
        let port = &step["came"]["port"];
        self.write(step, &step["received"], port, FrameDirection::In, story)
    }

    fn sent(&mut self, step: &Value, story: &str) -> Result<(), AskError> {
        let sent = &step["sent"];
        self.write(step, sent, &sent["port"], FrameDirection::Out, story)
    }

    /// Writes a frame of a known port; skips all others.
    fn write(
        &mut self,
        step: &Value,
        frame: &Value,
        port: &Value,
        way: FrameDirection,
        story: &str,
    ) -> Result<(), AskError> {
        let place = self
            .ports
            .iter()
            .position(|name| Some(name.as_str()) == port.as_str());
        let bytes = frame["hex"].as_str().and_then(octets);
        let (Some(place), Some(bytes), Some(writer)) = (place, bytes, &mut self.writer) else {
            return Ok(());
        };
        let wire_bytes = frame["bytes"].as_u64().and_then(|n| u32::try_from(n).ok());
        let frame = Frame {
            interface: (self.before + place) as u32,
            time: time::seconds(step["time"].as_str().unwrap_or_default()),
            way,
            bytes: &bytes,
            wire_bytes: wire_bytes.unwrap_or(0),
            comment: &format!("#{} {story}", step["packet"]),
        };
        let written = writer.frame(&frame);
        written.map_err(|e| self.failed(e))
    }
}

/// Keys of UEs and what they send are in it: a file that is there is closed to others before anything is written.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600);
    let file = file.open(path)?;
    let there = file.metadata()?;
    // A pipe or a device is as its owner made it.
    if there.is_file() && there.permissions().mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_capture_is_for_its_owner_alone_also_where_a_file_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("new");
        Capture::create(&new).unwrap();
        assert_eq!(mode(&new), 0o600);
        let old = folder.path().join("old");
        std::fs::write(&old, "what was there before").unwrap();
        std::fs::set_permissions(&old, Permissions::from_mode(0o644)).unwrap();
        Capture::create_with_messages(&old).unwrap();
        assert_eq!(mode(&old), 0o600);
        let written = std::fs::read(&old).unwrap();
        assert!(!written.starts_with(b"what"));
        // One that is closed to others already stays as it is.
        std::fs::set_permissions(&old, Permissions::from_mode(0o400)).unwrap();
        if Capture::create(&old).is_ok() {
            assert_eq!(mode(&old), 0o400);
        }
    }
}
