//! A file as it is served: open, with its facts, its compressed copies, and the heads of its usual responses.
//!
//! Made when the file is asked for the first time, and again when it has changed. Responses share it, so that what has
//! begun to be sent is sent to its end from the same file, whatever happens to its name meanwhile.

use super::conditions::Validators;
use super::encodings::Coding;
use super::heads::Head;
use super::types;
use crate::date;
use crate::headers::Headers;
use kernel::Errno;
use kernel::files::{Facts, File};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use units::Instant;

/// Bodies up to this size are sent together with their head, copied behind it; larger ones by sendfile, which copies
/// nothing but is a call of its own. (As much as a ring reads at once.)
pub(crate) const SMALL: u64 = 64 * 1024;
/// A file that was changed less than this ago may change again without getting another date: those of FAT have two
/// seconds, and most others are as coarse as a tick of the kernel's clock, up to 10 ms.
const SETTLED: Duration = Duration::from_secs(2);

/// One file, in all the ways in which it lies there.
#[derive(Debug)]
pub(crate) struct CachedFile {
    /// Its path below the root.
    pub(crate) path: Box<[u8]>,
    /// The file itself, then its compressed copies.
    variants: Box<[Variant]>,
    /// Until then it is taken to be what is on disk.
    fresh_until: Cell<Instant>,
}

/// One of these ways.
#[derive(Debug)]
pub(crate) struct Variant {
    about: About,
    body: RefCell<Body>,
    /// Of a response that sends all of it.
    pub(crate) whole: Head,
    /// Of one that says that the client has it.
    pub(crate) unchanged: Head,
}

/// What heads tell of a variant.
#[derive(Debug)]
struct About {
    coding: Option<Coding>,
    facts: Facts,
    /// With its quotes.
    tag: String,
    is_strong: bool,
    /// In seconds since 1970.
    modified: u64,
    /// The Content-Type.
    kind: Cow<'static, str>,
    /// The operator's header lines.
    headers: Headers,
    /// There are other copies.
    varies: bool,
}

#[derive(Debug)]
enum Body {
    File(Rc<File>),
    Memory(Box<[u8]>),
    /// Given up, to make room for others.
    Closed,
}

/// An open file from which a variant is made, and how it is compressed: the file itself is not.
pub(crate) type Copy = (Option<Coding>, File);

/// How a library is kept. All is for one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LibraryOptions {
    /// Files that are kept open at most, compressed copies included.
    pub(crate) open_files: usize,
    /// Contents that are kept in memory at most, in bytes; 0: none. Only files up to 64 KiB are: larger ones are sent
    /// from the system's own cache without being copied, which is cheaper.
    pub(crate) cache: u64,
    /// The operator's header lines.
    pub(crate) headers: Headers,
}

#[cfg(test)]
impl Default for LibraryOptions {
    /// 512 open files, and none in memory.
    fn default() -> LibraryOptions {
        LibraryOptions {
            open_files: 512,
            cache: 0,
            headers: Headers::default(),
        }
    }
}

impl CachedFile {
    /// From the file and its copies, the file first; `wall` is the time of day.
    pub(crate) fn new(
        path: &[u8],
        copies: Vec<Copy>,
        options: &LibraryOptions,
        wall: Duration,
    ) -> CachedFile {
        let kind = types::of(path).name;
        let varies = copies.len() > 1;
        let variant = |copy| Variant::new(copy, kind.clone(), varies, options, wall);
        CachedFile {
            path: path.into(),
            variants: copies.into_iter().map(variant).collect(),
            fresh_until: Cell::new(Instant::ZERO),
        }
    }

    /// Whether it would be the same if it were made of these now.
    pub(crate) fn is_made_of(&self, copies: &[Copy], wall: Duration) -> bool {
        let is_same = |variant: &Variant, copy: &Copy| {
            let (facts, about) = (copy.1.facts(), &variant.about);
            (about.coding, about.facts, about.is_strong)
                == (copy.0, facts, is_settled(&facts, wall))
        };
        let mut pairs = self.variants.iter().zip(copies);
        self.variants.len() == copies.len() && pairs.all(|(variant, copy)| is_same(variant, copy))
    }

    #[inline]
    pub(crate) fn variant(&self, place: u8) -> &Variant {
        &self.variants[usize::from(place)]
    }

    /// Where the copy with this coding is.
    pub(crate) fn place(&self, coding: Coding) -> Option<u8> {
        self.position(|about| about.coding == Some(coding))
    }

    fn position(&self, is_it: impl Fn(&About) -> bool) -> Option<u8> {
        let mut variants = self.variants.iter();
        let place = variants.position(|variant| is_it(&variant.about));
        place.map(|place| place as u8)
    }

    /// There is more than one way in which it lies there.
    #[inline]
    pub(crate) fn is_choice(&self) -> bool {
        self.variants.len() > 1
    }

    #[inline]
    pub(crate) fn is_fresh(&self, now: Instant) -> bool {
        now < self.fresh_until.get()
    }

    /// It is to be looked at again at `until`.
    pub(crate) fn set_fresh(&self, until: Instant) {
        self.fresh_until.set(until);
    }

    /// How many descriptors and how many bytes of contents it holds.
    pub(crate) fn holds(&self) -> (usize, u64) {
        let variants = self.variants.iter();
        variants.fold((0, 0), |(files, bytes), variant| {
            match &*variant.body.borrow() {
                Body::File(_) => (files + 1, bytes),
                Body::Memory(body) => (files, bytes + body.len() as u64),
                Body::Closed => (files, bytes),
            }
        })
    }

    /// Gives up its files and contents, so that answers which are chosen and not yet made do not keep them.
    pub(crate) fn close(&self) {
        self.set_fresh(Instant::ZERO);
        for variant in &self.variants {
            variant.body.replace(Body::Closed);
        }
    }

    /// Where the variant is that has the same bytes as this one.
    pub(crate) fn same(&self, variant: &Variant) -> Option<u8> {
        let theirs = &variant.about;
        let file = |about: &About| (about.coding, about.facts.device, about.facts.inode);
        self.position(|ours| {
            file(ours) == file(theirs) && theirs.facts.has_same_contents(&ours.facts)
        })
    }

    /// Whether its contents are still what its heads describe: one system call for each variant that is not in memory.
    pub(crate) fn is_current(&self) -> bool {
        self.variants.iter().all(|variant| variant.check().is_ok())
    }
}

impl Variant {
    fn new(
        (coding, file): Copy,
        kind: Cow<'static, str>,
        varies: bool,
        options: &LibraryOptions,
        wall: Duration,
    ) -> Variant {
        let facts = file.facts();
        let is_settled = is_settled(&facts, wall);
        let keep = if is_settled { options.cache } else { 0 };
        let about = About {
            coding,
            facts,
            tag: tag(&facts, coding),
            is_strong: is_settled,
            // A date in the future must not be told (RFC 9110 §8.8.2.1).
            modified: facts.modified.min(wall).as_secs(),
            kind,
            headers: options.headers.clone(),
            varies,
        };
        Variant {
            whole: about.head(200, facts.size, &[("Accept-Ranges", "bytes")]),
            unchanged: about.unchanged(),
            body: RefCell::new(Body::new(file, keep.min(SMALL))),
            about,
        }
    }

    #[inline]
    pub(crate) fn size(&self) -> u64 {
        self.about.facts.size
    }

    pub(crate) fn validators(&self) -> Validators<'_> {
        Validators {
            tag: &self.about.tag,
            is_strong: self.about.is_strong,
            modified: self.about.modified as i64,
        }
    }

    /// The head of a response that sends a part of it.
    pub(crate) fn part_head(&self, first: u64, length: u64) -> Head {
        let range = format!("bytes {first}-{}/{}", first + length - 1, self.size());
        self.about.head(206, length, &[("Content-Range", &range)])
    }

    /// Appends bytes of it that are in memory, or reads them; for small parts. They are of the version that its heads
    /// describe: whatever has changed a byte before it was read has changed the file's facts before.
    ///
    /// # Errors
    /// ESTALE or ENODATA when the file has changed, EBADF when it is closed, or what reading said; something may be
    /// appended then.
    #[inline]
    pub(crate) fn append(&self, first: u64, length: u64, out: &mut Vec<u8>) -> Result<(), Errno> {
        let length = length as usize;
        match &*self.body.borrow() {
            Body::Memory(body) => {
                out.extend_from_slice(&body[first as usize..][..length]);
                Ok(())
            }
            Body::File(file) => {
                let start = out.len();
                out.resize(start + length, 0);
                read(file, first, &mut out[start..])?;
                file.check()
            }
            Body::Closed => Err(Errno::EBADF),
        }
    }

    /// Succeeds if its contents are what its heads describe. What is in memory always is.
    ///
    /// # Errors
    /// ESTALE when the file has changed, EBADF when it is closed, or what the kernel said.
    fn check(&self) -> Result<(), Errno> {
        match &*self.body.borrow() {
            Body::Memory(_) => Ok(()),
            Body::File(file) => file.check(),
            Body::Closed => Err(Errno::EBADF),
        }
    }

    /// The file, if it is open.
    fn file(&self) -> Option<Rc<File>> {
        match &*self.body.borrow() {
            Body::File(file) => Some(Rc::clone(file)),
            Body::Memory(_) | Body::Closed => None,
        }
    }
}

impl About {
    /// The head of a response that sends something of it: what it is, and then `more`.
    fn head(&self, status: u16, length: u64, more: &[(&str, &str)]) -> Head {
        let (tag, modified) = (self.tag_line(), date::text(self.modified));
        let mut headers = vec![("Content-Type", &*self.kind)];
        if let Some(coding) = self.coding {
            headers.push(("Content-Encoding", coding.token()));
        }
        headers.extend(self.vary());
        headers.extend([("Last-Modified", &*modified), ("ETag", &*tag)]);
        headers.extend(more);
        Head::new(status, Some(length), &self.headers.with(status, &headers))
    }

    /// RFC 9110 §15.4.5: no more than what says which version it is.
    fn unchanged(&self) -> Head {
        let tag = self.tag_line();
        let mut headers: Vec<_> = self.vary().into_iter().collect();
        headers.push(("ETag", &tag));
        Head::new(304, None, &self.headers.with(304, &headers))
    }

    fn vary(&self) -> Option<(&'static str, &'static str)> {
        self.varies.then_some(("Vary", "Accept-Encoding"))
    }

    fn tag_line(&self) -> String {
        let weak = if self.is_strong { "" } else { "W/" };
        format!("{weak}{}", self.tag)
    }
}

impl Body {
    fn new(file: File, keep: u64) -> Body {
        let size = file.facts().size;
        let mut body = vec![0; if size <= keep { size as usize } else { 0 }];
        let mut fill = || read(&file, 0, &mut body).and_then(|()| file.check());
        if keep > 0 && size <= keep && fill().is_ok() {
            Body::Memory(body.into())
        } else {
            Body::File(Rc::new(file))
        }
    }
}

/// Reads all of `buffer`.
#[inline]
fn read(file: &File, mut offset: u64, mut buffer: &mut [u8]) -> Result<(), Errno> {
    while !buffer.is_empty() {
        match file.read_at(offset, buffer)? {
            0 => return Err(Errno::ENODATA),
            count => {
                offset += count as u64;
                buffer = &mut buffer[count..];
            }
        }
    }
    Ok(())
}

/// Whether the file's dates tell this version from every other. A date in the past can be given to a file that has just
/// been written (`touch -d`), but not as the date of its last change.
fn is_settled(facts: &Facts, wall: Duration) -> bool {
    facts.modified.max(facts.changed) + SETTLED <= wall
}

/// Returns the tag of a version: its size, its date and its coding. Nothing in it depends on the machine, so that
/// several servers with copies of one folder agree.
fn tag(facts: &Facts, coding: Option<Coding>) -> String {
    let modified = facts.modified.as_nanos();
    let coding = coding.map_or(String::new(), |coding| format!("-{}", coding.token()));
    format!("\"{:x}-{modified:x}{coding}\"", facts.size)
}

/// What is left to be sent of a large body, behind a head that is sent already.
#[derive(Debug)]
pub(crate) struct FilePart {
    pub(crate) file: Rc<File>,
    cached: Rc<CachedFile>,
    /// Where the rest begins.
    pub(crate) offset: u64,
    /// How long it is.
    pub(crate) left: u64,
}

impl FilePart {
    /// A part of a variant that is too large to be in memory; none if it is closed, or not what its heads describe.
    pub(crate) fn new(
        cached: &Rc<CachedFile>,
        place: u8,
        offset: u64,
        left: u64,
    ) -> Option<FilePart> {
        let file = cached.variant(place).file()?;
        file.check().ok()?;
        Some(FilePart {
            file,
            cached: Rc::clone(cached),
            offset,
            left,
        })
    }

    /// So much more of it was sent. Says whether that was all.
    #[inline]
    pub(crate) fn advance(&mut self, sent: usize) -> bool {
        self.offset += sent as u64;
        self.left -= sent as u64;
        self.left == 0
    }

    /// The file turned out to be shorter (ENODATA) or changed (ESTALE): the next request looks at it again at once. The connection on which
    /// this was being sent cannot go on.
    pub(crate) fn lost(&self) {
        self.cached.set_fresh(Instant::ZERO);
    }
}
