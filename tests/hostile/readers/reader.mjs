// Tells of each request what Node has read: see ../streams.py.
//
//   node reader.mjs PORT

import { createHash } from 'node:crypto'
import { createServer } from 'node:http'

const server = createServer((request, response) => {
  const hash = createHash('sha256')
  hash.update(Buffer.from(`${request.method} ${request.url}\n`, 'latin1'))
  request.on('data', (piece) => hash.update(piece))
  request.on('end', () => {
    response.writeHead(200, { 'X-Read': hash.digest('hex'), 'Content-Length': 0 })
    response.end()
  })
})
server.listen(Number(process.argv[2]), '127.0.0.1')
