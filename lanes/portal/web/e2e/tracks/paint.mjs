// The first paint over a slow network, alone: other tracks would slow it.
import assert from 'node:assert/strict'
import { context, run, venue } from '../harness.mjs'

const PAINT_MS = 1500
const PANELS_MS = 2500

// firstPaint opens the page over a slow network and without a cache, checks that nothing moves
// after it, and returns the time of its first paint. A busy machine may need another try.
async function firstPaint() {
  const fresh = await context.newPage()
  const cdp = await context.newCDPSession(fresh)
  await cdp.send('Network.enable')
  await cdp.send('Network.setCacheDisabled', { cacheDisabled: true })
  await cdp.send('Network.emulateNetworkConditions', { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 1.6e6 / 8 })
  await fresh.goto(venue.portal, { waitUntil: 'commit' })
  await fresh.locator('main .panel').first().waitFor()
  const panels = await fresh.evaluate(() => performance.now())
  await fresh.locator('[data-test="connection"][data-state="live"]:visible').waitFor()
  const paint = await fresh.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime)
  await fresh.locator('[data-test="chart"] canvas').first().waitFor()
  await fresh.evaluate(() => (window.shifted = 0))
  await new Promise((resolve) => setTimeout(resolve, 3000))
  assert.ok((await fresh.evaluate(() => window.shifted)) < 0.02, 'the layout shifted')
  const { installabilityErrors } = await cdp.send('Page.getInstallabilityErrors')
  assert.deepEqual(installabilityErrors.map((e) => e.errorId).filter((id) => id !== 'in-incognito'), [])
  await fresh.close()
  return { paint, panels }
}
await run({
  async 'the first paint is early, nothing moves after it, and the page can be installed'() {
    const tries = []
    const early = ({ paint, panels }) => paint <= PAINT_MS && panels <= PANELS_MS
    while (tries.length < 3 && !tries.some(early)) tries.push(await firstPaint())
    console.log(`      first paint after ${tries.map((t) => t.paint.toFixed(0)).join(', ')} ms and the panels after ${tries.map((t) => t.panels.toFixed(0)).join(', ')} ms at 1.6 Mbit and 150 ms`)
    assert.ok(tries.some(early))
  },
})
