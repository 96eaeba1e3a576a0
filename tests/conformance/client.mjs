// The suite's own client, run over all of its tests or over the ids given: `client.mjs BASE [ID…]`.
// Prints the results as JSON. It is a process of its own since the suite keeps its results in a global.

import fetch from 'node-fetch'
import { suites } from './score.mjs'
import { engine, load } from './suite.mjs'

const { getResults, runTests } = await load(engine, 'client/runner.mjs')
const [base, ...ids] = process.argv.slice(2)
const wanted = test => ids.length === 0 || ids.includes(test.id)
const chosen = suites.map(suite => ({ ...suite, tests: suite.tests.filter(wanted) }))

await runTests(chosen, fetch, false, base)
process.stdout.write(JSON.stringify(getResults()), () => process.exit(0))
