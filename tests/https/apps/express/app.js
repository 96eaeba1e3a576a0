// An application of Express that says what it sees. The lines between are those of docs/http-applications.md.
const express = require('express')
const app = express()
const page = () => '<!DOCTYPE html><title>A page</title>'
// lines of the page
app.get('/who', (req, res) => res.set('Cache-Control', 'no-store').json({ address: req.ip, scheme: req.protocol }))
app.get('/events', (req, res) => {
  res.set('Content-Type', 'text/event-stream')
  res.write('data: one\n\n')
})
app.listen(Number(process.argv[2]), '127.0.0.1')
