"""Runs the oracle on WordPress with `application = "wordpress"`, and tests that the oracle finds mistakes.

KASOKU_WORDPRESS_SEED repeats a list of requests.
"""

import os
import random

import application
import oracle
from scenarios import equal, true
from visitor import Visitor

REQUESTS = 2000
# Enough requests for each kind of visitor to take most of its steps.
REQUESTS_TO_BE_CAUGHT = 200


def two_thousand_requests_of_forty_visitors_show_no_visitor_anything_of_another(site, **_):
    seed = int(os.environ.get("KASOKU_WORDPRESS_SEED", random.SystemRandom().randrange(10**6)))
    print(f"        KASOKU_WORDPRESS_SEED={seed}", flush=True)

    def other_lifetimes():
        site.serve(rules(site) + 'ttl = "4m"\n')

    def the_first_ones_and_an_empty_cache():
        site.serve(rules(site))
        site.kasoku("purge", "--all")

    seen = oracle.run(site, "a", REQUESTS, seed, [site.reload, other_lifetimes, the_first_ones_and_an_empty_cache])
    print(f"        {seen.checked} answers; {seen.hits} hits of {seen.strangers} that strangers asked for", flush=True)
    equal(seen.found, [], "what was found")
    true(seen.checked >= REQUESTS, f"answers: {seen.checked} of {REQUESTS}")
    true(seen.hits * 2 > seen.strangers, f"hits: {seen.hits} of {seen.strangers}")


def the_oracle_catches_a_cache_that_looks_at_no_cookie(site, **_):
    """A naive cache between the visitors and Kasoku, which stores each page under its URL for all visitors."""
    kept = {}

    class Careless(Visitor):
        def ask(self, method, path, fields=(), body=None):
            if method == "GET" and path in kept:
                return kept[path]
            answer = super().ask(method, path, fields, body)
            if method == "GET" and answer.status == 200:
                kept[path] = answer
            return answer

    found = oracle.run(site, "b", REQUESTS_TO_BE_CAUGHT, 1, visitor=Careless).found
    true([line for line in found if "it has" in line], f"one visitor's bytes in another's answer, among {found}")


def the_oracle_catches_a_policy_that_forgets_the_login(site, **_):
    """No visitor sees another's page with it, since stored pages are anonymous; but members no longer see their own."""
    site.serve(rules(site) + 'cookies.pass = ["wp-postpass_*", "comment_author_*"]\n')
    found = oracle.run(site, "c", REQUESTS_TO_BE_CAUGHT, 1).found
    site.serve(rules(site))
    true(found, "members without their pages")
    equal([line for line in found if "it has" in line], [], "one visitor's bytes in another's answer")


def rules(site):
    return application.RULES.format(socket=site.php_socket, root=site.root)


SCENARIOS = [
    two_thousand_requests_of_forty_visitors_show_no_visitor_anything_of_another,
    the_oracle_catches_a_cache_that_looks_at_no_cookie,
    the_oracle_catches_a_policy_that_forgets_the_login,
]
