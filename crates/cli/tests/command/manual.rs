//! Help, the man page and the completions say what there is.

use crate::bench::Bench;

/// Flags that must be explained wherever flags are.
const FLAGS: &[&str] = &[
    "--connections",
    "--threads",
    "--requests",
    "--duration",
    "--rounds",
    "--warmup",
    "--connect",
    "--method",
    "--header",
    "--body",
    "--user",
    "--cookie",
    "--urls",
    "--no-keepalive",
    "--requests-per-connection",
    "--pipeline",
    "--timeout",
    "--connect-timeout",
    "--source",
    "--resolve",
    "--unix",
    "--http1.0",
    "--expect",
    "--pin",
    "--output",
    "--json",
    "--quiet",
    "--max-errors",
    "--strict",
    "--seed",
    "--show-exchange",
    "--dry-run",
];

#[test]
fn help_names_every_flag_and_exit_status() {
    let bench = Bench::new();
    let help = bench.say("run --help");
    help.ended(0);
    for flag in FLAGS {
        assert!(help.out.contains(flag), "{flag}: {}", help.out);
    }
    assert!(help.out.contains("Exit status"), "{}", help.out);
    let help = bench.say("--help");
    for verb in ["run", "report", "serve", "completions", "man"] {
        assert!(
            help.ended(0).out.contains(&format!("  {verb} ")),
            "{verb}: {}",
            help.out
        );
    }
    assert!(bench.say("--version").ended(0).out.starts_with("weigh 0."));
}

#[test]
fn the_man_page_names_every_flag() {
    let said = Bench::new().say("man");
    let page = said.ended(0).out.replace('\\', "");
    assert!(page.contains(".TH weigh 1"), "{page}");
    for flag in FLAGS {
        assert!(page.contains(flag), "{flag}");
    }
}

#[test]
fn completions_name_every_flag_in_every_shell() {
    let bench = Bench::new();
    for (shell, begins) in [
        ("bash", "_weigh()"),
        ("zsh", "#compdef weigh"),
        ("fish", "# Print an optspec"),
    ] {
        let script = bench.say(&format!("completions {shell}"));
        assert!(
            script.ended(0).out.starts_with(begins),
            "{shell}: {}",
            &script.out[..80]
        );
        for flag in FLAGS {
            let words = match shell {
                "fish" => format!("-l {}", &flag[2..]),
                _ => (*flag).to_owned(),
            };
            assert!(script.out.contains(&words), "{shell}: {words}");
        }
    }
    bench
        .say("completions tcsh")
        .refused(&["tcsh", "possible values"]);
}
