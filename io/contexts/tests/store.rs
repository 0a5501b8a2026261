//! The store as a core uses it: transactions, restarts, and what it refuses.

mod common;

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use common::*;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use sluice_contexts::{ContextError, ContextFile, Opening};
use sluice_sbi::context_store::{Changes, Contexts as _, StoreFailure, Stored};
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

/// One that has 1 MiB.
fn small(folder: &Path) -> Folder {
    Folder(Opening {
        most_octets: 1 << 20,
        ..opening(folder)
    })
}

/// A context of a UE, as large as they are.
fn ue(number: usize, is_there: bool) -> Changes {
    let octets = 100 + number * 997 % 4_000;
    let key = format!("amf/ue/{number:015}").into_bytes();
    Changes::from([(key, is_there.then(|| vec![b'x'; octets]))])
}

/// UEs come until there is no room; those that are stored.
fn fill(store: &mut ContextFile, from: usize) -> usize {
    let mut numbers = from..;
    let refused = numbers.find(|number| store.put(&ue(*number, true)).is_err());
    refused.expect("it is full some time")
}

#[test]
fn a_store_that_is_full_recovers_when_ues_leave_however_often() {
    let folder = folder();
    let place = small(folder.path());
    let mut store = place.open().expect("a new one");
    let mut from = 0;
    for round in 0..40 {
        let refused = fill(&mut store, from);
        assert!(refused - from > 200, "{} UEs", refused - from);
        assert!(store.is_paused());
        // What waits: the UE that has found no room, one that is there and changes, and those that leave.
        let mut waits = ue(refused, true);
        assert!(matches!(
            store.put(&waits),
            Err(StoreFailure::NotStored(why)) if why.contains("is full")
        ));
        waits.extend(ue(refused - 1, true));
        for number in from..refused - 1 {
            // The first time one leaves, and then each time more.
            if (number - from) <= round * 3 {
                waits.extend(ue(number, false));
            }
        }
        let put = store.put(&waits);
        assert!(put.is_ok() || round < 4, "round {round}: {put:?}");
        assert_eq!(store.is_paused(), put.is_err());
        for number in from..=refused {
            waits.extend(ue(number, false));
        }
        store.put(&waits).expect("all have left");
        assert_eq!(read::<Folder>(&mut store), []);
        from = refused + 1;
    }
}

#[test]
fn a_key_is_stored_or_not() {
    let folder = folder();
    let mut store = small(folder.path()).open().expect("a new one");
    store
        .put(&changes(&[("a", Some("1")), ("b", Some("2"))]))
        .expect("room");
    store.put(&changes(&[("b", None)])).expect("room");
    assert!(store.may_have(b"a"));
    assert!(!store.may_have(b"b"));
    assert!(!store.may_have(b"c"));
}

#[test]
fn what_could_not_be_stored_is_known_to_the_next_core() {
    let folder = folder();
    let place = small(folder.path());
    let mut store = place.open().expect("a new one");
    let refused = fill(&mut store, 0);
    assert!(!read::<Folder>(&mut store).is_empty());
    drop(store);
    // What is there is older than what UEs were told.
    let mut store = place.open().expect("that of before");
    assert!(store.was_behind());
    assert_eq!(read::<Folder>(&mut store), []);
    store.put(&ue(refused, true)).expect("room");
    drop(store);
    let mut store = place.open().expect("that of before");
    assert!(!store.was_behind());
    assert_eq!(read::<Folder>(&mut store).len(), 1);
}

#[test]
fn what_was_stored_later_is_trusted() {
    let folder = folder();
    let place = small(folder.path());
    let mut store = place.open().expect("a new one");
    let refused = fill(&mut store, 0);
    let mut waits = ue(refused, true);
    for number in 0..20 {
        waits.extend(ue(number, false));
    }
    store.put(&waits).expect("room");
    drop(store);
    let mut store = place.open().expect("that of before");
    assert!(!store.was_behind());
    assert_eq!(read::<Folder>(&mut store).len(), refused - 19);
    // That what waited has come and gone is good news as well.
    let _ = fill(&mut store, refused + 1);
    store.put(&Changes::new()).expect("nothing");
    drop(store);
    let store = place.open().expect("that of before");
    assert!(!store.was_behind());
}

/// A memory file system of its own, until it is dropped.
struct Mounted(TempDir);

impl Mounted {
    /// None without the rights.
    fn new(size: &str) -> Option<Self> {
        let at = folder();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(at.path())
            .stderr(std::process::Stdio::null())
            .status();
        mount.is_ok_and(|it| it.success()).then(|| Self(at))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_memory_file_system_is_as_a_full_store() {
    let Some(mounted) = Mounted::new("256k") else {
        eprintln!("skipped: needs root");
        return;
    };
    let place = Folder(opening(mounted.0.path()));
    let mut store = place.open().expect("a new one");
    let refused = fill(&mut store, 0);
    assert!(refused > 30);
    // One that has found no room comes when others leave, one by one.
    let mut waits = ue(refused, true);
    let left = (0..refused).find(|number| {
        waits.extend(ue(*number, false));
        store.put(&waits).is_ok()
    });
    let left = left.expect("room for it");
    assert!(left < 10, "{left}");
    drop(store);
    let mut store = place.open().expect("that of before");
    assert!(!store.was_behind());
    assert_eq!(read::<Folder>(&mut store).len(), refused - left);
    let _ = fill(&mut store, refused + 1);
    drop(store);
    // A process that a test beside this one is about to start has the deleted files open until then, and their room is
    // not free. What was behind is deleted by the first that opens.
    let mut tries = 0;
    let mut store = loop {
        match place.open() {
            Ok(store) => break store,
            Err(why) => assert!(tries < 1_000 && why.contains("No space left"), "{why}"),
        }
        tries += 1;
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(store.was_behind() || tries > 0);
    assert!(read::<Folder>(&mut store).is_empty());
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
