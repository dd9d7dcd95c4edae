//! Where the laws are tried: rings, and peers with the habits that the laws need.

use crate::{FLOOD, Habit, pattern};
use kernel::sim::{ConnectAnswer, Faults, Options, Peer, Sim, World};
use kernel::{Address, Epoll, Errno, Ring, Uring};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use units::{Instant, Nanos};

/// Opens rings, and knows where peers are.
pub trait Bench {
    type Ring: Ring;

    fn ring(&self) -> Self::Ring;

    /// Where a peer with this habit is.
    fn at(&self, habit: Habit) -> Address;

    /// Bytes of a message that is sent in several parts.
    fn long(&self) -> usize {
        10_000_000
    }

    /// How late a wait may end: a busy machine's scheduler, or not at all.
    fn lateness(&self) -> Nanos;
}

const HABITS: [Habit; 3] = [Habit::Echo, Habit::Flood, Habit::Reset];

/// Real sockets, with peers that are threads of this process. They end with it.
pub struct OnEpoll {
    places: Vec<Address>,
    refusing: Address,
    folder: Option<PathBuf>,
}

impl OnEpoll {
    /// Over TCP; none when there is no such address here.
    pub fn ip(ip: &str) -> Option<OnEpoll> {
        let any = SocketAddr::new(ip.parse().unwrap(), 0);
        let closed = TcpListener::bind(any).ok()?;
        let places = HABITS.map(|habit| {
            let listener = TcpListener::bind(any).unwrap();
            let at = listener.local_addr().unwrap();
            thread::spawn(move || {
                listener
                    .incoming()
                    .flatten()
                    .for_each(|it| behave(habit, it))
            });
            Address::Ip(at)
        });
        let refusing = Address::Ip(closed.local_addr().unwrap());
        Some(OnEpoll {
            places: places.into(),
            refusing,
            folder: None,
        })
    }

    /// Over Unix-domain sockets.
    pub fn unix() -> Option<OnEpoll> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kernel-laws-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let places = HABITS.map(|habit| {
            let path = folder.join(format!("{habit:?}"));
            let listener = UnixListener::bind(&path).unwrap();
            thread::spawn(move || {
                listener
                    .incoming()
                    .flatten()
                    .for_each(|it| behave(habit, it))
            });
            Address::Unix(path)
        });
        Some(OnEpoll {
            places: places.into(),
            refusing: Address::Unix(stale(&folder)),
            folder: Some(folder),
        })
    }
}

/// A socket file that nobody listens on.
fn stale(folder: &Path) -> PathBuf {
    let path = folder.join("stale");
    drop(UnixListener::bind(&path).unwrap());
    path
}

impl Drop for OnEpoll {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

impl Bench for OnEpoll {
    type Ring = Epoll;

    fn ring(&self) -> Epoll {
        Epoll::new().unwrap()
    }

    fn at(&self, habit: Habit) -> Address {
        match HABITS.iter().position(|&other| other == habit) {
            Some(index) => self.places[index].clone(),
            None => self.refusing.clone(),
        }
    }

    fn lateness(&self) -> Nanos {
        Nanos::from_secs(2)
    }
}

/// The same peers, spoken to through io_uring.
pub struct OnUring(OnEpoll);

impl OnUring {
    /// None, and a line that says so, where the kernel or a container forbids io_uring.
    pub fn with(peers: Option<OnEpoll>) -> Option<OnUring> {
        match Uring::new() {
            Ok(_) => peers.map(OnUring),
            Err(error) => {
                eprintln!("io_uring is not to be had here: {error}");
                None
            }
        }
    }
}

impl Bench for OnUring {
    type Ring = Uring;

    fn ring(&self) -> Uring {
        Uring::new().unwrap()
    }

    fn at(&self, habit: Habit) -> Address {
        self.0.at(habit)
    }

    fn lateness(&self) -> Nanos {
        self.0.lateness()
    }
}

/// Serves one connection in a thread of its own; errors are the client's business.
fn behave(habit: Habit, mut stream: impl Read + Write + Send + 'static) {
    thread::spawn(move || match habit {
        Habit::Echo => {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(length @ 1..) = stream.read(&mut buffer) {
                if stream.write_all(&buffer[..length]).is_err() {
                    break;
                }
            }
        }
        Habit::Flood => {
            let _ = stream.write_all(&flood());
        }
        // Closing with unread bytes resets.
        Habit::Reset => {
            let _ = stream.read(&mut [0]);
        }
        Habit::Refuse => unreachable!("nobody listens there"),
    });
}

fn flood() -> Vec<u8> {
    (0..FLOOD).map(pattern).collect()
}

/// Simulated: the port says which habit.
pub struct OnSim {
    seed: u64,
    faults: Faults,
}

impl OnSim {
    pub fn new(seed: u64, faults: Faults) -> OnSim {
        OnSim { seed, faults }
    }
}

impl Bench for OnSim {
    type Ring = Sim<Actor>;

    fn ring(&self) -> Sim<Actor> {
        let options = Options {
            faults: self.faults.clone(),
            latency: Nanos::from_micros(10),
            ..Options::default()
        };
        Sim::with(self.seed, Actor, options)
    }

    fn at(&self, habit: Habit) -> Address {
        format!("192.0.2.1:{}", habit as u16 + 1).parse().unwrap()
    }

    fn long(&self) -> usize {
        1_000_000
    }

    fn lateness(&self) -> Nanos {
        Nanos::ZERO
    }
}

/// The simulated peer of every habit.
pub struct Actor;

fn habit_of(conn: u64, world: &World) -> Habit {
    let all = [Habit::Echo, Habit::Flood, Habit::Reset, Habit::Refuse];
    match world.address(conn) {
        Some(Address::Ip(at)) => all[usize::from(at.port()) - 1],
        other => panic!("{other:?}"),
    }
}

impl Peer for Actor {
    fn connect(&mut self, at: Instant, conn: u64, world: &mut World) -> ConnectAnswer {
        let after = Nanos::from_nanos(world.random(100_000));
        match habit_of(conn, world) {
            Habit::Refuse => return ConnectAnswer::Refuse(after, Errno::ECONNREFUSED),
            Habit::Flood => {
                world.send(conn, at + after, flood());
                world.end(conn, at + after * 2);
            }
            _ => {}
        }
        ConnectAnswer::Accept(after)
    }

    fn receive(&mut self, at: Instant, conn: u64, bytes: &[u8], world: &mut World) {
        let at = at + Nanos::from_nanos(world.random(50_000));
        match habit_of(conn, world) {
            Habit::Reset => world.reset(conn, at),
            _ => world.send(conn, at, bytes),
        }
    }

    fn ended(&mut self, at: Instant, conn: u64, world: &mut World) {
        world.end(conn, at);
    }
}
