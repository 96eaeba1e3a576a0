// Runs http-cache-tests against the release program and says whether the result is the expected one.
//
//   node run.mjs                      both profiles, and the proof for the tests that cannot pass
//   node run.mjs --profile rfc        one profile
//   node run.mjs --write              also writes the table into README.md, between its markers
//   node run.mjs --verbose            also lists the expected failures with what the suite said
//   node run.mjs --program PATH       another program than target/release/kasoku
//   node run.mjs --layer              an application with the Tower layer, in front of a service that asks the suite's server
//   node run.mjs --direct [ID…]       no proxy at all: the client against the suite's own server
//   SUITE=DIR node run.mjs            another edition of the suite, in that folder
//
// Ends with 1 when a test failed that should pass, or passed that is listed as failing. The lists are about one edition: of
// another one, the failed tests are printed, with our reason where it is listed, and the run ends with 0.

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import * as expectations from './expectations.mjs'
import { freePort, runSuite, scratchDirectory, start, startOrigin, stop, untilAnswers } from './processes.mjs'
import { publishedTotals, score, surrogateTotals, totals, withDependencies } from './score.mjs'
import * as suite from './suite.mjs'
import { markdownTable, printTable, readmeShows, writeReadme } from './table.mjs'

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..')
const target = process.env.CARGO_TARGET_DIR ?? path.join(root, 'target')

const PROFILES = ['rfc', 'safe']

const { values: options, positionals: ids } = parseArgs({
  allowPositionals: true,
  options: {
    profile: { type: 'string', multiple: true, default: PROFILES },
    program: { type: 'string' },
    layer: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    direct: { type: 'boolean', default: false }
  }
})

if (options.write && !suite.isOurs) {
  console.error('conformance: the table of README.md is about the edition of package.json: --write goes without SUITE')
  process.exit(1)
}

const program = options.program ??
  (options.layer ? path.join(target, 'debug', 'examples', 'proxied') : path.join(target, 'release', 'kasoku'))

const scratch = scratchDirectory()
try {
  console.log(`conformance: ${await suite.edition()}${suite.isOurs ? '' : `, in ${suite.directory}`}`)
  const wrong = options.direct ? await direct(ids) : await profiles()
  process.exitCode = wrong > 0 ? 1 : 0
} catch (error) {
  console.error(`conformance: ${error.message}`)
  process.exitCode = 1
} finally {
  fs.rmSync(scratch, { recursive: true, force: true })
}

/** All profiles, then the proof; returns the number of surprises. */
async function profiles () {
  const rows = []
  let passed = 0
  let wrong = 0
  const claimed = new Set()
  for (const profile of options.profile) {
    const expected = expectations.read(profile, options.layer)
    const results = await throughKasoku(profile)
    if (suite.isOurs) await runSurprisesAgain(profile, results, expected)
    const scored = score(results)
    const comparison = expectations.compare(scored, expected)
    if (suite.isOurs) report(profile, comparison, expected)
    else reportOthers(profile, scored, expected)
    rows.push({ name: `Kasoku${options.layer ? '’s Tower layer' : ''}, profile ${profile}`, ...totals(scored), surrogate: surrogateTotals(results) })
    if (!suite.isOurs) continue
    passed += comparison.passed - comparison.unexpectedPasses.length
    wrong += comparison.unexpectedFailures.length + comparison.unexpectedPasses.length + comparison.unknownIds.length
    expectations.unpassable(expected).forEach(id => claimed.add(id))
  }
  if (!suite.isOurs) {
    printTable(rows)
    return 0
  }
  // What is true of no proxy at all is proved by the run with the program, whose table README.md shows.
  if (!options.layer) wrong += await proveUnpassable([...claimed])

  printTable(rows)
  if (!options.layer && rows.length === PROFILES.length) wrong += keepReadme(markdownTable([...rows, ...await publishedTotals()]))
  console.log(`conformance: ${passed} passed, ${wrong} failed`)
  return wrong
}

/**
 * The suite asks in real time: what is fresh for two seconds can be stale on a machine that was busy for three. Tests that
 * fail unexpectedly run once more, without the others; what fails twice has failed. Changes `results`.
 */
async function runSurprisesAgain (profile, results, expected) {
  const ids = expectations.compare(score(results), expected).unexpectedFailures.map(({ id }) => id)
  if (ids.length === 0) return
  console.log(`profile ${profile}: once more, without the others: ${ids.join(' ')}`)
  Object.assign(results, await throughKasoku(profile, withDependencies(ids)))
}

/** README.md shows this very table: writes it there, or returns 1 when it shows another. */
function keepReadme (table) {
  const readme = path.join(root, 'README.md')
  if (options.write) {
    writeReadme(readme, table)
  } else if (!readmeShows(readme, table)) {
    console.log('README.md shows another table; `make conformance ARGS=--write` puts this one there')
    return 1
  }
  return 0
}

async function throughKasoku (profile, ids = []) {
  const origin = await startOrigin(scratch)
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const kasoku = start(program,
    ['serve', '--origin', origin.base, '--listen', `127.0.0.1:${port}`, '--profile', profile])
  try {
    await untilAnswers(base, kasoku)
    return await runSuite(base, ids)
  } finally {
    await stop(kasoku)
    await stop(origin.child)
  }
}

function report (profile, { known, unexpectedFailures, unexpectedPasses, unknownIds }, expected) {
  for (const { id, kind, outcome, message } of unexpectedFailures) {
    console.log(`profile ${profile}: ${id} (${kind}) ${outcome}: ${message || 'a test that it depends on did not pass'}`)
  }
  for (const { id } of unexpectedPasses) {
    console.log(`profile ${profile}: ${id} passes; take it out of expected-${profile}.txt`)
  }
  for (const id of unknownIds) {
    console.log(`profile ${profile}: expected-${profile}.txt names ${id}, which is no required or optimal test`)
  }
  if (!options.verbose) return
  for (const { id, kind, message } of known) {
    console.log(`profile ${profile}: ${id} (${kind}) fails as expected\n    because ${expected.get(id)}\n    suite   ${message}`)
  }
}

/** What failed in an edition about which our lists are not. */
function reportOthers (profile, scored, expected) {
  for (const { id, kind, outcome, message } of scored) {
    if (kind === 'check' || outcome === 'pass') continue
    console.log(`profile ${profile}: ${id} (${kind}) ${outcome}: ${message || 'a test that it depends on did not pass'}`)
    if (expected.has(id)) console.log(`    because ${expected.get(id)}`)
  }
}

/** A test that fails with no proxy at all is no test of a proxy. Returns how many of `ids` pass after all. */
async function proveUnpassable (ids) {
  if (ids.length === 0) return 0
  const results = await withoutProxy(ids)
  const passing = ids.filter(id => results[id] === true)
  const failing = ids.filter(id => results[id] !== true)
  console.log(`no proxy at all, the suite's client against its own server: ${failing.length} of ${ids.length} tests listed as unpassable fail there too`)
  for (const id of failing) console.log(`    ${id}: ${results[id]?.join(': ') ?? 'no such test'}`)
  for (const id of passing) console.log(`    ${id} PASSES: it is not unpassable`)
  return passing.length
}

async function withoutProxy (ids) {
  const origin = await startOrigin(scratch)
  try {
    return await runSuite(origin.base, ids)
  } finally {
    await stop(origin.child)
  }
}

async function direct (ids) {
  const results = await withoutProxy(ids)
  for (const { id, kind, outcome, message } of score(results).filter(({ outcome }) => outcome !== 'untested')) {
    console.log(`${id} (${kind}): ${outcome} ${message}`)
  }
  return 0
}
