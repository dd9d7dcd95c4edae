//! The only room that makes system calls, and the only one with `unsafe`.
//!
//! In scope: the [`Ring`] through which threads talk to sockets (on epoll, on io_uring, and simulated), the monotonic
//! clock, files beneath a folder, what a thread and a process have cost, CPUs, quotas and limits, starting and stopping a
//! server's processes, signals, users, names.
//! Out of scope: what the bytes mean (that is `wire`), when something is due (that is `plan`), what machine this is
//! (that is `host`). Everything here is mechanism; nothing here judges.
//!
//! ```
//! use kernel::{Address, Closing, ConnectOptions, Epoll, Event, ListenOptions, Ring, ServerRing, Token};
//!
//! let mut ring = Epoll::new()?;
//! let (listener, client, server) = (Token(0), Token(1), Token(2));
//! let at: Address = "127.0.0.1:0".parse().unwrap();
//! let at = ring.listen(listener, &at, &ListenOptions::default())?;
//! ring.connect(client, &at, &ConnectOptions::default())?;
//! let mut greeted = false;
//! while !greeted {
//!     ring.wait(None);
//!     while let Some(completion) = ring.next() {
//!         match completion.event {
//!             Event::Incoming => assert!(ring.accept(listener, server)?.is_some()),
//!             Event::Connected => assert_eq!(ring.send(client, &[std::io::IoSlice::new(b"hello")])?, 5),
//!             Event::Received => greeted = ring.received() == b"hello",
//!             other => panic!("{other:?}"),
//!         }
//!     }
//! }
//! ring.close(client, Closing::Orderly);
//! # Ok::<(), kernel::Errno>(())
//! ```
#![allow(
    unsafe_code,
    reason = "system calls are unsafe; this crate is where they live"
)]

// In reading order; the comments keep it.
mod errno;
// What sockets are called,
mod address;
// what a thread asks of the kernel,
mod ring;
// the calls on one socket,
mod socket;
// with what the kernel says beside the bytes,
mod stamps;
// and the rings on top of them.
mod epoll;
mod uring;
// The same ring without a kernel, for tests.
#[cfg(feature = "sim")]
pub mod sim;
// What may be sent besides memory.
pub mod files;
// Small ones that are read whole.
pub mod bounded;
// What comes through a pipe that a path names.
pub mod pipe;
// Time and its price.
pub mod clock;
// What threads and processes have cost.
pub mod accounts;
// Where threads may run,
pub mod affinity;
// for how much of the time,
pub mod quota;
// how much they may open,
pub mod limits;
// and in which table,
pub mod descriptors;
// what of the program stands in memory,
pub mod code;
// what they start,
pub mod process;
// what interrupts them,
pub mod signals;
// as which user they run,
pub mod user;
// and how names become addresses.
pub mod resolve;

pub use address::{Address, AddressError};
pub use epoll::Epoll;
pub use errno::Errno;
pub use ring::{Accepted, Closing, Completion, ConnectOptions, Event, ListenOptions};
pub use ring::{Ring, ServerRing, Token};
pub use socket::is_free;
pub use uring::Uring;
