// The result as a table: for the terminal, and as Markdown between the markers of README.md.

import fs from 'node:fs'

const BEGIN = '<!-- conformance:begin -->'
const END = '<!-- conformance:end -->'

const ratio = ({ passed, of }) => `${passed}/${of}`

/** Prints one row a proxy. */
export function printTable (rows) {
  const width = Math.max(...rows.map(({ name }) => name.length))
  console.log(`${''.padEnd(width)}  required   optimal    check (yes)`)
  for (const row of rows) {
    const counts = [row.required, row.optimal, row.check].map(count => ratio(count).padEnd(9)).join('  ')
    console.log(`${row.name.padEnd(width)}  ${counts}`.trimEnd())
  }
  for (const { name, surrogate } of rows.filter(({ surrogate }) => surrogate)) {
    const sum = ['required', 'optimal', 'check'].map(kind => `${ratio(surrogate[kind])} ${kind}`).join(', ')
    console.log(`${name}: Surrogate-Control, which does not count: ${sum}`)
  }
}

/** The same as Markdown. */
export function markdownTable (rows) {
  return [
    '| | required | optimal |',
    '|---|---|---|',
    ...rows.map(({ name, required, optimal }) => `| ${name} | ${ratio(required)} | ${ratio(optimal)} |`)
  ].join('\n')
}

/** Puts `table` between the markers of `file`. */
export function writeReadme (file, table) {
  const text = fs.readFileSync(file, 'utf8')
  const { start, end } = markers(file, text)
  const written = `${text.slice(0, start)}\n${table}\n${text.slice(end)}`
  if (written !== text) fs.writeFileSync(file, written)
}

/** Whether `file` shows `table` between its markers. */
export function readmeShows (file, table) {
  const text = fs.readFileSync(file, 'utf8')
  const { start, end } = markers(file, text)
  return text.slice(start, end).trim() === table
}

function markers (file, text) {
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error(`${file} has no ${BEGIN} … ${END}`)
  return { start: begin + BEGIN.length, end }
}
