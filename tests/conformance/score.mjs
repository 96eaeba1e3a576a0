// What a set of results is worth, by the suite's own rules.
//
// `determineTestResult` is the suite's function: a test counts only when all that it depends on passed. The kinds are
// the suite's too. `required`: not passing contradicts a specification. `optimal`: passing is better caching. `check`:
// a question without a right answer. The tests of Surrogate-Control, a field that never became a standard, are left out
// of the counts (the published tables leave them out as well) and reported apart.

import fs from 'node:fs'
import path from 'node:path'
import * as suite from './suite.mjs'

const { counted, surrogate } = await suite.suites()
const { determineTestResult } = await suite.load(suite.engine, 'lib/results.mjs', 'lib/display.mjs')

/** All suites that a proxy can be asked to pass. */
export const suites = [...counted, ...surrogate]

// The suite names its outcomes only by the third member of a triple.
const OUTCOMES = {
  '-': 'untested',
  '✅': 'pass',
  '⛔️': 'fail',
  '⚠️': 'fail',
  Y: 'yes',
  N: 'no',
  '🔹': 'setup failed',
  '⁉️': 'harness failed',
  '⚪️': 'dependency failed',
  '↻': 'retried'
}

/** `[{ id, name, kind, outcome, message }]` for each test of `from`. */
export function score (results, from = counted) {
  return from.flatMap(suite => suite.tests)
    .filter(test => test.browser_only !== true)
    .map(test => ({
      id: test.id,
      name: test.name,
      kind: test.kind ?? 'required',
      outcome: OUTCOMES[determineTestResult(suites, test.id, results)[2]],
      message: Array.isArray(results[test.id]) ? results[test.id].join(': ') : ''
    }))
}

/** The ids, and those of all tests that they depend on. */
export function withDependencies (ids) {
  const tests = new Map(suites.flatMap(suite => suite.tests).map(test => [test.id, test]))
  const all = new Set(ids)
  // A set is walked over what is added on the way as well.
  for (const id of all) for (const dependency of tests.get(id)?.depends_on ?? []) all.add(dependency)
  return [...all]
}

/** `{ required: { passed, of }, optimal: …, check: … }`; for `check`, passed is the number of answers "yes". */
export function totals (scored) {
  const sum = kind => {
    const all = scored.filter(test => test.kind === kind)
    return { passed: all.filter(({ outcome }) => outcome === 'pass' || outcome === 'yes').length, of: all.length }
  }
  return { required: sum('required'), optimal: sum('optimal'), check: sum('check') }
}

/** The totals of the Surrogate-Control tests, which count for nothing; `undefined` where the edition has none apart. */
export function surrogateTotals (results) {
  return surrogate.length > 0 ? totals(score(results, surrogate)) : undefined
}

const FULL_NAMES = { ATS: 'Apache Traffic Server', httpd: 'Apache httpd' }

/** The results of other reverse proxies that the suite's package itself carries, scored as ours are. */
export async function publishedTotals () {
  const { default: published } = await suite.load(suite.directory, 'results/index.mjs')
  return published.filter(({ type }) => type === 'rev-proxy').map(({ name, version, file }) => {
    const results = path.join(suite.directory, 'results', file)
    const edition = /^[\d.]*\d/.exec(version)?.[0] ?? version
    return {
      name: `${FULL_NAMES[name] ?? name} ${edition}`,
      ...totals(score(JSON.parse(fs.readFileSync(results, 'utf8'))))
    }
  })
}
