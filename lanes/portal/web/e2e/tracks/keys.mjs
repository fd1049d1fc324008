// Keys without pauses: sequences drawn at random are typed into the page in one burst each, and what the ticket
// says and what the venue gets is what a model of the keys says. No order goes anywhere else.
import assert from 'node:assert/strict'
import { eventually } from '../eventually.mjs'
import { context, expected, list, page, roomy, run, select, test, trader } from '../harness.mjs'

const SEQUENCES = 200
const SEED = 67
const LONGEST = 9 // keys
const ENOUGH_MS = 12_000 // of a round, for one sequence and its order
const READY = '.submit:not([aria-disabled=true])'

let seed = SEED
const random = (n) => (seed = (seed * 16807) % 2147483647) % n
const one = (list) => list[random(list.length)]

// typed sends keys to the browser at once: none waits for what the page makes of the one before.
async function typed(keys) {
  const cdp = (typed.cdp ??= await context.newCDPSession(page))
  const named = { Enter: { code: 'Enter', text: '\r', windowsVirtualKeyCode: 13 }, Escape: { code: 'Escape', windowsVirtualKeyCode: 27 } }
  await Promise.all(keys.flatMap((key) => {
    const of = { key, ...(named[key] ?? { code: /\d/.test(key) ? `Digit${key}` : `Key${key.toUpperCase()}`, text: key, windowsVirtualKeyCode: key.toUpperCase().charCodeAt(0) }) }
    return [cdp.send('Input.dispatchKeyEvent', { type: 'keyDown', ...of }), cdp.send('Input.dispatchKeyEvent', { type: 'keyUp', ...of, text: undefined })]
  }))
}

// Model is what the keys mean. price and size are what was typed; undefined where the page proposes one.
class Model {
  constructor(seen) {
    Object.assign(this, seen, { field: undefined, selected: false })
  }

  get sizeField() {
    return this.side === 'buy' && this.unit === 'dollars' ? 'amount' : 'qty'
  }

  // press takes one key, and returns the order that it may send.
  press(key) {
    if (key === 'Escape') this.field = undefined
    else if (this.field) {
      if (key === 'Enter') return { ...this, sizeField: this.sizeField }
      if (key === 'p' || key === 'l') this.enter('price', (this.kind = 'limit'))
      else if (key === 'q') this.enter(this.sizeField)
      else if (/\d/.test(key)) {
        const had = this.selected ? '' : this[this.field] ?? ''
        this[this.field] = had + key
        this.selected = false
      }
    } else if (/[1-9]/.test(key)) this.show(Number(key))
    else if (key === 'p' || key === 'l') this.enter('price', (this.kind = 'limit'))
    else if (key === 'q') this.enter(this.sizeField)
    else if (key === 'm') this.kind = 'market'
    else if (key === 'b' || key === 's') this.side = key === 'b' ? 'buy' : 'sell'
    else if ((key === 'y' || key === 'n') && this.outcome !== { y: 'yes', n: 'no' }[key]) [this.outcome, this.price] = [{ y: 'yes', n: 'no' }[key], undefined]
    return undefined
  }

  enter(field) {
    this.field = field
    this.selected = true
  }

  show(category) {
    if (category !== this.category) [this.category, this.price] = [category, undefined]
  }
}

// seen is the state of the ticket, as the page shows it.
const seen = () => page.evaluate(() => {
  const value = (name) => document.querySelector(`[name=${name}]`)?.value
  return {
    category: Number(document.querySelector('[data-test=series][aria-pressed=true]').dataset.category), round: document.querySelector('[data-test=question]').dataset.round,
    side: document.querySelector('[aria-label=Side] [aria-pressed=true]').textContent.toLowerCase(), outcome: document.querySelector('.outcomes [aria-pressed=true]').classList.contains('yes') ? 'yes' : 'no',
    kind: document.querySelector('[name=price]') ? 'limit' : 'market', unit: { 'in contracts': 'dollars', 'in dollars': 'contracts' }[document.querySelector('[data-test=unit]')?.textContent], // undefined while it sells
    lapsed: document.querySelector('[data-test=verdict]').textContent.includes('your price was for the last one'), price: value('price'), qty: value('qty'), amount: value('amount'), focus: document.activeElement.matches('input') ? document.activeElement.name : '',
  }
})

// matches checks an order of the venue against what the keys asked for.
function matches(o, m, category, what) {
  assert.equal(category, m.category, `${what}: the series`)
  assert.deepEqual([o.side, o.outcome, o.type], [m.side, m.outcome, m.kind], what)
  if (m.kind === 'limit' && m.price !== undefined) assert.equal(o.tick, Math.round(Number(m.price) * 100), `${what}: the price`)
  if (m[m.sizeField] === undefined) return // of the side that the page did not show
  if (m.sizeField === 'qty') assert.equal(o.qty, Number(m.qty), `${what}: the quantity`)
  else if (m.kind === 'market') assert.ok(Number(o.max_cost) <= Number(m.amount) * 10_000, `${what}: at most $${m.amount}, not ${o.max_cost}`)
  else assert.ok(o.qty * o.tick <= Number(m.amount) * 10_000, `${what}: at most $${m.amount}`)
}

const KEYS = ['p', 'p', 'q', 'q', 'l', 'm', 'b', 's', 'y', 'n', '1', '2', '3', '4', '5', '6', '7', '8', '9', '0', 'Escape', 'Enter']

await run({
  async 'a digit after p, q and l is typed, in the same burst'() {
    await roomy()
    for (const [keys, field] of [[['p', '7'], 'price'], [['l', '8'], 'price'], [['q', '9'], undefined]]) {
      await page.keyboard.press('Escape')
      const before = await seen()
      await typed(keys)
      const after = await seen()
      assert.equal(after.category, before.category, `${keys.join(' ')} stays in its series`)
      const name = field ?? new Model(before).sizeField
      assert.deepEqual([after.focus, after[name]], [name, keys[1]], keys.join(' '))
    }
    // Where there is no field, the digit is ignored.
    await page.keyboard.press('Escape')
    const { category } = await seen()
    await page.evaluate(() => addEventListener('focusin', (e) => e.target.blur(), { once: true })) // something takes the focus away
    await typed(['q', '4'])
    assert.equal((await seen()).category, category)
  },

  async 'sequences of keys place what they say, and nothing else'() {
    // What the page hears is part of a failure: each key with the field that has it, and the focus after it.
    await page.evaluate(() => {
      window.heard = []
      addEventListener('keydown', (e) => queueMicrotask(() => window.heard.push(`${e.key}@${e.target.name ?? ''}>${document.activeElement.name ?? ''}`)), { capture: true })
    })
    let [orders, compared, unit] = [0, 0, '']
    const count = async () => new Set((await list('/v1/portfolio/orders?limit=200', 'orders')).map((o) => o.client_order_id))
    let known = await count()
    // news returns the orders since, oldest first, each with its series.
    const news = async () => {
      const all = await list('/v1/portfolio/orders?limit=200', 'orders')
      const fresh = all.filter((o) => o.status !== 'rejected' && !known.has(o.client_order_id)).reverse()
      known = new Set(all.map((o) => o.client_order_id))
      const rounds = await list('/v1/rounds?limit=100', 'rounds')
      return fresh.map((o) => [o, rounds.find((r) => r.market_id === o.market_id && r.generation === o.generation)?.category])
    }
    for (let i = 0; i < SEQUENCES; i++) {
      if (i % 20 === 0) {
        await trader.call('DELETE', '/v1/portfolio/orders')
        for (const key of ['Escape', 'b', 'm']) await page.keyboard.press(key)
        await test('unit').click()
        await page.getByRole('group', { name: 'Size' }).getByRole('button').first().click()
        await roomy()
      }
      await page.keyboard.press('Escape')
      const before = await seen()
      await page.evaluate(() => (window.heard = []))
      const keys = Array.from({ length: 2 + random(LONGEST - 1) }, () => one(KEYS))
      const what = `sequence ${i} (${keys.join(' ')})`
      unit = before.unit ?? unit
      const m = new Model({ ...before, unit, price: undefined })
      const sent = []
      await typed(keys.filter((key) => {
        const order = m.press(key)
        if (order) sent.push(order)
        return true
      }))
      await page.locator('form[data-stage=ready]').waitFor()
      const after = await seen()
      const heard = (await page.evaluate(() => window.heard)).join(' ')
      const same = !after.lapsed && (after.category !== before.category || after.round === before.round) // no other round began meanwhile
      assert.deepEqual([after.category, after.side, after.outcome, after.kind, after.focus], [m.category, m.side, m.outcome, m.kind, m.field ?? ''], `${what}; heard ${heard}`)
      if (m.field && same) assert.equal(Number(after[m.field]), Number(m[m.field] ?? after[m.field]), `${what}: ${m.field}`)
      compared += 1
      // The orders of the burst, and then the one that the ticket is ready for.
      let next = 0
      for (const [o, category] of await news()) {
        orders += 1
        const at = sent.findIndex((s, n) => n >= next && s.side === o.side && s.outcome === o.outcome && s.kind === o.type && s.category === category)
        assert.ok(at >= 0, `${what}: nobody asked for ${JSON.stringify(o)}`)
        matches(o, sent[at], category, what)
        next = at + 1
      }
      const [round] = await list(`/v1/rounds?category=${m.category}&limit=1`, 'rounds')
      if (round?.status !== 'trading' || Number(round.close_ts) / 1e6 - Date.now() < ENOUGH_MS || m.side === 'sell') continue
      const pressed = await eventually('the ticket is ready, or says why not', async () => {
        if ((await page.locator(READY).count()) > 0) return page.evaluate(() => (document.querySelector('.submit').click(), true))
        return (await test('verdict').getAttribute('data-blocked')) === 'true' && 'blocked'
      })
      if (pressed === 'blocked') continue
      await page.locator('form[data-stage=ready]').waitFor()
      const final = await seen()
      const [got, ...more] = await news()
      assert.equal(more.length, 0, `${what}: one press, one order`)
      if (!got) continue // a second press of the same order within a second, a moment without an offer, or a rejection
      orders += 1
      matches(got[0], { ...m, price: same ? m.price : undefined, qty: final.qty, amount: final.amount, sizeField: m.sizeField }, got[1], what)
    }
    expected(/status of 40[03]/) // a limit order that the account cannot pay is sent at once, and the venue rejects it
    await trader.call('DELETE', '/v1/portfolio/orders')
    assert.ok(orders >= SEQUENCES / 8, `only ${orders} orders in ${SEQUENCES} sequences`)
    console.log(`      ${compared} sequences, ${orders} orders`)
  },
})
