// The edition of http-cache-tests that runs: the one of package.json, or the folder that the environment names as SUITE.
//
// Later editions keep their engine in a folder of its own (test-engine/), and still call themselves 0.4.5. So an edition
// is named by its version, its commit where the folder is a checkout of git, and its number of tests.

import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const installed = fileURLToPath(new URL('node_modules/http-cache-tests', import.meta.url))

/** Whether the lists of expected failures and the table of the README are about this edition. */
export const isOurs = !process.env.SUITE

/** The folder of the edition. */
export const directory = isOurs ? installed : path.resolve(process.env.SUITE)

/** The folder of its server and client. */
export const engine = [path.join(directory, 'test-engine'), directory].find(place => exists(place, 'client/runner.mjs'))
if (!engine || !exists(directory, 'tests/index.mjs')) {
  console.error(`conformance: ${directory} is no folder of http-cache-tests: it has no client/runner.mjs or no tests/index.mjs`)
  process.exit(1)
}

/** What a file of the edition exports; `undefined` where it has none of the names in that place. */
export async function load (place, ...names) {
  const name = names.find(name => exists(place, name))
  return name && import(pathToFileURL(path.join(place, name)))
}

/** The suites of tests: `{ counted, surrogate }`, where `surrogate` is empty if the edition does not set it apart. */
export async function suites () {
  const counted = (await load(directory, 'tests/index.mjs')).default
  const surrogate = (await load(directory, 'tests/surrogate-control.mjs'))?.default
  return { counted, surrogate: surrogate && !counted.includes(surrogate) ? [surrogate] : [] }
}

/** `http-cache-tests 0.4.5 at 1a2b3c4, 400 tests`. */
export async function edition () {
  const { version } = JSON.parse(fs.readFileSync(path.join(directory, 'package.json'), 'utf8'))
  const { counted } = await suites()
  const tests = counted.flatMap(suite => suite.tests).length
  return `http-cache-tests ${version}${commit()}, ${tests} tests`
}

function commit () {
  if (!exists(directory, '.git')) return ''
  const git = ['-C', directory, 'rev-parse', '--short', 'HEAD']
  return ` at ${execFileSync('git', git, { encoding: 'utf8' }).trim()}`
}

function exists (place, name) {
  return fs.existsSync(path.join(place, name))
}
