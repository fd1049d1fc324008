// Takes the pictures of docs/pictures: the states of the trading page, each on a wide screen and on a phone, with a
// book that this script makes, and last a venue with its makers, some rounds old. The documents show some of them; the
// others are to be looked at.
//
//	node e2e/pictures.mjs FOLDER
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openBrowser } from './browser.mjs'
import { eventually } from './eventually.mjs'
import { freshId, openVenue, traderOf } from './venue.mjs'

const [folder] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
const SIZES = { wide: [1440, 900], phone: [390, 844] }
const ROUND_MS = 150_000
const lived = await openVenue()
const venue = await openVenue('--no-maker')
const [trader, maker] = [traderOf(venue, 'trader'), traderOf(venue, 'maker')]
const browser = await openBrowser({ colorScheme: 'dark' })
const { context } = browser
const pages = {}

async function call(of, method, target, body) {
  const { status, body: said } = await of.call(method, target, body)
  assert.ok(status < 300, `${method} ${target}: ${JSON.stringify(said)}`)
  return said
}
const order = (of, market, side, outcome, tick, qty, more) => call(of, 'POST', '/v1/portfolio/orders', { client_order_id: freshId(), market_id: market, side, outcome, tick, qty, ...more })
const round = async (category, left) => eventually(`a round of series ${category} with ${left} ms left`, async () => {
  const [r] = (await call(trader, 'GET', `/v1/rounds?category=${category}&limit=1`)).rounds
  return r?.status === 'trading' && Number(r.close_ts) / 1e6 - Date.now() > left && r
}, 400_000, 500)

// quotes makes the book: levels of YES around a price, in cents.
async function quotes(market, at, asks = [[1, 100], [2, 200], [5, 300]], bids = [[1, 96], [3, 100], [4, 200], [9, 200]]) {
  await call(maker, 'DELETE', '/v1/portfolio/orders')
  for (const [off, qty] of asks) await order(maker, market, 'buy', 'no', 10000 - (at + off) * 100, qty)
  for (const [off, qty] of bids) await order(maker, market, 'buy', 'yes', (at - off) * 100, qty)
}

// on runs something on the page of each size, one after the other: a hidden page draws once a second.
async function on(does) {
  for (const [size, page] of Object.entries(pages)) {
    await page.bringToFront()
    await does(page, size)
  }
}
const settled = (page) => page.evaluate(() => new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve), 800))) // previews and fonts
const snap = (name) => on(async (page, size) => {
  await settled(page)
  await page.screenshot({ path: join(folder, `${name}-${size}.png`) })
  console.log(`${name}-${size}`)
})
const show = (category) => on(async (page) => {
  await page.keyboard.press('Escape')
  await page.keyboard.press(String(category))
})

async function openAt(before, query = '') {
  for (const [size, [width, height]] of Object.entries(SIZES)) {
    const page = (pages[size] ??= await context.newPage())
    await page.setViewportSize({ width, height })
    await before?.(page)
    await page.goto(`${venue.portal}/${query}`)
    await page.locator('[data-test="connection"][data-state="live"]:visible').waitFor()
  }
}

try {
  // A page that still loads.
  const held = []
  await openAt(async (page) => {
    await page.addInitScript(() => (window.mute = (text) => location.search === '?slow' && text.includes('"type":"round')))
    await page.route(/\/v1\/rounds\?/, (route) => void held.push(route))
  }, '?slow')
  await snap('loading')
  for (const page of Object.values(pages)) await page.unroute(/\/v1\/rounds\?/)
  for (const route of held) await route.continue().catch(() => {})

  // An account without a trade.
  await openAt()
  let r = await round(2, 100_000)
  await quotes(r.market_id, 62)
  await show(2)
  await snap('newcomer')

  // In the middle of a round, with a position and an order.
  await order(trader, r.market_id, 'buy', 'yes', 6300, 30)
  await quotes(r.market_id, 62)
  for (const [qty, tick] of [[4, 6300], [8, 6400]]) await order(trader, r.market_id, 'buy', 'yes', tick, qty, { tif: 'ioc' })
  await order(trader, r.market_id, 'buy', 'yes', 5800, 25)
  await on((page) => page.locator('[data-test=skip]').click())
  await snap('trading')
  await pages.wide.emulateMedia({ colorScheme: 'light' })
  await pages.phone.emulateMedia({ colorScheme: 'light' })
  await snap('trading-light')
  await on((page) => page.emulateMedia({ colorScheme: 'dark' }))
  await pages.phone.locator('.outcomes .yes').click()
  await snap('ticket')
  await pages.phone.getByRole('button', { name: /^Trade/ }).click()

  // Nobody offers YES.
  await call(trader, 'DELETE', '/v1/portfolio/orders')
  await quotes(r.market_id, 98, [], [[1, 410], [2, 120], [3, 600]])
  await on((page, size) => size === 'phone' || page.locator('.submit', { hasText: 'No YES to buy' }).waitFor())
  await snap('one-sided')

  // Rounds of a minute, until one is won and one is lost.
  const seen = new Set()
  await show(1)
  while (seen.size < 3) {
    r = await round(1, 30_000)
    await quotes(r.market_id, 50)
    await order(trader, r.market_id, 'buy', 'yes', 5200, 30, { tif: 'ioc' })
    if (!seen.has('last')) {
      await eventually('the last seconds', () => Number(r.close_ts) / 1e6 - Date.now() < 8500, ROUND_MS, 100)
      await snap('last-seconds')
      seen.add('last')
    }
    const paid = await eventually('the settlement', async () => (await call(trader, 'GET', '/v1/portfolio/settlements')).settlements.find((s) => s.round_number === r.round_number), ROUND_MS, 500)
    const name = Number(paid.profit) > 0 ? 'won' : 'lost'
    if (seen.has(name)) continue
    seen.add(name)
    const next = await round(1, 10_000)
    await quotes(next.market_id, 50)
    await on((page) => page.locator('[data-test=next]').waitFor())
    await snap(name)
  }

  // Without a connection.
  await context.setOffline(true)
  await on(async (page) => {
    await page.keyboard.press('Escape')
    await page.evaluate(() => window.sockets.forEach((s) => s.close()))
  })
  await on((page) => page.locator('[data-test="price-age"]').filter({ hasText: /[2-9] s old/ }).waitFor())
  await snap('disconnected')

  // A venue with its makers, in the middle of its second round of five minutes or a later one.
  await context.setOffline(false)
  const own = traderOf(lived, 'trader')
  const middle = async (round) => eventually('the middle of a round with some before it', async () => {
    const all = (await call(own, 'GET', '/v1/rounds?category=2&limit=5')).rounds
    const left = Number(all[0].close_ts) / 1e6 - Date.now()
    return all.length > 2 && all[0].status === 'trading' && (!round || round === all[0].round_number) && left < 150_000 && left > 60_000 && all[0]
  }, 700_000, 500)
  const now = await middle()
  const { yes, no } = await call(own, 'GET', `/v1/markets/${now.market_id}/orderbook`)
  const ask = 10000 - no[0][0]
  for (const qty of [30, 45]) await order(own, now.market_id, 'buy', 'yes', ask + 100, qty, { tif: 'ioc' })
  await order(own, now.market_id, 'buy', 'yes', yes[1][0], 40)
  for (const [size, page] of Object.entries(pages)) {
    await page.goto(`${lived.portal}/`)
    await page.locator('[data-test="connection"][data-state="live"]:visible').waitFor()
    if (size === 'wide') await page.keyboard.press('2')
  }
  await snap('lived')
} finally {
  await browser.close()
  await venue.close()
  await lived.close()
}
