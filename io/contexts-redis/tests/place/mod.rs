//! Redis servers of the tests, and a proxy that loses what is said.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use sluice_contexts_redis::{ContextRedis, Opening, RedisAddress};
use sluice_host::redis::Redis;
use sluice_sbi::context_store::Stored;
use sluice_seal::StoreKey;

use super::common::Place;

/// The longest wait of a test.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Contexts at some server.
pub struct At(pub Opening);

/// Contexts at a server of this test.
pub struct Server {
    pub redis: Arc<Redis>,
    pub opening: Opening,
}

/// A lease that tests can wait for, and a time-out that a busy machine keeps.
pub fn opening(url: &str) -> Opening {
    Opening {
        address: RedisAddress::read(url).expect("an address"),
        key: StoreKey::new([7; 32]),
        instance: "core".to_owned(),
        lease: Duration::from_secs(3),
        replicas: 0,
        timeout: Duration::from_secs(2),
    }
}

/// A server, or none with a word about it.
pub fn server() -> Option<Server> {
    match Redis::start() {
        Ok(redis) => Some(Server {
            opening: opening(&redis.url()),
            redis: Arc::new(redis),
        }),
        Err(why) => {
            eprintln!("skipped: {why}");
            None
        }
    }
}

/// How many puts there were.
pub fn version(redis: &Redis) -> u64 {
    let told = redis.cli(&["HGET", "sluice:{core}:state", "version"]);
    told.expect("it is there").trim().parse().expect("a number")
}

impl Server {
    /// Another instance at the same server.
    pub fn instance(&self, name: &str) -> Self {
        Self {
            redis: self.redis.clone(),
            opening: Opening {
                instance: name.to_owned(),
                ..self.opening.clone()
            },
        }
    }
}

fn open(opening: &Opening) -> Result<ContextRedis, String> {
    ContextRedis::open(opening, &|| false).map_err(|error| error.to_string())
}

/// All that is there; after a failure the server is not asked at once.
fn all(store: &mut ContextRedis) -> Stored {
    let until = Instant::now() + LIMIT;
    loop {
        match store.all() {
            Ok(stored) => return stored,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Place for Server {
    type Store = ContextRedis;

    fn open(&self) -> Result<ContextRedis, String> {
        open(&self.opening)
    }

    fn all(store: &mut ContextRedis) -> Stored {
        all(store)
    }
}

impl Place for At {
    type Store = ContextRedis;

    fn open(&self) -> Result<ContextRedis, String> {
        open(&self.0)
    }

    fn all(store: &mut ContextRedis) -> Stored {
        all(store)
    }
}

/// What a proxy does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Pass,
    /// Answers do not come back.
    Swallow,
    /// The connection ends in place of the next answer; later ones pass.
    Cut,
    /// Requests of connections before this number wait.
    Hold,
}

struct State {
    mode: Mode,
    connections: usize,
    /// Connections before this one are held, whatever the mode is.
    held_before: usize,
}

/// Stands between a store and a server.
pub struct Proxy {
    port: u16,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Proxy {
    pub fn start(redis: &Redis) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let state = State {
            mode: Mode::Pass,
            connections: 0,
            held_before: 0,
        };
        let state = Arc::new((Mutex::new(state), Condvar::new()));
        let (socket, shared) = (redis.socket(), state.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                serve(client, &socket, &shared);
            }
        });
        Self { port, state }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.0.lock().expect("no panic"));
        self.state.1.notify_all();
    }

    pub fn pass(&self) {
        self.set(|state| state.mode = Mode::Pass);
    }

    pub fn swallow_answers(&self) {
        self.set(|state| state.mode = Mode::Swallow);
    }

    pub fn cut_before_answer(&self) {
        self.set(|state| state.mode = Mode::Cut);
    }

    pub fn hold_requests(&self) {
        self.set(|state| state.mode = Mode::Hold);
    }

    /// Those that are held stay so.
    pub fn pass_new(&self) {
        self.set(|state| {
            state.held_before = state.connections;
            state.mode = Mode::Pass;
        });
    }

    /// Those that were held arrive; when this returns, they have been sent.
    pub fn release(&self) {
        self.set(|state| state.held_before = 0);
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn serve(client: TcpStream, socket: &PathBuf, shared: &Arc<(Mutex<State>, Condvar)>) {
    let Ok(server) = UnixStream::connect(socket) else {
        return;
    };
    let number = {
        let mut state = shared.0.lock().expect("no panic");
        state.connections += 1;
        state.connections - 1
    };
    let (mut from, mut to) = (
        client.try_clone().expect("a copy"),
        server.try_clone().expect("a copy"),
    );
    let there = shared.clone();
    std::thread::spawn(move || {
        let mut room = vec![0; 1 << 16];
        while let Ok(read @ 1..) = from.read(&mut room) {
            let mut state = there.0.lock().expect("no panic");
            while state.mode == Mode::Hold || number < state.held_before {
                state = there.1.wait(state).expect("no panic");
            }
            drop(state);
            if to.write_all(&room[..read]).is_err() {
                return;
            }
        }
        // A moment: what was held before has to be executed although its sender has gone.
        std::thread::sleep(Duration::from_millis(100));
        let _ = to.shutdown(Shutdown::Both);
    });
    let (mut from, mut to, there) = (server, client, shared.clone());
    std::thread::spawn(move || {
        let mut room = vec![0; 1 << 16];
        while let Ok(read @ 1..) = from.read(&mut room) {
            let mut state = there.0.lock().expect("no panic");
            match state.mode {
                Mode::Swallow => continue,
                Mode::Cut => {
                    state.mode = Mode::Pass;
                    let _ = to.shutdown(Shutdown::Both);
                    return;
                }
                Mode::Pass | Mode::Hold => {}
            }
            drop(state);
            if to.write_all(&room[..read]).is_err() {
                return;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}
