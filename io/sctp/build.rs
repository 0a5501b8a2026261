//! Finds usrsctp and compiles the C shim over it.

fn main() {
    for file in ["build.rs", "c/shim.h", "c/shim.c"] {
        println!("cargo:rerun-if-changed={file}");
    }
    // The shim's library must stand before usrsctp on the linker's command line.
    let found = pkg_config::Config::new()
        .atleast_version("0.9")
        .cargo_metadata(false)
        .probe("usrsctp");
    let usrsctp = found.unwrap_or_else(|error| {
        fail(&format!(
            "usrsctp 0.9 or newer is needed (Debian and Ubuntu: libusrsctp-dev): run `make setup` \
             first.\n{error}"
        ))
    });
    let mut build = cc::Build::new();
    build.file("c/shim.c").include("c").opt_level(2);
    build.flag("-Wall").flag("-Wextra").flag("-Werror");
    for path in &usrsctp.include_paths {
        // As system headers: their warnings are not ours.
        build.flag("-isystem").flag(path.display().to_string());
    }
    for (name, value) in &usrsctp.defines {
        build.define(name, value.as_deref());
    }
    if let Err(error) = build.try_compile("sluice_sctp_shim") {
        fail(&format!("the SCTP shim does not compile: {error}"));
    }
    for path in &usrsctp.link_paths {
        println!("cargo:rustc-link-search=native={}", path.display());
    }
    for library in &usrsctp.libs {
        println!("cargo:rustc-link-lib={library}");
    }
}

/// Ends the build with a message that can be read.
fn fail(message: &str) -> ! {
    for line in message.lines() {
        println!("cargo:warning={line}");
    }
    eprintln!("{message}");
    std::process::exit(1)
}
