//! What may be opened beneath a folder, and what may not.

use super::*;
use rustix::fs::{CWD, FileType, mknodat};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A folder with everything in it that can lead somewhere, and a secret beside it.
struct Place {
    above: PathBuf,
}

impl Place {
    fn new() -> Place {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kernel-root-{}-{number}", std::process::id());
        let place = Place {
            above: std::env::temp_dir().join(name),
        };
        let root = place.path();
        fs::create_dir_all(root.join("folder")).unwrap();
        fs::write(place.secret(), "secret").unwrap();
        fs::write(root.join("plain"), "plain").unwrap();
        fs::write(root.join("folder/inner"), "inner").unwrap();
        let absolute = root.join("plain").display().to_string();
        let links = [
            ("within", "folder/inner"),
            ("folder/up", "../plain"),
            ("chain", "within"),
            ("out", "../secret"),
            ("folder/out", "../../secret"),
            ("through", "out"),
            ("parent", ".."),
            ("slash", "/"),
            ("absolute", &absolute),
            ("passwd", "/etc/passwd"),
            ("itself", "itself"),
            ("nowhere", "missing"),
            ("magic", "/proc/self/exe"),
        ];
        for (name, to) in links {
            symlink(to, root.join(name)).unwrap();
        }
        let mode = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, root.join("fifo"), FileType::Fifo, mode, 0).unwrap();
        UnixListener::bind(root.join("socket")).unwrap();
        place
    }

    fn path(&self) -> PathBuf {
        self.above.join("root")
    }

    fn secret(&self) -> PathBuf {
        self.above.join("secret")
    }

    fn root(&self) -> Root {
        Root::open(&self.path()).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.above);
    }
}

fn content(file: &File) -> String {
    let mut bytes = vec![0; file.facts().size as usize];
    file.fill(0, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_path_that_stays_beneath_is_opened() {
    let place = Place::new();
    let root = place.root();
    let cases: &[(&[u8], &str)] = &[
        (b"plain", "plain"),
        (b"./plain", "plain"),
        (b"folder/inner", "inner"),
        (b"folder//inner", "inner"),
        (b"folder/../plain", "plain"),
        (b"folder/./../folder/inner", "inner"),
        (b"within", "inner"),
        (b"chain", "inner"),
        (b"folder/up", "plain"),
    ];
    for (path, wanted) in cases {
        let file = root.file(path).unwrap_or_else(|error| {
            panic!("{}: {error:?}", String::from_utf8_lossy(path));
        });
        assert_eq!(file.facts().kind, Kind::Regular);
        assert_eq!(content(&file), *wanted);
    }
    for folder in [&b"."[..], b"folder", b"folder/", b"folder/.."] {
        assert_eq!(root.file(folder).unwrap().facts().kind, Kind::Folder);
    }
}

#[test]
fn a_path_that_leads_out_or_nowhere_is_refused() {
    let place = Place::new();
    let root = place.root();
    let absolute = place.path().join("plain");
    let long = [b'x'; 256];
    let longer = b"folder/".repeat(1000);
    let cases: &[(&[u8], Errno)] = &[
        (b"..", Errno::EXDEV),
        (b"../secret", Errno::EXDEV),
        (b"../root/plain", Errno::EXDEV),
        (b"folder/../../secret", Errno::EXDEV),
        (b"folder/../../root/plain", Errno::EXDEV),
        (b"/", Errno::EXDEV),
        (b"/etc/passwd", Errno::EXDEV),
        (b"//etc/passwd", Errno::EXDEV),
        (absolute.as_os_str().as_bytes(), Errno::EXDEV),
        (b"out", Errno::EXDEV),
        (b"folder/out", Errno::EXDEV),
        (b"through", Errno::EXDEV),
        (b"parent", Errno::EXDEV),
        (b"parent/secret", Errno::EXDEV),
        (b"parent/root/plain", Errno::EXDEV),
        (b"slash/etc/passwd", Errno::EXDEV),
        (b"absolute", Errno::EXDEV),
        (b"passwd", Errno::EXDEV),
        (b"magic", Errno::EXDEV),
        (b"itself", Errno::ELOOP),
        (b"nowhere", Errno::ENOENT),
        (b"missing", Errno::ENOENT),
        (b"", Errno::ENOENT),
        (b"plain/", Errno::ENOTDIR),
        (b"plain/..", Errno::ENOTDIR),
        (b"plain/inner", Errno::ENOTDIR),
        (b"plain\0", Errno::EINVAL),
        (b"\0", Errno::EINVAL),
        (&long, Errno::ENAMETOOLONG),
        (&longer, Errno::ENAMETOOLONG),
        (b"socket", Errno::ENXIO),
    ];
    for (path, wanted) in cases {
        let answer = root.file(path).err();
        assert_eq!(answer, Some(*wanted), "{}", String::from_utf8_lossy(path));
    }
}

#[test]
fn links_that_only_the_kernel_can_make_are_not_followed() {
    let root = Root::open(Path::new("/proc/self")).unwrap();
    for path in ["exe", "cwd", "root/etc/passwd", "fd/0", "task/../exe"] {
        assert_eq!(
            root.file(path.as_bytes()).err(),
            Some(Errno::ELOOP),
            "{path}"
        );
    }
    assert!(root.file(b"status").is_ok());
}

#[test]
fn no_way_of_putting_names_together_leads_to_the_secret() {
    let place = Place::new();
    let root = place.root();
    let secret = fs::metadata(place.secret()).unwrap().ino();
    let names = [
        "", ".", "..", "folder", "parent", "slash", "out", "secret", "root",
    ];
    let mut opened = 0;
    let mut paths = vec![String::new()];
    for _ in 0..4 {
        paths = paths
            .iter()
            .flat_map(|path| names.map(|name| format!("{path}/{name}")))
            .collect();
        for path in &paths {
            // With the slash that it begins with, and without.
            for path in [&path[..], &path[1..]] {
                if let Ok(file) = root.file(path.as_bytes()) {
                    assert_ne!(file.facts().inode, secret, "{path}");
                    opened += 1;
                }
            }
        }
    }
    assert!(opened > 0, "nothing was tried");
}

#[test]
fn a_link_that_changes_while_it_is_walked_does_not_lead_out() {
    let place = Place::new();
    let (root, path) = (place.root(), place.path());
    fs::create_dir(place.above.join("elsewhere")).unwrap();
    fs::write(place.above.join("elsewhere/inner"), "secret").unwrap();
    let stop = AtomicBool::new(false);
    let (mut opened, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for to in ["folder", "../elsewhere"] {
                    symlink(to, path.join("next")).unwrap();
                    fs::rename(path.join("next"), path.join("changing")).unwrap();
                }
            }
        });
        for _ in 0..20_000 {
            match root.file(b"changing/inner") {
                Ok(file) => {
                    assert_eq!(content(&file), "inner");
                    opened += 1;
                }
                Err(Errno::EXDEV) => refused += 1,
                // Not there yet; or the kernel could not be sure.
                Err(Errno::ENOENT | Errno::EAGAIN) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(opened > 0 && refused > 0, "{opened} {refused}");
}

#[test]
fn a_pipe_is_opened_without_waiting_for_its_other_end() {
    let place = Place::new();
    let file = place.root().file(b"fifo").unwrap();
    assert_eq!(file.facts().kind, Kind::Other);
}

#[test]
fn facts_are_those_of_the_opening_until_one_looks_again() {
    let place = Place::new();
    let (root, path) = (place.root(), place.path().join("plain"));
    let file = root.file(b"plain").unwrap();
    let metadata = fs::metadata(&path).unwrap();
    let modified = metadata.modified().unwrap();
    let wanted = Facts {
        kind: Kind::Regular,
        size: 5,
        modified: modified.duration_since(std::time::UNIX_EPOCH).unwrap(),
        changed: since_1970(metadata.ctime(), metadata.ctime_nsec()),
        links: 1,
        inode: metadata.ino(),
        device: metadata.dev(),
    };
    assert_eq!(file.facts(), wanted);
    fs::write(&path, "longer than before").unwrap();
    assert_eq!(file.facts(), wanted);
    assert_eq!(file.facts_now().unwrap().size, 18);
    // Replaced, the open one is still the old one.
    fs::write(path.with_extension("new"), "new").unwrap();
    fs::rename(path.with_extension("new"), &path).unwrap();
    assert_eq!(file.facts_now().unwrap().size, 18);
    assert_eq!(root.file(b"plain").unwrap().facts().size, 3);
}

/// Waits until a change to a file gets another date than the last change to `path` did; they are as coarse as a tick of
/// the kernel's clock.
fn pass_a_tick(path: &Path) {
    let changed = |path: &Path| fs::metadata(path).map(|it| (it.ctime(), it.ctime_nsec()));
    let (before, probe) = (changed(path).unwrap(), path.with_extension("probe"));
    while {
        fs::write(&probe, "x").unwrap();
        changed(&probe).unwrap() <= before
    } {}
}

#[test]
fn a_file_whose_contents_may_have_changed_is_told_from_one_that_is_called_otherwise() {
    let set_back = |path: &Path, content: &str| {
        let modified = fs::metadata(path).unwrap().modified().unwrap();
        fs::write(path, content).unwrap();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(modified).unwrap();
    };
    type Change<'a> = &'a dyn Fn(&Path);
    let cases: &[(&str, Change<'_>, Result<(), Errno>)] = &[
        ("untouched", &|_| (), Ok(())),
        ("read", &|path| drop(fs::read(path)), Ok(())),
        ("deleted", &|path| fs::remove_file(path).unwrap(), Ok(())),
        (
            "given a second name",
            &|path| fs::hard_link(path, path.with_extension("link")).unwrap(),
            Ok(()),
        ),
        (
            "replaced",
            &|path| {
                fs::write(path.with_extension("new"), "other").unwrap();
                fs::rename(path.with_extension("new"), path).unwrap();
            },
            Ok(()),
        ),
        (
            "longer",
            &|path| fs::write(path, "longer than before").unwrap(),
            Err(Errno::ESTALE),
        ),
        (
            "of the same length",
            &|path| fs::write(path, "PLAIN").unwrap(),
            Err(Errno::ESTALE),
        ),
        (
            "of the same length and date",
            &|path| set_back(path, "PLAIN"),
            Err(Errno::ESTALE),
        ),
    ];
    for (what, change, wanted) in cases {
        let place = Place::new();
        let path = place.path().join("plain");
        let file = place.root().file(b"plain").unwrap();
        pass_a_tick(&path);
        change(&path);
        assert_eq!(file.check(), *wanted, "{what}");
    }
}

#[test]
fn what_was_changed_before_1970_was_changed_in_1970() {
    let cases = [
        ((-1, 999_999_999), Duration::ZERO),
        ((0, 1), Duration::from_nanos(1)),
        ((5, 7), Duration::new(5, 7)),
    ];
    for ((seconds, nanos), wanted) in cases {
        assert_eq!(since_1970(seconds, nanos), wanted);
    }
}

#[test]
fn reading_ends_where_the_file_does() {
    let place = Place::new();
    let root = place.root();
    let file = root.file(b"plain").unwrap();
    let mut buffer = [0; 8];
    assert_eq!(file.read_at(2, &mut buffer), Ok(3));
    assert_eq!(&buffer[..3], b"ain");
    assert_eq!(file.read_at(5, &mut buffer), Ok(0));
    assert_eq!(file.read_at(1 << 40, &mut buffer), Ok(0));
    assert_eq!(file.read_at(u64::MAX, &mut buffer), Err(Errno::EOVERFLOW));
    assert_eq!(file.fill(1, &mut buffer[..4]), Ok(()));
    assert_eq!(file.fill(1, &mut buffer[..5]), Err(Errno::ENODATA));
    let folder = root.file(b"folder").unwrap();
    assert_eq!(folder.read_at(0, &mut buffer), Err(Errno::EISDIR));
}

#[test]
fn only_a_folder_can_be_a_root_and_it_stays_one_when_it_is_moved() {
    let place = Place::new();
    let path = place.path();
    let cases = [
        (path.join("plain"), Errno::ENOTDIR),
        (path.join("missing"), Errno::ENOENT),
        (PathBuf::from("a\0b"), Errno::EINVAL),
    ];
    for (path, wanted) in cases {
        assert_eq!(Root::open(&path).err(), Some(wanted), "{path:?}");
    }
    // A root may be led to by whatever links there are.
    let root = Root::open(&path.join("parent/root/folder")).unwrap();
    fs::rename(path.join("folder"), path.join("moved")).unwrap();
    assert_eq!(content(&root.file(b"inner").unwrap()), "inner");
}
