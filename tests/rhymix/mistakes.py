"""Tests that the oracle can fail: each scenario makes a mistake, in the configuration or between the browsers and Kasoku."""

from faults import Careless, Dating, caught
from oracle import run
from scenarios import holds


def the_oracle_catches_a_policy_that_takes_the_session_for_noise(site):
    more = 'cookies.session = []\ncookies.noise = ["default", "PHPSESSID", "rx_login_status"]\n'
    holds(caught(run, site, more), "it is a page for guests", "members with pages of guests")


def the_oracle_catches_a_policy_that_forgets_chosen_versions(site):
    holds(caught(run, site, "device-urls = []\n"), "it is the version for", "a version that was chosen")


def the_oracle_catches_a_cache_that_looks_at_no_cookie(site):
    Careless.kept = {}
    found = caught(run, site, network=Careless)
    for what in ("it is a page for members", "it greets", "a token"):
        holds(found, what, "a member's page")


def the_oracle_catches_dates_that_confirm_what_another_has_left_in_a_browser(site):
    holds(caught(run, site, network=Dating), "it is a page for members", "a member's page from a browser's disk")


SCENARIOS = [
    the_oracle_catches_a_policy_that_takes_the_session_for_noise,
    the_oracle_catches_a_policy_that_forgets_chosen_versions,
    the_oracle_catches_a_cache_that_looks_at_no_cookie,
    the_oracle_catches_dates_that_confirm_what_another_has_left_in_a_browser,
]
