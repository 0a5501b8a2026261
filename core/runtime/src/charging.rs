//! Charging records as JSON lines.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use serde_json::{Value, json};
use sluice_smf::ChargingRecord;

/// Where charging records go.
#[derive(Debug)]
pub enum Records {
    /// To the end of a file.
    File(File),
    /// To standard output.
    Stdout(Outlet),
}

/// Texts that wait for whoever reads standard output.
const WAITING: usize = 1024;
/// Longest wait at the end for a reader of standard output.
const END_WITHIN: Duration = Duration::from_secs(2);

/// Standard output, written by a thread of its own: a reader that has stopped may have a writer wait for
/// ever.
#[derive(Debug)]
pub struct Outlet {
    /// None at the end.
    texts: Option<SyncSender<String>>,
    failed: Receiver<io::Error>,
}

impl Outlet {
    fn new(mut out: impl Write + Send + 'static) -> io::Result<Self> {
        let (texts, waiting) = sync_channel::<String>(WAITING);
        let (tell, failed) = sync_channel(1);
        let write = move || {
            for text in waiting {
                let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
                if let Err(error) = written {
                    let _ = tell.send(error);
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("sluice-records".to_owned())
            .spawn(write)?;
        Ok(Self {
            texts: Some(texts),
            failed,
        })
    }

    fn write(&self, text: String) -> io::Result<()> {
        let Some(texts) = &self.texts else {
            return Err(ErrorKind::BrokenPipe.into());
        };
        texts.try_send(text).map_err(|refused| match refused {
            TrySendError::Full(_) => {
                io::Error::new(ErrorKind::WouldBlock, "nobody reads standard output")
            }
            TrySendError::Disconnected(_) => {
                let why = self.failed.try_recv();
                why.unwrap_or_else(|_| ErrorKind::BrokenPipe.into())
            }
        })
    }
}

impl Drop for Outlet {
    /// Waits for what is still to be written, but not for ever.
    fn drop(&mut self) {
        self.texts = None;
        let _ = self.failed.recv_timeout(END_WITHIN);
    }
}

impl Records {
    /// To the end of a file, which is made if it is not there, for its owner alone.
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn append_to(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::OpenOptionsExt;
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        options.open(path).map(Self::File)
    }

    /// To standard output.
    ///
    /// # Errors
    /// There is no room for a thread.
    pub fn stdout() -> io::Result<Self> {
        Outlet::new(io::stdout()).map(Self::Stdout)
    }

    /// Writes records, a line each. All of them go out together, so that no line is cut by another
    /// writer's.
    ///
    /// # Errors
    /// The kernel's reason, or that nobody has read standard output for long; the records are lost then.
    pub fn write(&mut self, records: &[ChargingRecord]) -> io::Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let text: String = records
            .iter()
            .map(|record| format!("{}\n", object(record)))
            .collect();
        match self {
            Self::File(file) => file.write_all(text.as_bytes()),
            Self::Stdout(outlet) => outlet.write(text),
        }
    }
}

fn object(record: &ChargingRecord) -> Value {
    json!({
        "charging_id": record.charging_id.to_string(),
        "imsi": record.supi.imsi(),
        "session": record.session,
        "dnn": record.dnn.to_string(),
        "rating_group": record.rating_group,
        "uplink_octets": record.usage.uplink_octets,
        "downlink_octets": record.usage.downlink_octets,
        "unix_s": record.unix_s,
        "is_last": record.is_last,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_ids::{Dnn, Supi};
    use sluice_smf::{ChargingId, Usage};
    use std::os::unix::fs::PermissionsExt;
    use std::time::Instant;

    #[test]
    fn records_are_lines_behind_what_the_file_had() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.jsonl");
        let record = |octets, is_last| ChargingRecord {
            charging_id: ChargingId {
                begun_unix_s: 0x6553_f100,
                number: 0x1_0000_0002,
            },
            supi: Supi::from_imsi("001010000000001").unwrap(),
            session: 5,
            dnn: Dnn::new("internet").unwrap(),
            rating_group: Some(7),
            usage: Usage {
                uplink_octets: octets,
                downlink_octets: 2 * octets,
            },
            unix_s: 1_700_000_000,
            is_last,
        };
        for records in [
            vec![record(10, false)],
            vec![record(20, true), record(30, true)],
        ] {
            let mut out = Records::append_to(&path).unwrap();
            out.write(&records).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0]["charging_id"], "6553f100-000100000002");
        assert_eq!(lines[0]["imsi"], "001010000000001");
        assert_eq!(lines[1]["downlink_octets"], 40);
        assert_eq!(lines[1]["rating_group"], 7);
        assert_eq!(lines[2]["is_last"], true);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(
            mode & 0o777,
            0o600,
            "who is charged for what is nobody else's business"
        );
    }

    #[test]
    fn a_reader_that_has_stopped_does_not_have_the_core_wait() {
        let (reader, writer) = io::pipe().unwrap();
        let outlet = Outlet::new(writer).unwrap();
        let text = || format!("{}\n", "x".repeat(8_191));
        // The pipe, the thread's hands and the queue are full some time.
        let end = Instant::now() + Duration::from_secs(60);
        let mut taken = 0;
        let refused = loop {
            assert!(Instant::now() < end, "the queue has no end");
            match outlet.write(text()) {
                Ok(()) => taken += 1,
                Err(refused) => break refused,
            }
        };
        assert_eq!(refused.kind(), ErrorKind::WouldBlock);
        assert!(taken >= WAITING, "{taken}");
        // All that was taken comes, in one piece, once somebody reads.
        let read = std::thread::spawn(move || {
            let mut all = String::new();
            io::Read::read_to_string(&mut { reader }, &mut all).map(|_| all)
        });
        drop(outlet);
        let all = read.join().unwrap().unwrap();
        assert_eq!(all.lines().count(), taken);
        assert!(all.lines().all(|line| line.len() == 8_191));
    }

    #[test]
    fn a_reader_that_is_gone_is_told() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let outlet = Outlet::new(writer).unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        let refused = loop {
            assert!(Instant::now() < end, "nobody tells");
            if let Err(refused) = outlet.write("x\n".to_owned()) {
                break refused;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        assert_eq!(refused.kind(), ErrorKind::BrokenPipe);
    }
}
