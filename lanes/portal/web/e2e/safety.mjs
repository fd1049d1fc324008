// What a ticket could do to its user, tried in both themes on screens of one width. Orders are counted from
// the venue, not from the page.
import assert from 'node:assert/strict'
import { eventually } from './eventually.mjs'
import { clientOf, freshId } from './venue.mjs'
import { FAR, ROUND_MS, SCREENS, admin, everyScreen, expected, faultless, go, kind, limit, list, live, open, page, prices, roomy, run, select, snap, tab, test, theme, trader, unit, venue } from './harness.mjs'

const READY = '.submit:not([aria-disabled=true])'
const COMPARED = 100 // previews in each theme
const UNANSWERED_MS = 3000 // after a press that sent nothing

let stirrer // an account that moves the books

// newest returns the latest orders of the trader, without those that the venue rejected.
const newest = async () => (await list('/v1/portfolio/orders?limit=200', 'orders')).filter((o) => o.status !== 'rejected')

// counts returns a function that returns the orders placed since.
async function counts() {
  const before = new Set((await newest()).map((o) => o.order_id))
  return async () => (await newest()).filter((o) => !before.has(o.order_id))
}

// begins opens the page with enough cash for what follows.
async function begins() {
  await admin(`/admin/users/${trader.user_id}/deposits`, { deposit_id: 'safety', amount: '1000000000' })
  const { user_id, account_token } = await admin('/admin/users', { name: 'stirrer' })
  await admin(`/admin/users/${user_id}/deposits`, { deposit_id: 'stirrer', amount: '1000000000' })
  stirrer = clientOf(venue, { ...(await admin(`/admin/users/${user_id}/keys`, {})), account_token })
  await page.addInitScript(() => localStorage.setItem('duplex-engineer', 'on')) // which has the field of the group
  await open()
}

// shows makes the page one of the screens.
async function shows(width, height, scheme) {
  await page.setViewportSize({ width, height })
  await theme(scheme)
  await go('Trade')
}

// FIELDS are the fields of the ticket, each with what shows it and what hides it again.
const FIELDS = [
  ['price', () => kind('limit')],
  ['qty', async () => {}],
  ['amount', () => unit('dollars'), () => unit('contracts')],
  ['seconds', () => page.locator('[name=tif]').selectOption('gtt'), () => page.locator('[name=tif]').selectOption('gtc')],
  ['group', () => page.locator('[name=group]').fill('7'), () => page.locator('[name=group]').fill('')],
  ['slip', () => kind('market'), () => kind('limit')],
]

// canceled cancels every order, in the markets of all series that a step went through.
async function canceled() {
  await page.keyboard.press('Escape')
  await page.keyboard.press('Shift+X')
  await test('order').first().waitFor({ state: 'detached' })
}

// heldEnter holds Enter in each field until the ticket would take another order, and longer.
async function heldEnter() {
  await limit('2')
  const options = page.locator('summary', { hasText: 'More options' })
  if ((await page.locator('[name=tif]').count()) === 0 || !(await page.locator('[name=tif]').isVisible())) await options.click()
  for (const [field, prepare, restore] of FIELDS) {
    await roomy()
    await prepare()
    await page.locator(READY).waitFor()
    const since = await counts()
    await page.locator(`[name=${field}]`).focus()
    const hold = () => page.keyboard.down('Enter') // every one but the first is a repeat
    let pressed = Date.now()
    await hold()
    await eventually('the order', async () => {
      await hold()
      const idle = (await page.locator('form[data-stage="ready"]').count()) > 0
      if ((await since()).length > 0) return true
      if (!idle || Date.now() - pressed < UNANSWERED_MS) return false
      await page.keyboard.up('Enter') // the press met a moment without a price, and a repeat sends nothing
      pressed = Date.now()
      return false
    })
    await eventually('the ticket takes another order', async () => {
      await hold()
      return (await page.locator(READY).count()) > 0
    })
    for (let more = 10; more > 0; more--) await hold()
    await page.keyboard.up('Enter')
    assert.equal((await since()).length, 1, `one order for Enter held in ${field}`)
    assert.equal(await page.evaluate(() => document.activeElement.name), field, 'the focus stays')
    await restore?.()
  }
  await page.locator('[name=price]').fill(FAR)
  await options.click()
  await canceled()
}

const GAPS = [160, 400, 700, 950] // ms after a press, as a hand repeats it

// repeats makes the page press the button again, at each gap after its next press. The page's own
// timers order them before the end of its lock, however slow the machine is.
const repeats = () => page.evaluate((gaps) => {
  const submit = document.querySelector('.submit')
  window.repeated = 0
  submit.addEventListener('click', () => {
    for (const gap of gaps) setTimeout(() => {
      submit.click()
      window.repeated += 1
    }, gap)
  }, { once: true })
}, GAPS)

// pressedTwice presses the button twice in each way that a hand does.
async function pressedTwice() {
  await limit('3')
  const middle = async () => {
    const { x, y, width, height } = await page.locator('.submit').boundingBox()
    return [x + width / 2, y + height / 2]
  }
  const ways = {
    'a double click': async () => page.locator('.submit').dblclick(),
    'a double tap': async () => {
      const [x, y] = await middle()
      await page.touchscreen.tap(x, y)
      await page.touchscreen.tap(x, y)
    },
    'a click and later ones': async () => {
      await repeats()
      await page.locator('.submit').click()
      await page.waitForFunction((n) => window.repeated === n, GAPS.length)
    },
    'a tap and later ones': async () => {
      await repeats()
      const [x, y] = await middle()
      await page.touchscreen.tap(x, y)
      await page.waitForFunction((n) => window.repeated === n, GAPS.length)
    },
  }
  for (const [way, press] of Object.entries(ways)) {
    await roomy()
    await page.locator('[name=price]').fill(FAR)
    await page.locator('.submit').scrollIntoViewIfNeeded()
    await page.locator(READY).waitFor()
    const since = await counts()
    await press()
    await test('order-result').filter({ hasText: 'rest in the book' }).waitFor()
    await page.locator(READY).waitFor() // another order would be taken by now
    assert.equal((await since()).length, 1, `one order for ${way}`)
    assert.equal(await page.evaluate(() => document.activeElement.className.includes('submit')), true, 'the focus stays')
  }
  // The lock ends, and another order of the same kind goes out.
  const since = await counts()
  await page.locator(READY).click()
  await eventually('the next order', async () => (await since()).length === 1)
  await canceled()
}

// lostAnswer cuts the answer of an order that arrived, and of one that did not.
async function lostAnswer(name) {
  const orders = '**/v1/portfolio/orders'
  for (const [arrives, says] of [[true, 'The answer was lost, but your order arrived once'], [false, 'rest in the book']]) {
    await limit('4')
    await page.locator(READY).waitFor()
    const since = await counts()
    const sent = []
    await page.route(orders, async (route) => {
      if (route.request().method() !== 'POST') return route.fallback()
      sent.push(route.request().postDataJSON().client_order_id)
      if (sent.length > 1) return route.fallback()
      if (arrives) await route.fetch()
      await route.abort()
    })
    await page.evaluate(() => { // asking may take less time than a look from here
      const form = document.querySelector('form[data-stage]')
      window.stages = []
      window.watch = new MutationObserver(() => window.stages.push([form.dataset.stage, form.querySelector('.submit').matches(':disabled, [aria-disabled=true]')]))
      window.watch.observe(form, { attributeFilter: ['data-stage'] })
    })
    await page.locator(READY).click()
    await test('order-result').filter({ hasText: says }).waitFor()
    const stages = await page.evaluate(() => (window.watch.disconnect(), window.stages.filter(([stage]) => stage !== 'ready')))
    assert.ok(stages.some(([stage]) => stage === 'asking') && stages.every(([, disabled]) => disabled), JSON.stringify(stages))
    await page.unroute(orders)
    const now = await since()
    assert.equal(now.length, 1, JSON.stringify(now))
    assert.deepEqual(sent, Array(arrives ? 1 : 2).fill(now[0].client_order_id), 'the same id is sent again, where nothing arrived')
    if (arrives) await snap(`${name}-lost-answer`)
  }
  expected(/Failed to load resource: net::ERR_FAILED\b/) // the two answers
  await canceled()
}

// oldPreview keeps the previews from the page: no order goes out without one.
async function oldPreview(name) {
  await limit('5')
  await page.locator(READY).waitFor()
  const since = await counts()
  const held = []
  await page.route('**/v1/mcp', (route) => void held.push(route))
  await test('verdict').filter({ hasText: 'The venue does not answer' }).waitFor()
  assert.ok(await page.locator('.submit').isDisabled())
  await page.locator('[name=qty]').press('Enter')
  await test('order-result').filter({ hasText: /^Not sent: the venue does not answer/ }).waitFor() // a press is never lost without a word
  await snap(`${name}-no-preview`)
  await faultless(name)
  await page.unroute('**/v1/mcp')
  for (const route of held) await route.continue().catch(() => {}) // the page has given up some of them
  await page.locator(READY).waitFor()
  assert.equal((await since()).length, 0)
}

const bookOf = async (market) => (await stirrer.call('GET', `/v1/markets/${market}/orderbook`)).body

async function stirs(body) {
  const { status, body: placed } = await stirrer.call('POST', '/v1/portfolio/orders', { client_order_id: freshId(), side: 'buy', ...body })
  assert.equal(status, 201, JSON.stringify(placed))
  return placed
}

// followsTheBook checks that a proposed price follows the book until the user types one.
async function followsTheBook() {
  await go('Trade')
  const r = await roomy()
  await select(((r.category + 1) % 9) + 1) // leaves the price that was typed
  await select(r.category)
  await kind('limit')
  const field = page.locator('[name=price]')
  const shown = async () => Math.round(Number(await field.inputValue()) * 100)
  const improves = async () => {
    const { yes, no } = await bookOf(r.market_id)
    return stirs({ market_id: r.market_id, outcome: 'yes', tick: Math.min(yes[0][0] + 100, 10000 - no[0][0] - 100), qty: 1, post_only: true })
  }
  const best = async (side) => (side === 'bid' ? (await bookOf(r.market_id)).yes[0][0] : 10000 - (await bookOf(r.market_id)).no[0][0])
  const follows = (side) => eventually(`the price is the ${side}`, async () => (await shown()) === (await best(side)))
  await follows('bid')
  const first = await improves()
  await follows('bid')
  await page.locator('summary', { hasText: 'More options' }).click()
  await page.locator('[name=tif]').selectOption('ioc')
  await follows('ask')
  await page.locator('[name=tif]').selectOption('gtc')
  await page.locator('summary', { hasText: 'More options' }).click()
  await follows('bid')
  // A price that moves under the cursor is selected, so that typing replaces it.
  await field.focus()
  const from = await shown()
  await stirrer.call('DELETE', `/v1/portfolio/orders/${first.order_id}`)
  const second = await eventually('the price moves', async () => {
    const placed = await improves()
    if ((await shown()) !== from) return placed
    await stirrer.call('DELETE', `/v1/portfolio/orders/${placed.order_id}`)
    return undefined
  })
  await page.keyboard.type('2')
  await stirrer.call('DELETE', `/v1/portfolio/orders/${second.order_id}`)
  const third = await improves()
  await eventually('the book moved on', async () => (await best('bid')) !== 200)
  assert.equal(await shown(), 200, 'a typed price stays')
  await stirrer.call('DELETE', `/v1/portfolio/orders/${third.order_id}`)
}

// thinBook sends a market order that is larger than the book up to its limit, with a trap beyond it.
async function thinBook(name) {
  await go('Trade')
  const r = await roomy(undefined, 7000)
  const beyond = 9900 // the limit is 300 above the ask, which may rise
  const trap = await stirs({ market_id: r.market_id, outcome: 'no', tick: 10000 - beyond, qty: 3000 })
  await kind('market')
  await page.locator('[name=qty]').fill('2000')
  await page.locator('[name=slip]').fill('99')
  await page.locator('[data-test="prices"].bad').waitFor()
  await snap(`${name}-thin-book`)
  await faultless(name)
  await page.locator('[name=slip]').fill('3')
  await test('verdict').filter({ hasText: 'the rest is canceled: nobody offers more within your price' }).waitFor()
  // Nothing fills if the ask rose by more than the limit allows at that moment.
  let since, placed
  await eventually('an order that fills in part', async () => {
    await page.locator(READY).waitFor()
    since = await counts()
    const answered = page.waitForResponse((x) => x.request().method() === 'POST' && x.url().endsWith('/v1/portfolio/orders'))
    await eventually('the button', () => page.evaluate(() => {
      const submit = document.querySelector('.submit')
      if (submit.getAttribute('aria-disabled') === 'true') return false
      window.named = document.querySelector('[data-test=worst]').textContent
      submit.click()
      return true
    }))
    placed = await (await answered).json()
    return placed.filled_qty > 0
  })
  const worst = Math.round(parseFloat(await page.evaluate(() => window.named)) * 100)
  await test('order-result').filter({ hasText: 'the rest was canceled: nobody offers more within your price' }).waitFor()
  await snap(`${name}-stopped`)
  const now = await since()
  assert.equal(now.length, 1)
  assert.equal(now[0].tick, worst, 'the limit that the ticket named')
  assert.ok(worst < beyond && placed.filled_qty > 0 && placed.filled_qty < 2000, `limit ${worst}, filled ${placed.filled_qty}`)
  const fills = await list(`/v1/portfolio/fills?order_id=${placed.order_id}`, 'fills')
  assert.equal(fills.reduce((sum, f) => sum + f.qty, 0), placed.filled_qty)
  for (const f of fills) assert.ok(f.tick_yes <= worst, `filled at ${f.tick_yes}, the limit is ${worst}`)
  await stirrer.call('DELETE', `/v1/portfolio/orders/${trap.order_id}`)
}

// foretold compares previews with what the orders did, while the book moves. An outcome may differ only
// if the book changed after the seq that the preview names.
async function foretold() {
  let market // the round may end meanwhile, and another series is selected in time
  const trades = async () => {
    market = (await roomy()).market_id
    await page.evaluate((m) => (window.market = m), market)
  }
  await trades()
  await kind('market')
  await page.evaluate(() => {
    window.changes = [] // seqs at which the book changed
    window.mute = (text) => {
      if (text.includes('"type":"orderbook_')) {
        const f = JSON.parse(text)
        if (f.msg.market_id === window.market) window.changes.push(f.seq)
      }
      return false
    }
  })
  let stop = false
  const moves = (async () => {
    for (let i = 0; !stop; i++) {
      await new Promise((resolve) => setTimeout(resolve, 100)) // a key has 20 writes a second
      const { no } = await bookOf(market)
      if (!no?.[0]) continue
      const { body } = await stirrer.call('POST', '/v1/portfolio/orders', { client_order_id: freshId(), market_id: market, side: 'buy', outcome: 'no', tick: no[0][0] - 100 * (i % 3), qty: 20 + (i % 7), post_only: true })
      if (i % 2 && body.order_id) await stirrer.call('DELETE', `/v1/portfolio/orders/${body.order_id}`)
    }
  })()
  const since = await counts()
  let [wrong, later] = [0, 0]
  const changes = () => page.evaluate(() => window.changes.length)
  for (let i = 0; i < COMPARED; i++) {
    if (i % 10 === 9) await trades()
    await page.locator('[name=qty]').fill(String(1 + ((i * 13) % 37)))
    await page.locator(READY).waitFor()
    const had = await changes()
    if (i % 2) await eventually('a change of the book', async () => (await changes()) > had)
    const answered = page.waitForResponse((x) => x.request().method() === 'POST' && x.url().endsWith('/v1/portfolio/orders'))
    // What the user sees at the moment of the press. A press after which the ticket says "Not sent", because the
    // price moved, is repeated.
    const shown = await eventually('the button', () => page.evaluate(async () => {
      const submit = document.querySelector('.submit')
      if (submit.getAttribute('aria-disabled') === 'true') return undefined
      const seen = { seq: document.querySelector('[data-test=preview]').dataset.seq, cost: -Number(document.querySelector('[data-test=cost]').dataset.pips) }
      submit.click()
      await new Promise((resolve) => setTimeout(resolve)) // the page says what it does
      return document.querySelector('form[data-stage]').dataset.stage === 'ready' ? undefined : seen
    }))
    const placed = await (await answered).json()
    const paid = placed.fills.reduce((sum, f) => sum + f.qty * f.tick_yes, 0) + Number(placed.fee)
    if (shown.cost === paid) continue
    // The change of the order itself comes with its own seq.
    const changed = await eventually('the change of the order', async () => {
      const all = (await page.evaluate(() => window.changes)).map(BigInt)
      if (!all.some((seq) => seq >= BigInt(placed.seq))) return undefined
      return all.some((seq) => seq > BigInt(shown.seq) && seq < BigInt(placed.seq)) ? 'later' : 'same'
    })
    if (changed === 'later') later += 1
    else wrong += 1
  }
  stop = true
  await moves
  assert.equal((await since()).length, COMPARED, 'each press is one order')
  console.log(`      ${COMPARED} previews compared: ${later} named a seq before a change of the book, ${wrong} were wrong`)
  assert.equal(wrong, 0)
  await page.evaluate(() => (window.mute = undefined))
  await stirrer.call('DELETE', '/v1/portfolio/orders')
  await kind('limit')
}

// redeems turns pairs into cash, and cancels the orders of all markets with one key.
async function redeemsAndCancelsAll(name) {
  const r = await roomy()
  const pairs = async () => Math.min(...['yes_qty', 'no_qty'].map((side) => positions()[side]))
  let all
  const positions = () => all.find((p) => p.market_id === r.market_id) ?? { yes_qty: 0, no_qty: 0 }
  const look = async () => void (all = await list('/v1/portfolio/positions', 'positions'))
  await look()
  await eventually('5 pairs', async () => {
    for (const outcome of ['yes', 'no']) {
      if (positions()[`${outcome}_qty`] >= 5) continue
      const { status, body } = await trader.call('POST', '/v1/portfolio/orders', { client_order_id: freshId(), market_id: r.market_id, side: 'buy', outcome, type: 'market', qty: 5, max_cost: '100000' })
      assert.equal(status, 201, JSON.stringify(body))
    }
    await look()
    return (await pairs()) >= 5
  })
  const n = await pairs()
  await go('Orders')
  await tab('Positions')
  const redeem = page.locator(`[data-test="position"][data-market="${r.market_id}"] [data-test="redeem"]`, { hasText: `Redeem ${n}` })
  await redeem.click()
  await page.locator('[data-test="notice"]', { hasText: `Redeemed ${n.toLocaleString('en-US')} pairs: +$${n.toLocaleString('en-US')}.00` }).waitFor()
  await snap(`${name}-redeemed`)
  await look()
  assert.equal(await pairs(), 0)

  const markets = await eventually('two markets with a bid and some time', async () => {
    const late = (await list('/v1/rounds?limit=60', 'rounds')).filter((r) => Number(r.close_ts) / 1e6 > Date.now() + 20_000).map((r) => r.market_id)
    const two = (await list('/v1/markets?status=trading', 'markets')).filter((m) => m.yes_bid >= 300 && late.includes(m.market_id)).slice(0, 2)
    return two.length === 2 && two
  }, ROUND_MS)
  for (const m of markets) {
    const { status, body } = await trader.call('POST', '/v1/portfolio/orders', { client_order_id: freshId(), market_id: m.market_id, side: 'buy', outcome: 'yes', tick: 100, qty: 6 })
    assert.equal(status, 201, JSON.stringify(body))
  }
  const resting = async () => (await list('/v1/portfolio/orders?status=resting', 'orders')).length
  await tab('Orders')
  await eventually('both are on the screen', async () => (await test('order').count()) === markets.length)
  await canceled()
  await page.locator('[data-test="notice"]', { hasText: 'in all markets' }).last().waitFor()
  assert.equal(await resting(), 0)
  await test('undo').last().click()
  await page.locator('[data-test="notice"]', { hasText: /^Put back/ }).first().waitFor()
  await canceled()
  await go('Trade')
}

async function hands(width, height, scheme) {
  const name = `${width}-${scheme}`
  await shows(width, height, scheme)
  for (const does of [heldEnter, pressedTwice, lostAnswer, oldPreview, followsTheBook, thinBook, foretold, redeemsAndCancelsAll]) await does(name)
}

const types = async (of, qty) => {
  await go('Trade')
  await select(1)
  await kind(of)
  await unit('contracts')
  await page.locator('[name=qty]').fill(qty)
  await page.locator(READY).waitFor({ timeout: ROUND_MS })
}

// safety tries the ticket on the screens of a width.
export async function safety(width) {
  const tried = SCREENS.filter(([w]) => w === width)
  const steps = Object.fromEntries(tried.map(([w, height, scheme]) => [`no ticket hurts at ${w} × ${height}, ${scheme}`, () => hands(w, height, scheme)]))
  await run({
    ...steps,

    async 'a press just after the round changed sends nothing, in both themes'() {
      await shows(...tried[0])
      const screens = await everyScreen(tried)
      await screens.on((name) => types(name.endsWith('light') ? 'market' : 'limit', '20'))
      const since = await counts()
      await screens.on(() => page.evaluate(() => {
        window.seen = [] // what the ticket said
        window.pressed = 0
        const note = () => window.seen.push(document.querySelector('[data-test=verdict]').textContent)
        new MutationObserver(note).observe(document.querySelector('[data-test=verdict]'), { childList: true, characterData: true, subtree: true })
        const press = () => setTimeout(() => {
          document.querySelector('.submit').click()
          document.querySelector('form').requestSubmit()
          window.pressed += 1
        }, 150)
        // 150 ms after the page shows the next round, and 150 ms after the venue said so.
        const question = document.querySelector('[data-test=question]')
        const was = question.dataset.round
        const watch = new MutationObserver(() => {
          if ((question.dataset.round ?? was) === was) return
          watch.disconnect()
          press()
        })
        watch.observe(question, { attributeFilter: ['data-round'] })
        let told = false
        window.mute = (text) => {
          if (told || !text.includes('"strike"')) return false
          const m = JSON.parse(text).msg
          if (m.category === 1 && m.status === 'trading' && m.round_number !== was) {
            told = true
            press()
          }
          return false
        }
      }))
      await screens.on(async (name) => {
        await page.waitForFunction(() => window.pressed === 2, undefined, { timeout: ROUND_MS })
        await snap(`${name}-new-round`)
        const seen = await page.evaluate(() => window.seen)
        assert.ok(seen.some((s) => /New round: check your order|price is/.test(s)), seen.join(' | '))
      })
      assert.equal((await since()).length, 0, 'nothing was sent in the new round')
      // It can be traded in a moment later.
      await screens.on(async () => {
        await page.evaluate(() => (window.mute = undefined))
        await page.locator(READY).waitFor()
      })
      assert.equal((await since()).length, 0)
      await screens.close()
    },

    async 'a venue that is killed under an order places it at most once, and the screen says what became of it'() {
      await shows(...tried[0])
      const r = await roomy()
      const screens = await everyScreen(tried)
      const since = await counts()
      const sent = {} // by screen: the ids
      let killed
      const dead = new Promise((resolve) => (killed = resolve))
      await screens.on(async (name) => {
        await go('Trade')
        await select(r.category)
        await kind('limit')
        await unit('contracts')
        await page.locator('[name=price]').fill(FAR)
        await page.locator('[name=qty]').fill('8')
        await page.locator(READY).waitFor()
        sent[name] = []
        await page.route('**/v1/portfolio/orders', async (route) => {
          if (route.request().method() !== 'POST') return route.fallback()
          sent[name].push(route.request().postDataJSON().client_order_id)
          if (sent[name].length > 1) return route.fallback()
          if (name.endsWith('light')) await route.fetch() // it arrives, and its answer does not
          await dead
          await route.abort()
        })
        await prices('of their colors')
      })
      await screens.on(async () => { // one after the other, at once: the page gives an answer up after some seconds
        await page.locator(READY).click()
        await page.locator('form[data-stage="sending"]').waitFor()
      })
      await eventually('the order of the light theme arrived', async () => (await since()).length === tried.filter(([, , scheme]) => scheme === 'light').length)
      await venue.kill()
      killed()
      await screens.on(async (name) => {
        await page.locator('[data-test="connection"][data-state="lost"]:visible').waitFor()
        await test('verdict').filter({ hasText: 'The venue cannot be reached' }).waitFor()
        await test('price-age').filter({ hasText: /\d+ s old/ }).and(page.locator(':visible')).first().waitFor()
        assert.ok(await page.locator('.submit').isDisabled())
        await page.locator('form[data-stage="asking"]').waitFor()
        await prices('grey')
        await snap(`${name}-killed`)
        await faultless(name)
      })
      await venue.start()
      const says = {}
      await screens.on(async (name) => {
        await live()
        says[name] = await test('order-result').textContent()
        await snap(`${name}-after-kill`)
      })
      expected(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_FAILED|WebSocket connection to .* failed|status of (503|409|404)/) // while there is no venue, and then no order of the id, or a market without a fresh price is paused
      const now = await since()
      for (const [name, text] of Object.entries(says)) {
        assert.equal(new Set(sent[name]).size, 1, `${name}: one id for one press`)
        const mine = now.filter((o) => o.client_order_id === sent[name][0])
        const arrived = /arrived once|rest in the book/.test(text)
        assert.equal(mine.length, arrived ? 1 : 0, `${name}: ${text}`)
        if (name.endsWith('light')) assert.match(text, /The answer was lost, but your order arrived once/)
        else assert.match(text, /rest in the book|Nothing was placed|round|paused/)
      }
      assert.equal(now.length, Object.values(says).filter((s) => /arrived once|rest in the book/.test(s)).length)
      await screens.close()
    },
  }, begins)
}
