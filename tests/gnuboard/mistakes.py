"""Tests that the oracle can fail: each scenario makes a mistake, in the configuration or between the browsers and Kasoku."""

from faults import Careless, Dating, caught
from oracle import run
from scenarios import true


def the_oracle_catches_a_policy_that_takes_the_session_for_noise(site):
    found = caught(run, site, 'cookies.noise = ["default", "PHPSESSID"]\n')
    true("a page for guests" in found, f"members with pages of guests are not among {found}")


def the_oracle_catches_a_policy_that_forgets_carts_and_passwords(site):
    found = caught(run, site, "session.stateful-urls = []\n")
    true("items in the cart instead of" in found or "the post is closed" in found or "it lacks Zqs" in found, f"a lost cart is not among {found}")


def the_oracle_catches_a_cache_that_looks_at_no_cookie(site):
    Careless.kept = {}
    found = caught(run, site, network=Careless)
    true("it greets" in found and "it has Zq" in found, f"a member's page is not among {found}")


def the_oracle_catches_dates_that_confirm_what_another_has_left_in_a_browser(site):
    found = caught(run, site, network=Dating)
    true("it greets" in found, f"a member's page from a browser's disk is not among {found}")


SCENARIOS = [
    the_oracle_catches_a_policy_that_takes_the_session_for_noise,
    the_oracle_catches_a_policy_that_forgets_carts_and_passwords,
    the_oracle_catches_a_cache_that_looks_at_no_cookie,
    the_oracle_catches_dates_that_confirm_what_another_has_left_in_a_browser,
]
