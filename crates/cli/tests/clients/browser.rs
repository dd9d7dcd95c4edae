//! A browser loads a page with all that is on it.

use super::{Served, count, with_program};
use std::process::Command;

const PAGE: &str = "<!DOCTYPE html><title>weigh</title><link rel=stylesheet href=style.css>
<img src=0.svg><img src=1.svg><img src=2.svg><img src=3.svg><img src=4.svg><img src=5.svg>
<p id=seen></p><script src=page.js></script>
";
const STYLE: &str = "body { background: rgb(1, 2, 3) }\n";
/// Writes into the page what the browser has of it.
const SCRIPT: &str = "addEventListener('load', () => {
  const whole = [...document.images].filter(it => it.complete && it.naturalWidth === 40);
  const colour = getComputedStyle(document.body).backgroundColor;
  document.getElementById('seen').textContent = `${whole.length} images on ${colour}`;
});
";
const IMAGE: &str = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='40'/>\n";

#[test]
fn a_browser_shows_a_page_with_its_style_script_and_images_and_asks_once_for_each() {
    shows_a_page(Served::start);
}

#[test]
fn a_browser_shows_an_encrypted_page_with_all_that_is_on_it() {
    shows_a_page(Served::encrypted);
}

fn shows_a_page(start: impl Fn(u32, &[(&str, &[u8])]) -> Served) {
    with_program("chromium", |chromium| {
        let images = ["0.svg", "1.svg", "2.svg", "3.svg", "4.svg", "5.svg"];
        let mut files = vec![
            ("index.html", PAGE.as_bytes()),
            ("page.js", SCRIPT.as_bytes()),
            ("style.css", STYLE.as_bytes()),
        ];
        files.extend(images.map(|name| (name, IMAGE.as_bytes())));
        let mut server = start(2, &files);
        let said = Command::new("timeout")
            .args([
                "60",
                chromium,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--ignore-certificate-errors",
            ])
            .args(["--disable-background-networking", "--dump-dom"])
            .arg("--virtual-time-budget=10000")
            .arg(format!(
                "--user-data-dir={}",
                server.path("profile").display()
            ))
            .arg(server.url("/"))
            .output()
            .expect("the browser starts");
        let page = String::from_utf8_lossy(&said.stdout);
        assert!(page.contains(">6 images on rgb(1, 2, 3)<"), "{page}");
        let (mut log, counts) = server.stop();
        let [requests, connections] = ["requests", "connections"].map(|name| count(&counts, name));
        assert_eq!((requests, count(&counts, "refused")), (log.len() as u64, 0));
        assert!((1..=requests).contains(&connections), "{counts}");
        // Browsers ask for it by themselves, if they feel like it.
        log.retain(|(_, path, ..)| path != "/favicon.ico");
        log.sort();
        let answer = |name: &str, content: &str| {
            let length = content.len() as u64;
            ("GET".to_owned(), format!("/{name}"), 200, length)
        };
        let mut wanted = vec![answer("", PAGE)];
        wanted.extend(images.map(|name| answer(name, IMAGE)));
        wanted.extend([answer("page.js", SCRIPT), answer("style.css", STYLE)]);
        assert_eq!(log, wanted, "{counts}");
    });
}
