// Chromium with a temporary profile. It records every console error and every request to
// another machine. hosts are the names that are not another machine, flags are further ones.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'

const LATE_MS = 4000 // the venue accepts 5 s, and the Date of its answer is cut to a second

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']

export async function openBrowser({ width = 1440, height = 900, colorScheme = 'light', hosts = ['127.0.0.1', 'localhost'], flags = [] } = {}) {
  const profile = mkdtempSync(join(tmpdir(), 'duplex-chromium-'))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', headless: true, args: [...FLAGS, ...flags], viewport: { width, height }, colorScheme, reducedMotion: 'reduce', timezoneId: 'UTC',
    hasTouch: true, permissions: ['clipboard-read', 'clipboard-write'],
  })
  const troubles = []
  await context.exposeBinding('troubled', (_, what) => troubles.push(what))
  await context.addInitScript(() => {
    const Plain = window.WebSocket
    window.sockets = []
    window.WebSocket = class extends Plain {
      constructor(...args) {
        super(...args)
        window.sockets.push(this)
      }
      // A test can drop one message, the first for which window.lose returns true, and all for
      // which window.mute does.
      set onmessage(take) {
        super.onmessage = (e) => {
          if (window.mute?.(e.data)) return
          if (window.lose?.(e.data)) window.lose = undefined
          else take(e)
        }
      }
    }
    window.shifted = 0
    new PerformanceObserver((all) => all.getEntries().forEach((e) => e.hadRecentInput || (window.shifted += e.value))).observe({ type: 'layout-shift', buffered: true })
    addEventListener('unhandledrejection', (e) => window.troubled(`unhandled: ${e.reason}`))
  })
  context.on('request', (r) => {
    const { protocol, hostname } = new URL(r.url())
    if (!['data:', 'blob:'].includes(protocol) && !hosts.includes(hostname)) troubles.push(`request to ${r.url()}`)
  })
  context.on('console', (m) => {
    if (m.type() === 'error' || m.type() === 'warning') troubles.push(`console ${m.type()}: ${m.text()} ${m.location().url}`)
  })
  // A signed request that reached the venue too late is rejected, and the page sends it again. Of a request
  // in time a 401 is an error.
  let late = 0
  context.on('response', (r) => {
    const signed = Number(r.request().headers()['dx-access-timestamp'])
    if (r.status() === 401 && Date.parse(r.headers().date) - signed >= LATE_MS) late += 1
  })
  context.on('weberror', (e) => troubles.push(`error: ${e.error()}`))
  return {
    context,
    profile,
    troubles,
    // forgive removes what the browser wrote about late requests.
    forgive() {
      for (let at; late > 0 && (at = troubles.findIndex((t) => t.includes('status of 401'))) >= 0; late--) troubles.splice(at, 1)
    },
    page: context.pages()[0] ?? (await context.newPage()),
    async close() {
      await context.close()
      rmSync(profile, { recursive: true, force: true })
    },
  }
}
