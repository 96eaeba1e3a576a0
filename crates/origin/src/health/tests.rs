//! Tests of what failures, answers and checks make of an origin.

use super::*;

fn fail(health: &Health, blame: Blame, now_ms: u64) {
    health.failed(blame, health.mark(), &OriginHealth::default(), now_ms);
}

#[test]
fn three_failures_in_a_row_and_a_success_between_them_counts_anew() {
    for (blame, ill) in
        [(Blame::Connection, HealthStatus::Down), (Blame::Answer, HealthStatus::Suspect { is_due: false })]
    {
        let health = Health::default();
        for _ in 0..2 {
            fail(&health, blame, 0);
            fail(&health, blame, 0);
            assert_eq!(health.status(0), HealthStatus::Up);
            health.answered(0);
        }
        (0..3).for_each(|_| fail(&health, blame, 0));
        assert_eq!(health.status(999), ill);
        assert!(!health.is_up());
        assert!(health.answered(0).is_some());
        assert_eq!(health.status(0), HealthStatus::Up);
    }
}

/// The times within a minute at which the origin is tried, if each trial fails after `took_ms`.
fn tried(blame: Blame, took_ms: u64) -> Vec<u64> {
    let (health, rules) = (Health::default(), OriginHealth::default());
    (0..3).for_each(|_| fail(&health, blame, 0));
    let (mut tried, mut running) = (Vec::new(), None);
    for now_ms in 0..60_000 {
        if let Some((began_ms, sent, number)) = running
            && now_ms == began_ms + took_ms
        {
            health.failed(blame, sent, &rules, now_ms);
            health.end_trial(number);
            running = None;
        }
        if running.is_some()
            || matches!(health.status(now_ms), HealthStatus::Down | HealthStatus::Suspect { is_due: false })
        {
            continue;
        }
        let number = match health.claim(&rules, now_ms) {
            Availability::Trial(number) => number,
            Availability::Free if blame == Blame::Answer => 0,
            _ => continue,
        };
        assert!(!matches!(health.claim(&rules, now_ms), Availability::Trial(_)), "one at a time");
        tried.push(now_ms);
        running = Some((now_ms, health.mark(), number));
    }
    tried
}

#[test]
fn one_request_in_each_second_tries_an_origin_that_is_down() {
    let each_second: Vec<u64> = (1..60).map(|second| second * 1_000).collect();
    assert_eq!(tried(Blame::Connection, 1), each_second);
    assert_eq!(tried(Blame::Connection, 500), each_second);
    assert_eq!(tried(Blame::Answer, 1), each_second, "what is lost at once can be sent to another at once");
}

#[test]
fn a_suspect_that_lets_its_trials_wait_is_tried_less_and_less() {
    assert_eq!(tried(Blame::Answer, 1_000), [1_000, 3_000, 7_000, 15_000, 25_000, 35_000, 45_000, 55_000]);
}

#[test]
fn when_no_other_can_be_asked_one_request_at_a_time_tries_at_once() {
    let (health, rules) = (Health::default(), OriginHealth::default());
    (0..3).for_each(|_| fail(&health, Blame::Connection, 10));
    assert_eq!(health.claim(&rules, 10), Availability::Refused);
    assert_eq!(health.claim_anyway(&rules, 10), Availability::Trial(1));
    assert_eq!(health.claim_anyway(&rules, 60), Availability::TrialRunning(TRIAL_WAIT_MAX - Duration::from_millis(50)));
    assert_eq!(
        health.claim_anyway(&rules, 500),
        Availability::TrialRunning(Duration::ZERO),
        "it takes too long to be waited for"
    );
    assert_eq!(
        health.claim_anyway(&rules, 1_010),
        Availability::Trial(2),
        "a trial that hangs delays no request for ever"
    );
    health.end_trial(1);
    assert!(matches!(health.claim_anyway(&rules, 1_010), Availability::TrialRunning(_)), "the second one runs");
    fail(&health, Blame::Connection, 1_020);
    health.end_trial(2);
    assert_eq!(health.claim_anyway(&rules, 1_020), Availability::Trial(3));
    health.connected();
    assert_eq!((health.status(1_020), health.claim(&rules, 1_020)), (HealthStatus::Up, Availability::Free));
}

#[test]
fn where_packets_vanish_one_visitor_a_second_waits_in_vain() {
    let (health, rules) = (Health::default(), OriginHealth::default());
    (0..3).for_each(|_| fail(&health, Blame::Connection, 0));
    assert_eq!(health.claim_anyway(&rules, 0), Availability::Trial(1));
    fail(&health, Blame::Connection, 500);
    health.end_trial(1);
    assert_eq!(health.claim_anyway(&rules, 999), Availability::Refused);
    assert_eq!(health.claim_anyway(&rules, 1_000), Availability::Trial(2));
}

#[test]
fn a_burst_of_failures_is_one_period() {
    let health = Health::default();
    (0..1000).for_each(|_| fail(&health, Blame::Connection, 0));
    assert_eq!((health.status(999), health.status(1_000)), (HealthStatus::Down, HealthStatus::Due));
}

#[test]
fn a_failure_does_not_count_when_others_were_answered_meanwhile() {
    let (health, rules) = (Health::default(), OriginHealth::default());
    let sent: Vec<_> = (0..100).map(|_| health.mark()).collect();
    health.answered(0);
    for mark in sent {
        assert!(!health.failed(Blame::Answer, mark, &rules, 0));
    }
    assert_eq!(health.status(0), HealthStatus::Up);
}

#[test]
fn a_failure_that_is_no_origins_fault_does_not_count() {
    let health = Health::default();
    (0..9).for_each(|_| fail(&health, Blame::NoOrigin, 0));
    assert_eq!(health.status(0), HealthStatus::Up);
}

#[test]
fn failures_0_means_that_it_is_always_asked() {
    let (health, rules) = (Health::default(), OriginHealth { failures: 0, ..OriginHealth::default() });
    for _ in 0..9 {
        health.failed(Blame::Connection, health.mark(), &rules, 0);
    }
    assert_eq!(health.status(0), HealthStatus::Up);
}

#[test]
fn a_connection_alone_does_not_clear_a_suspect() {
    let health = Health::default();
    (0..3).for_each(|_| fail(&health, Blame::Answer, 0));
    health.connected();
    assert_eq!(health.status(0), HealthStatus::Suspect { is_due: false });
}

#[test]
fn checks_take_an_origin_away_and_bring_it_back() {
    let (health, rules) = (Health::default(), OriginHealth::default());
    let rules = OriginHealth { rise: 2, ..rules };
    let check = |passes| {
        let result = if passes { CheckResult::Passed } else { CheckResult::Failed };
        health.checked(result, health.mark(), &rules, 0).is_some()
    };
    let changes = [false, false, true, false, false, false, true, false, true, true].map(check);
    assert_eq!(changes, [false, false, false, false, false, true, false, false, false, true]);
    for _ in 0..3 {
        check(false);
    }
    assert_eq!(
        (health.status(u64::MAX), health.claim(&rules, u64::MAX)),
        (HealthStatus::ChecksFailed, Availability::Refused)
    );
    assert_eq!(health.claim_anyway(&rules, u64::MAX), Availability::Refused, "its checks ask it");
    health.is_unchecked();
    assert_eq!(health.status(0), HealthStatus::Up);
}

#[test]
fn a_check_that_passes_ends_the_back_off_of_connections() {
    let health = Health::default();
    (0..3).for_each(|_| fail(&health, Blame::Connection, 0));
    health.checked(CheckResult::Passed, health.mark(), &OriginHealth::default(), 0);
    assert_eq!(health.status(0), HealthStatus::Up);
}

#[test]
fn the_first_check_that_passes_counts() {
    let (health, rules) = (Health::default(), OriginHealth::default());
    for _ in 0..3 {
        health.checked(CheckResult::Failed, health.mark(), &rules, 0);
    }
    assert_eq!(health.status(0), HealthStatus::ChecksFailed);
    assert!(matches!(health.checked(CheckResult::Passed, health.mark(), &rules, 0), Some(HealthChange::Up(_))));
    assert_eq!(health.status(0), HealthStatus::Up);
}

#[test]
fn a_check_without_an_answer_does_not_count_while_requests_are_answered() {
    let (health, rules) = (Health::default(), OriginHealth::default());
    for result in [CheckResult::Unanswered, CheckResult::Unreachable, CheckResult::Failed] {
        for _ in 0..3 {
            let sent = health.mark();
            health.answered(0);
            health.checked(result, sent, &rules, 0);
        }
        let is_said_by_the_application = result == CheckResult::Failed;
        assert_eq!(health.status(0) == HealthStatus::ChecksFailed, is_said_by_the_application, "{result:?}");
    }
}

#[test]
fn an_origin_that_its_checks_could_not_reach_is_tried_and_its_next_check_decides() {
    let (health, rules) = (Health::default(), OriginHealth::default());
    let check = |result| health.checked(result, health.mark(), &rules, 0);
    for _ in 0..3 {
        check(CheckResult::Unreachable);
    }
    assert_eq!((health.status(0), health.claim(&rules, 0)), (HealthStatus::Down, Availability::Refused));
    assert_eq!(health.claim_anyway(&rules, 0), Availability::Trial(1));
    health.connected();
    assert_eq!(health.status(0), HealthStatus::Suspect { is_due: false });
    check(CheckResult::Failed);
    assert_eq!(health.status(0), HealthStatus::ChecksFailed, "it is there, and not ready");
    assert!(matches!(check(CheckResult::Passed), Some(HealthChange::Up(_))));
    assert_eq!(health.status(0), HealthStatus::Up);
}

fn ended(lasted_ms: u64, failed: u64, unasked: u64) -> Recovery {
    Recovery { lasted: Duration::from_millis(lasted_ms), failed, unasked }
}

#[test]
fn an_outage_begins_once_and_its_end_says_how_long_it_was_and_what_it_cost() {
    let (health, rules) = (Health::default(), OriginHealth::default());
    let fails = |blame, now_ms| health.failed(blame, health.mark(), &rules, now_ms);
    assert_eq!([0, 10, 20, 30].map(|now_ms| fails(Blame::Connection, now_ms)), [false, false, true, false]);
    health.was_not_asked();
    // The origin takes connections and answers no request: that is the same outage.
    health.connected();
    assert_eq!([40, 50, 60].map(|now_ms| fails(Blame::Answer, now_ms)), [false; 3]);
    assert_eq!(health.answered(2_020), Some(ended(2_000, 7, 1)));
    assert_eq!(health.answered(2_021), None, "it is over");
    health.was_not_asked();
    assert_eq!([3_000, 3_010, 3_020].map(|now_ms| fails(Blame::Answer, now_ms)), [false, false, true]);
    assert_eq!(health.answered(3_030), Some(ended(10, 3, 0)), "another one");
}

#[test]
fn an_outage_ends_where_neither_requests_nor_checks_fail() {
    let (health, rules) = (Health::default(), OriginHealth { fall: 1, ..OriginHealth::default() });
    let check = |result, now_ms| health.checked(result, health.mark(), &rules, now_ms);
    assert_eq!(check(CheckResult::Failed, 100), Some(HealthChange::Down));
    assert_eq!(health.answered(200), None, "its checks fail");
    assert_eq!(check(CheckResult::Passed, 300), Some(HealthChange::Up(ended(200, 0, 0))));
    (0..3).for_each(|_| fail(&health, Blame::Answer, 400));
    assert_eq!(check(CheckResult::Passed, 500), None, "requests wait for answers");
    assert_eq!(health.answered(600), Some(ended(200, 3, 0)));
}
