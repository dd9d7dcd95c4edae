//! What was the bottleneck: generator, server, or neither?

use super::prelude::*;
use super::quota::{self, Throttled};
use super::short::{
    GENERATOR_MOST, NEARLY_WHOLE, SERVER_MOST, Server, Short, all_workers, full_workers, server,
    shared_cpu, short,
};
use super::{overload, waiting};

pub(super) const CHECK: Check = Check {
    name: "limit",
    question: "Was the generator or the server the bottleneck?",
    looks_at: "How busy each side was, as the median over the complete rounds. The generator: the busiest thread's \
               CPU time, busy-polling excluded, as a share of the window. Where that and its waits for a CPU are over the \
               limit, and the CPU time alone is not, the machine had no CPU for it. The server: its \
               CPU time as a share of the CPUs that it may use; it is known where weigh started the server, where \
               --server names it, and where it was found listening on this machine. A server that kept a whole \
               number of CPUs busy and has no more than one further thread is saturated too, and so is one that its \
               CPU quota stopped in most periods. Where the generator's own quota stopped it, `quota` speaks, and \
               this check only where the rate was not offered. The reference server is exempt.",
    thresholds: &[
        threshold(
            "generator saturated, over",
            || percent(GENERATOR_MOST),
            "a guess between others' limits: k6 80 %, BrowserStack 80 %, Locust 90 %",
        ),
        guess("server saturated, over", || percent(SERVER_MOST)),
        guess("distance from a whole number of CPUs", || {
            format!("{NEARLY_WHOLE} CPUs")
        }),
        guess(
            "rounds that say nothing about busy shares, shorter than",
            || span(Round::SHARES_FROM),
        ),
    ],
    false_alarms: "simulation of 10,000 runs of five rounds whose busy shares scatter by 5 points, which a test repeats: a \
                   generator at 75 % or a server at 80 % is called saturated in under 0.5 %; of 612 windows against nginx \
                   on a crowded machine 2.1 % invalid and 2.6 % a caveat, before a saturated generator was told from one \
                   without a CPU",
    power: "the same simulation: a generator at 95 %, or a server at 97 %, is found in over 99 %",
    effect: "Only the generator saturated: requests/s is a lower bound and latency gets a caveat; where an open loop \
             fell behind its schedule, latency is void. The machine had no CPU for the generator: requests/s and latency \
             get a caveat, and it is no fault of the server. Both saturated, or both on the same only CPU: requests/s and \
             latency get a caveat. Server not observed: requests/s gets a caveat, and latency too where the \
             generator was saturated. Rounds too short: requests/s gets a caveat. Only the server saturated, or \
             neither: a note.",
    remedy: "Give the generator more --threads or CPUs of its own, or load from another machine. Let weigh start the \
             server, or name it with --server.",
    cause: Cause::Other,
    judge,
};

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let rounds = evidence.rounds.unwrap_or_default();
    let generator = Round::typical(rounds, Round::generator_busy);
    let server = server(rounds);
    let findings = match (generator, server) {
        _ if rounds.is_empty() => Vec::new(),
        (Some(generator), _) if is_not_offered(evidence) => {
            vec![not_offered(evidence, generator, server)]
        }
        _ if evidence.reference_server() => vec![exempt(generator, server)],
        _ if quota::of_generator(rounds).is_some() => Vec::new(), // `quota` says what held it up
        (Some(generator), Some(server)) => compare(evidence, generator, server),
        _ if !is_observed(rounds) => vec![unobserved(evidence, generator)],
        _ if rounds.iter().any(|round| !round.threads.is_empty()) => vec![unknown(rounds)],
        _ => Vec::new(),
    };
    let shares = |mut finding: Finding| {
        if let Some(busy) = generator {
            finding = finding.evidence([("generator busy", busy)]);
        }
        if let Some(Server { busy, .. }) = server {
            finding = finding.evidence([("server busy", busy)]);
        }
        finding
    };
    findings.into_iter().map(shares).collect()
}

fn is_observed(rounds: &[Round]) -> bool {
    rounds.iter().any(|round| round.footprint.is_some())
}

/// Whether less was done than was due in an open loop, and only the generator is known to have been short of CPU.
fn is_not_offered(evidence: &Evidence<'_>) -> bool {
    matches!(short(evidence), Short::Generator | Short::Starved)
        && overload::shortfall(evidence).is_some()
}

/// A generator that has no CPU left reads responses late: its connections are not free when they could be, and requests
/// that wait for one look as if the server delayed them.
fn not_offered(evidence: &Evidence<'_>, generator: f64, server: Option<Server>) -> Finding {
    let (offered, sustained) = overload::rates(evidence)
        .map(|rates| (rates.offered, rates.sustained))
        .unwrap_or_default();
    let server = match server {
        Some(server) => format!("the server used {} of its CPUs", server.shown()),
        None => "the server was not observed".to_owned(),
    };
    let throttled = quota::of_generator(evidence.rounds.unwrap_or_default());
    let starved = starved(evidence);
    let waits = match throttled {
        Some(ref throttled) => format!(", throttled by its {}", throttled.name()),
        None if let Some(waits) = starved => format!(" and waited for a CPU {}", percent(waits)),
        None => String::new(),
    };
    let rates = format!(
        "{} of {} requests/s",
        units::rate(sustained),
        units::rate(offered)
    );
    let sentence = format!(
        "the load generator could not offer the rate: {rates}; its busiest thread was {} busy{waits}, {server}",
        percent(generator)
    );
    let headline = format!("the load generator offered only {rates}");
    lower_bound(headline, sentence)
        .and(Effect::Void, &[Figure::Latency])
        .because(match throttled {
            Some(_) => Cause::GeneratorQuota,
            None if starved.is_some() => Cause::GeneratorStarved,
            None => Cause::GeneratorSaturated,
        })
        .remedy(format!("Lower the rate. {}", relief(evidence)))
        .evidence([("offered", offered), ("sustained", sustained)])
}

fn compare(evidence: &Evidence<'_>, generator: f64, server: Server) -> Vec<Finding> {
    if let Some(cpu) = shared_cpu(evidence) {
        return vec![one_cpu(cpu)];
    }
    if let Some(waits) = starved(evidence) {
        return vec![no_cpu(evidence, generator, waits, server)];
    }
    match (generator > GENERATOR_MOST, server.is_full) {
        (true, false) => match all_workers(evidence) {
            Some(workers) => vec![both(generator, server, Some(workers))],
            None => vec![generator_bound(evidence, generator, server)],
        },
        (false, true) => vec![server_bound(evidence, generator, server)],
        (true, true) => vec![both(generator, server, None)],
        (false, false) => vec![neither(evidence, generator, server)],
    }
}

/// Neither can be busy while the other is, so that their busy shares do not tell the bottleneck.
fn one_cpu(cpu: u32) -> Finding {
    let sentence = format!(
        "generator and server share CPU {cpu}, the only one that either may use: requests/s and latency are those of \
         both together, CPU time per request is the server's alone"
    );
    let headline = format!("the load generator and the server share CPU {cpu}");
    caveat(SPEED, headline, sentence)
        .because(Cause::SharedCpus)
        .remedy("Compare servers by CPU per request, or give each side its own CPUs (taskset)")
}

/// The share of time that the generator's busiest thread waited for a CPU, where the machine had none for it.
fn starved(evidence: &Evidence<'_>) -> Option<f64> {
    let rounds = evidence
        .rounds
        .filter(|_| short(evidence) == Short::Starved)?;
    let waited = |round: &Round| Some(round.generator_wanted()? - round.generator_busy()?);
    Round::typical(rounds, waited)
}

fn no_cpu(evidence: &Evidence<'_>, generator: f64, waits: f64, server: Server) -> Finding {
    let (ran, waited) = (percent(generator), percent(waits));
    let headline = format!("the load generator waited for a CPU {waited} of the time");
    let sentence = format!(
        "the machine had no CPU for the load generator: its busiest thread ran {ran} of the time and waited {waited}, while \
         the server used {} of its CPUs",
        server.shown()
    );
    caveat(SPEED, headline, sentence)
        .because(Cause::GeneratorStarved)
        .remedy(waiting::relief(evidence))
}

fn generator_bound(evidence: &Evidence<'_>, generator: f64, server: Server) -> Finding {
    let generator = percent(generator);
    let sentence = format!(
        "the load generator was the bottleneck: its busiest thread used {generator} of one CPU, the server {} of its \
         CPUs; latency includes the time that a response waited to be read",
        server.shown()
    );
    let headline = format!("the load generator was the bottleneck ({generator} busy)");
    let finding = lower_bound(headline, sentence).and(Effect::Caveat, &[Figure::Latency]);
    let finding = match spare_cpus(evidence) {
        Some((_, cpus)) => finding.options(format!("--threads {cpus}")),
        None => finding,
    };
    finding
        .because(Cause::GeneratorSaturated)
        .remedy(relief(evidence))
}

/// Returns what relieves a generator that is short of CPU.
fn relief(evidence: &Evidence<'_>) -> String {
    if let Some(throttled) = quota::of_generator(evidence.rounds.unwrap_or_default()) {
        return quota::relief(&throttled);
    }
    match spare_cpus(evidence) {
        Some((threads, cpus)) => format!(
            "Give the generator more than {} of the {} CPUs with --threads, or load from another machine",
            count(threads as u64),
            count(cpus as u64)
        ),
        // It is short of CPUs that others use: more threads would only wait for them too.
        None if must_wait(evidence) => waiting::relief(evidence),
        None => ANOTHER_MACHINE.to_owned(),
    }
}

const ANOTHER_MACHINE: &str =
    "Load from another machine, or give generator and server CPUs of their own";

/// Returns the generator's threads and the CPUs that it may use, where more threads would get more CPU time.
fn spare_cpus(evidence: &Evidence<'_>) -> Option<(usize, usize)> {
    let cpus = evidence.machine?.cpus_allowed.len();
    let threads = evidence.plan()?.threads() as usize;
    (threads < cpus && !must_wait(evidence)).then_some((threads, cpus))
}

fn must_wait(evidence: &Evidence<'_>) -> bool {
    evidence.rounds.is_some_and(waiting::is_long)
}

fn server_bound(evidence: &Evidence<'_>, generator: f64, server: Server) -> Finding {
    let throttled = Throttled::server(evidence.rounds.unwrap_or_default());
    let (cause, limit) = match throttled {
        Some(throttled) => (
            Cause::ServerQuota,
            format!("the server's {}", throttled.name()),
        ),
        None => (Cause::ServerSaturated, "the server".to_owned()),
    };
    note(format!(
        "{limit} was the bottleneck: it used {} of its CPUs, the generator's busiest thread {} of one",
        server.shown(),
        percent(generator)
    ))
    .because(cause)
}

/// `workers`: the workers that the server kept busy, where they are fewer than the CPUs that it may use.
fn both(generator: f64, server: Server, workers: Option<u64>) -> Finding {
    let all = workers.map_or(String::new(), |workers| {
        let whole = number(workers, "whole CPU");
        let busy_ones = number(workers, "worker");
        format!(" of its CPUs: {whole}, all that {busy_ones} can use")
    });
    let sentence = format!(
        "generator ({} busy) and server ({}{all}) were both saturated, as is normal on one small machine: each may slow \
         the other; CPU time per request is the server's alone",
        percent(generator),
        server.shown()
    );
    let headline = "the load generator and the server were both saturated";
    caveat(SPEED, headline, sentence)
        .because(Cause::BothSaturated)
        .remedy("Compare servers by CPU per request, or load from another machine")
}

fn neither(evidence: &Evidence<'_>, generator: f64, server: Server) -> Finding {
    let (busy, used) = (percent(generator), server.shown());
    if must_wait(evidence) {
        return note(format!(
            "neither the generator ({busy} busy; it waited for a CPU) nor the server ({used}) was saturated"
        ))
        .because(Cause::GeneratorStarved)
        .remedy(waiting::relief(evidence));
    }
    if let Some(workers) = full_workers(evidence) {
        let whole = number(workers, "whole CPU");
        let busy_ones = number(workers, "worker");
        return note(format!(
            "the server kept {whole} busy, all that {busy_ones} can use (generator {busy}): it was the bottleneck, \
             unless it has more workers"
        ))
        .because(Cause::ServerSaturated)
        .remedy("Try more server workers");
    }
    let neither =
        format!("neither the generator ({busy} busy) nor the server ({used}) was saturated");
    let found = match overload::rates(evidence) {
        Some(rates) if rates.is_sustained() => {
            note(format!("{neither}; the server kept up with the rate"))
        }
        Some(rates) => {
            let share = percent(rates.sustained / rates.offered);
            note(format!(
                "{neither}; {share} of the scheduled requests ended ok inside the windows"
            ))
        }
        None if evidence.server_end.is_some() => note(neither),
        None => note(format!(
            "{neither}; latency or the number of connections was the bottleneck"
        ))
        .remedy("Raise --connections to see whether the server can do more"),
    };
    found.because(Cause::NeitherSaturated)
}

fn unobserved(evidence: &Evidence<'_>, generator: Option<f64>) -> Finding {
    let busy = generator.map(percent).unwrap_or_default();
    if generator.is_some_and(|generator| generator > GENERATOR_MOST) {
        let headline = format!("the load generator was {busy} busy and may be the bottleneck");
        let sentence = format!("{headline}; the server was not observed");
        return caveat(SPEED, headline, sentence)
            .because(Cause::ServerUnobserved)
            .remedy(relief(evidence));
    }
    let sentence = match generator {
        None => "server not observed, so the bottleneck is unknown".to_owned(),
        Some(_) if must_wait(evidence) => format!(
            "server not observed, so the bottleneck is unknown; the generator's busiest thread was {busy} busy, and its \
             threads waited for a CPU"
        ),
        Some(_) => format!(
            "server not observed, so the bottleneck is unknown; it was not the generator (busiest thread {busy} busy)"
        ),
    };
    let why = evidence
        .observed
        .and_then(|observed| observed.why_not.as_ref());
    let sentence = match why {
        Some(why) => format!("{sentence} ({why})"),
        None => sentence,
    };
    caveat(&[Figure::Rps], "server not observed", sentence)
        .because(Cause::ServerUnobserved)
        .remedy("Let weigh start the server (weigh run URL -- COMMAND), or name it with --server")
}

fn unknown(rounds: &[Round]) -> Finding {
    let is_long = |round: &Round| round.window.span() >= Round::SHARES_FROM;
    let (cause, why) = match rounds.iter().any(is_long) {
        true => (
            Cause::ServerUnobserved,
            "the server's CPU time was not read at the edges of the windows".to_owned(),
        ),
        false => (
            Cause::ShortWindow,
            format!(
                "windows under {} are too short to tell how busy each side was",
                span(Round::SHARES_FROM)
            ),
        ),
    };
    let headline = "the bottleneck is unknown: the windows are too short";
    let sentence = format!("the bottleneck is unknown: {why}");
    caveat(&[Figure::Rps], headline, sentence)
        .because(cause)
        .remedy("Measure longer, with --duration or more --requests")
        .options("--duration 5s")
}

fn exempt(generator: Option<f64>, server: Option<Server>) -> Finding {
    let generator = generator.map(|busy| format!("generator {}", percent(busy)));
    let server = server.map(|server| format!("server {}", server.shown()));
    let shares: Vec<String> = generator.into_iter().chain(server).collect();
    let shares = if shares.is_empty() {
        String::new()
    } else {
        format!(" ({})", shares.join(", "))
    };
    note(format!(
        "the server is weigh's reference server, which is exempt from the bottleneck check{shares}"
    ))
    .because(Cause::ReferenceServer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{bare_round, busy_server, busy_thread, healthy, simulated};
    use record::Run;
    use units::Nanos;

    fn run(generator: f64, server: Option<f64>) -> Run {
        let mut run = healthy();
        for round in &mut run.points[0].rounds {
            round.threads = vec![busy_thread(0.01), busy_thread(generator)];
            round.footprint = server.map(busy_server);
        }
        run
    }

    fn found(run: &Run) -> Vec<Finding> {
        judge(&Evidence::of(run, &run.points[0]))
    }

    #[test]
    fn where_both_may_use_the_same_cpu_only_the_shares_say_nothing() {
        let on = |ours: &[u32], theirs: &[u32]| {
            let mut run = run(0.86, Some(0.13));
            run.machine.cpus_allowed = ours.to_vec();
            for round in &mut run.points[0].rounds {
                round.footprint.as_mut().unwrap().cpus = theirs.to_vec();
            }
            let finding = found(&run).remove(0);
            (
                finding.effects.strongest(),
                finding.sentence.contains("share CPU 3"),
            )
        };
        assert_eq!(on(&[3], &[3]), (Some(Effect::Caveat), true));
        for (ours, theirs) in [(&[3][..], &[4][..]), (&[3], &[]), (&[3, 4], &[3, 4])] {
            assert_eq!(
                on(ours, theirs),
                (Some(Effect::LowerBound), false),
                "{ours:?} {theirs:?}"
            );
        }
    }

    #[test]
    fn the_limit_is_who_had_no_cpu_left() {
        type Case<'a> = (f64, Option<f64>, Option<Effect>, &'a [Figure], &'a str);
        let cases: &[Case] = &[
            (
                0.86,
                Some(0.50),
                Some(Effect::LowerBound),
                &[Figure::Rps, Figure::Latency],
                "the load generator was the bottleneck",
            ),
            (
                0.86,
                Some(0.90),
                Some(Effect::LowerBound),
                &[Figure::Rps, Figure::Latency],
                "the load generator was the bottleneck",
            ),
            (0.40, Some(0.97), None, &[], "the server was the bottleneck"),
            (0.85, Some(0.91), None, &[], "the server was the bottleneck"),
            (
                0.86,
                Some(0.91),
                Some(Effect::Caveat),
                &[Figure::Rps, Figure::Latency],
                "generator (",
            ),
            (0.85, Some(0.90), None, &[], "neither the generator"),
            (
                0.85,
                None,
                Some(Effect::Caveat),
                &[Figure::Rps],
                "server not observed, so the bottleneck is unknown; it was not the generator",
            ),
            (
                0.86,
                None,
                Some(Effect::Caveat),
                &[Figure::Rps, Figure::Latency],
                "the load generator was ",
            ),
        ];
        for (generator, server, grade, touches, sentence) in cases {
            let found = found(&run(*generator, *server));
            let case = format!("{generator} against {server:?}: {found:?}");
            assert_eq!(
                (
                    found[0].effects.strongest(),
                    &found[0].effects.figures()[..]
                ),
                (*grade, *touches),
                "{case}"
            );
            assert!(found[0].sentence.starts_with(sentence), "{case}");
        }
    }

    #[test]
    fn a_server_whose_only_worker_is_busy_could_not_do_more() {
        let with = |used: f64, threads: u32| {
            let mut run = run(0.86, Some(used));
            for round in &mut run.points[0].rounds {
                let print = round.footprint.as_mut().unwrap();
                (print.cpus_allowed, print.threads) = (2.0, Some(threads));
            }
            found(&run).remove(0)
        };
        let both = with(1.0, 2);
        assert_eq!(both.effects.strongest(), Some(Effect::Caveat));
        assert!(
            both.sentence
                .contains("server (50 % of its CPUs: 1 whole CPU, all that 1 worker can use)"),
            "{}",
            both.sentence
        );
        assert_eq!(with(1.3, 2).effects.strongest(), Some(Effect::LowerBound));
        assert_eq!(
            with(1.0, 3).effects.strongest(),
            Some(Effect::LowerBound),
            "it has more"
        );
    }

    /// The healthy open loop, of whose thousand a second so many ended well, ever later.
    fn open(sustained: u64, generator: f64, server: Option<f64>) -> Run {
        let mut run = crate::fixture::open_loop();
        for round in &mut run.points[0].rounds {
            round.threads = vec![busy_thread(generator)];
            round.footprint = server.map(busy_server);
            round.tally.ok_in_window = sustained;
            round.tally.open.as_mut().unwrap().growth = record::Growth::default();
            for milli in 0..1_000 {
                let due = units::Instant::ZERO + Nanos::from_millis(milli);
                let open = round.tally.open.as_mut().unwrap();
                open.growth.add(due, Nanos::from_micros(500 + milli * 250));
            }
        }
        run.summarise();
        run
    }

    #[test]
    fn a_generator_without_cpu_could_not_offer_the_rate_whatever_the_server() {
        const BOTH: &[Figure] = &[Figure::Rps, Figure::Latency];
        type Case<'a> = (u64, f64, Option<f64>, Option<Effect>, &'a [Figure], &'a str);
        let offer = "the load generator could not offer the rate: 800 of 1,000 requests/s";
        let cases: &[Case] = &[
            (800, 0.86, Some(0.5), Some(Effect::Void), BOTH, offer),
            (800, 0.86, None, Some(Effect::Void), BOTH, offer),
            (
                800,
                0.86,
                Some(0.91),
                Some(Effect::Caveat),
                BOTH,
                "generator (",
            ),
            (800, 0.85, Some(0.91), None, &[], "the server was"),
            (
                1_000,
                0.86,
                Some(0.5),
                Some(Effect::LowerBound),
                &[Figure::Rps, Figure::Latency],
                "the load generator was the bottleneck",
            ),
        ];
        for (sustained, generator, server, grade, touches, sentence) in cases {
            let mut run = open(*sustained, *generator, *server);
            let found = found(&run);
            let case = format!("{sustained} {generator} {server:?}: {found:?}");
            assert_eq!(
                (
                    found[0].effects.strongest(),
                    &found[0].effects.figures()[..]
                ),
                (*grade, *touches),
                "{case}"
            );
            assert!(found[0].sentence.starts_with(sentence), "{case}");
            // Weigh's own server is exempt from who was the limit, and not from whether the rate was offered.
            run.plan.server = Some(plan::ServerCommand {
                argv: vec!["weigh".into(), "serve".into()],
                ready_within: Nanos::from_secs(5),
                reference_server: true,
            });
            let exempt = judge(&Evidence::of(&run, &run.points[0]));
            assert_eq!(
                exempt[0].sentence.starts_with(offer),
                *sentence == offer,
                "{exempt:?}"
            );
        }
    }

    #[test]
    fn only_a_rate_that_was_sustained_was_the_one_that_was_asked_for() {
        for (sustained, wanted) in [
            (990, "; the server kept up with the rate"),
            (
                980,
                "; 98 % of the scheduled requests ended ok inside the windows",
            ),
            (
                370,
                "; 37 % of the scheduled requests ended ok inside the windows",
            ),
        ] {
            let found = found(&open(sustained, 0.4, Some(0.4)));
            assert!(found[0].sentence.ends_with(wanted), "{}", found[0].sentence);
        }
    }

    #[test]
    fn a_busy_generator_qualifies_latencies_too() {
        let found = found(&run(0.97, Some(0.4)));
        assert_eq!(
            [Figure::Rps, Figure::Latency].map(|figure| found[0].effects.on(figure)),
            [Some(Effect::LowerBound), Some(Effect::Caveat)]
        );
    }

    #[test]
    fn waiting_for_a_cpu_is_the_machines_doing() {
        let starved = |server, wait| {
            let mut run = run(0.50, server);
            for round in &mut run.points[0].rounds {
                round.threads[1].run_queue_wait = Some(Nanos::from_millis(wait));
            }
            let found = found(&run).remove(0);
            (found.effects.strongest(), found.cause, found.sentence)
        };
        let wanted = "the machine had no CPU for the load generator: its busiest thread ran 50 % of the time and waited \
                      36 %, while the server used 6.0 % of its CPUs";
        let caveat = (
            Some(Effect::Caveat),
            Cause::GeneratorStarved,
            wanted.to_owned(),
        );
        assert_eq!(starved(Some(0.06), 360), caveat);
        for (server, wait, cause) in [
            (0.06, 350, Cause::GeneratorStarved),
            (0.97, 360, Cause::ServerSaturated),
        ] {
            let (effect, found, sentence) = starved(Some(server), wait);
            assert_eq!((effect, found), (None, cause), "{sentence}");
        }
        let mut behind = open(800, 0.50, Some(0.06));
        for round in &mut behind.points[0].rounds {
            round.threads[0].run_queue_wait = Some(Nanos::from_millis(360));
        }
        behind.summarise();
        let evidence = Evidence::of(&behind, &behind.points[0]);
        let all = crate::judge_evidence(&evidence);
        assert!(
            all.iter().all(|each| each.cause != Cause::Overload),
            "{all:?}"
        );
        let wanted = "the load generator could not offer the rate: 800 of 1,000 requests/s; its busiest thread was 50 % busy \
                      and waited for a CPU 36 %, the server used 6.0 % of its CPUs";
        let found = judge(&evidence).remove(0);
        assert_eq!(
            (&*found.sentence, found.cause),
            (wanted, Cause::GeneratorStarved)
        );
    }

    #[test]
    fn spinning_on_purpose_is_not_being_busy() {
        for (spun, grade) in [(109, Some(Effect::LowerBound)), (111, None)] {
            let mut run = run(0.96, Some(0.40));
            for round in &mut run.points[0].rounds {
                round.threads[1].busy_polled = Nanos::from_millis(spun);
            }
            assert_eq!(found(&run)[0].effects.strongest(), grade, "{spun} ms spun");
        }
    }

    #[test]
    fn one_disturbed_round_does_not_decide_and_a_partial_one_has_no_say() {
        let mut run = run(0.40, Some(0.97));
        run.points[0].rounds[0].threads = vec![busy_thread(1.0)];
        run.points[0].rounds[1].threads = vec![busy_thread(1.0)];
        assert_eq!(found(&run)[0].effects.strongest(), None);
        run.points[0].rounds[2].threads = vec![busy_thread(1.0)];
        assert_eq!(found(&run)[0].effects.strongest(), Some(Effect::Caveat));
        run.points[0].rounds[2].partial = true;
        assert_eq!(
            found(&run)[0].evidence[0],
            ("generator busy".to_owned(), 0.7)
        );
    }

    #[test]
    fn our_own_server_is_exempt_and_says_so() {
        let mut run = run(0.99, Some(0.10));
        run.plan.server = Some(plan::ServerCommand {
            argv: vec!["weigh".into(), "serve".into()],
            ready_within: Nanos::from_secs(5),
            reference_server: true,
        });
        let found = found(&run);
        assert_eq!((found.len(), found[0].effects.strongest()), (1, None));
        assert!(
            found[0].sentence.contains("exempt"),
            "{}",
            found[0].sentence
        );
    }

    #[test]
    fn idle_cpus_are_named_as_the_remedy() {
        let mut run = run(0.99, Some(0.10));
        run.plan.threads = 2;
        assert!(
            found(&run)[0]
                .remedy
                .as_ref()
                .unwrap()
                .contains("more than 2 of the 4 CPUs")
        );
        run.plan.threads = 4;
        assert!(
            found(&run)[0]
                .remedy
                .as_ref()
                .unwrap()
                .starts_with("Load from another machine")
        );
    }

    #[test]
    fn without_accounts_of_the_generator_nothing_is_said() {
        let mut run = healthy();
        run.points[0]
            .rounds
            .iter_mut()
            .for_each(|round| round.threads.clear());
        assert_eq!(found(&run), []);
    }

    #[test]
    fn windows_too_short_for_shares_leave_the_limit_unknown() {
        let shorten = |run: &mut Run, wall: Nanos| {
            for round in &mut run.points[0].rounds {
                round
                    .threads
                    .iter_mut()
                    .for_each(|thread| thread.wall = wall);
                round
                    .footprint
                    .iter_mut()
                    .for_each(|print| print.wall = wall);
                round.window.end = round.window.start + wall;
            }
        };
        let short = Round::SHARES_FROM.saturating_sub(Nanos::from_nanos(1));
        let cases: &[(Option<f64>, &str)] = &[
            (None, "server not observed, so the bottleneck"),
            (
                Some(0.4),
                "the bottleneck is unknown: windows under 10.0 ms",
            ),
        ];
        for (server, wanted) in cases {
            let mut run = run(0.005, *server);
            shorten(&mut run, Round::SHARES_FROM);
            assert!(!found(&run)[0].sentence.starts_with(wanted));
            shorten(&mut run, short);
            let found = found(&run);
            assert!(found[0].sentence.starts_with(wanted), "{found:?}");
            assert_eq!(
                (found.len(), found[0].effects.strongest()),
                (1, Some(Effect::Caveat))
            );
            assert_eq!(found[0].effects.figures(), [Figure::Rps]);
        }
    }

    #[test]
    fn a_generator_that_waits_for_a_cpu_has_no_time_to_spare() {
        for server in [None, Some(0.4)] {
            for (wait, spare) in [
                (Nanos::from_millis(99), true),
                (Nanos::from_millis(400), false),
            ] {
                let mut run = run(0.10, server);
                for round in &mut run.points[0].rounds {
                    round.threads[1].run_queue_wait = Some(wait);
                }
                let sentence = &found(&run)[0].sentence;
                let praised = !sentence.contains("waited for a CPU");
                assert_eq!(praised, spare, "{sentence}");
                assert!(spare || sentence.contains("10 % busy"), "{sentence}");
            }
        }
    }

    #[test]
    fn more_threads_are_no_remedy_where_they_wait_for_a_cpu() {
        let mut run = run(0.50, Some(0.10));
        run.plan.threads = 2;
        for round in &mut run.points[0].rounds {
            round.threads[1].run_queue_wait = Some(Nanos::from_millis(400));
        }
        let remedy = found(&run)[0].remedy.clone().unwrap();
        assert!(
            remedy.starts_with("Use fewer --threads, another machine"),
            "{remedy}"
        );
    }

    #[test]
    fn cpu_time_that_may_be_missing_makes_the_servers_share_a_lower_bound() {
        let cases: &[(f64, f64, &str)] = &[
            (0.97, 0.40, "the server at least 40 % of its CPUs"),
            (0.40, 0.97, "it used at least 97 % of its CPUs"),
            (
                0.97,
                0.97,
                "generator (97 % busy) and server (at least 97 %)",
            ),
            (
                0.40,
                0.40,
                "neither the generator (40 % busy) nor the server (at least 40 %) was saturated",
            ),
        ];
        for (generator, server, wanted) in cases {
            let mut run = run(*generator, Some(*server));
            assert!(!found(&run)[0].sentence.contains("at least"));
            run.points[0].rounds[2]
                .footprint
                .as_mut()
                .unwrap()
                .lower_bound = true;
            let found = found(&run);
            assert!(found[0].sentence.contains(wanted), "{}", found[0].sentence);
        }
    }

    #[test]
    fn a_server_whose_only_worker_is_busy_was_the_limit_though_it_may_use_more() {
        let cases = [
            (0.30, false),
            (0.94, false),
            (0.96, true),
            (1.04, true),
            (1.06, false),
        ];
        for (cpus, wanted) in cases {
            let mut run = run(0.50, Some(0.10));
            for round in &mut run.points[0].rounds {
                let footprint = round.footprint.as_mut().unwrap();
                footprint.cpus_allowed = 2.0;
                footprint.cpu = Nanos::from_nanos((cpus * 1e9) as u64);
            }
            let found = found(&run);
            let said = found[0]
                .sentence
                .starts_with("the server kept 1 whole CPU busy");
            assert_eq!(
                (found[0].effects.strongest(), said),
                (None, wanted),
                "{cpus}: {found:?}"
            );
        }
    }

    #[test]
    fn false_alarms_and_power_are_those_of_the_manual() {
        use Cause::{BothSaturated, GeneratorSaturated, ServerSaturated};
        let all = &[GeneratorSaturated, ServerSaturated, BothSaturated][..];
        for (generator, server, causes, from, to) in [
            (0.75, 0.80, all, 0.0, 0.005),
            (0.95, 0.50, &[GeneratorSaturated], 0.99, 1.0),
            (0.50, 0.97, &[ServerSaturated], 0.99, 1.0),
        ] {
            let found = simulated(|chance| {
                let mut busy = |share: f64| (share + 0.05 * chance.normal()).clamp(0.0, 1.0);
                let rounds = [(); 5].map(|()| Round {
                    threads: vec![busy_thread(busy(generator))],
                    footprint: Some(busy_server(busy(server))),
                    ..bare_round()
                });
                let rounds = Some(&rounds[..]);
                let found = judge(&Evidence {
                    rounds,
                    ..Evidence::default()
                });
                found.iter().any(|each| causes.contains(&each.cause))
            });
            assert!(
                (from..=to).contains(&found),
                "{generator} {server}: {found}"
            );
        }
    }
}
