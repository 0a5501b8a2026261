//! Temporary folder for configuration, logs and captures.

use std::path::{Path, PathBuf};

use super::error::DemoError;

const PREFIX: &str = "sluice-demo-";

/// The folder; it is deleted with the value.
#[derive(Debug)]
pub(super) struct WorkDir {
    path: PathBuf,
}

impl WorkDir {
    /// Makes `sluice-demo-<pid>` among the temporary files, for this user only.
    pub(super) fn create() -> Result<Self, DemoError> {
        use std::os::unix::fs::DirBuilderExt as _;
        let path = std::env::temp_dir().join(format!("{PREFIX}{}", std::process::id()));
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(DemoError::io(format!("make folder {}", path.display())))?;
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file inside and gives its path.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, DemoError> {
        let path = self.join(name);
        std::fs::write(&path, bytes).map_err(DemoError::io(format!("write {}", path.display())))?;
        Ok(path)
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        // Nobody is left to tell; `sweep` tries again in the next run.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Deletes the folders that killed demos left.
pub(super) fn sweep() {
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    for name in names.filter_map(|name| name.into_string().ok()) {
        if owner(&name).is_some_and(|pid| !is_alive(pid)) {
            // It may belong to another user.
            let _ = std::fs::remove_dir_all(std::env::temp_dir().join(name));
        }
    }
}

fn owner(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.parse().ok()
}

fn is_alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_a_living_demo_stays_until_it_is_dropped() {
        let folder = WorkDir::create().expect("folder");
        let path = folder.path().to_owned();
        folder.write("file", b"text").expect("file");
        sweep();
        assert!(path.join("file").exists());
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn only_our_names_have_an_owner() {
        assert_eq!(owner("sluice-demo-12"), Some(12));
        assert_eq!(owner("sluice-demo-x"), None);
        assert_eq!(owner("sluice-12"), None);
    }
}
