// Starts `dx dev` on free loopback ports, and calls it over REST as one of its accounts.
import { execFileSync, spawn } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const START_MS = 60_000

// buildVenue builds dx.
export function buildVenue(dx) {
  execFileSync('go', ['build', '-o', dx, './cmd/dx'], { cwd: root, stdio: 'inherit' })
}

// openVenue starts dx, the one at $E2E_DX or one that it builds, and waits for its dev file, which
// appears when all listeners are open. more are further flags.
export async function openVenue(...more) {
  const dir = mkdtempSync(join(tmpdir(), 'duplex-e2e-'))
  const dx = process.env.E2E_DX ?? join(dir, 'dx')
  if (!process.env.E2E_DX) buildVenue(dx)
  const file = join(dir, 'dev.json')

  // launch starts dx at three addresses and returns the process, and a promise of its end.
  async function launch(api, portal, admin) {
    rmSync(file, { force: true })
    const child = spawn(dx, ['dev', '--quiet', '--quiet-market', '--api', api, '--portal', portal, '--admin', admin, '--dev-file', file, '--data', join(dir, 'data'), ...more], { stdio: ['ignore', 'inherit', 'inherit'] })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    const until = Date.now() + START_MS
    while (!existsSync(file)) {
      if (child.exitCode !== null) throw new Error(`dx dev ended with ${child.exitCode}`)
      if (Date.now() > until) throw new Error('dx dev did not start in time')
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return { child, ended }
  }

  async function stop() {
    running.child.kill('SIGTERM')
    await running.ended
  }

  // kill ends the process without a warning.
  async function kill() {
    running.child.kill('SIGKILL')
    await running.ended
  }

  const any = '127.0.0.1:0'
  let running = await launch(any, any, any)
  const found = JSON.parse(readFileSync(file, 'utf8'))
  const at = (url) => new URL(url).host
  return {
    ...found,
    stop,
    kill,
    // start starts a venue again that was stopped or killed, with its data and at its addresses.
    async start() {
      running = await launch(at(found.api), at(found.portal), at(found.admin))
    },
    async close() {
      await stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

// traderOf returns a client for one of the dev accounts.
export function traderOf(venue, name) {
  return clientOf(venue, venue.accounts.find((a) => a.name === name))
}

// clientOf returns a client for an account with its api_key and secret.
export function clientOf(venue, account) {
  let last = 0
  return {
    ...account,
    async call(method, target, body, headers) {
      const text = body === undefined ? '' : JSON.stringify(body)
      last = Math.max(Date.now(), last + 1)
      const signature = createHmac('sha256', Buffer.from(account.secret, 'hex')).update(`${last}\n${method}\n${target}\n${text}`).digest('base64')
      const answer = await fetch(venue.api + target, {
        method,
        body: text || undefined,
        headers: { 'DX-ACCESS-KEY': account.api_key, 'DX-ACCESS-TIMESTAMP': String(last), 'DX-ACCESS-SIGNATURE': signature, 'Content-Type': 'application/json', ...headers },
      })
      return { status: answer.status, body: await answer.json() }
    },
  }
}

export const freshId = () => String(randomBytes(7).readUIntBE(1, 6) + 1)
