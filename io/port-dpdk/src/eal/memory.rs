//! EAL memory: huge pages or anonymous memory.

use crate::error::EalError;

/// Memory for packets and queues, in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Huge pages if that many are free, else normal pages.
    Auto {
        /// Upper bound, taken from the kernel as it is used.
        mib: u32,
    },
    /// Huge pages of 2 MiB or nothing.
    HugePages {
        /// Must be free at start.
        mib: u32,
    },
    /// Normal pages even if there are huge ones.
    NormalPages {
        /// Fixed size of the area.
        mib: u32,
    },
}

impl Default for Memory {
    /// 512 MiB: room for about 200,000 packets of usual size.
    fn default() -> Self {
        Self::Auto { mib: 512 }
    }
}

/// The choice that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pages {
    Huge,
    Normal { mib: u32 },
}

impl Pages {
    pub(super) fn are_huge(self) -> bool {
        self == Self::Huge
    }

    pub(super) fn arguments(self) -> Vec<String> {
        match self {
            // One file per segment list: what memif's zero-copy and virtio-user need to share it.
            Self::Huge => vec![
                "--in-memory".to_owned(),
                "--single-file-segments".to_owned(),
            ],
            // DPDK refuses --in-memory together with --no-huge; this is the part of it that is
            // left without huge pages.
            Self::Normal { mib } => {
                vec![
                    "--no-shconf".to_owned(),
                    "--no-huge".to_owned(),
                    format!("-m{mib}"),
                ]
            }
        }
    }
}

impl Memory {
    /// Whether it can be had now.
    ///
    /// # Errors
    /// [`EalError::TooFewHugePages`].
    pub fn is_there(self) -> Result<(), EalError> {
        choose(self, free_huge_mib()).map(drop)
    }
}

pub(super) fn choose(wanted: Memory, free_huge_mib: u32) -> Result<Pages, EalError> {
    match wanted {
        Memory::Auto { mib } if mib <= free_huge_mib => Ok(Pages::Huge),
        Memory::Auto { mib } | Memory::NormalPages { mib } => Ok(Pages::Normal { mib }),
        Memory::HugePages { mib } if mib <= free_huge_mib => Ok(Pages::Huge),
        Memory::HugePages { mib } => Err(EalError::TooFewHugePages {
            wanted_mib: mib,
            free_mib: free_huge_mib,
        }),
    }
}

/// MiB in free huge pages of 2 MiB that nobody has a claim to.
#[must_use]
pub fn free_huge_mib() -> u32 {
    let pages = |name: &str| {
        let file = format!("/sys/kernel/mm/hugepages/hugepages-2048kB/{name}_hugepages");
        let text = std::fs::read_to_string(file).ok()?;
        text.trim().parse::<u32>().ok()
    };
    let (free, claimed) = (pages("free"), pages("resv"));
    let unclaimed = free.unwrap_or(0).saturating_sub(claimed.unwrap_or(0));
    unclaimed.saturating_mul(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_are_used_when_enough_are_free() {
        let auto = Memory::Auto { mib: 100 };
        assert_eq!(choose(auto, 100), Ok(Pages::Huge));
        assert_eq!(choose(auto, 98), Ok(Pages::Normal { mib: 100 }));
        assert_eq!(
            choose(Memory::NormalPages { mib: 5 }, 100),
            Ok(Pages::Normal { mib: 5 })
        );
    }

    #[test]
    fn demanded_huge_pages_that_are_missing_are_an_error() {
        let error = choose(Memory::HugePages { mib: 100 }, 98);
        assert_eq!(
            error,
            Err(EalError::TooFewHugePages {
                wanted_mib: 100,
                free_mib: 98
            })
        );
    }
}
