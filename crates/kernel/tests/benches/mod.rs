//! Where the invariants are tried: rings, and peers with the habits that the invariants need.

use crate::{FLOOD, GOODBYE, Habit, pattern};
use kernel::sim::{ConnectAnswer, Faults, Options, Peer, Sim, World};
use kernel::{Address, Epoll, Errno, Ring, ServerRing, Uring, clock};
use std::any::Any;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
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

/// A bench whose rings can be servers.
pub trait ServerBench: Bench<Ring: ServerRing> {
    /// Where a ring can listen.
    fn door(&self) -> Address;

    /// Connects to the ring's listener `at`, and says [`Knock::SAYS`].
    fn knock(&self, ring: &mut Self::Ring, at: &Address) -> Knock;

    /// Whether connections have stamps where they are asked for.
    fn stamps(&self) -> bool;
}

/// A client that has come to the ring's door, and stays until this is dropped.
pub struct Knock {
    /// Who he is.
    pub from: Option<SocketAddr>,
    /// When he spoke: not before, and not after.
    pub spoken: (Instant, Instant),
    _stream: Box<dyn Any>,
}

impl Knock {
    pub const SAYS: &[u8] = b"knock, knock";

    fn on(
        mut stream: impl Write + 'static,
        from: Option<SocketAddr>,
        now: impl Fn() -> Instant,
    ) -> Knock {
        let earliest = now();
        stream.write_all(Knock::SAYS).unwrap();
        Knock {
            from,
            // The kernel may put off what it can do later.
            spoken: (earliest, Instant::NEVER),
            _stream: Box::new(stream),
        }
    }
}

/// All but the one that is not there.
fn present() -> &'static [Habit] {
    let last = Habit::ALL.len() - 1;
    assert_eq!(Habit::ALL[last], Habit::Refuse);
    &Habit::ALL[..last]
}

/// Real sockets, with peers that are threads of this process. They end with it.
pub struct OnEpoll {
    places: Vec<Address>,
    refusing: Address,
    door: Address,
    folder: Option<PathBuf>,
}

impl OnEpoll {
    /// Over TCP; none when there is no such address here.
    pub fn ip(ip: &str) -> Option<OnEpoll> {
        let any = SocketAddr::new(ip.parse().unwrap(), 0);
        let closed = TcpListener::bind(any).ok()?;
        let places = present().iter().map(|&habit| {
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
            places: places.collect(),
            refusing,
            door: Address::Ip(any),
            folder: None,
        })
    }

    /// Over Unix-domain sockets.
    pub fn unix() -> Option<OnEpoll> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kernel-invariants-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let places = present().iter().map(|&habit| {
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
            places: places.collect(),
            refusing: Address::Unix(stale(&folder)),
            door: Address::Unix(folder.join("door")),
            folder: Some(folder),
        })
    }
}

/// A socket file without a listener.
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
        let place = self.places.get(habit as usize);
        place.unwrap_or(&self.refusing).clone()
    }

    fn lateness(&self) -> Nanos {
        Nanos::from_secs(2)
    }
}

impl ServerBench for OnEpoll {
    fn door(&self) -> Address {
        self.door.clone()
    }

    fn knock(&self, _: &mut Epoll, at: &Address) -> Knock {
        match at {
            Address::Ip(at) => {
                let stream = TcpStream::connect(at).unwrap();
                let from = stream.local_addr().unwrap();
                Knock::on(stream, Some(from), clock::now)
            }
            Address::Unix(path) => Knock::on(UnixStream::connect(path).unwrap(), None, clock::now),
        }
    }

    fn stamps(&self) -> bool {
        matches!(self.door, Address::Ip(_))
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
        Habit::Goodbye => {
            let _ = stream.write_all(GOODBYE);
        }
        Habit::Sink => {
            if std::io::copy(&mut stream, &mut std::io::sink()).is_ok() {
                let _ = stream.write_all(GOODBYE);
            }
        }
        Habit::Refuse => unreachable!("nothing listens there"),
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
        Nanos::from_micros(1) // of a wait of no length
    }
}

impl ServerBench for OnSim {
    fn door(&self) -> Address {
        "192.0.2.9:0".parse().unwrap()
    }

    fn knock(&self, ring: &mut Sim<Actor>, at: &Address) -> Knock {
        let now = ring.now();
        let host = ring.world_mut().random(250) as u8 + 1;
        let from = SocketAddr::from(([203, 0, 113, host], 1234));
        ring.world_mut().open_from(now, at, from);
        Knock {
            from: Some(from),
            spoken: (now + HESITATION, now + HESITATION),
            _stream: Box::new(()),
        }
    }

    fn stamps(&self) -> bool {
        true
    }
}

/// From when a simulated guest is at the door to when he speaks.
const HESITATION: Nanos = Nanos::from_micros(123);

/// The simulated peer of every habit.
pub struct Actor;

fn habit_of(conn: u64, world: &World) -> Habit {
    match world.address(conn) {
        Some(Address::Ip(at)) => Habit::ALL[usize::from(at.port()) - 1],
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
            Habit::Goodbye => {
                world.send(conn, at + after, GOODBYE);
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
            Habit::Sink => {}
            _ => world.send(conn, at, bytes),
        }
    }

    fn opened(&mut self, at: Instant, conn: u64, answer: Result<(), Errno>, world: &mut World) {
        answer.unwrap();
        world.send(conn, at + HESITATION, Knock::SAYS);
    }

    fn ended(&mut self, at: Instant, conn: u64, world: &mut World) {
        if habit_of(conn, world) == Habit::Sink {
            world.send(conn, at, GOODBYE);
        }
        world.end(conn, at);
    }
}
