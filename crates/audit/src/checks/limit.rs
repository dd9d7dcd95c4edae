//! Who was the limit: generator, server, or neither?

use super::Check;
use crate::Evidence;
use crate::verdict::{Substantiate, invalid, note, percent, qualified};
use record::{Figure, Finding, Round};

pub(super) const CHECK: Check = Check {
    name: "limit",
    title: "Who was the limit: the generator, the server, or neither?",
    doc: "A load generator that has no CPU left measures itself. Its busiest thread's busy share is (CPU time + time \
          it waited for a CPU) / wall; the server's is its CPU time as a share of the CPUs it may use; of both the \
          median over the complete rounds is judged. Generator over 85 % and server not over 90 %: the generator was \
          the limit, and requests/s is invalid: a lower bound. Server over 90 % and generator not over 85 %: the \
          server was the limit, which is what one wants. Both: qualified, which is normal on small machines. \
          Neither: latency or the number of connections was the limit. The server's side is known only for servers \
          that weigh started; otherwise requests/s is qualified. Our own reference server is exempt.",
    judge,
};

/// A thread busy for more than this share is short of CPU.
const GENERATOR_MOST: f64 = 0.85;
/// A server that uses more than this share of its CPUs is short of them.
const SERVER_MOST: f64 = 0.90;

fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Some(rounds) = evidence.rounds else {
        return Vec::new();
    };
    let Some(generator) = Round::typical(rounds, Round::generator_busy) else {
        return Vec::new();
    };
    let server = Round::typical(rounds, Round::server_busy);
    let findings = match server {
        _ if evidence.counterweight() => vec![exempt(generator, server)],
        None => vec![unobserved(evidence, generator)],
        Some(server) => match (generator > GENERATOR_MOST, server > SERVER_MOST) {
            (true, false) => generator_bound(evidence, generator, server),
            (false, true) => vec![server_bound(generator, server)],
            (true, true) => vec![both(generator, server)],
            (false, false) => vec![neither(generator, server)],
        },
    };
    let shares = |finding: Finding| {
        let known = finding.evidence([("generator busy", generator)]);
        match server {
            Some(server) => known.evidence([("server busy", server)]),
            None => known,
        }
    };
    findings.into_iter().map(shares).collect()
}

fn generator_bound(evidence: &Evidence<'_>, generator: f64, server: f64) -> Vec<Finding> {
    let (generator, server) = (percent(generator), percent(server));
    let limit = invalid(
        &[Figure::Rps],
        format!(
            "the generator was the limit; its busiest thread was {generator} busy while the server used {server} of \
             its CPUs and could do more"
        ),
    );
    let wait = qualified(
        &[Figure::Latency],
        format!(
            "the generator was {generator} busy, so the time that a response waited to be read is in it"
        ),
    );
    vec![
        limit.remedy(relief(evidence)),
        wait.remedy("for latency use fewer --connections, or relieve the generator as above"),
    ]
}

/// What relieves a generator that is short of CPU.
fn relief(evidence: &Evidence<'_>) -> String {
    let cpus = evidence
        .machine
        .map_or(0, |machine| machine.cpus_allowed.len());
    let threads = evidence.plan.map_or(0, |plan| plan.threads() as usize);
    if threads > 0 && threads < cpus {
        format!(
            "give it more than {threads} of the {cpus} CPUs with --threads, or load from another machine"
        )
    } else {
        "load from another machine, or give generator and server CPUs of their own".to_owned()
    }
}

fn server_bound(generator: f64, server: f64) -> Finding {
    note(format!(
        "the server was the limit; it used {} of its CPUs, the generator's busiest thread was {} busy",
        percent(server),
        percent(generator)
    ))
}

fn both(generator: f64, server: f64) -> Finding {
    qualified(
        &[Figure::Rps, Figure::Latency],
        format!(
            "both sides were short of CPU (generator {}, server {}), so each may have slowed the other, as is normal \
             on small machines",
            percent(generator),
            percent(server)
        ),
    )
    .remedy("load from another machine, or give generator and server CPUs of their own")
}

fn neither(generator: f64, server: f64) -> Finding {
    note(format!(
        "neither side was short of CPU (generator {}, server {}); latency or the number of connections was the limit",
        percent(generator),
        percent(server)
    ))
    .remedy("more --connections show whether the server can do more")
}

fn unobserved(evidence: &Evidence<'_>, generator: f64) -> Finding {
    let busy = percent(generator);
    if generator > GENERATOR_MOST {
        let sentence = format!(
            "server not observed; the generator's busiest thread was {busy} busy and may have been the limit"
        );
        return qualified(&[Figure::Rps, Figure::Latency], sentence).remedy(relief(evidence));
    }
    let sentence = format!(
        "server not observed; the generator had time to spare (busiest thread {busy} busy), but whether the server \
         was the limit is unknown"
    );
    qualified(&[Figure::Rps], sentence)
        .remedy("let weigh start the server: weigh run URL -- COMMAND")
}

fn exempt(generator: f64, server: Option<f64>) -> Finding {
    let server = server.map_or(String::new(), |server| {
        format!(", server {}", percent(server))
    });
    note(format!(
        "this is weigh's own server, the ruler: it is exempt from the question who was the limit (generator {}{server})",
        percent(generator)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{busy_server, busy_thread, healthy};
    use record::{Grade, Run};
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
    fn the_limit_is_who_had_no_cpu_left() {
        type Case<'a> = (f64, Option<f64>, Grade, &'a [Figure], &'a str);
        let cases: &[Case] = &[
            (
                0.86,
                Some(0.50),
                Grade::Invalid,
                &[Figure::Rps],
                "the generator was the limit",
            ),
            (
                0.86,
                Some(0.90),
                Grade::Invalid,
                &[Figure::Rps],
                "the generator was the limit",
            ),
            (
                0.40,
                Some(0.97),
                Grade::Note,
                &[],
                "the server was the limit",
            ),
            (
                0.85,
                Some(0.91),
                Grade::Note,
                &[],
                "the server was the limit",
            ),
            (
                0.86,
                Some(0.91),
                Grade::Qualified,
                &[Figure::Rps, Figure::Latency],
                "both sides",
            ),
            (0.85, Some(0.90), Grade::Note, &[], "neither side"),
            (
                0.85,
                None,
                Grade::Qualified,
                &[Figure::Rps],
                "server not observed; the generator had",
            ),
            (
                0.86,
                None,
                Grade::Qualified,
                &[Figure::Rps, Figure::Latency],
                "server not observed; the generator's busiest",
            ),
        ];
        for (generator, server, grade, touches, sentence) in cases {
            let found = found(&run(*generator, *server));
            let case = format!("{generator} against {server:?}: {found:?}");
            assert_eq!(
                (found[0].grade, &found[0].touches[..]),
                (*grade, *touches),
                "{case}"
            );
            assert!(found[0].sentence.starts_with(sentence), "{case}");
        }
    }

    #[test]
    fn a_busy_generator_qualifies_latencies_too() {
        let found = found(&run(0.97, Some(0.4)));
        assert_eq!(
            (found[1].grade, &found[1].touches[..]),
            (Grade::Qualified, &[Figure::Latency][..])
        );
    }

    #[test]
    fn waiting_for_a_cpu_is_being_busy() {
        let mut run = run(0.50, Some(0.40));
        for round in &mut run.points[0].rounds {
            round.threads[1].run_queue_wait = Some(Nanos::from_millis(360));
        }
        assert_eq!(found(&run)[0].grade, Grade::Invalid);
    }

    #[test]
    fn one_disturbed_round_does_not_decide_and_a_partial_one_has_no_say() {
        let mut run = run(0.40, Some(0.97));
        run.points[0].rounds[0].threads = vec![busy_thread(1.0)];
        run.points[0].rounds[1].threads = vec![busy_thread(1.0)];
        assert_eq!(found(&run)[0].grade, Grade::Note);
        run.points[0].rounds[2].threads = vec![busy_thread(1.0)];
        assert_eq!(found(&run)[0].grade, Grade::Qualified);
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
            counterweight: true,
        });
        let found = found(&run);
        assert_eq!((found.len(), found[0].grade), (1, Grade::Note));
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
                .starts_with("load from another machine")
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
}
