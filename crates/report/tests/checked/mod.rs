//! What is printed, held beside what was printed before.

use std::path::PathBuf;

/// Compares with `tests/golden/<name>`, or writes it when asked to.
pub fn check(name: &str, shown: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("WEIGH_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, shown).unwrap();
        return;
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        shown == wanted,
        "{name} differs from what is printed now; WEIGH_UPDATE_GOLDEN=1 writes it anew:\n{shown}"
    );
}
