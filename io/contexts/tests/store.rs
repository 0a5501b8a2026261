//! The store as a core uses it: transactions, restarts, and what it refuses.

mod common;

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use common::*;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use sluice_contexts::{ContextError, ContextFile, Opening};
use sluice_sbi::kept::{Contexts as _, Stored};
use tempfile::TempDir;

fn folder() -> TempDir {
    TempDir::new_in("/dev/shm").expect("memory")
}

fn opening(folder: &Path) -> Opening {
    Opening {
        folder: folder.join("contexts"),
        most_octets: 1 << 24,
        may_be_on_disk: false,
    }
}

/// A folder of a test.
struct Folder(Opening);

impl Place for Folder {
    type Store = ContextFile;

    fn open(&self) -> Result<ContextFile, String> {
        ContextFile::open(&self.0).map_err(|error| error.to_string())
    }

    fn all(store: &mut ContextFile) -> Stored {
        store.all().expect("it can be read")
    }
}

#[test]
fn what_was_stored_is_there_for_the_next_core() {
    let folder = folder();
    is_there_for_the_next_core(&Folder(opening(folder.path())));
}

#[test]
fn nobody_else_may_look_into_it() {
    let folder = folder();
    let opening = opening(folder.path());
    let _store = ContextFile::open(&opening).expect("a new one");
    let mode = |path: &Path| {
        fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode(&opening.folder), 0o700);
}

#[test]
fn a_folder_is_one_cores_alone() {
    let folder = folder();
    is_one_cores_alone(&Folder(opening(folder.path())), "another core's");
}

#[test]
fn a_folder_is_free_although_a_child_has_the_files_of_its_core() {
    let folder = folder();
    let opening = opening(folder.path());
    let store = ContextFile::open(&opening).expect("a new one");
    let _of_a_child = another_of(&opening.folder.join("core.lock"));
    drop(store);
    ContextFile::open(&opening).expect("it is free");
}

/// A second descriptor of a file that this process has open, as a child has between fork and exec.
fn another_of(file: &Path) -> OwnedFd {
    let descriptor = fs::read_dir("/proc/self/fd")
        .expect("this process's files")
        .filter_map(Result::ok)
        .find(|entry| fs::read_link(entry.path()).is_ok_and(|open| open == file))
        .expect("it is open");
    let number = descriptor.file_name().into_string().expect("a number");
    let this = pidfd_open(getpid(), PidfdFlags::empty()).expect("this process");
    pidfd_getfd(
        this,
        number.parse().expect("a number"),
        PidfdGetfdFlags::empty(),
    )
    .expect("another")
}

#[test]
fn keys_go_to_no_disk_unless_that_is_wanted() {
    // Of the build, which is on a disk wherever this runs; if it is not, nothing can be shown here.
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    if sluice_contexts::is_in_memory(folder.path()).expect("it is there") {
        return;
    }
    let mut opening = opening(folder.path());
    let refused = ContextFile::open(&opening);
    assert!(
        matches!(refused, Err(ContextError::OnDisk(_))),
        "{refused:?}"
    );
    opening.may_be_on_disk = true;
    ContextFile::open(&opening).expect("it is wanted");
}

#[test]
fn what_has_no_room_is_refused_whole_and_what_was_there_stays() {
    let folder = folder();
    let opening = Opening {
        most_octets: 1 << 18,
        ..opening(folder.path())
    };
    let place = Folder(opening);
    refuses_whole_what_has_no_room(&place, 1 << 19);
    let mut store = place.open().expect("that of before");
    store
        .put(&changes(&[("a", Some("2"))]))
        .expect("room again");
    assert_eq!(read::<Folder>(&mut store), is(&[("a", "2")]));
}

/// Set for the process that is killed: the folder it stores in.
const KILLED: &str = "SLUICE_CONTEXTS_OF_THE_KILLED";

/// It stores numbers for ever, two keys of one number at a time.
#[test]
fn the_killed() {
    let Ok(folder) = std::env::var(KILLED) else {
        return;
    };
    let folder = Path::new(&folder);
    stores_numbers_for_ever(&Folder(opening(folder)), || {
        fs::write(folder.join("under way"), "").expect("memory");
    });
}

#[test]
fn a_core_that_is_killed_leaves_all_of_a_turn_or_nothing() {
    for _ in 0..5 {
        let folder = folder();
        let this = std::env::current_exe().expect("a test");
        let mut killed = Command::new(this)
            .args(["--exact", "the_killed"])
            .env(KILLED, folder.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("it runs");
        let begun = std::time::Instant::now();
        while !folder.path().join("under way").exists() {
            assert!(begun.elapsed().as_secs() < 60, "it stores nothing");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        // SIGKILL.
        killed.kill().expect("it is there");
        killed.wait().expect("it ends");
        has_all_of_a_turn_or_nothing(&Folder(opening(folder.path())));
    }
}
