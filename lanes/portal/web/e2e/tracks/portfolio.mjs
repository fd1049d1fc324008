// The portfolio, on wide screens and phones in both themes: its figures are the venue's, its lists page on, and its
// files have what the filters choose. Before, the account trades over REST in rounds that settle.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { eventually } from '../eventually.mjs'
import { freshId } from '../venue.mjs'
import { ROUND_MS, SCREENS, expected, faultless, go, list, live, page, run, snap, tab, test, theme, trader, venue } from '../harness.mjs'

const PAGE = 100 // rows that a list shows at first
const FILLS = 2 * PAGE + 20
const ROUNDS = 4
const SOON_MS = 60_000 // a round ends that is traded in
const AT_MOST_MS = 300_000

const usd = (pips) => `${pips < 0 ? '−' : ''}$${(Math.abs(pips) / 10000).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`
const gain = (pips) => `${pips > 0 ? '+' : ''}${usd(pips)}`
const sum = (rows, of) => rows.reduce((all, r) => all + Number(of(r)), 0)

// every reads a list whole, newest first.
async function every(target, field) {
  const rows = []
  for (let cursor = ''; cursor !== undefined; ) {
    const { status, body } = await trader.call('GET', `${target}${target.includes('?') ? '&' : '?'}limit=1000${cursor && `&cursor=${cursor}`}`)
    assert.equal(status, 200)
    rows.push(...body[field])
    cursor = body.cursor || undefined
  }
  return rows
}

let sent = 0

// send sends an order that the venue takes, by default a buy of YES.
async function send(r, more) {
  const { status, body } = await trader.call('POST', '/v1/portfolio/orders', { client_order_id: freshId(), market_id: r.market_id, generation: r.generation, side: 'buy', outcome: 'yes', ...more })
  assert.equal(status, 201, JSON.stringify(body))
  return body
}

const EVERY_MS = 200 // between orders that fill fast
const ENOUGH_MS = 30_000 // of a round, for what a step does in it

const roundWith = (least) => eventually(`a round with ${least} ms left`, async () => (await list('/v1/rounds?limit=60', 'rounds')).find((r) => r.status === 'trading' && Number(r.close_ts) / 1e6 - Date.now() > least), ROUND_MS)

// trade sends an order in a round: it buys, sells what it bought, or finds nobody at its price.
async function trade(r) {
  const [side, more] = [['buy', { type: 'market', max_cost: '20000' }], ['sell', { type: 'market' }], ['buy', { tick: 100, tif: 'ioc' }], ['buy', { type: 'market', max_cost: '20000' }]][sent++ % 4]
  const { status, body } = await trader.call('POST', '/v1/portfolio/orders', { client_order_id: freshId(), market_id: r.market_id, generation: r.generation, side, outcome: sent % 8 < 4 ? 'yes' : 'no', qty: 1, ...more })
  if (status !== 201) assert.match(body.error.code, /^(market_not_trading|market_paused|stale_generation|unknown_market|shed|rate_limited|insufficient_position|insufficient_balance)$/)
}

const shownFills = () => test('fill').evaluateAll((all) => all.map((e) => `${e.dataset.seq} ${e.dataset.qty}`))
const firstFills = async () => (await shownFills()).slice(0, PAGE) // a list whose end is in sight reads on by itself
const rowsOf = (fills) => fills.map((f) => `${f.seq} ${f.qty}`)
const shownOrders = () => test('past-order').evaluateAll((all) => all.map((e) => e.dataset.id))

// reads waits until a list on the screen is what the venue has.
async function reads(what, shown, have) {
  let seen
  await eventually(what, async () => JSON.stringify((seen = await shown())) === JSON.stringify(have)).catch(() => assert.deepEqual(seen, have, what))
}

// file saves the list that is shown and returns its lines.
async function file(name) {
  const [saved] = await Promise.all([page.waitForEvent('download'), test('csv').click()])
  assert.equal(saved.suggestedFilename(), name)
  const text = readFileSync(await saved.path(), 'utf8')
  assert.ok(text.endsWith('\r\n'))
  return text.slice(0, -2).split('\r\n')
}

const exact = (pips) => `${pips < 0 ? '-' : ''}${(Math.abs(pips) / 10000).toFixed(4)}`
const utc = (ts) => new Date(Number(ts.slice(0, -6))).toISOString()
const ASSETS = ['BTC', 'Gold', 'WTI']
const nameOf = (category) => `${ASSETS[Math.floor((category - 1) / 3)]} ${['60 s', '5 min', '15 min'][(category - 1) % 3]}`

// figures checks the figures of the page against the venue's.
async function figures() {
  const [rounds, { body: pnl }] = [await every('/v1/portfolio/rounds', 'rounds'), await trader.call('GET', '/v1/portfolio/pnl')]
  const final = rounds.filter((r) => r.profit !== null)
  const made = sum(final, (r) => r.profit)
  assert.equal(pnl.unrealized, '0', 'nothing is held')
  await eventually('the equity now', async () => (await test('reading').innerText()).startsWith(`${usd(Number(pnl.equity))} now`))
  await eventually('bars of all rounds', async () => (await test('day').evaluateAll((all) => all.reduce((n, e) => n + Number(e.dataset.rounds), 0))) === final.length)
  assert.equal(await test('day').evaluateAll((all) => all.reduce((n, e) => n + Number(e.dataset.profit), 0)), made)
  const bySeries = Object.fromEntries(await test('by-series').evaluateAll((all) => all.map((e) => [e.dataset.category, Number(e.dataset.profit)])))
  assert.deepEqual(bySeries, Object.fromEntries([...new Set(final.map((r) => r.category))].map((c) => [c, sum(final.filter((r) => r.category === c), (r) => r.profit)])))
  const [best, worst] = await test('extreme').allTextContents()
  const profits = final.map((r) => Number(r.profit))
  assert.deepEqual([best, worst], [gain(Math.max(...profits)), gain(Math.min(...profits))])

  // The curve by keyboard: each step back is the change before it, down to the first deposit.
  const curve = test('curve')
  await curve.focus()
  const points = Number(await curve.getAttribute('data-points'))
  const steps = []
  for (let i = 1; i < points; i++) {
    await page.keyboard.press('ArrowLeft')
    steps.push(await curve.getAttribute('aria-valuetext'))
  }
  // Each step has the rounds that ended then: one with its name, or how many.
  const ended = steps.map((s) => / round ([\d,]+): (.+)$/.exec(s) ?? / (\d+) rounds: /.exec(s)).filter(Boolean)
  assert.equal(ended.reduce((n, m) => n + (m[2] ? 1 : Number(m[1])), 0), final.length, 'every round is in the curve once')
  for (const [, number, profit] of ended.filter((m) => m[2])) assert.equal(profit, gain(Number(final.find((r) => Number(r.round_number) === Number(number.replaceAll(',', ''))).profit)), `round ${number}`)
  const ledger = await every('/v1/portfolio/ledger', 'ledger')
  assert.ok(steps.at(-1).startsWith(`${usd(Number(ledger.at(-1).balance_after))} ${utc(ledger.at(-1).ts).slice(0, 10)} `), steps.at(-1))
  await page.keyboard.press('End')
  assert.match(await test('reading').innerText(), / now/)

  // And under the pointer.
  const box = await curve.boundingBox()
  await page.mouse.move(box.x + 1, box.y + box.height / 2)
  await eventually('the first moment under the pointer', async () => (await test('reading').innerText()).includes(' UTC'))
}

async function lists(name) {
  const fills = await every('/v1/portfolio/fills', 'fills')
  const orders = await every('/v1/portfolio/orders', 'orders')
  assert.ok(fills.length > 2 * PAGE && orders.length > 2 * PAGE, `${fills.length} fills, ${orders.length} orders`)

  // To the end by scrolling, page by page.
  await tab('Fills')
  await reads('the newest fills', shownFills, rowsOf(fills.slice(0, PAGE)))
  await snap(`${name}-fills`)
  await faultless(`fills at ${name}`)
  while ((await test('more').count()) > 0) {
    const before = await test('fill').count()
    await test('more').scrollIntoViewIfNeeded()
    await eventually('the next page', async () => (await test('fill').count()) > before)
  }
  await reads('all fills', shownFills, rowsOf(fills))

  // Filters, and the file of what they choose.
  await page.getByLabel('Side', { exact: true }).selectOption('Sells')
  const sales = fills.filter((f) => f.side === 'sell')
  assert.ok(sales.length > 0 && sales.length < fills.length)
  await reads('the sales', firstFills, rowsOf(sales.slice(0, PAGE)))
  const category = sales[0].category
  await page.getByLabel('Series', { exact: true }).selectOption(nameOf(category))
  const chosen = sales.filter((f) => f.category === category)
  await reads('the sales of a series', firstFills, rowsOf(chosen.slice(0, PAGE)))
  assert.deepEqual(await file('fills.csv'), [
    'n,time_utc,series,round,side,outcome,price_usd,contracts,fee_usd,role,path,order_id,client_order_id',
    ...chosen.map((f) => [f.n, utc(f.ts), nameOf(f.category), f.round_number, f.side, f.outcome, exact(f.outcome === 'yes' ? f.tick_yes : 10000 - f.tick_yes), f.qty, exact(Number(f.fee)), f.role, f.path, f.order_id, f.client_order_id].join(',')),
  ])
  const asked = page.waitForRequest((r) => r.url().includes('/v1/portfolio/fills?from_ts='))
  await page.getByLabel('Time', { exact: true }).selectOption('Today')
  const from = new URL((await asked).url()).searchParams.get('from_ts')
  assert.equal(Number(from.slice(0, -6)) % 86_400_000, 0)
  await reads('the sales of today', firstFills, rowsOf(chosen.filter((f) => BigInt(f.ts) >= BigInt(from)).slice(0, PAGE)))
  await page.getByLabel('Series', { exact: true }).selectOption('All series')
  await page.getByLabel('Side', { exact: true }).selectOption('Buys and sells')
  await page.getByLabel('Time', { exact: true }).selectOption('7 days')
  await reads('the fills of 7 days', shownFills, rowsOf(fills.slice(0, PAGE)))
  await page.getByLabel('Time', { exact: true }).selectOption('All days')

  // The orders, by the button.
  await tab('Orders')
  await reads('the newest orders', shownOrders, orders.slice(0, PAGE).map((o) => o.order_id))
  await snap(`${name}-orders`)
  await faultless(`orders at ${name}`)
  await test('more').focus()
  await page.keyboard.press('Enter')
  await reads('two pages of orders', async () => (await shownOrders()).slice(0, 2 * PAGE), orders.slice(0, 2 * PAGE).map((o) => o.order_id))
  const lines = await file('orders.csv')
  assert.equal(lines.length - 1, orders.length)
  const rounds = await list('/v1/rounds?limit=200', 'rounds')
  lines.slice(1).forEach((line, i) => {
    const o = orders[i]
    const { category } = rounds.find((r) => r.market_id === o.market_id && r.generation === o.generation)
    assert.equal(line, [utc(o.created_ts), nameOf(category), o.side, o.outcome, o.type, exact(o.tick), o.qty, o.filled_qty, o.tif, o.status, o.reason, o.order_id ?? '', o.client_order_id].join(','))
  })
}

await run({
  async 'rounds are traded and settled'() {
    await eventually('fills', async () => {
      const soon = (await list('/v1/rounds?limit=60', 'rounds')).filter((r) => r.status === 'trading' && Number(r.close_ts) / 1e6 - Date.now() < SOON_MS)
      for (const round of soon) for (let i = 0; i < 8; i++) await trade(round)
      const rounds = await every('/v1/portfolio/rounds', 'rounds')
      return rounds.length >= ROUNDS && (await every('/v1/portfolio/fills', 'fills')).length >= FILLS
    }, AT_MOST_MS)
    await eventually('settlements', async () => (await every('/v1/portfolio/rounds', 'rounds')).every((r) => r.profit !== null), ROUND_MS, 1000)
  },

  ...Object.fromEntries(SCREENS.filter(([width]) => width !== 1024).map(([width, height, scheme]) => [`the figures and the lists at ${width} × ${height}, ${scheme}`, async () => {
    const name = `${width}-${scheme}-portfolio`
    await page.setViewportSize({ width, height })
    await theme(scheme)
    await go('Portfolio')
    await test('result').first().waitFor()
    await figures()
    await snap(name)
    await faultless(name)
    await lists(name)
    for (const other of ['Ledger', 'Positions', 'Rounds']) {
      await tab(other)
      await faultless(`${other} at ${name}`)
    }
    await go('Trade')
  }])),

  async 'an order that rests is in the list and in its file, with its new state once it ends'() {
    await page.setViewportSize({ width: 1440, height: 900 })
    await go('Portfolio')
    await tab('Orders')
    const round = await roundWith(ENOUGH_MS)
    const placed = await send(round, { tick: 100, qty: 3 })
    const row = page.locator(`[data-test="past-order"][data-id="${placed.order_id}"]`)
    await row.filter({ hasText: 'resting' }).waitFor()
    const lines = await file('orders.csv')
    assert.equal(lines.length - 1, (await every('/v1/portfolio/orders', 'orders')).length)
    assert.match(lines[1], new RegExp(`,3,0,gtc,resting,,${placed.order_id},`))
    assert.equal((await trader.call('DELETE', `/v1/portfolio/orders/${placed.order_id}`)).status, 200)
    await row.filter({ hasText: 'canceled: by you' }).waitFor()
    assert.match((await file('orders.csv'))[1], new RegExp(`,3,0,gtc,canceled,user_cancel,${placed.order_id},`))
  },

  async 'the tab and the filters survive a reload'() {
    await tab('Fills')
    const chosen = { Time: 'week', Series: '1', Side: 'sell' }
    for (const [name, value] of Object.entries(chosen)) await page.getByLabel(name, { exact: true }).selectOption(value)
    await tab('Ledger')
    await page.getByLabel('Kinds', { exact: true }).selectOption('fill,fee')
    await page.reload()
    await live()
    await page.locator('[role=tab][aria-selected=true]', { hasText: 'Ledger' }).waitFor()
    assert.equal(await page.getByLabel('Kinds', { exact: true }).inputValue(), 'fill,fee')
    await tab('Fills')
    for (const [name, value] of Object.entries(chosen)) assert.equal(await page.getByLabel(name, { exact: true }).inputValue(), value, name)
    const asked = page.waitForRequest((r) => /\/v1\/portfolio\/fills\?from_ts=\d+&side=sell&/.test(r.url()))
    await page.reload()
    await asked
    await live()
    for (const name of Object.keys(chosen)) await page.getByLabel(name, { exact: true }).selectOption({ index: 0 })
  },

  async 'fills that come fast are one line below the page, and every tab can be pressed meanwhile'() {
    const round = await roundWith(ENOUGH_MS)
    let filled = 0 // contracts
    let trades = true
    const trading = (async () => {
      while (trades) {
        filled += (await send(round, { type: 'market', max_cost: '20000', qty: 1 })).filled_qty
        await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
      }
    })()
    try {
      await test('notice').filter({ hasText: /^\d+ fills of / }).waitFor()
      for (const [width, height] of [[1440, 900], [390, 844]]) {
        await page.setViewportSize({ width, height })
        for (const name of ['Rounds', 'Positions', 'Fills', 'Orders', 'Ledger']) await page.getByRole('tab', { name }).click({ timeout: 3000 })
        await test('csv').click({ trial: true, timeout: 3000 })
        assert.equal(await test('notice').count(), 1)
        await snap(`${width}-portfolio-notice`)
        await faultless(`many fills at ${width}`)
        const line = await test('notice').boundingBox()
        const main = await page.locator('main').boundingBox()
        assert.ok(line.y >= main.y + main.height - 1, 'the line is below the page')
      }
    } finally {
      trades = false
      await trading
    }
    assert.ok(filled > 2, `${filled} filled`)
    await page.setViewportSize({ width: 1440, height: 900 })
  },

  async 'a portfolio that is opened while the venue is down says so'() {
    await page.goto(`${venue.portal}/#/`)
    await page.reload()
    await live()
    await venue.stop()
    await page.locator('[data-test="connection"][data-state="lost"]').waitFor()
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Portfolio' }).click()
    await test('portfolio').getByText('The venue does not answer.').first().waitFor()
    await snap('1440-portfolio-down')
    assert.equal(await test('portfolio').getByText('Reading …').count(), 0)
    await venue.start()
    await live()
    await test('result').first().waitFor()
    assert.equal(await test('portfolio').getByText('The venue does not answer.').count(), 0)
    expected(/ERR_|WebSocket|status of 50/)
  },
})
