// The same suite against the caches that people run today, as Debian packages them: `make conformance-peers`.
//
// Their configurations are those with which the suite's own published results were made (its folder docker/), in
// the foreground, with their files in a scratch directory. Not a part of `make test`: the result depends on Debian's
// editions, not on this tree. Apache is not here: with Debian's 2.4 the outcome swung between 61 and 93 required tests from
// run to run, connections being cut in between; its published result is in the README. `node peers.mjs nginx varnish` runs only those.

import fs from 'node:fs'
import path from 'node:path'
import { execFileSync } from 'node:child_process'
import { freePort, runSuite, scratchDirectory, start, startOrigin, stop, untilAnswers } from './processes.mjs'
import { score, surrogateTotals, totals } from './score.mjs'
import { printTable } from './table.mjs'

const PEERS = {
  nginx: {
    edition: ['/usr/sbin/nginx', '-v'],
    config: ({ dir, port, origin }) => `
      daemon off; master_process off; pid ${dir}/pid; error_log ${dir}/error.log;
      events { worker_connections 2048; }
      http {
        access_log off;
        proxy_cache_path ${dir}/cache levels=1:2 keys_zone=one:8m max_size=1000m inactive=600m;
        proxy_temp_path ${dir}/temp; client_body_temp_path ${dir}/body; fastcgi_temp_path ${dir}/f;
        uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/s;
        server {
          listen 127.0.0.1:${port};
          location / { proxy_pass http://127.0.0.1:${origin}; proxy_cache one; proxy_cache_revalidate on; }
        }
      }`,
    command: ({ dir }) => ['/usr/sbin/nginx', '-p', dir, '-e', `${dir}/error.log`, '-c', `${dir}/config`]
  },
  varnish: {
    edition: ['/usr/sbin/varnishd', '-V'],
    config: ({ origin }) => `vcl 4.1; backend default { .host = "127.0.0.1"; .port = "${origin}"; }`,
    command: ({ dir, port }) => ['/usr/sbin/varnishd', '-F', '-j', 'none', '-a', `127.0.0.1:${port}`, '-f', `${dir}/config`,
      '-n', `${dir}/work`, '-p', 'default_ttl=0', '-p', 'default_grace=0', '-p', 'default_keep=3600', '-s', 'malloc,64M']
  },
  squid: {
    edition: ['/usr/sbin/squid', '-v'],
    config: ({ dir, port, origin }) => `
      http_port 127.0.0.1:${port} accel defaultsite=localhost no-vhost
      cache_peer 127.0.0.1 parent ${origin} 0 no-query no-digest originserver default name=origin
      cache_peer_access origin allow all
      http_access allow all
      shutdown_lifetime 1 second
      connect_retries 3
      pid_filename ${dir}/pid
      cache_log ${dir}/cache.log
      access_log none
      coredump_dir ${dir}`.replace(/^ +/gm, ''),
    command: ({ dir }) => ['/usr/sbin/squid', '-N', '-f', `${dir}/config`]
  }
}

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(PEERS)
const rows = []
for (const name of names) rows.push(await run(name, PEERS[name]))
printTable(rows)

async function run (name, { edition, config, command }) {
  const scratch = scratchDirectory()
  // Some of them change their user before they open files here.
  fs.chmodSync(scratch, 0o777)
  for (const part of ['cache', 'work']) {
    fs.mkdirSync(path.join(scratch, part))
    fs.chmodSync(path.join(scratch, part), 0o777)
  }
  const origin = await startOrigin(scratch)
  const place = { dir: scratch, port: await freePort(), origin: origin.port }
  fs.writeFileSync(path.join(scratch, 'config'), config(place))
  const [program, ...args] = command(place)
  const proxy = start(program, args)
  try {
    const base = `http://127.0.0.1:${place.port}`
    await untilAnswers(base, proxy)
    const results = await runSuite(base)
    return { name: `${name} ${version(edition)}`, ...totals(score(results)), surrogate: surrogateTotals(results) }
  } finally {
    await stop(proxy)
    await stop(origin.child)
    fs.rmSync(scratch, { recursive: true, force: true })
  }
}

function version ([program, flag]) {
  const said = execFileSync('/bin/sh', ['-c', `"${program}" ${flag} 2>&1`], { encoding: 'utf8' })
  return /\d+(\.\d+)+/.exec(said)?.[0] ?? ''
}
