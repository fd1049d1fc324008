// The first paint over a slow network, alone: other tracks would slow it. The times are figures; what the page
// loads before its first panel is a bound.
import assert from 'node:assert/strict'
import { eventually } from '../eventually.mjs'
import { ROUND_MS, context, list, run, venue } from '../harness.mjs'

const FIRST_BYTES = 120_000 // 0.6 s at 1.6 Mbit

await run({
  async 'little is loaded before the first panel, nothing moves after it, and the page can be installed'() {
    // A round that opens moves the page.
    await eventually('the first half of a round', async () => Date.now() % 60_000 < 30_000 && (await list('/v1/rounds?category=1&limit=1', 'rounds'))[0]?.status === 'trading', ROUND_MS)
    const fresh = await context.newPage()
    const cdp = await context.newCDPSession(fresh)
    await cdp.send('Network.enable')
    await cdp.send('Network.setCacheDisabled', { cacheDisabled: true })
    await cdp.send('Network.emulateNetworkConditions', { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 1.6e6 / 8 })
    await fresh.addInitScript(() => new MutationObserver((_, watch) => {
      if (!document.querySelector('main .panel')) return
      watch.disconnect()
      window.panels = performance.now()
    }).observe(document, { childList: true, subtree: true }))
    await fresh.goto(venue.portal, { waitUntil: 'commit' })
    await fresh.locator('main .panel').first().waitFor()
    const { panels, bytes } = await fresh.evaluate(() => ({
      panels: window.panels,
      bytes: ['navigation', 'resource'].flatMap((type) => performance.getEntriesByType(type)).filter((e) => e.responseEnd <= window.panels).reduce((sum, e) => sum + e.transferSize, 0),
    }))
    assert.ok(bytes > 10_000 && bytes < FIRST_BYTES, `${bytes} bytes before the first panel`)
    await fresh.locator('[data-test="connection"][data-state="live"]:visible').waitFor()
    const paint = await fresh.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime)
    await fresh.locator('[data-test="chart"] svg').first().waitFor()
    await fresh.evaluate(() => (window.shifted = 0))
    await new Promise((resolve) => setTimeout(resolve, 3000))
    assert.ok((await fresh.evaluate(() => window.shifted)) < 0.02, 'the layout shifted')
    const { installabilityErrors } = await cdp.send('Page.getInstallabilityErrors')
    assert.deepEqual(installabilityErrors.map((e) => e.errorId).filter((id) => id !== 'in-incognito'), [])
    await fresh.close()
    console.log(`      first paint after ${paint.toFixed(0)} ms and the panels after ${panels.toFixed(0)} ms at 1.6 Mbit and 150 ms, with ${bytes} bytes`)
  },
})
