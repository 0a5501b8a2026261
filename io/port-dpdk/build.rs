//! Finds DPDK and libclang, compiles the C shim and generates the bindings.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// DPDK functions called without the shim: plain arguments, the same in every supported release.
const FUNCTIONS: &str = "rte_eal_cleanup|rte_dev_probe|\
    rte_eth_dev_get_port_by_name|rte_eth_dev_adjust_nb_rx_tx_desc|\
    rte_eth_dev_start|rte_eth_dev_stop|rte_eth_dev_close|\
    rte_eth_dev_set_mtu|rte_eth_dev_get_mtu|\
    rte_eth_promiscuous_enable|rte_eth_promiscuous_disable|rte_eth_promiscuous_get|\
    rte_eth_allmulticast_enable|\
    rte_eth_stats_get|rte_eth_stats_reset|rte_eth_xstats_get|rte_eth_xstats_get_names|\
    rte_pktmbuf_pool_create|rte_mempool_avail_count|\
    rte_thread_register|rte_thread_unregister|sdp_.*";

fn main() {
    for file in [
        "build.rs",
        "c/shim.h",
        "c/shim.c",
        "c/steer.c",
        "c/wrapper.h",
    ] {
        println!("cargo:rerun-if-changed={file}");
    }
    for variable in ["SLUICE_NATIVE", "LIBCLANG_PATH"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let dpdk = find_dpdk();
    compile_shim(&dpdk);
    generate_bindings(&dpdk);
}

struct Dpdk {
    include_paths: Vec<PathBuf>,
    /// `-march=...` that the distribution built DPDK's headers for.
    march: String,
}

fn find_dpdk() -> Dpdk {
    let library = pkg_config::Config::new()
        .atleast_version("22.11")
        .probe("libdpdk");
    let library = library.unwrap_or_else(|error| {
        fail(&format!(
            "DPDK 22.11 or newer is needed: run `make setup` first.\n{error}"
        ))
    });
    Dpdk {
        include_paths: library.include_paths,
        march: distribution_march(),
    }
}

/// The instruction set that DPDK's headers require, as pkg-config says (Debian: corei7, which
/// is x86-64-v2). The crate `pkg_config` hides this flag.
fn distribution_march() -> String {
    let output =
        std::process::Command::new(env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into()))
            .args(["--cflags", "libdpdk"])
            .output();
    let flags = output
        .map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
        .unwrap_or_default();
    let march = flags
        .split_whitespace()
        .find(|flag| flag.starts_with("-march="));
    march.unwrap_or("-march=x86-64-v2").to_owned()
}

fn compile_shim(dpdk: &Dpdk) {
    let native = env::var("SLUICE_NATIVE").is_ok_and(|value| value == "1");
    let mut build = cc::Build::new();
    build
        .files(["c/shim.c", "c/steer.c"])
        .include("c")
        .flag(if native { "-march=native" } else { &dpdk.march })
        .flag("-include")
        .flag("rte_config.h")
        .flag("-fno-strict-aliasing")
        .flag("-Wno-deprecated-declarations")
        .opt_level(3);
    for path in &dpdk.include_paths {
        // As system headers: their warnings are not ours.
        build.flag("-isystem").flag(path.display().to_string());
    }
    if let Err(error) = build.try_compile("sluice_dpdk_shim") {
        fail(&format!("the DPDK shim does not compile: {error}"));
    }
}

fn generate_bindings(dpdk: &Dpdk) {
    let mut builder = bindgen::Builder::default()
        .header("c/wrapper.h")
        .clang_args(["-include", "rte_config.h", &dpdk.march])
        .clang_args(
            dpdk.include_paths
                .iter()
                .map(|path| format!("-I{}", path.display())),
        )
        .allowlist_function(FUNCTIONS)
        .allowlist_var("sdp_.*")
        .allowlist_type("sdp_.*")
        .blocklist_type("rte_mbuf|rte_mempool")
        .prepend_enum_name(false)
        .derive_default(true)
        .generate_comments(false)
        .layout_tests(true);
    if let Some(clang) = Clang::find() {
        builder = builder
            .detect_include_paths(false)
            .clang_args(clang.resource_arguments());
        // SAFETY: the build script has one thread.
        unsafe { env::set_var("LIBCLANG_PATH", &clang.library_dir) };
    }
    let bindings = builder.generate().unwrap_or_else(|error| {
        fail(&format!(
            "no bindings for DPDK: {error}\nlibclang and its headers are needed: run `make setup`, \
             or set LIBCLANG_PATH to the folder of libclang.so"
        ))
    });
    let file = Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join("bindings.rs");
    if let Err(error) = bindings.write_to_file(&file) {
        fail(&format!("cannot write {}: {error}", file.display()));
    }
}

/// A libclang together with the compiler headers of the very same version: DPDK's headers use
/// intrinsics, which other versions' headers do not agree on.
struct Clang {
    library_dir: PathBuf,
    resource_dir: Option<PathBuf>,
    version: u32,
}

impl Clang {
    /// `LIBCLANG_PATH` if set; else version 14 (Debian 12's), else the newest complete one.
    /// `None` leaves the search to bindgen.
    fn find() -> Option<Self> {
        if let Some(path) = env::var_os("LIBCLANG_PATH") {
            let path = PathBuf::from(path);
            let dir = if path.is_file() {
                path.parent()?.to_owned()
            } else {
                path
            };
            return Some(Self::at(dir));
        }
        let installed = subfolders(Path::new("/usr/lib")).into_iter().filter(|dir| {
            dir.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("llvm"))
        });
        installed
            .flat_map(|llvm| [llvm.join("lib"), llvm.join("lib64")])
            .filter(|dir| has_libclang(dir))
            .map(Self::at)
            .filter(|clang| clang.resource_dir.is_some())
            .max_by_key(|clang| (clang.version == 14, clang.version))
    }

    fn at(library_dir: PathBuf) -> Self {
        let resource_dirs = subfolders(&library_dir.join("clang"));
        let resource_dir = resource_dirs
            .into_iter()
            .filter(|dir| dir.join("include/stddef.h").is_file())
            .max();
        let version = resource_dir.as_deref().and_then(major_version).unwrap_or(0);
        Self {
            library_dir,
            resource_dir,
            version,
        }
    }

    fn resource_arguments(&self) -> Vec<String> {
        let dir = self.resource_dir.iter();
        dir.flat_map(|dir| ["-resource-dir".to_owned(), dir.display().to_string()])
            .collect()
    }
}

fn has_libclang(dir: &Path) -> bool {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("libclang.so") || name.starts_with("libclang-") && name.contains(".so")
    })
}

fn subfolders(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect()
}

fn major_version(resource_dir: &Path) -> Option<u32> {
    resource_dir
        .file_name()?
        .to_str()?
        .split('.')
        .next()?
        .parse()
        .ok()
}

/// Ends the build with a message that can be read.
fn fail(message: &str) -> ! {
    for line in message.lines() {
        println!("cargo:warning={line}");
    }
    eprintln!("{message}");
    std::process::exit(1)
}
