//! Runner `placement`: both workers on one core or on one each, in a process of their own, bare or
//! in a
//! container that the lab makes: namespaces by unshare(1), and a cgroup whose cpuset has two CPUs.

use super::args::PlaceArgs;
use super::runners::{machine, start};
use super::testbed::{
    CurrentTestbed, ETH, FCS, Load, SHARE_MOST, bad, best_of, container, engine_mpps, in_share,
    repeats, sessions, translated,
};
use super::{Done, Exit};
use crate::experiments::{Job, Measured, Problem};
use serde::{Deserialize, Serialize};
use sluice_bench::elastic::models::{Model, arrange, full_load};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const CGROUPS: &str = "/sys/fs/cgroup";

/// Placement that the process reports.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Placed {
    mpps: Vec<f64>,
    engine_mpps: Vec<f64>,
    /// What disturbed a repetition, if something did.
    disturbed: Option<String>,
}

/// One placement in one kind of room.
pub fn placement(cpus: [usize; 2], job: &Job<'_>) -> Result<Measured, Problem> {
    let cpus = match job.text("placement")? {
        "one core shared" => [cpus[1], cpus[1]],
        "one core each" => cpus,
        other => {
            return Err(bad(
                "placement",
                other,
                "'one core shared' or 'one core each'",
            ));
        }
    };
    let room = match job.text("room")? {
        "bare" => None,
        "container" => Some(Room::make(cpus)?),
        other => return Err(bad("room", other, "bare or container")),
    };
    let args = child_args(cpus, job)?;
    let program = std::env::current_exe().map_err(|e| Problem::Failed(e.to_string()))?;
    let mut command = match &room {
        None => Command::new(&program),
        Some(room) => room.command(&program),
    };
    let output = command
        .args(args)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| Problem::Failed(format!("the UPF's process did not start: {e}")))?;
    drop(room);
    job.go_on()?;
    let placed: Result<Placed, _> = serde_json::from_slice(&output.stdout);
    let placed = placed.map_err(|_| {
        Problem::Failed(format!(
            "the UPF's process ended without figures: {}",
            output.status
        ))
    })?;
    let mut measured = Measured {
        disturbed: placed.disturbed,
        ..Measured::default()
    };
    measured.add("mpps", placed.mpps);
    measured.add("engine_mpps", placed.engine_mpps);
    Ok(measured)
}

fn child_args(cpus: [usize; 2], job: &Job<'_>) -> Result<Vec<String>, Problem> {
    let inner = (job.number("frame_bytes")? as usize).saturating_sub(ETH + FCS + 36);
    let mut args = vec![
        "place".to_owned(),
        format!("--cpus={},{}", cpus[0], cpus[1]),
        format!("--sessions={}", sessions(job)?),
        format!("--inner={inner}"),
        format!("--seconds={}", job.number("seconds")?),
        format!("--repeats={}", repeats(job)?),
    ];
    args.extend(container(job)?.then(|| "--container".to_owned()));
    args.extend(translated(job)?.then(|| "--translated".to_owned()));
    Ok(args)
}

pub fn child(args: &PlaceArgs) -> Done {
    let failed = |problem: Problem| match problem {
        Problem::Lacking(why) => (Exit::Lacking, why),
        other => (Exit::Failed, other.to_string()),
    };
    let [near, far] = args.cpus[..] else {
        return Err((Exit::Usage, "--cpus: expected two".to_owned()));
    };
    let cpus = [usize::from(near), usize::from(far)];
    let each = Duration::try_from_secs_f64(args.seconds);
    let each = each.map_err(|_| (Exit::Usage, "--seconds: expected seconds".to_owned()))?;
    let (eal, pool) = start(cpus[0]).map_err(failed)?;
    let mut testbed = CurrentTestbed::new(machine(cpus, &eal, &pool));
    let load = Load {
        inner_lens: vec![args.inner],
        container: args.container,
        translated: args.translated,
        uplink: 1.0,
    };
    let testbed = testbed.of_sessions(args.sessions, &load).map_err(failed)?;
    arrange(testbed, Model::RunToCompletion);
    let mut placed = Placed::default();
    for _ in 0..args.repeats.max(1) {
        let seen = best_of(SHARE_MOST, || {
            let (full, share) = in_share(testbed, |testbed| full_load(testbed, 1, each));
            // Two workers of one core are away for each other.
            Ok((full, if near == far { 0.0 } else { share }))
        });
        let seen = seen.map_err(failed)?;
        let full = seen.what;
        placed.disturbed = placed.disturbed.or(seen.disturbed);
        placed.mpps.push(full.mpps.median);
        placed.engine_mpps.push(engine_mpps(&full));
    }
    let text = serde_json::to_string(&placed).map_err(|e| (Exit::Failed, e.to_string()))?;
    println!("{text}");
    Ok(Exit::Done)
}

/// A cgroup for the container; it goes with this, and then what was switched on for it.
struct Room {
    cgroup: PathBuf,
    _switch: Option<Switch>,
}

impl Room {
    fn make(cpus: [usize; 2]) -> Result<Self, Problem> {
        let lacks = |what: &Path, why: std::io::Error| {
            let what = what.display();
            Problem::Failed(format!(
                "a container needs root and cgroups with cpuset: {what}: {why}"
            ))
        };
        let parent = match Path::new(CGROUPS).join("cgroup.controllers").exists() {
            true => PathBuf::from(CGROUPS),
            false => Path::new(CGROUPS).join("cpuset"),
        };
        let control = parent.join("cgroup.subtree_control");
        let switch = Switch::on(&control).map_err(|why| lacks(&control, why))?;
        let cgroup = parent.join(format!("sluice-lab-{}", std::process::id()));
        fs::create_dir(&cgroup).map_err(|why| lacks(&cgroup, why))?;
        let room = Self {
            cgroup,
            _switch: switch,
        };
        // Version 1 has no memory nodes unless it is told.
        let nodes = fs::read_to_string(parent.join("cpuset.mems")).unwrap_or_default();
        let nodes = Some(nodes.trim()).filter(|nodes| !nodes.is_empty());
        let list = format!("{},{}", cpus[0], cpus[1]);
        for (name, value) in [("cpuset.mems", nodes), ("cpuset.cpus", Some(&list[..]))] {
            let file = room.cgroup.join(name);
            if let Some(value) = value {
                fs::write(&file, value).map_err(|why| lacks(&file, why))?;
            }
        }
        Ok(room)
    }

    /// Enters the cgroup, then namespaces of its own.
    fn command(&self, program: &Path) -> Command {
        const ENTER: &str = r#"echo $$ > "$0/cgroup.procs" && exec unshare --mount --net --pid \
            --uts --ipc --fork --kill-child --mount-proc "$@""#;
        let mut command = Command::new("sh");
        command.args(["-c", ENTER]).arg(&self.cgroup).arg(program);
        command
    }
}

impl Drop for Room {
    /// Leaves the group once its processes have ended, which the kernel may notice a moment later.
    fn drop(&mut self) {
        for _ in 0..50 {
            if fs::remove_dir(&self.cgroup).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        eprintln!("{}: cannot be removed", self.cgroup.display());
    }
}

/// The cpuset controller of a cgroup's children, where version 2 had it off; off again with this.
struct Switch {
    control: PathBuf,
}

impl Switch {
    /// None if it is on already, or if there is no such file, as in version 1.
    fn on(control: &Path) -> std::io::Result<Option<Self>> {
        if !control.exists() {
            return Ok(None);
        }
        let before = fs::read_to_string(control)?;
        if before.split_whitespace().any(|name| name == "cpuset") {
            return Ok(None);
        }
        fs::write(control, "+cpuset")?;
        let control = control.to_owned();
        Ok(Some(Self { control }))
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        if let Err(why) = fs::write(&self.control, "-cpuset") {
            let control = self.control.display();
            eprintln!("{control}: cpuset was off before and cannot be switched off again: {why}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The controller is left as it was found; a plain file keeps the last value written.
    #[test]
    fn the_controller_is_left_as_it_was_found() {
        let folder = tempfile::tempdir().unwrap();
        let control = folder.path().join("cgroup.subtree_control");
        assert!(Switch::on(&control).unwrap().is_none(), "version 1");
        fs::write(&control, "cpu memory\n").unwrap();
        let switch = Switch::on(&control).unwrap();
        assert_eq!(fs::read_to_string(&control).unwrap(), "+cpuset");
        drop(switch);
        assert_eq!(fs::read_to_string(&control).unwrap(), "-cpuset");
        for on in ["cpuset cpu\n", "cpu cpuset"] {
            fs::write(&control, on).unwrap();
            drop(Switch::on(&control).unwrap());
            assert_eq!(fs::read_to_string(&control).unwrap(), on);
        }
    }
}
