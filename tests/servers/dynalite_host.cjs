// Servers of dynalite: for each line `start` of standard input one more starts, and its URL is printed; `end URL` ends it. All end with the input.

const dynalite = require('dynalite')
const readline = require('readline')

const servers = new Map()

function start () {
  const server = dynalite({ createTableMs: 100, deleteTableMs: 100, updateTableMs: 100 })
  server.listen(0, '127.0.0.1', () => {
    const url = `http://127.0.0.1:${server.address().port}`
    servers.set(url, server)
    console.log(url)
  })
}

function end (url) {
  servers.get(url).closeAllConnections()
  servers.get(url).close()
  servers.delete(url)
}

readline.createInterface({ input: process.stdin })
  .on('line', line => line === 'start' ? start() : end(line.split(' ')[1]))
  .on('close', () => process.exit())
