// Tests the trading screen in a browser against `dx dev`, with another trader on the other
// side. The steps run in order, because each builds on the state of the one before. The
// first failure stops the run.
//
//   node e2e/run.mjs [folder for screenshots]
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openBrowser } from './browser.mjs'
import { clientOf, freshId, openVenue, traderOf } from './venue.mjs'

const shots = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'duplex-shots-'))
mkdirSync(shots, { recursive: true })

const ROUND_MS = 150_000 // a whole 60-second round and its settlement may have to pass
const venue = await openVenue()
const trader = traderOf(venue, 'trader')
const other = traderOf(venue, 'maker')
const browser = await openBrowser()
const { context } = browser
let page = browser.page
context.setDefaultTimeout(20_000)

const test = (name) => page.locator(`[data-test="${name}"]`)
const button = (name) => page.getByRole('button', { name, exact: true })
const tab = (name) => page.getByRole('tab', { name }).click()

async function eventually(what, look, ms = 20_000) {
  const until = Date.now() + ms
  for (;;) {
    const found = await look()
    if (found) return found
    if (Date.now() > until) assert.fail(`${what}: not within ${ms} ms`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

const live = () => page.locator('[data-test="connection"][data-state="live"]:visible').waitFor()

async function open() {
  await page.goto(venue.portal)
  await live()
}

// list returns the rows of a list route as the trader.
async function list(target, name) {
  const { status, body } = await trader.call('GET', target)
  assert.equal(status, 200)
  return body[name]
}

// roomy selects a series whose round has enough time left and an open price.
async function roomy() {
  const round = await eventually('a round with enough time left', async () => {
    const rounds = (await list('/v1/rounds?limit=60', 'rounds')).filter((r) => r.status === 'trading' && r.category % 3 === 0)
    const markets = await list('/v1/markets?status=trading', 'markets')
    const open = rounds.find((r) => markets.some((m) => m.market_id === r.market_id && m.yes_bid >= 2000 && m.yes_ask && m.yes_ask <= 9000))
    return 900_000 - (Date.now() % 900_000) > 90_000 ? open : undefined
  }, 200_000)
  await page.keyboard.press('Escape')
  await page.keyboard.press(String(round.category))
  await page.locator(`[data-category="${round.category}"][aria-pressed="true"]`).waitFor()
  await page.locator('.submit:enabled').waitFor()
  return round
}

const FAR = '1' // cents: no market falls this far during a step

// rests places a buy of YES that rests, and returns the order. The price is in cents, by
// default 8 cents below the best bid. If the market falls that far and fills it, rests
// places another.
async function rests(qty, price) {
  for (let tries = 0; tries < 3; tries++) {
    const best = Number(await test('rung').and(page.locator('[data-side="bid"]')).first().getAttribute('data-tick'))
    await page.locator('[name=price]').fill(price ?? String((best - 800) / 100))
    await page.locator('[name=qty]').fill(String(qty))
    const before = new Set((await list('/v1/portfolio/orders', 'orders')).map((o) => o.client_order_id))
    await page.locator('.submit').click()
    const placed = await eventually('the order is placed', async () => (await list('/v1/portfolio/orders', 'orders')).find((o) => !before.has(o.client_order_id)))
    if (placed.status === 'resting') return placed
  }
  return assert.fail('no order stayed in the book')
}

// hit makes the other trader take all bids for YES down to a tick.
async function hit(market, tick, qty) {
  const { status, body } = await other.call('POST', '/v1/portfolio/orders', { client_order_id: freshId(), market_id: market, side: 'buy', outcome: 'no', tick: 10000 - tick, qty, tif: 'ioc' })
  assert.equal(status, 201, JSON.stringify(body))
}

const rows = (name) => test(name).evaluateAll((all) => all.map((row) => `${row.dataset.seq} ${row.dataset.qty}`))

// same checks that the rows on the screen equal the venue's list.
async function same(name, target, field) {
  let seen, have
  await eventually(`${name} rows as the venue has them`, async () => {
    have = (await list(target, field)).map((r) => `${r.seq} ${r.qty}`)
    seen = await rows(name)
    return JSON.stringify(seen) === JSON.stringify(have)
  }).catch(() => assert.deepEqual(seen, have))
  return have.length
}

async function snap(name) {
  await page.screenshot({ path: join(shots, `${name}.png`) })
}

const steps = {
  async 'opens signed in, with nine series'() {
    await open()
    assert.equal(await test('series').count(), 9)
    assert.equal(await test('cash').textContent(), '$10,000.00')
    await test('sim').waitFor()
    // In the last minute of a quarter of an hour no round opens before the next quarter.
    await page.locator('[data-category="3"] .left').waitFor({ timeout: 90_000 })
    const [whole, seen] = await test('vitals').evaluate((e) => [e.scrollWidth, e.clientWidth])
    assert.ok(whole <= seen, `the status line needs ${whole} pixels and has ${seen}`)
  },

  async 'a wrong clock of the computer does not matter'() {
    const late = await context.newPage()
    await late.addInitScript(() => {
      const real = Date.now
      Date.now = () => real() + 3_600_000
    })
    await late.goto(venue.portal)
    await late.locator('[data-test="connection"][data-state="live"]:visible').waitFor()
    await late.locator('[data-test="offset"]:visible', { hasText: /−3,(599|600)\.\d s/ }).waitFor()
    await late.close()
  },

  async 'localhost redirects to the address that the API accepts'() {
    const away = await context.newPage()
    await away.goto(venue.portal.replace('127.0.0.1', 'localhost'))
    await away.waitForURL(`${venue.portal}/`)
    await away.close()
  },

  async 'a limit order appears in the ladder, and can be canceled'() {
    await roomy()
    const o = await rests(7)
    await page.locator(`[data-test="rung"][data-tick="${o.tick}"][data-mine="7"]`).waitFor()
    await page.locator(`[data-test="order"][data-id="${o.order_id}"]`).getByRole('button').click()
    await page.locator(`[data-test="order"][data-id="${o.order_id}"]`).waitFor({ state: 'detached' })
    await page.locator('[data-test="rung"][data-mine="7"]').waitFor({ state: 'detached' })
    await tab('History')
    await page.locator(`[data-test="past-order"][data-id="${o.order_id}"]`, { hasText: 'user cancel' }).waitFor()
    await tab('Orders')
  },

  async 'a fill arrives'() {
    const r = await roomy()
    const o = await rests(5)
    await hit(r.market_id, o.tick, 500)
    await page.locator('[data-test="notice"]', { hasText: 'Filled: bought 5 YES' }).waitFor()
    await tab('Positions')
    await test('position').first().waitFor()
    await tab('Fills')
    assert.ok((await same('fill', '/v1/portfolio/fills?limit=200', 'fills')) > 0)
  },

  async 'the last action works as curl and as an MCP call'() {
    await page.getByRole('button', { name: 'curl' }).click()
    await page.locator('[data-test="notice"]', { hasText: 'Copied as curl' }).waitFor()
    const curl = await page.evaluate(() => navigator.clipboard.readText())
    assert.ok(!curl.includes(trader.secret))
    const answer = JSON.parse(execFileSync('bash', ['-c', curl], { env: { ...process.env, DX_SECRET: trader.secret }, encoding: 'utf8' }))
    assert.equal(answer.error.code, 'duplicate_client_order_id') // so the signature was valid and the order the same
    await page.getByRole('button', { name: 'MCP' }).click()
    await page.locator('[data-test="notice"]', { hasText: 'Copied as an MCP call' }).waitFor()
    const call = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()))
    const { body } = await trader.call('POST', '/v1/mcp', call, { 'MCP-Protocol-Version': '2025-11-25' })
    assert.equal(body.result.structuredContent.error.code, 'duplicate_client_order_id')
  },

  async 'keyboard shortcuts'() {
    await roomy()
    await page.keyboard.press('n')
    await page.locator('.outcomes .no[aria-pressed="true"]').waitFor()
    await page.keyboard.press('p')
    await page.locator('[name=price]:focus').waitFor()
    await page.keyboard.type('2')
    await page.keyboard.press('ArrowUp') // below 4 cents the step is a tenth of a cent
    assert.equal(await page.locator('[name=price]').inputValue(), '2.1')
    await page.keyboard.press('Escape')
    await page.keyboard.press('q')
    await page.locator('[name=qty]:focus').waitFor()
    await page.keyboard.type('3')
    await page.keyboard.press('Enter')
    await tab('Orders')
    await test('order').filter({ hasText: '2.1' }).waitFor()
    await page.keyboard.press('x')
    await test('order').first().waitFor({ state: 'detached' })
    await page.keyboard.press('y')
    await page.keyboard.press('t')
    await page.locator('html[data-shade="dark"]').waitFor({ state: 'attached' })
    await page.keyboard.press('t')
    await page.locator('html[data-shade="light"]').waitFor({ state: 'attached' })
  },

  async 'after a lost connection no row is missing or duplicated'() {
    const r = await roomy()
    const before = (await list('/v1/portfolio/fills?limit=200', 'fills')).length
    const o = await rests(9)
    await context.setOffline(true)
    await page.evaluate(() => window.sockets.forEach((s) => s.close()))
    await page.locator('[data-test="connection"][data-state="lost"]:visible').waitFor()
    for (let i = 0; i < 3; i++) await hit(r.market_id, o.tick, i < 2 ? 2 : 500)
    const [filled] = await list(`/v1/portfolio/orders?client_order_id=${o.client_order_id}`, 'orders')
    assert.equal(filled.status, 'executed')
    await context.setOffline(false)
    await live()
    const inFlight = 'console error: Failed to load resource: net::ERR_INTERNET_DISCONNECTED' // for requests in progress when the network went down
    browser.troubles.splice(0, Infinity, ...browser.troubles.filter((t) => t !== inFlight))
    await tab('Fills')
    const n = await same('fill', '/v1/portfolio/fills?limit=200', 'fills')
    assert.ok(n > before, `${n} fills`)
    await same('trade', `/v1/markets/${r.market_id}/trades?limit=60`, 'trades')
    await tab('Orders')
    assert.equal(await test('order').count(), 0)
  },

  async 'a lost message is detected, and its data is read again'() {
    const r = await roomy()
    const gaps = async () => Number(/repaired: (\d+)/.exec(await page.locator('[title*="Gaps repaired"]:visible').getAttribute('title'))[1])
    const before = await gaps()
    await page.evaluate((m) => (window.lose = (text) => text.includes('"type":"orderbook_delta"') && text.includes(`"market_id":${m},`)), r.market_id)
    await eventually('the gap is noticed', async () => (await gaps()) > before)
    await eventually('the ladder is the book again', async () => {
      const shown = await page.evaluate(() => [...document.querySelectorAll('[data-test="rung"]')].map((x) => ({ ...x.dataset })).filter((x) => x.qty !== '0').map((x) => `${x.side} ${x.tick} ${x.qty}`))
      const { body } = await trader.call('GET', `/v1/markets/${r.market_id}/orderbook`)
      const real = [...body.no.map(([tick, qty]) => `ask ${10000 - tick} ${qty}`), ...body.yes.map(([tick, qty]) => `bid ${tick} ${qty}`)].sort()
      return shown.length > 1 && JSON.stringify(shown.sort()) === JSON.stringify(real)
    })
    const o = await rests(6)
    await page.evaluate(() => (window.lose = (text) => text.includes('"event":"fill"')))
    await hit(r.market_id, o.tick, 500)
    await tab('Fills')
    await same('fill', '/v1/portfolio/fills?limit=200', 'fills')
    assert.ok((await gaps()) > before + 1)
    await tab('Orders')
    assert.equal(await test('order').count(), 0)
  },

  async 'the ticket explains why an order would be rejected'() {
    await roomy()
    await button('Sell').click()
    await page.locator('[name=qty]').fill('900000')
    await page.locator('[data-test="outlook"]', { hasText: 'Would be rejected: insufficient position' }).waitFor()
    await button('Buy').click()
    await page.locator('[data-test="outlook"]', { hasText: 'Would be rejected: insufficient balance' }).waitFor()
    await snap('1440-rejected')
    await page.locator('[name=qty]').fill('10')
    await page.locator('[name=price]').fill(FAR) // the proposed price may cross the book by now
    await page.locator('[data-test="outlook"]', { hasText: 'Rests' }).waitFor()
  },

  async 'the page re-arms the dead-man switch, which fires after the tab is closed'() {
    await roomy()
    const o = await rests(4, FAR)
    await page.getByLabel('Timeout').selectOption('5')
    await test('heartbeat').click()
    await page.locator('[data-test="deadman"][data-armed="true"]').waitFor()
    const deadline = async () => BigInt((await trader.call('GET', '/v1/portfolio/deadman')).body.deadline_ts)
    const first = await deadline()
    await eventually('the page re-arms the switch', async () => (await deadline()) > first + 4_000_000_000n)
    assert.equal((await list(`/v1/portfolio/orders?client_order_id=${o.client_order_id}`, 'orders'))[0].status, 'resting')
    await page.close()
    const gone = await eventually('the switch fires', async () => (await list(`/v1/portfolio/orders?client_order_id=${o.client_order_id}&status=canceled`, 'orders'))[0])
    assert.equal(gone.reason, 'deadman')
    page = await context.newPage()
    await open()
    await page.locator('[data-test="deadman"][data-armed="false"]').waitFor()
    await tab('History')
    await page.locator(`[data-test="past-order"][data-id="${o.order_id}"]`, { hasText: 'deadman' }).waitFor()
  },

  async 'a settlement appears'() {
    await page.keyboard.press('1')
    await eventually('a round with time to buy', async () => {
      const [r] = await list('/v1/rounds?category=1&limit=1', 'rounds')
      if (r?.status !== 'trading' || Date.now() % 60_000 > 30_000) return false
      const { body } = await trader.call('GET', `/v1/markets/${r.market_id}`)
      return body.yes_ask > 0 && (await page.locator('.submit:enabled').count()) > 0
    }, ROUND_MS)
    await button('Market').click()
    await page.locator('[name=qty]').fill('10')
    await page.locator('.submit').click()
    await page.locator('[data-test="notice"]', { hasText: 'Filled' }).first().waitFor()
    for (const scheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: scheme })
      await page.locator(`html[data-shade="${scheme}"]`).waitFor({ state: 'attached' })
      await snap(`1440-${scheme}`)
    }
    await page.setViewportSize({ width: 1024, height: 768 })
    await snap('1024-dark')
    await page.setViewportSize({ width: 1440, height: 900 })
    await tab('Settlements')
    await test('settlement').first().waitFor({ timeout: ROUND_MS })
    const shown = await test('settlement').first().evaluate((row) => ({ ...row.dataset }))
    const paid = (await list('/v1/portfolio/settlements', 'settlements')).find((p) => p.seq === shown.seq)
    assert.equal(shown.payout, paid.payout)
    assert.equal(paid.payout, String((paid.winner === 'yes' ? paid.yes_qty : paid.no_qty) * 10000))
    await test('last-settlement').waitFor()
    await tab('Rounds')
    await page.locator('[data-test="round"]', { hasText: paid.winner.toUpperCase() }).first().waitFor()
    await snap('1440-dark-settled')
  },

  async 'an agent is created, watched and stopped'() {
    await page.getByRole('link', { name: 'Agents' }).click()
    await page.locator('[name=token]').fill(trader.account_token)
    await button('Continue').click()
    await test('agents').waitFor()
    await button('Normal').click()
    await button('Careful').click()
    for (const [name, value] of Object.entries({ max_order_cost: '2', max_open_cost: '10', max_daily_loss: '10', price_collar: '3', expires_ts: '24' })) {
      assert.equal(await page.locator(`[name=${name}]`).inputValue(), value, name)
    }
    await page.locator('[name=agent_name]').fill('scalper')
    await page.locator('[name=agent_fund]').fill('25')
    await page.locator('[name=price_collar]').fill('100')
    await button('Create agent').click()
    await page.locator('[data-test="fault"]', { hasText: 'Price collar must be' }).waitFor()
    assert.equal(await page.locator('[name=price_collar]').getAttribute('aria-invalid'), 'true')
    await page.locator('[name=price_collar]').fill('3')
    await button('Create agent').click()
    await test('issued').waitFor()
    const secret = await test('issued-secret').textContent()
    const agent = clientOf(venue, { api_key: await test('issued-key').textContent(), secret })
    await test('issued').getByText('dx mcp --profile scalper').first().waitFor()
    await snap('1440-agents-key')
    await button('Done').click()
    await test('issued').waitFor({ state: 'detached' })
    const text = () => page.evaluate(() => JSON.stringify([location.href, { ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML]))
    assert.ok(!(await text()).includes(secret), 'the secret is shown once')

    const row = page.locator('[data-test="agent"][data-name="scalper"]')
    await row.and(page.locator('[data-state="active"]')).waitFor()
    assert.equal(await row.locator('[data-test="equity"]').textContent(), '$25.00')
    const place = async (tick, qty) => {
      const [market] = await eventually('a market that trades', async () => {
        const open = await list('/v1/markets?status=trading', 'markets')
        return open.length > 0 && open
      }, 90_000)
      return agent.call('POST', '/v1/portfolio/orders', { client_order_id: freshId(), market_id: market.market_id, side: 'buy', outcome: 'yes', tick, qty })
    }
    // The first order costs $1.00 and its fee, the second more than $2.
    const first = await place(100, 100)
    assert.equal(first.status, 201, JSON.stringify(first.body))
    const large = await place(100, 1000)
    assert.deepEqual([large.status, large.body.error.code, large.body.error.details.rule], [403, 'mandate_violation', 'max_order_cost'])
    const did = page.locator('[data-test="activity"]')
    await did.and(page.locator('[data-operation="place_order"][data-code=""]')).first().waitFor()
    await did.and(page.locator('[data-code="mandate_violation"][data-rule="max_order_cost"]')).waitFor()
    await did.and(page.locator('[data-operation="create_agent"]')).waitFor()
    const seqs = await did.count()
    assert.ok(seqs >= 3, `${seqs} rows`)
    const gauge = row.locator('[data-rule="max_open_cost"]')
    await eventually('the open cost of the order', async () => Number(await gauge.getAttribute('data-used')) >= 10000)
    for (const scheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: scheme })
      await page.locator(`html[data-shade="${scheme}"]`).waitFor({ state: 'attached' })
      await snap(`1440-${scheme}-agents`)
    }

    await row.locator('[data-test="stop"]').click()
    await row.and(page.locator('[data-state="halted"]')).waitFor()
    const open = await agent.call('GET', '/v1/portfolio/orders?status=resting')
    assert.deepEqual(open.body.orders, [])
    const refused = await place(100, 10)
    assert.deepEqual([refused.status, refused.body.error.code, refused.body.error.details.rule], [403, 'mandate_violation', 'halted'])
    await did.and(page.locator('[data-code="mandate_violation"][data-rule="halted"]')).waitFor()
    await row.locator('[data-test="resume"]').click()
    await row.and(page.locator('[data-state="active"]')).waitFor()
    await test('stop-all').click()
    await row.and(page.locator('[data-state="halted"]')).waitFor()
    await eventually('no agent is active', async () => (await page.locator('[data-test="agent"][data-state="active"]').count()) === 0)
    assert.equal((await place(100, 10)).body.error.details.rule, 'halted')
    await snap('1440-dark-agents-stopped')

    await page.reload() // the tab keeps the token, and nothing else does
    await row.waitFor()
    const [stored, session] = await page.evaluate(() => [JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage })])
    assert.ok(session.includes(trader.account_token) && !stored.includes(trader.account_token) && !page.url().includes(trader.account_token))
    await page.setViewportSize({ width: 1024, height: 768 })
    await snap('1024-dark-agents')
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.getByRole('link', { name: 'Trade' }).click()
    await live()
    await test('rung').first().waitFor()
  },

  async 'nothing overflows a narrow screen'() {
    await page.setViewportSize({ width: 390, height: 844 })
    await test('sim').waitFor()
    for (const scheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: scheme })
      for (const place of ['Markets', 'Chart', 'Book', 'Trade', 'Account', 'Agents']) {
        await page.getByRole('navigation').getByRole('button', { name: place }).click()
        await page.locator('main .panel:visible').first().waitFor()
        const wide = await page.evaluate(() => [...document.querySelectorAll('main, .panel, header')].filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5).length + (document.documentElement.scrollWidth > innerWidth ? 1 : 0))
        assert.equal(wide, 0, `${place} is wider than the screen`)
        await snap(`390-${scheme}-${place.toLowerCase()}`)
      }
    }
    await page.getByRole('navigation').getByRole('button', { name: 'Markets' }).click()
    await page.locator('[data-category="6"]').tap()
    await page.getByRole('heading', { name: /^Gold 15 min/ }).waitFor()
    await page.setViewportSize({ width: 1440, height: 900 })
  },

  async 'a pasted key survives a reload, and no script can read it'() {
    const reader = traderOf(venue, 'reader')
    await page.getByRole('button', { name: /^Sign out/ }).click()
    await page.locator('[name=key]').fill(reader.api_key)
    await page.locator('[name=secret]').fill('not a secret')
    await button('Sign in').click()
    await page.getByRole('alert').waitFor()
    await page.locator('[name=secret]').fill(reader.secret)
    await button('Sign in').click()
    await live()
    await page.getByRole('button', { name: 'This key cannot trade' }).waitFor()
    await page.reload()
    await live()
    await page.getByRole('button', { name: 'This key cannot trade' }).waitFor()
    const extractable = await page.evaluate(
      () =>
        new Promise((resolve, reject) => {
          const request = indexedDB.open('duplex')
          request.onerror = () => reject(request.error)
          request.onsuccess = () => {
            const got = request.result.transaction('keys').objectStore('keys').get('signed-in')
            got.onsuccess = () => resolve(got.result.key.extractable)
          }
        }),
    )
    assert.equal(extractable, false)
    const text = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML]))
    assert.ok(!text.includes(reader.secret) && !text.includes(trader.account_token))
  },
}

let failed = false
try {
  for (const [name, step] of Object.entries(steps)) {
    const begun = Date.now()
    try {
      await step()
      assert.deepEqual(browser.troubles, [])
      console.log(`ok    ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`)
    } catch (e) {
      failed = true
      console.log(`FAIL  ${name}\n${e.stack}\n${browser.troubles.join('\n')}`)
      await snap('failed')
      break
    }
  }
} finally {
  await browser.close()
  await venue.close()
}
console.log(`screenshots: ${shots}`)
process.exitCode = failed ? 1 : 0
