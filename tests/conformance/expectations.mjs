// The tests that a profile is known not to pass: one `id  reason` a line in expected-<profile>.txt.
//
// The lists have to stay true in both directions. A counted test that fails and is not listed is an error, and so is a
// listed one that passes. A reason that starts with `unpassable:` claims that the test cannot pass through any proxy;
// the runner proves it by running the test against the suite's own server, with nothing between.

import fs from 'node:fs'

/** Map of id to reason. The layer fails what the program fails, and what is listed in expected-layer-<profile>.txt. */
export function read (profile, isLayer) {
  const reasons = readList(profile)
  if (!isLayer) return reasons
  for (const [id, reason] of readList(`layer-${profile}`)) {
    if (reasons.has(id)) throw new Error(`expected-layer-${profile}.txt: ${id} is in expected-${profile}.txt`)
    reasons.set(id, reason)
  }
  return reasons
}

function readList (profile) {
  const url = new URL(`expected-${profile}.txt`, import.meta.url)
  const reasons = new Map()
  for (const [index, line] of fs.readFileSync(url, 'utf8').split('\n').entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [, id, reason] = /^(\S+)\s+(\S.*)$/.exec(line) ?? []
    if (!id) throw new Error(`expected-${profile}.txt:${index + 1}: a line is "id  reason"`)
    if (reasons.has(id)) throw new Error(`expected-${profile}.txt:${index + 1}: ${id} is there twice`)
    reasons.set(id, reason)
  }
  return reasons
}

/** The ids that claim to be unpassable. */
export function unpassable (expected) {
  return [...expected].filter(([, reason]) => reason.startsWith('unpassable:')).map(([id]) => id)
}

/** Compares what happened with what was expected; `check` tests have no right answer and are left out. */
export function compare (scored, expected) {
  const counted = scored.filter(({ kind }) => kind !== 'check')
  const ids = new Set(counted.map(({ id }) => id))
  return {
    passed: counted.filter(({ outcome }) => outcome === 'pass').length,
    known: counted.filter(({ id, outcome }) => outcome !== 'pass' && expected.has(id)),
    unexpectedFailures: counted.filter(({ id, outcome }) => outcome !== 'pass' && !expected.has(id)),
    unexpectedPasses: counted.filter(({ id, outcome }) => outcome === 'pass' && expected.has(id)),
    unknownIds: [...expected.keys()].filter(id => !ids.has(id))
  }
}
