//! What failures, answers and checks make of an origin.

use super::*;

fn fail(health: &Health, blame: Blame, now_ms: u64) {
    health.failed(blame, health.mark(), &HealthRules::default(), now_ms);
}

#[test]
fn three_failures_in_a_row_and_a_success_between_them_counts_anew() {
    for (blame, ill) in [(Blame::Connection, Standing::Down), (Blame::Answer, Standing::Suspect { is_due: false })] {
        let health = Health::default();
        for _ in 0..2 {
            fail(&health, blame, 0);
            fail(&health, blame, 0);
            assert_eq!(health.standing(0), Standing::Up);
            health.answered();
        }
        (0..3).for_each(|_| fail(&health, blame, 0));
        assert_eq!(health.standing(999), ill);
        assert!(!health.is_up());
        assert!(health.answered());
        assert_eq!(health.standing(0), Standing::Up);
    }
}

#[test]
fn one_request_in_each_period_and_each_period_is_twice_as_long() {
    let (health, rules) = (Health::default(), HealthRules::default());
    (0..3).for_each(|_| fail(&health, Blame::Connection, 0));
    let mut claimed = Vec::new();
    for now_ms in 0..60_000 {
        if health.claim(&rules, now_ms) {
            claimed.push(now_ms);
            assert!(!health.claim(&rules, now_ms), "one at a time");
            fail(&health, Blame::Connection, now_ms);
        }
    }
    assert_eq!(claimed, [1_000, 3_000, 7_000, 15_000, 25_000, 35_000, 45_000, 55_000]);
    health.connected();
    assert_eq!(health.standing(0), Standing::Up);
    assert!(health.claim(&rules, 0) && health.claim(&rules, 0));
}

#[test]
fn a_burst_of_failures_is_one_period() {
    let health = Health::default();
    (0..1000).for_each(|_| fail(&health, Blame::Connection, 0));
    assert_eq!((health.standing(999), health.standing(1_000)), (Standing::Down, Standing::Due));
}

#[test]
fn a_failure_does_not_count_when_others_were_answered_meanwhile() {
    let (health, rules) = (Health::default(), HealthRules::default());
    let sent: Vec<_> = (0..100).map(|_| health.mark()).collect();
    health.answered();
    for mark in sent {
        assert!(!health.failed(Blame::Answer, mark, &rules, 0));
    }
    assert_eq!(health.standing(0), Standing::Up);
}

#[test]
fn what_is_nobodys_fault_counts_for_nothing() {
    let health = Health::default();
    (0..9).for_each(|_| fail(&health, Blame::Nobody, 0));
    assert_eq!(health.standing(0), Standing::Up);
}

#[test]
fn failures_0_means_that_it_is_always_asked() {
    let (health, rules) = (Health::default(), HealthRules { failures: 0, ..HealthRules::default() });
    for _ in 0..9 {
        health.failed(Blame::Connection, health.mark(), &rules, 0);
    }
    assert_eq!(health.standing(0), Standing::Up);
}

#[test]
fn a_connection_alone_does_not_clear_a_suspect() {
    let health = Health::default();
    (0..3).for_each(|_| fail(&health, Blame::Answer, 0));
    health.connected();
    assert_eq!(health.standing(0), Standing::Suspect { is_due: false });
}

#[test]
fn checks_take_an_origin_away_and_bring_it_back() {
    let (health, rules) = (Health::default(), HealthRules::default());
    let results = [false, false, true, false, false, false, true, false, true, true];
    let changes: Vec<_> = results.map(|passes| health.checked(passes, &rules)).into();
    assert_eq!(changes, [false, false, false, false, false, true, false, false, false, true]);
    for _ in 0..3 {
        health.checked(false, &rules);
    }
    assert_eq!((health.standing(u64::MAX), health.claim(&rules, u64::MAX)), (Standing::Down, false));
    health.is_unchecked();
    assert_eq!(health.standing(0), Standing::Up);
}

#[test]
fn a_check_that_passes_ends_the_back_off_of_connections() {
    let health = Health::default();
    (0..3).for_each(|_| fail(&health, Blame::Connection, 0));
    health.checked(true, &HealthRules::default());
    assert_eq!(health.standing(0), Standing::Up);
}
