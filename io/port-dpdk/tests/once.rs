//! The EAL exists once per process, and says nothing on standard output.

mod common;

use std::process::Command;

use sluice_port_dpdk::*;

#[test]
fn a_second_start_is_refused_also_after_the_first_has_ended() {
    let first = Eal::init(&common::config()).unwrap();
    assert!(!first.huge_pages());
    assert!(Eal::version() >= (22, 11));
    assert_eq!(
        Eal::init(&common::config()).err(),
        Some(EalError::AlreadyInitialised)
    );
    drop(first);
    assert_eq!(
        Eal::init(&common::config()).err(),
        Some(EalError::AlreadyInitialised)
    );
}

#[test]
fn dpdk_speaks_on_standard_error_only() {
    const MARK: &str = "SLUICE_TEST_TALKATIVE_CHILD";
    if std::env::var_os(MARK).is_some() {
        return start_dpdk_talkatively();
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "dpdk_speaks_on_standard_error_only",
            "--nocapture",
        ])
        .env(MARK, "1")
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8(child.stdout).unwrap(),
        String::from_utf8(child.stderr),
    );
    assert!(child.status.success(), "{out}");
    assert!(err.unwrap().contains("EAL: "), "it does speak");
    assert!(!out.contains("EAL: "), "{out}");
    assert!(
        out.lines().count() < 10,
        "only the test harness speaks here: {out}"
    );
}

fn start_dpdk_talkatively() {
    let config = EalConfig {
        log_level: LogLevel::Debug,
        ..common::config()
    };
    let eal = Eal::init(&config).expect("DPDK starts");
    let config = PoolConfig {
        packets: 1023,
        ..PoolConfig::default()
    };
    let pool = MbufPool::create(&eal, config).expect("a pool");
    drop(Port::open(&pool, &PortConfig::new("ring", devargs::ring(0))).expect("a port"));
}
