// The processes of a conformance run: the suite's origin server, the proxy under test and the suite's client.
//
// Each is a child of this process, is ended by its own id and has a deadline. Ports are free ones that the kernel
// chose: nothing here depends on a port that something else may hold.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { directory, engine } from './suite.mjs'

const here = path.dirname(fileURLToPath(import.meta.url))

const START_MS_MAX = 10_000
const STOP_MS_MAX = 5_000
// The suite takes about 15 s: 3 s pauses, a hundred tests at a time.
const CLIENT_MS_MAX = 120_000

const children = new Set()

// Ends whatever is still running, however this process ends.
process.on('exit', () => children.forEach(child => child.kill('SIGKILL')))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

/** A directory of our own for pid files, logs and caches; the caller removes it. */
export function scratchDirectory () {
  return fs.mkdtempSync(path.join(os.tmpdir(), 'kasoku-conformance-'))
}

/** Starts `command` and keeps the last of what it says, for the message when it fails. */
export function start (command, args, options = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options })
  child.said = ''
  const listen = stream => stream.on('data', data => { child.said = (child.said + data).slice(-4000) })
  listen(child.stdout)
  listen(child.stderr)
  child.on('error', error => { child.said += error.message; children.delete(child) })
  child.on('exit', () => children.delete(child))
  children.add(child)
  return child
}

/** Asks `child` to end, and makes it end when it doesn't. */
export async function stop (child) {
  if (!children.has(child)) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
  await ended
  clearTimeout(timer)
}

/** A port of 127.0.0.1 on which nothing listens now. */
export async function freePort () {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** Starts the suite's origin server on a port of the kernel's choice; returns its base URL. */
export async function startOrigin (scratch) {
  const env = {
    ...process.env,
    npm_config_protocol: 'http',
    npm_config_port: '0',
    npm_config_pidfile: path.join(scratch, 'origin.pid')
  }
  const child = start(process.execPath, [path.join(engine, 'server', 'server.mjs')], { cwd: directory, env })
  const port = await before(START_MS_MAX, `the suite's server did not start`, () =>
    /Listening on http:\/\/.*:(\d+)\//.exec(child.said)?.[1])
  return { child, port: Number(port), base: `http://127.0.0.1:${port}` }
}

/** Waits until `base` gives an HTTP answer, whatever it is. */
export async function untilAnswers (base, child) {
  const answers = () => new Promise(resolve => {
    const request = http.get(base, { agent: false, timeout: 1000 }, response => { response.resume(); resolve(true) })
    request.on('error', () => resolve(false))
    request.on('timeout', () => request.destroy())
  })
  await before(START_MS_MAX, `${child.spawnfile} did not start`, async () => {
    if (!children.has(child)) throw new Error(`${child.spawnfile} ended at once:\n${child.said}`)
    return answers()
  }, () => child.said)
}

/** Runs the suite's client against `base`; `ids` restricts it. Resolves to its results: id -> true or [kind, message]. */
export async function runSuite (base, ids = []) {
  const child = spawn(process.execPath, ['--no-warnings', path.join(here, 'client.mjs'), base, ...ids],
    { stdio: ['ignore', 'pipe', 'inherit'] })
  children.add(child)
  let out = ''
  child.stdout.on('data', data => { out += data })
  const timer = setTimeout(() => child.kill('SIGKILL'), CLIENT_MS_MAX)
  const [code, signal] = await once(child, 'close')
  clearTimeout(timer)
  children.delete(child)
  if (code !== 0) throw new Error(`the suite's client failed (${signal ?? code}); it may take ${CLIENT_MS_MAX / 1000} s`)
  return JSON.parse(out)
}

async function before (ms, complaint, ready, detail = () => '') {
  const deadline = Date.now() + ms
  for (;;) {
    const value = await ready()
    if (value) return value
    if (Date.now() > deadline) throw new Error(`${complaint} within ${ms / 1000} s\n${detail()}`)
    await new Promise(resolve => setTimeout(resolve, 25))
  }
}
