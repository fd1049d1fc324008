// What the tracks of the browser test share: a venue, a browser, an account, and what a user does
// on the screen. Each track is a process with its own venue, because it runs beside the others.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { openBrowser } from './browser.mjs'
import { eventually } from './eventually.mjs'
import { faults } from './inspect.mjs'
import { clientOf, freshId, openVenue, traderOf } from './venue.mjs'

const track = basename(process.argv[1], '.mjs')
const shots = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'duplex-shots-'))

export const ROUND_MS = 150_000 // a whole 60-second round and its settlement may have to pass
const LONGEST_ROUND_MS = 17 * 60_000 // the same of 15 minutes

// Of the track; run sets them.
export let venue, browser, context
export let page // that the functions below act on
export let trader // who is signed in
export let other // who trades with it

// act makes another page the one that the functions below act on, use another account the one that
// is signed in.
export function act(on) {
  page = on
}
export function use(account) {
  trader = account
}

// run runs the steps whose names match the words of the command line, in their order, because each
// builds on the state of the one before. The first failure ends it. begin opens the page, more are further flags
// of the venue.
export async function run(steps, begin = open, ...more) {
  const wanted = Object.entries(steps).filter(([name]) => new RegExp(process.argv[3] ?? '').test(name))
  if (wanted.length === 0) return
  mkdirSync(shots, { recursive: true })
  venue = await openVenue(...more)
  trader = traderOf(venue, 'trader')
  other = traderOf(venue, 'maker')
  browser = await openBrowser()
  ;({ context, page } = browser)
  context.setDefaultTimeout(60_000)
  try {
    for (const [name, step] of [['opens', begin], ...wanted]) {
      const begun = Date.now()
      try {
        await step()
        browser.forgive()
        assert.deepEqual(browser.troubles, [])
        console.log(`ok    ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`)
      } catch (e) {
        process.exitCode = 1
        console.log(`FAIL  ${name}\n${e.stack}\n${browser.troubles.join('\n')}`)
        await snap(`failed-${track}`)
        break
      }
    }
  } finally {
    await browser.close()
    await venue.close()
  }
}

export const test = (name) => page.locator(`[data-test="${name}"]`)
export const button = (name) => page.getByRole('button', { name, exact: true })
export const tab = (name) => page.getByRole('tab', { name }).click()

export const live = () => page.locator('[data-test="connection"][data-state="live"]:visible').waitFor()

export async function open() {
  await page.goto(venue.portal)
  await live()
}

// go shows a part of the screen: over the bar at the bottom of a narrow one, where a quote leads to the ticket,
// which is what Trade means. The page follows its
// address a moment later, and until then the keys act on the one before.
export async function go(place) {
  const isPage = ['Portfolio', 'Agents', 'Account'].includes(place)
  const bar = page.getByRole('navigation', { name: 'Screen' })
  const narrow = await bar.isVisible()
  if (narrow && !isPage) {
    await bar.getByRole('button', { name: { Book: /^Book/, Orders: /^Orders/ }[place] ?? /^Trade/ }).click()
    if (place === 'Trade') await page.locator('.outcomes [aria-pressed=true]').click()
  } else if (narrow && place === 'Portfolio') await bar.getByRole('link', { name: place }).click()
  else if (narrow) {
    await bar.getByText('More').click()
    await bar.getByRole('link', { name: place }).click()
  } else await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: isPage ? place : 'Trade' }).click()
  await page.locator('nav.pages [aria-current="page"]', { hasText: isPage ? place : 'Trade' }).waitFor({ state: 'attached' })
}

// kind makes the ticket an order that waits at a price ('limit') or one that trades at once ('market').
export async function kind(wanted) {
  if (((await page.locator('[name=price]').count()) > 0) !== (wanted === 'limit')) await test('kind').click()
}

// unit makes the ticket count in 'contracts' or in 'dollars'.
export async function unit(wanted) {
  if (((await page.locator('[name=amount]').count()) > 0) !== (wanted === 'dollars')) await test('unit').click()
}

// list returns the rows of a list route as the trader.
export async function list(target, name) {
  const { status, body } = await trader.call('GET', target)
  assert.equal(status, 200)
  return body[name]
}

// select shows a series, by its key.
export async function select(category) {
  await page.keyboard.press('Escape')
  await page.keyboard.press(String(category))
  await page.locator(`[data-category="${category}"][aria-pressed="true"]`).waitFor({ state: 'attached' }) // a narrow screen shows it in another place
}

const ENOUGH_MS = 35_000 // for what a step does in one round, and so that its price is not decided meanwhile
export const LONG_MS = 100_000 // for a step that takes longer than a round of 60 seconds

// admin posts to the admin listener.
export async function admin(path, body) {
  const answer = await fetch(venue.admin + path, { method: 'POST', headers: { Authorization: `Bearer ${venue.operator_token}`, 'Content-Type': 'application/json' }, body: JSON.stringify(body) })
  const said = await answer.json()
  assert.ok(answer.ok, `${path}: ${JSON.stringify(said)}`)
  return said
}

// roomy selects the series whose round ends last, of those with enough time left and an open price: an ask of
// most at most. A round of 60 seconds begins every minute, so there is one soon; a longer one may take minutes.
export async function roomy(enough = ENOUGH_MS, most = 9000) {
  const round = await eventually('a round with enough time left', async () => {
    const rounds = (await list('/v1/rounds?limit=60', 'rounds')).filter((r) => r.status === 'trading').sort((a, b) => Number(b.close_ts) - Number(a.close_ts))
    const markets = await list('/v1/markets?status=trading', 'markets')
    const open = rounds.find((r) => markets.some((m) => m.market_id === r.market_id && m.yes_bid >= 2000 && m.yes_ask && m.yes_ask <= most))
    return open && Number(open.close_ts) / 1e6 - Date.now() > enough ? open : undefined
  }, enough > ENOUGH_MS ? 400_000 : 100_000)
  await select(round.category)
  await eventually('a ticket for the round', async () => {
    if ((await page.locator('.submit:not([aria-disabled=true])').count()) > 0) return true
    if ((await test('verdict').filter({ hasText: 'your price was for the last one' }).count()) === 0) return false
    await select((round.category % 9) + 1) // leaves the price that was typed
    await select(round.category)
    return false
  })
  return round
}

export const FAR = '1' // cents: no market falls this far during a step

// rests places a buy of YES that rests, and returns the order. The price is in cents, by
// default 8 cents below the best bid. If the market falls that far and fills it, rests
// places another.
export async function rests(qty, price) {
  await kind('limit')
  await unit('contracts')
  for (let tries = 0; tries < 3; tries++) {
    const best = async () => Number(await test('rung').and(page.locator('[data-side="bid"]')).first().getAttribute('data-tick')) // a phone does not show it beside the ticket
    await page.locator('[name=price]').fill(price ?? String(((await best()) - 800) / 100))
    await page.locator('[name=qty]').fill(String(qty))
    const before = new Set((await list('/v1/portfolio/orders', 'orders')).map((o) => o.client_order_id))
    await page.locator('.submit').click()
    const placed = await eventually('the order is placed', async () => (await list('/v1/portfolio/orders', 'orders')).find((o) => !before.has(o.client_order_id)))
    if (placed.status === 'resting') return placed
  }
  return assert.fail('no order stayed in the book')
}

const MORE = 1500 // contracts that may join the book meanwhile: all of the maker's

// hit makes the other trader take bids for YES down to a tick, by default all of them.
export async function hit(market, tick, qty) {
  const { body: book } = await other.call('GET', `/v1/markets/${market}/orderbook`)
  const all = book.yes.filter(([at]) => at >= tick).reduce((sum, [, n]) => sum + n, 0) + MORE
  const { status, body } = await other.call('POST', '/v1/portfolio/orders', { client_order_id: freshId(), market_id: market, side: 'buy', outcome: 'no', tick: 10000 - tick, qty: qty ?? all, tif: 'ioc' })
  assert.equal(status, 201, JSON.stringify(body))
}

export const rows = (name) => test(name).evaluateAll((all) => all.map((row) => `${row.dataset.seq} ${row.dataset.qty}`))

// same checks that the rows on the screen equal the venue's list.
export async function same(name, target, field) {
  let seen, have
  await eventually(`${name} rows as the venue has them`, async () => {
    have = (await list(target, field)).map((r) => `${r.seq} ${r.qty}`)
    seen = await rows(name)
    return JSON.stringify(seen) === JSON.stringify(have)
  }).catch(() => assert.deepEqual(seen, have))
  return have.length
}

// faultless checks that nothing on the page is wrong.
export async function faultless(what) {
  assert.deepEqual(await faults(page), [], what)
}

export const CHANGING_S = 15 // the newest seconds of the chart, which the page may not have read again yet

// charted checks that the chart shows what the histories say, second by second.
export async function charted(what) {
  let shown, said
  await eventually(`${what}: the chart is the history`, async () => {
    const category = Number(await page.locator('[data-test=series][aria-pressed=true]').getAttribute('data-category'))
    const plot = await test('chart').evaluate((e) => e.plot)
    const until = Math.floor(Date.now() / 1000) - CHANGING_S
    const within = (points) => points.filter((p) => p.time >= plot.from && p.time < until).map((p) => `${p.time} ${p.value}`)
    const seconds = (rows, value) => rows.map((r) => ({ time: Number(r.ts.slice(0, -9)), value: value(r) }))
    const prices = []
    for (let cursor = ''; cursor !== undefined; ) {
      const { status, body } = await trader.call('GET', `/v1/oracle/history?feed=${Math.floor((category - 1) / 3)}&from_ts=${plot.from}000000000&limit=1000${cursor && `&cursor=${cursor}`}`)
      assert.equal(status, 200)
      prices.push(...body.rows)
      cursor = body.cursor || undefined
    }
    const mids = []
    for (const r of await list(`/v1/rounds?category=${category}&limit=10`, 'rounds')) {
      const { status, body } = await trader.call('GET', `/v1/rounds/${r.market_id}/history?round_number=${r.round_number}&limit=1000`)
      if (status === 200) mids.push(...body.rows.filter((x) => x.yes_bid && x.yes_ask))
    }
    const inOrder = (points) => points.sort((a, b) => a.time - b.time)
    shown = { index: within(plot.index), mids: within(plot.mids) }
    said = { index: within(inOrder(seconds(prices, (r) => Number(r.close) / 1e8))), mids: within(inOrder(seconds(mids, (r) => (r.yes_bid + r.yes_ask) / 200))) }
    return shown.index.length > 0 && JSON.stringify(shown) === JSON.stringify(said)
  }).catch(() => assert.deepEqual(shown, said, what))
}

// theme makes the system of the page light or dark.
export async function theme(scheme) {
  await page.emulateMedia({ colorScheme: scheme })
  if (page.url() !== 'about:blank') await page.locator(`html[data-shade="${scheme}"]`).waitFor({ state: 'attached' })
}

export async function snap(name) {
  await page.screenshot({ path: join(shots, `${name}.png`) })
}

// PRICES are the words of the screen that come from the market and are old without a connection.
const PRICES = ['[data-test=chance] b', '[data-test=series] .chance', '[aria-label=Series] .index', '[data-test=rung] .price', '[data-test=question] .now b', '[data-test=quote] .price', '[data-test=equity-total]', '[data-test=today]', '[data-test=position] .ages']

// prices waits until all prices in sight are grey, or until none is.
export async function prices(state) {
  let seen
  await eventually(`prices that are ${state}`, async () => {
    seen = await page.evaluate((prices) => {
      const swatch = document.body.appendChild(document.createElement('i'))
      swatch.style.color = 'var(--faint)'
      const grey = getComputedStyle(swatch).color
      swatch.remove()
      const shown = [...document.querySelectorAll(prices)].filter((e) => e.checkVisibility() && /\d/.test(e.textContent))
      const colors = Object.groupBy(shown, (e) => getComputedStyle(e).color)
      const bars = [...document.querySelectorAll('.bar.known')].map((e) => getComputedStyle(e).filter)
      return { grey, bars, narrow: innerWidth < 920, colors: Object.fromEntries(Object.entries(colors).map(([color, all]) => [color, all.map((e) => e.textContent)])) }
    }, PRICES.join())
    const all = Object.values(seen.colors).flat().length
    const channels = seen.grey.match(/\d+/g).map(Number)
    assert.ok(Math.max(...channels) - Math.min(...channels) < 32, `${seen.grey} is no grey`)
    return all >= (seen.narrow ? 1 : 6) && seen.bars.every((f) => f === (state === 'grey' ? 'grayscale(1)' : 'none')) && (seen.colors[seen.grey] ?? []).length === (state === 'grey' ? all : 0)
  }).catch((e) => assert.fail(`${e.message}: ${JSON.stringify(seen)}`))
}

// expected removes what a step causes on purpose from the console errors.
export function expected(cause) {
  browser.troubles.splice(0, Infinity, ...browser.troubles.filter((t) => !cause.test(t)))
}

// cleared cancels every order with the key x, in the market that is shown.
export async function cleared() {
  await page.keyboard.press('Escape')
  await page.keyboard.press('x')
  await test('order').first().waitFor({ state: 'detached' })
}

// closeAll closes every position, or waits until it is settled. Nobody may bid for an outcome: for a
// moment while the maker moves its quotes, or until the end of the round if the outcome has nearly lost.
// The screen says so, and a user closes the rest once it names a price.
export async function closeAll() {
  const ended = async () => (await list('/v1/portfolio/positions', 'positions')).length === 0
  const priced = test('close-limit').filter({ hasText: /^(no worse than|redeems) / })
  const all = page.locator('[data-test="close-all"]:enabled')
  for (let tries = 20; ; tries--) {
    await eventually('a position that can close, or none', async () => (await ended()) || ((await priced.count()) > 0 && (await all.count()) > 0), LONGEST_ROUND_MS, 500)
    if (await ended()) break
    assert.ok(tries > 0, 'the positions do not close')
    const pressed = await page.evaluate(() => {
      const button = document.querySelector('[data-test="close-all"]:enabled')
      button?.click()
      return button !== null
    })
    if (!pressed) continue // they have settled
    await test('confirm').getByRole('button', { name: 'Close all' }).click()
    await eventually('the close ends', async () => (await ended()) || (await all.count()) > 0)
  }
  await test('position').first().waitFor({ state: 'detached' })
  expected(/status of 403/) // a second press before the page has heard of the first sale: the venue rejects it
}

// clipped names the columns that lie, in part, outside of the table that is shown, or below what
// sticks to its side.
export const clipped = () => page.locator('#blotter').evaluate((body) => {
  const { right } = body.getBoundingClientRect()
  const over = body.scrollWidth > body.clientWidth ? [`${body.scrollWidth} px in ${body.clientWidth}`] : []
  return [...over, ...[...body.querySelectorAll('th')].filter((th) => th.checkVisibility() && th.getBoundingClientRect().right > right + 0.5).map((th) => th.textContent)]
})

export const placed = async () => (await list('/v1/portfolio/orders?limit=200', 'orders')).length

// submits sends the market order in the ticket. A click that falls into the moment in which the maker
// moves its quotes and nobody is on the other side sends nothing, and a user clicks again.
async function submits() {
  const before = await placed()
  for (let tries = 3; (await placed()) === before; tries--) {
    assert.ok(tries > 0, 'no click sends the order')
    await page.locator('.submit:not([aria-disabled=true])').click()
    await page.locator('form[data-stage="ready"]').waitFor() // the answer is here
  }
  assert.equal(await placed(), before + 1, 'one order')
}

// fills sends the market order in the ticket until one fills whole. An order that arrives while the maker
// moves its quotes is canceled, the screen says so, and a user sends another.
export async function fills() {
  for (let tries = 5; ; tries--) {
    assert.ok(tries > 0, 'no order fills')
    await submits()
    const [o] = await list('/v1/portfolio/orders?limit=1', 'orders')
    if (o.filled_qty === o.qty) return
    await test('order-result').filter({ hasText: 'anceled' }).waitFor()
  }
}

// limit makes the ticket a buy of YES that rests far from the market.
export async function limit(qty) {
  await go('Trade')
  await roomy()
  await kind('limit')
  await unit('contracts')
  await page.locator('[name=price]').fill(FAR)
  await page.locator('[name=qty]').fill(qty)
}

export const SCREENS = [[1440, 900, 'light'], [1440, 900, 'dark'], [1024, 768, 'dark'], [1024, 768, 'light'], [390, 844, 'light'], [390, 844, 'dark']]

// everyScreen opens a page for each screen and theme, so that what takes a long time happens under
// all of them at once. does is called with one page after the other in the place of the first,
// each in front: the browser draws a hidden page once a second.
export async function everyScreen(screens = SCREENS) {
  const own = page
  const pages = []
  const on = async (does) => {
    for (const { of, name } of pages) {
      page = of
      await page.bringToFront()
      await does(name)
    }
    page = own
    await page.bringToFront()
  }
  for (const [width, height, scheme] of screens) {
    page = await context.newPage()
    pages.push({ of: page, name: `${width}-${scheme}` })
    await page.setViewportSize({ width, height })
    await theme(scheme)
    await open()
  }
  page = own
  return { on, close: () => Promise.all(pages.map(({ of }) => of.close())) }
}

export const placedAs = async (o) => (await list(`/v1/portfolio/orders?client_order_id=${o.client_order_id}`, 'orders'))[0]
