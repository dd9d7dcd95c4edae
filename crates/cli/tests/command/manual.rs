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
    assert!(help.out.lines().count() > 3 * bench.say("run -h").out.lines().count());
    let help = bench.say("--help");
    for verb in ["run", "report", "doctor", "serve", "completions", "man"] {
        assert!(
            help.ended(0).out.contains(&format!("  {verb} ")),
            "{verb}: {}",
            help.out
        );
    }
    assert!(bench.say("--version").ended(0).out.starts_with("weigh 0."));
}

#[test]
fn the_short_help_names_few_flags_and_the_long_help_all() {
    let bench = Bench::new();
    for verb in ["run", "sweep"] {
        let short = bench.say(&format!("{verb} -h")).ended(0).out.clone();
        let named = |flag: &&&str| {
            short.contains(&format!("{flag} <")) || short.contains(&format!("{flag} "))
        };
        let number = FLAGS.iter().filter(named).count();
        assert!((10..=18).contains(&number), "{number}: {short}");
        assert!(
            !short.contains("--spin") && short.contains("--connections"),
            "{short}"
        );
        let columns = short.lines().map(|line| line.chars().count()).max();
        assert!(columns <= Some(100), "{short}");
    }
    let serve = bench.say("serve -h").ended(0).out.clone();
    assert!(
        serve.contains("--listen") && !serve.contains("--max-head"),
        "{serve}"
    );
    assert!(bench.say("serve --help").out.contains("--max-head"));
}

#[test]
fn each_verb_has_a_man_page_that_names_its_flags() {
    let bench = Bench::new();
    let man = |verb: &str| {
        bench
            .say(&format!("man {verb}"))
            .ended(0)
            .out
            .replace('\\', "")
    };
    assert!(man("").contains(".TH weigh 1"), "{}", man(""));
    for verb in ["run", "sweep"] {
        let page = man(verb);
        assert!(page.contains(&format!(".TH weigh-{verb} 1")), "{page}");
        for flag in FLAGS {
            assert!(page.contains(flag), "{flag}");
        }
    }
    assert!(man("sweep").contains("--slo") && !man("run").contains("--slo "));
    assert!(man("serve").contains("--truth") && man("report").contains("--format"));
    bench
        .say("man nothing")
        .refused(&["nothing", "possible values"]);
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
