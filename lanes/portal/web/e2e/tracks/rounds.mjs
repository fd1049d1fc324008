// What takes the time of a round, under every screen at once: a round is lost and explained, and the
// venue restarts.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { eventually } from '../eventually.mjs'
import { freshId } from '../venue.mjs'
import { FAR, ROUND_MS, button, charted, context, everyScreen, expected, faultless, fills, go, kind, list, live, open, page, placedAs, prices, rests, roomy, run, select, snap, tab, test, theme, trader, unit, venue } from '../harness.mjs'

const LATE_MS = 30_000 // into a round of 60 seconds, so that it can be bought and typed for before its window

let screens // open from the first step to the last

// restarts stops the venue and starts it again. Each ticket says so meanwhile, and the orders stay.
async function restarts() {
  let o
  await screens.on(async () => {
    await go('Trade')
    if (o) return
    await roomy()
    await kind('limit')
    o = await rests(8, FAR)
  })
  await screens.on(() => prices('of their colors'))
  await venue.stop()
  await screens.on(async (name) => {
    await page.locator('[data-test="connection"][data-state="lost"]:visible').waitFor()
    await test('verdict').filter({ hasText: 'The venue cannot be reached' }).waitFor()
    assert.ok(await page.locator('.submit').isDisabled())
    await prices('grey')
    await snap(`${name}-restart`)
  })
  await venue.start()
  await screens.on(live)
  expected(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|WebSocket connection to .* failed|status of 503/) // while there is no venue
  const [same] = await list(`/v1/portfolio/orders?client_order_id=${o.client_order_id}`, 'orders')
  await screens.on(async () => {
    await go('Orders')
    await tab('Orders')
    const row = page.locator(`[data-test="order"][data-id="${o.order_id}"]`)
    if (same.status === 'resting') await eventually('the order, or its end', async () => (await row.count()) > 0 || (await placedAs(o)).status === 'canceled')
    const cancel = row.locator('[data-test="cancel"]')
    if ((await cancel.count()) > 0) await cancel.click()
    await row.waitFor({ state: 'detached' })
  })
  assert.equal((await placedAs(o)).status, 'canceled')
  await screens.on(async () => {
    await go('Trade')
    await test('verdict').filter({ hasNotText: 'The venue cannot be reached' }).waitFor()
    await prices('of their colors')
  })
  await go('Trade')
  await page.waitForResponse(/\/history\?round_number=\d+&limit=30$/) // a hidden page does not read the newest seconds
  await charted('after a restart of the venue')
  await roomy() // and it can trade again
}

// buys buys 10 contracts at the market price.
async function buys(outcome) {
  await fills()
  await test('order-result').filter({ hasText: `Bought 10 ${outcome.toUpperCase()}` }).waitFor()
}

// types types a price into the ticket of each screen, for the round that is open.
async function types() {
  await eventually('a round with time left', async () => Date.now() % 60_000 < LATE_MS && (await list('/v1/rounds?category=1&limit=1', 'rounds'))[0]?.status === 'trading', ROUND_MS)
  await screens.on(async () => {
    await go('Trade')
    await select(1)
    await page.locator('.submit:not([aria-disabled=true])').waitFor({ timeout: ROUND_MS })
    await kind('limit')
    await page.locator('[name=price]').fill('33')
  })
}

// lapses waits for the next round: no ticket keeps a price of the last one.
const lapses = () => screens.on(async (name) => {
  await test('verdict').filter({ hasText: 'your price was for the last one' }).waitFor({ timeout: ROUND_MS })
  assert.equal(await page.locator('[name=price]').inputValue(), '')
  assert.ok(await page.locator('.submit').isDisabled())
  await snap(`${name}-rollover`)
})

await run({
  async 'a round is lost, and the price of a ticket ends with it on every screen'() {
    // Notifications and sounds are on, and the user looks elsewhere.
    await page.evaluate(() => {
      window.told = []
      window.tones = []
      const start = OscillatorNode.prototype.start
      OscillatorNode.prototype.start = function (...when) {
        window.tones.push(this.frequency.value)
        start.apply(this, when)
      }
      window.Notification = class {
        static permission = 'default'
        static requestPermission = async () => (window.Notification.permission = 'granted')
        constructor(title, { body, tag }) {
          window.told.push(`${title}: ${tag}: ${body}`)
        }
      }
      Object.defineProperty(document, 'hidden', { get: () => true })
      // The card of a result goes with the next press, which may come before the test looks.
      window.cards = []
      new MutationObserver(() => {
        const card = document.querySelector('[data-test=result-card]')
        if (card) window.cards.push({ profit: card.dataset.profit, text: card.textContent })
      }).observe(document.body, { childList: true, subtree: true })
    })
    const TONES = { fill: 880, settlement: 660, disconnect: 220 } // Hz
    const told = (tag, words) => eventually(`a notification and the sound of a ${tag}`, () => page.evaluate(([tag, words, tone]) => window.told.some((t) => t.startsWith(`Duplex: ${tag}: `) && t.includes(words)) && window.tones.includes(tone), [tag, words, TONES[tag]]), ROUND_MS)
    await go('Account')
    await page.locator('[name=alert_browser]').check()
    await page.locator('[name=alert_sound]').check()
    assert.deepEqual(await page.evaluate(() => window.tones.splice(0)), [TONES.fill]) // to try it
    await go('Trade')
    screens = await everyScreen()

    await select(1)
    await eventually('a round with time to buy', async () => {
      const [r] = await list('/v1/rounds?category=1&limit=1', 'rounds')
      if (r?.status !== 'trading' || Date.now() % 60_000 > LATE_MS) return false
      const { body } = await trader.call('GET', `/v1/markets/${r.market_id}`)
      return body.yes_ask > 0 && body.yes_bid > 0 && (await page.locator('.submit:not([aria-disabled=true])').count()) > 0
    }, ROUND_MS)
    // One of YES and NO pays $1, and the two cost more, unless the price moves between them: the
    // round is lost whatever its result.
    await kind('market')
    await unit('contracts')
    await page.locator('[name=slip]').fill('20')
    await page.locator('[name=qty]').fill('10')
    let lost // the number of the round
    while (!lost) {
      for (const outcome of ['yes', 'no']) {
        await page.locator(`.outcomes .${outcome}`).click()
        await buys(outcome)
      }
      const fills = await list('/v1/portfolio/fills?limit=200', 'fills')
      const own = fills.filter((f) => f.round_number === fills[0].round_number) // on a slow machine a round may end between the two
      const of = (outcome) => own.filter((f) => f.outcome === outcome).reduce((sum, f) => sum + f.qty, 0)
      const cost = own.reduce((sum, f) => sum + f.qty * (f.outcome === 'yes' ? f.tick_yes : 10000 - f.tick_yes) + Number(f.fee), 0)
      if (of('yes') === of('no') && cost > of('yes') * 10000) lost = fills[0].round_number
    }
    await told('fill', 'Bought')
    await page.locator('.outcomes .yes').click()
    await types()
    for (const scheme of ['light', 'dark']) {
      await theme(scheme)
      await snap(`1440-${scheme}`)
    }
    await eventually('the mean of the settlement window', async () => Number(await test('chart').getAttribute('data-mean')) > 0, ROUND_MS)
    await page.locator('[data-test=chart] [data-word=mean]').filter({ hasText: /^average (so far )?[\d,]+\.\d+$/ }).waitFor()
    await snap('1440-window')
    await tab('Settlements')
    const paid = await eventually('the settlement', async () => (await list('/v1/portfolio/settlements', 'settlements')).find((p) => p.round_number === lost), ROUND_MS)
    const shown = await page.locator(`[data-test="settlement"][data-seq="${paid.seq}"]`).evaluate((row) => ({ ...row.dataset, text: row.textContent }))
    await told('settlement', 'lost $')
    await eventually('a card of the loss', () => page.evaluate((profit) => window.cards.some((c) => c.profit === profit && c.text.includes('You lost')), paid.profit))
    assert.equal(shown.payout, paid.payout)
    assert.equal(shown.profit, paid.profit)
    assert.equal(paid.payout, String((paid.winner === 'yes' ? paid.yes_qty : paid.no_qty) * 10000))
    assert.ok(Number(paid.profit) < 0, `a profit of ${paid.profit}`)
    assert.match(shown.text, /−\$\d/)
    await lapses()
    await kind('limit')
    await test('order-result-round').filter({ hasText: `BTC 60 s, round ${Number(paid.round_number).toLocaleString('en-US')}:` }).waitFor({ state: 'attached' })
    await test('recent').and(page.locator(`[data-round="${paid.round_number}"]`)).waitFor()
    await tab('Rounds')
    await page.locator('[data-test="round"]', { hasText: paid.winner.toUpperCase() }).first().waitFor()
    await snap('1440-dark-settled')
    const row = page.locator(`[data-test="round"][data-round="${paid.round_number}"]`)
    await page.route('**/evidence?*', (route) => route.abort())
    await row.getByRole('button', { name: 'Why?' }).click()
    await page.getByRole('alert').filter({ hasText: 'The prices could not be read' }).waitFor()
    await page.unroute('**/evidence?*')
    expected(/net::ERR_FAILED\b/)
    await button('Try again').click()
    await page.locator('[data-test="why"][data-matches="true"]').waitFor()
    await test('past').waitFor()
    const { body: round } = await trader.call('GET', `/v1/rounds/${paid.market_id}/evidence?round_number=${paid.round_number}`)
    assert.equal(await test('why').getAttribute('data-mean'), round.twap)
    await snap('1440-dark-why')
    await test('to-live').click()
    await test('older').click()
    await test('older').waitFor({ state: 'detached' })
    const rounds = await list('/v1/rounds?category=1&limit=1000', 'rounds')
    assert.ok((await test('round').count()) >= rounds.length - 1, `${await test('round').count()} of ${rounds.length} rounds`)
    await context.setOffline(true)
    await page.evaluate(() => window.sockets.forEach((s) => s.close()))
    await told('disconnect', 'The connection to the venue was lost')
    await context.setOffline(false)
    await live()
    expected(/ERR_INTERNET_DISCONNECTED/)
    await page.reload() // without notifications
    await live()
  },

  async 'the card of a result takes no focus, covers no ticket, fills it for the next round and sends nothing'() {
    await select(1)
    const held = await eventually('a position that settles', async () => {
      const [r] = await list('/v1/rounds?category=1&limit=1', 'rounds')
      if (r?.status !== 'trading' || Date.now() % 60_000 > LATE_MS) return undefined
      const { body } = await trader.call('POST', '/v1/portfolio/orders', { client_order_id: freshId(), market_id: r.market_id, generation: r.generation, side: 'buy', outcome: 'yes', type: 'market', qty: 3, max_cost: '30000' })
      return body.filled_qty > 0 && r
    }, ROUND_MS, 500)
    const card = test('result-card')
    await card.waitFor({ timeout: ROUND_MS })
    const paid = await eventually('the settlement', async () => (await list('/v1/portfolio/settlements', 'settlements')).find((p) => p.round_number === held.round_number))
    assert.equal(await card.getAttribute('data-profit'), paid.profit)
    const boxes = await page.evaluate(() => ['[data-test=result-card]', '[aria-label="Order ticket"]'].map((s) => document.querySelector(s).getBoundingClientRect().toJSON()))
    assert.ok(boxes[0].right <= boxes[1].left, `the card ends at ${boxes[0].right}, the ticket begins at ${boxes[1].left}`)
    assert.equal(await page.evaluate(() => document.querySelector('[data-test=result-card]').contains(document.activeElement)), false)
    await snap('1440-result')
    const before = (await list('/v1/portfolio/orders?limit=200', 'orders')).length
    await test('next').filter({ hasText: 'Next: above $' }).click({ timeout: ROUND_MS })
    await card.waitFor({ state: 'detached' })
    await page.locator('[name=amount]').waitFor()
    await page.locator('.submit:not([aria-disabled=true])').waitFor()
    assert.equal((await list('/v1/portfolio/orders?limit=200', 'orders')).length, before, 'nothing is sent')
  },

  async 'a past result is explained on every screen'() {
    await screens.on(async (name) => {
      await go('Orders')
      await tab('Rounds')
      await page.getByRole('button', { name: 'Why?' }).first().click()
      await page.locator('[data-test="why"][data-matches="true"]').waitFor()
      await test('past').waitFor({ state: 'attached' })
      await snap(`${name}-why`)
      await faultless(name)
      await page.getByRole('button', { name: 'Hide' }).first().click()
      await tab('Settlements')
      await test('settlement').first().waitFor()
      await snap(`${name}-settlements`)
      await faultless(name)
      await tab('Orders')
    })
  },

  async 'the portfolio explains the money, and saves it as CSV'() {
    await go('Portfolio')
    await test('result').first().waitFor()
    const { body: pnl } = await trader.call('GET', '/v1/portfolio/pnl')
    await test('curve').waitFor()
    await eventually('the fees', async () => (await page.locator('[data-test="tile"][data-name="Fees paid"]').textContent()) === `$${(Math.round(Number(pnl.fees) / 100) / 100).toFixed(2)}`)
    await tab('Ledger')
    await page.getByLabel('Kinds').selectOption('Results')
    await eventually('the filter', async () => (await test('ledger').evaluateAll((all) => all.map((r) => r.dataset.kind))).every((k) => ['settlement', 'void', 'redeem'].includes(k)))
    await page.getByLabel('Kinds').selectOption('All kinds')
    await page.locator('[data-test="ledger"][data-kind="fee"]').first().waitFor()
    const [saved] = await Promise.all([page.waitForEvent('download'), test('csv').click()])
    const rows = readFileSync(await saved.path(), 'utf8').trim().split('\r\n')
    const all = await list('/v1/portfolio/ledger?limit=1000', 'ledger')
    assert.ok(rows.length > 3 && Math.abs(rows.length - 1 - all.length) <= 1, `${rows.length} lines for ${all.length} rows`)
    assert.match(rows[1], /^\d+,\d{4}-\d\d-\d\dT[\d:.]+Z,[a-z_]+,-?\d+\.\d{4},\d+\.\d{4},/)
    await screens.on(async (name) => {
      await go('Portfolio')
      await test('result').first().waitFor()
      await test('curve').waitFor()
      await snap(`${name}-portfolio`)
      await faultless(name)
    })
  },

  async 'a restart of the venue does no harm on any screen'() {
    screens ??= await everyScreen()
    await restarts()
    await screens.close()
  },
})
