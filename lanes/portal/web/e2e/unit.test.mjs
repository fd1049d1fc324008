// Unit tests that need no browser.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { eventually } from './eventually.mjs'
import { load } from './load.mjs'

test('signatures match the test vectors', async () => {
  const { importSecret, sign } = await load('venue/sign.ts')
  const vectors = JSON.parse(readFileSync(new URL('../../../../schemas/vectors/signing.json', import.meta.url), 'utf8'))
  assert.ok(vectors.length > 3)
  for (const v of vectors) assert.equal(await sign(await importSecret(v.secret), v.timestamp, v.method, v.target, v.body), v.signature, v.name)
  await assert.rejects(importSecret('00'), /64 hex/)
})

test('the curl line signs the same bytes', async () => {
  const { asCurl } = await load('venue/copy.ts')
  const { importSecret, sign } = await load('venue/sign.ts')
  const secret = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'
  const action = { method: 'POST', target: '/v1/x?a=1&b=%2C', body: `{"it's":"$HOME \\n"}`, tool: '', args: {} }
  const line = asCurl(action, 'http://127.0.0.1:1', 'k').replace('$(date +%s%3N)', '1700000000000').replace(/curl -sS[\s\S]*$/, 'printf %s "$sig"')
  const got = execFileSync('bash', ['-c', line], { env: { ...process.env, DX_SECRET: secret }, encoding: 'utf8' })
  assert.equal(got, await sign(await importSecret(secret), '1700000000000', action.method, action.target, action.body))
})

test('the page draws once per frame, and once a second where there are no frames', async (t) => {
  const { invalidate, track } = await load('store/redraw.svelte.ts')
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const real = globalThis.requestAnimationFrame
  t.after(() => (globalThis.requestAnimationFrame = real))
  let frame
  globalThis.requestAnimationFrame = (draw) => void (frame = draw)
  const begun = track()
  invalidate()
  invalidate()
  frame()
  assert.equal(track() - begun, 1)
  t.mock.timers.tick(1000)
  assert.equal(track() - begun, 1, 'the frame came first')
  invalidate()
  t.mock.timers.tick(999)
  assert.equal(track() - begun, 1)
  t.mock.timers.tick(1)
  assert.equal(track() - begun, 2, 'no frame, as in a hidden tab')
})

// clockOf is a clock of the timers and of performance.now that only pass moves.
function clockOf(t) {
  let now = 1e6
  t.mock.method(performance, 'now', () => now)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  return async (ms) => {
    for (let i = 0; i < ms; i++) {
      now += 1
      t.mock.timers.tick(1)
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test('market data is drawn together and five times a second at most, what the user did in the next frame', async (t) => {
  const { drawPending, invalidate, touch, track } = await load('store/redraw.svelte.ts')
  const pass = clockOf(t)
  const real = globalThis.requestAnimationFrame
  t.after(() => (globalThis.requestAnimationFrame = real))
  let frame
  globalThis.requestAnimationFrame = (draw) => void (frame = draw)
  let begun = track()
  const drawn = () => track() - begun
  touch()
  frame()
  await pass(1000)
  begun = track()
  invalidate(200)
  await pass(49)
  invalidate(200)
  assert.equal(drawn(), 0, 'the rest of the burst is awaited')
  await pass(1)
  assert.equal(drawn(), 1)
  begun = track()
  for (let i = 0; i < 100; i++) {
    invalidate(200)
    await pass(10)
  }
  assert.equal(drawn(), 5, 'in a second')
  begun = track()
  for (let i = 0; i < 100; i++) {
    invalidate(1000)
    await pass(20)
  }
  assert.equal(drawn(), 2, 'in two seconds')
  await pass(1000)
  begun = track()
  invalidate(1000)
  invalidate(200)
  invalidate()
  frame()
  assert.equal(drawn(), 1, 'the frame draws what waits too')
  await pass(2000)
  assert.equal(drawn(), 1)
  invalidate(200)
  drawPending()
  drawPending()
  assert.equal(drawn(), 2)
  invalidate()
  invalidate(200)
  await pass(500)
  assert.equal(drawn(), 2, 'the frame is awaited')
  invalidate()
  await pass(500)
  assert.equal(drawn(), 3, 'no frame, as in a hidden tab')
})

test('the clock of the page steps at whole seconds, and when an order is too late for the end of a minute', async () => {
  const { stepOf } = await load('shared/time.svelte.ts')
  for (const [at, last, next] of [
    [60_000, 60_000, 61_000], [60_000.5, 60_000, 61_000], [60_999, 60_000, 61_000], [118_000, 118_000, 119_000], [119_000, 119_000, 119_300], [119_299, 119_000, 119_300],
    [119_300, 119_300, 120_000], [119_999, 119_300, 120_000], [120_000, 120_000, 121_000],
  ]) assert.deepEqual(stepOf(at), { last, next }, String(at))
})

test('a preview is requested again when what the order would meet changes, and once a second, and less often on a page that is left alone', async (t) => {
  const { OrderPreview } = await load('ticket/preview.svelte.ts')
  const { touch } = await load('store/redraw.svelte.ts')
  const { Book } = await load('store/books.ts')
  const pass = clockOf(t)
  const real = globalThis.requestAnimationFrame
  globalThis.requestAnimationFrame = () => 0
  t.after(() => (globalThis.requestAnimationFrame = real))
  await pass(60_000) // nobody has touched the page
  globalThis.window = { setTimeout: (...args) => setTimeout(...args) }
  t.after(() => {
    for (const name of ['window']) delete globalThis[name]
  })
  const book = new Book({ market_id: 1, generation: 2, yes: [[4800, 5], [4000, 7]], no: [[5000, 10], [4900, 10]] })
  const order = { client_order_id: '5', market_id: 1, generation: 2, side: 'buy', outcome: 'yes', tick: 4800, qty: 1 }
  const answers = []
  const store = { rest: { tool: (_, sent) => new Promise((resolve, reject) => answers.push({ sent, resolve: () => resolve({ as_of_seq: '1' }), reject })) }, books: new Map([[1, book]]), account: { cash: 100 } }
  const preview = new OrderPreview(store, () => ({ ...order }))
  t.after(() => preview.end())
  const change = (outcome, tick, qty, terms = 'terms') => {
    book.apply({ market_id: 1, generation: 2, changes: [{ outcome, tick, qty }] })
    preview.soon(terms, '7')
  }
  const answer = async () => {
    answers.at(-1).resolve()
    await pass(0)
  }
  preview.soon('terms', '7')
  assert.equal(preview.answered, false)
  await pass(120)
  await answer()
  assert.deepEqual([answers.length, preview.answered, preview.behind], [1, true, false])

  change('yes', 4000, 9)
  change('no', 4900, 3)
  assert.equal(preview.behind, false, 'a buy at 48 joins the bids at 48, and meets asks up to it')
  await pass(1999)
  assert.equal(answers.length, 1)
  await pass(1)
  assert.equal(answers.length, 2, 'two seconds have passed')
  await answer()

  change('yes', 4800, 6)
  assert.equal(preview.behind, true, 'it is behind more in the queue')
  await pass(1900)
  assert.deepEqual([answers.length, preview.old], [2, false], 'the page is left alone')
  touch()
  await pass(1)
  assert.equal(answers.length, 3, 'somebody is back')
  await answer()
  assert.equal(preview.behind, false)

  change('no', 5200, 2)
  assert.equal(preview.behind, true, 'it trades')
  await pass(250)
  assert.equal(answers.length, 4, 'the page is in use')
  change('no', 5200, 3)
  await answer()
  assert.equal(preview.behind, true, 'the book changed after the request')
  await pass(250)
  await answer()
  assert.deepEqual([answers.length, preview.behind], [5, false])

  order.tick = 4700
  preview.soon('other terms', '7')
  assert.equal(preview.answered, false, 'what is sent is what was previewed')
  change('no', 5300, 1, 'other terms')
  await pass(120)
  assert.deepEqual([answers.length, answers.at(-1).sent.tick], [6, 4700])
  await pass(1879) // after the answer before was requested 2 s ago
  assert.equal(preview.old, false)
  await pass(1)
  assert.equal(preview.old, true, 'the venue does not answer')
  await answer()
  assert.deepEqual([preview.answered, preview.order.tick], [true, 4700])
})

test('a shortage of cash is exact to the pip', async () => {
  const { errorOf, failureOf } = await load('shared/errors.ts')
  const { VenueError } = await load('venue/rest.ts')
  const short = new VenueError(403, 'insufficient_balance')
  assert.deepEqual(['Create agent', 'Fund', 'Return', 'Withdraw'].filter((what) => failureOf(what, short).includes('order')), [], 'these place none')
  assert.equal(failureOf('Create agent', short), 'The free cash of your account is less than the fund.')
  assert.equal(failureOf('Close', short), errorOf(short))
  assert.equal(errorOf(new VenueError(403, 'insufficient_balance'), { need: 101_301, cash: 101_300, held: 0 }), 'This needs $10.1301 with its fee. You have $10.13 free.')
})

test('a list combines a REST page with later socket messages', async () => {
  const { RecordList, keyed } = await load('store/records.ts')
  const row = (seq, n = 0) => ({ seq: String(seq), n })
  const l = new RecordList(4)
  assert.ok(l.live(row(9)))
  assert.ok(l.live(row(10)))
  l.read([row(9), row(8), row(8, 1)], '9')
  assert.deepEqual(l.rows, [row(10), row(9), row(8), row(8, 1)])
  assert.ok(!l.live(row(9)), 'the page already has it')
  assert.ok(l.live(row(11)))
  assert.deepEqual(l.rows.map((r) => r.seq), ['11', '10', '9', '8'])
  assert.deepEqual(keyed([row(11), row(8), row(8, 1)]).map((k) => k.key), ['11 0', '8 0', '8 1'])
})

test('the ladder shows what rests, how many prices between are empty, and own orders with their place', async () => {
  const { ladder, fitting } = await load('book/ladder.ts')
  const { Book } = await load('store/books.ts')
  const { Queue } = await load('store/queue.ts')
  const book = new Book({ market_id: 1, generation: 2, yes: [[500, 5], [390, 7]], no: [[9300, 3], [9100, 1]] })
  const mine = { order_id: '1', market_id: 1, generation: 2, side: 'sell', outcome: 'no', tick: 9500, remaining_qty: 2 }
  const queue = new Queue()
  const l = ladder(book, 'yes', [mine, { ...mine, generation: 1 }], queue)
  assert.deepEqual(l.bids, [{ tick: 500, qty: 5, empty: 0, mine: 2, ahead: undefined, first: mine }, { tick: 390, qty: 7, empty: 1, mine: 0, ahead: undefined, first: undefined }], 'only 4¢ lies between 5¢ and 3.9¢')
  assert.deepEqual(l.asks.map((r) => [r.tick, r.empty]), [[700, 0], [900, 1]]) // 10000 − the NO bid
  assert.equal(l.most, 7)
  queue.learn('1', 3, 5, 0)
  queue.learn('2', 1, 5, 0)
  const buy = { order_id: '2', market_id: 1, generation: 2, side: 'buy', outcome: 'yes', tick: 500, remaining_qty: 1 }
  const [top] = ladder(book, 'yes', [mine, buy], queue).bids
  assert.deepEqual([top.mine, top.ahead, top.first], [3, 1, buy], 'the place of the first of two')
  const other = ladder(book, 'no', [mine], queue)
  assert.deepEqual(other.asks.map((r) => [r.tick, r.qty, r.mine, r.ahead]), [[9500, 5, 2, 3], [9610, 7, 0, undefined]])
  for (const [room, rows] of [[0, 0], [23, 0], [24, 1], [63, 1], [64, 2], [500, 2]]) assert.equal(fitting(l.bids, room, 24, 16).length, rows, `rows in ${room} px`)
})

test('what the losing side needs decides the round, to the last unit', async () => {
  const { Prices } = await load('store/prices.ts')
  const tick = (sec, price) => ({ feed: 0, ts: `${sec}000000000`, price: String(price), fresh_source_count: 3 })
  const settled = (prices) => prices.reduce((a, b) => a + b, 0n) / BigInt(prices.length)
  const strike = 1000n
  let seed = 7
  const random = (n) => Number((seed = (seed * 16807) % 2147483647) % n)
  for (let i = 0; i < 500; i++) {
    const secs = 1 + random(30)
    const past = 1 + random(secs)
    const p = new Prices()
    const seen = Array.from({ length: past }, () => BigInt(900 + random(201)))
    seen.forEach((price, sec) => p.tick(tick(100 + sec, price)))
    const need = p.needed(100, 100 + secs, strike)
    const rest = secs - past
    if (rest === 0) {
      assert.equal(need, undefined, 'nothing is left')
      continue
    }
    const wins = (average) => (settled([...seen, ...Array.from({ length: rest }, () => average)]) > strike ? 'yes' : 'no')
    assert.equal(need.side, settled(seen) > strike ? 'no' : 'yes')
    assert.equal(wins(need.average), need.average === 0n && need.side === 'no' ? wins(0n) : need.side, `${need.side} wins at ${need.average}`)
    const short = need.side === 'no' ? need.average + 1n : need.average - 1n
    assert.notEqual(wins(short), need.side, `${need.side} does not win at ${short}`)
  }
  assert.equal(new Prices().needed(100, 110, strike), undefined, 'no price yet')
})

test('the chance of YES is what others quote: the middle, a bound, or nothing', async () => {
  const { Book } = await load('store/books.ts')
  const { percent } = await load('shared/format.ts')
  const book = new Book({ market_id: 1, generation: 2, yes: [[5200, 3], [5000, 1]], no: [[4600, 3]] })
  const own = (side, outcome, tick, qty) => ({ market_id: 1, generation: 2, side, outcome, tick, remaining_qty: qty })
  assert.deepEqual(book.chance([]), { value: 53, bound: '' })
  assert.deepEqual(book.chance([own('buy', 'yes', 5200, 2)]), { value: 53, bound: '' }, 'others are at that price too')
  assert.deepEqual(book.chance([own('buy', 'yes', 5200, 1), own('sell', 'no', 4800, 2)]), { value: 52, bound: '' })
  assert.deepEqual(book.chance([own('sell', 'yes', 5400, 3)]), { value: 52, bound: '≥' })
  assert.deepEqual(book.chance([own('buy', 'yes', 5200, 3), own('buy', 'yes', 5000, 1)]), { value: 54, bound: '≤' })
  assert.deepEqual(book.chance([{ ...own('sell', 'yes', 5400, 3), generation: 1 }]), { value: 53, bound: '' })
  const alone = new Book({ market_id: 1, generation: 2, yes: [[100, 5]], no: [[100, 5]] })
  assert.equal(alone.chance([own('buy', 'yes', 100, 5), own('sell', 'yes', 9900, 5)]), undefined)
  // The cases of dx top: halves are rounded up.
  for (const [value, text] of [[53, '53.0'], [98.4, '98.4'], [1.4, '1.4'], [47.5, '47.5'], [98.35, '98.4'], [50.25, '50.3'], [50.005, '50.0']]) assert.equal(percent(value), text)
})

test('the place in the queue is read again after its level changes, and never grows', async () => {
  const { level, Queue } = await load('store/queue.ts')
  const { Book } = await load('store/books.ts')
  const book = new Book({ market_id: 1, generation: 2, yes: [[4000, 30]], no: [[6100, 9]] })
  const change = (outcome, tick, qty) => book.apply({ market_id: 1, generation: 2, changes: [{ outcome, tick, qty }] })
  const a = { order_id: 'a', market_id: 1, generation: 2, side: 'buy', outcome: 'yes', tick: 4000, remaining_qty: 10 }
  const b = { ...a, order_id: 'b', side: 'sell', outcome: 'yes', tick: 3900, remaining_qty: 4 } // rests among the bids for NO, at 61
  assert.deepEqual([level(a, book), level(b, book)], [30, 9])
  const q = new Queue()
  assert.equal(q.ahead(a, book), undefined)
  assert.equal(q.next([a, { ...b, generation: 1 }], book, 0), a)
  q.learn('a', 20, 30, 0)
  assert.equal(q.ahead(a, book), 20)
  assert.equal(q.next([a], book, 1000), undefined, 'nothing changed')
  assert.equal(q.next([a, b], book, 1000), b, 'not known yet')
  assert.equal(q.next([a], book, 6000), a, 'it is read again in any case')
  change('yes', 4000, 15)
  assert.equal(q.ahead(a, book), 5, 'no more are ahead than others have there')
  assert.equal(q.next([a], book, 100), undefined, 'not more than four times a second')
  assert.equal(q.next([a], book, 300), a)
  q.learn('a', 5, 15, 300)
  change('yes', 4000, 40)
  assert.equal(q.ahead(a, book), 5, 'later orders are behind')
  q.learn('a', 7, 40, 600)
  assert.equal(q.ahead(a, book), 5, 'a response that was overtaken')
  q.keep(new Map([['b', b]]))
  assert.equal(q.ahead(a, book), undefined)
})

test('an order is decreased where only its quantity falls, and else replaced', async () => {
  const { Amendment } = await load('portfolio/amendment.svelte.ts')
  const { insteadOf } = await load('ticket/actions.ts')
  const o = { order_id: '5', market_id: 1, generation: 2, side: 'buy', outcome: 'no', tick: 4000, remaining_qty: 10, tif: 'gtc', flags: 0b0101, group_id: 3 }
  const a = new Amendment()
  a.begin(o)
  assert.deepEqual([a.id, a.price, a.qty, a.change(o).kind], ['5', 40, 10, 'none'])
  a.qty = 6
  assert.deepEqual(a.change(o), { kind: 'decrease', tick: 4000, qty: 6 })
  a.qty = 11
  assert.deepEqual(a.change(o), { kind: 'replace', tick: 4000, qty: 11 })
  a.qty = 6
  a.step(false)
  assert.deepEqual([a.price, a.change(o)], [39, { kind: 'replace', tick: 3900, qty: 6 }])
  const filled = { ...o, remaining_qty: 7 }
  assert.deepEqual([a.filled(filled), a.change(filled)], [3, { kind: 'replace', tick: 3900, qty: 3 }], 'it never buys more than was seen')
  assert.equal(a.fault(filled), '')
  assert.match(a.fault({ ...o, remaining_qty: 4 }), /filled meanwhile/)
  for (const [price, qty] of [[40.5, 6], [null, 6], [40, 0], [40, 1.5], [40, null], [40, 1_000_001]]) {
    Object.assign(a, { price, qty })
    assert.match(a.fault(o), /must be/, `${price} ${qty}`)
  }
  const by = insteadOf(o, 3900, 6)
  assert.match(by.client_order_id, /^\d+$/)
  assert.deepEqual({ ...by, client_order_id: '' }, { client_order_id: '', market_id: 1, generation: 2, side: 'buy', outcome: 'no', tick: 3900, qty: 6, group_id: 3, post_only: true, cancel_on_pause: true })
})

test('what became of an order is shown with its place in the queue', async () => {
  const { placed } = await load('ticket/orderResult.ts')
  const o = { side: 'buy', outcome: 'yes', tick: 4000, qty: 10 }
  const p = { order_id: '1', status: 'resting', filled_qty: 0, resting_qty: 10, fills: [] }
  assert.equal(placed(o, { ...p, queue_ahead: 1200 }).text, '10 YES to buy rest in the book at 40.0¢, behind 1,200.')
  assert.equal(placed(o, { ...p, queue_ahead: 0 }).text, '10 YES to buy rest in the book at 40.0¢, first in the queue.')
  assert.equal(placed(o, p).text, '10 YES to buy rest in the book at 40.0¢.')
})

test('the history says in sentences how an order ended', async () => {
  const { ended, recovered } = await load('ticket/orderResult.ts')
  assert.equal(ended({ status: 'executed', reason: '' }), 'executed')
  assert.equal(ended({ status: 'canceled', reason: 'user_cancel' }), 'canceled: by you')
  assert.equal(ended({ status: 'rejected', reason: 'bad_qty' }), 'rejected: The quantity must be a whole number from 1 to 1,000,000.')
  assert.equal(ended({ status: 'rejected', reason: 'insufficient_balance' }), 'rejected: Your free cash does not cover this order with its fee.')
  assert.equal(ended({ status: 'rejected', reason: 'mandate_violation' }), 'rejected: The owner’s bounds do not allow this.')
  assert.match(recovered({ status: 'rejected', reason: 'bad_qty' }).text, /^The answer was lost\. The order was rejected: The quantity must/)
})

test('index prices are truncated, and a settlement looks different from its strike', async () => {
  const { axis, coordinate, distance, price, telling } = await load('shared/format.ts')
  for (const [at, decimals, want] of [
    ['6499999999999', 2, '64,999.99'], // rounded it would look like a strike of 65000
    ['6500010000000', 2, '65,000.10'], ['6500010999999', 2, '65,000.10'], ['7800399999', 3, '78.003'], ['1', 2, '0.00'], ['1', 8, '0.00000001'],
    ['6500010000000', 0, '65,000'], ['18446744073709551615', 2, '184,467,440,737.09'],
  ]) assert.equal(price(BigInt(at), decimals), want)
  assert.equal(distance(-5_000_000n, 2), '−0.05')
  assert.equal(distance(-1n, 2), '−0.00')
  assert.equal(distance(123_456_789_000n, 2), '+1,234.56')
  assert.equal(telling(6500010400000n, 6500010000000n, 2), 3)
  assert.equal(telling(6500010000001n, 6500010000000n, 2), 8)
  assert.equal(telling(6500010000000n, 6500010000000n, 2), 2)
  assert.equal(telling(6500020000000n, 6500010000000n, 2), 2)
  for (const at of [6500010000000n, 6499999999999n, 7800399999n]) assert.equal(axis(coordinate(at), 2), price(at, 2).replaceAll(',', ''))
})

test('the mean of a window carries a price over missing seconds, for up to five', async () => {
  const { Prices } = await load('store/prices.ts')
  const p = new Prices()
  const tick = (sec, price) => p.tick({ feed: 0, price: String(price * 1e8), ts: `${sec}000000000`, fresh_source_count: 1 })
  assert.equal(p.mean(100, 110), undefined)
  tick(99, 10)
  tick(103, 20)
  tick(105, 40)
  assert.equal(p.mean(100, 110), 1833333333n) // 110 / 6, rounded down; future seconds do not count
  tick(120, 50)
  assert.equal(p.mean(104, 114), 3714285714n) // 260 / 7; 111, 112, 113 are too far from 105
  tick(104, 30) // late, and sorted into its place
  assert.deepEqual(p.points.map((x) => x.sec), [99, 103, 104, 105, 120])
})

test('histories read over REST continue without a seam into what the socket delivers', async () => {
  const { Prices } = await load('store/prices.ts')
  const { ChanceHistory } = await load('store/chanceHistory.ts')
  const row = (sec, price) => ({ ts: `${sec}000000000`, close: String(price), sources: 1 })
  const p = new Prices()
  p.tick({ feed: 0, price: '50', ts: '105000000000', fresh_source_count: 3 })
  p.read([row(104, 40), row(103, 30), row(102, 20)])
  p.tick({ feed: 0, price: '60', ts: '106000000000', fresh_source_count: 3 })
  assert.deepEqual(p.points.map((x) => [x.sec, Number(x.price)]), [[102, 20], [103, 30], [104, 40], [105, 50], [106, 60]])
  const c = new ChanceHistory()
  c.live('7', 105, 50)
  c.live('7', 105, 51)
  c.live('7', 103, 41) // there was no offer any more when the second ended
  c.read('7', [])
  assert.ok(!c.known('7'))
  c.whole('7', [{ ts: '104000000000', yes_bid: 4000, yes_ask: 4200 }, { ts: '103000000000', yes_bid: 0, yes_ask: 4200 }, { ts: '102000000000', yes_bid: 3000, yes_ask: 3100 }])
  assert.deepEqual(c.of('7'), [{ time: 102, value: 30.5 }, { time: 104, value: 41 }, { time: 105, value: 51 }])
  assert.ok(c.known('7'))
})

test('a result is computed again to the pip, and rounds down', async () => {
  const { prove } = await load('market/evidence.ts')
  const tick = (sec, price) => ({ ts: `${sec}000000000`, price: String(price), counted_secs: 0, sources: [] })
  const e = { strike: '6500000000000', boundary_ts: '110000000000', twap_window_secs: 3, covered_secs: 3, required_secs: 3, weighted_sum: '19500000000002', twap: '6500000000000', settle_price: '6500000000000', by_operator: false, winner: 'no', status: 'settled',
    ticks: [tick(109, 6500000000001), tick(108, 6500000000001), tick(107, 6500000000000)] }
  const p = prove(e)
  assert.deepEqual([p.mean, p.winner, p.matches], [6500000000000n, 'no', true], 'two thirds of a unit above the strike are not above it')
  assert.equal(prove({ ...e, winner: 'yes' }).matches, false)
  assert.equal(prove({ ...e, twap: '6500000000001' }).matches, false)
  const carried = { ...e, ticks: [tick(103, 10), tick(102, 9)], strike: '9', weighted_sum: '20', covered_secs: 2, twap: '10', settle_price: '10', winner: 'yes' }
  assert.deepEqual([prove(carried).covered, prove(carried).winner, prove(carried).matches], [2n, 'yes', true]) // 107 and 108; 109 is 6 s later
  assert.deepEqual([...prove(carried).counts], [['103000000000', 2]])
})

test('the ticket produces valid orders', async () => {
  const { Draft, onGrid } = await load('ticket/draft.svelte.ts')
  for (const [cents, fine] of [[1, true], [0.9, false], [3.9, true], [3.95, false], [4, true], [4.1, false], [96, true], [96.1, true], [99.9, true], [100, false], [null, false]]) assert.equal(onGrid(cents), fine, String(cents))
  const round = { market_id: 3, generation: 7 }
  const terms = { qty: 10, worst: 0, cap: 0 }
  const d = new Draft()
  assert.deepEqual([d.kind, d.unit, d.amount], ['market', 'dollars', 10], 'a newcomer buys for ten dollars at once')
  d.kind = 'limit'
  d.unit = 'contracts'
  d.price = 47
  d.id = '5'
  assert.equal(d.wrong(terms), '')
  assert.deepEqual(d.order(round, 0, terms), { client_order_id: '5', market_id: 3, generation: 7, side: 'buy', outcome: 'yes', qty: 10, tick: 4700 })
  d.tif = 'gtt'
  d.seconds = 2
  d.postOnly = true
  assert.deepEqual(d.order(round, 1000, terms), { client_order_id: '5', market_id: 3, generation: 7, side: 'buy', outcome: 'yes', qty: 10, tick: 4700, tif: 'gtt', expiry_ts: '3000000000', post_only: true })
  d.kind = 'market'
  assert.match(d.wrong(terms), /Nobody offers YES/)
  assert.deepEqual(d.order(round, 1000, { qty: 10, worst: 5200, cap: 52625 }), { client_order_id: '5', market_id: 3, generation: 7, side: 'buy', outcome: 'yes', qty: 10, type: 'market', worst_tick: 5200, max_cost: '52625' })
  d.side = 'sell'
  d.reduceOnly = true
  assert.deepEqual(d.order(round, 1000, { qty: 10, worst: 1234, cap: 0 }), { client_order_id: '5', market_id: 3, generation: 7, side: 'sell', outcome: 'yes', qty: 10, type: 'market', worst_tick: 1234, reduce_only: true })
  assert.match(d.wrong({ qty: 1.5, worst: 1, cap: 0 }), /Quantity/)
})

test('a price typed for one round is cleared in the next, a proposed one is not missed', async () => {
  const { Draft } = await load('ticket/draft.svelte.ts')
  const d = new Draft()
  d.kind = 'limit'
  d.unit = 'contracts'
  assert.equal(d.entered(1, '1'), false)
  assert.equal(d.propose(47), true)
  assert.equal(d.price, 47)
  assert.equal(d.propose(47), false)
  d.propose(48)
  assert.equal(d.price, 48, 'a proposal follows the book')
  d.propose(null)
  assert.match(d.wrong({ qty: 1, worst: 0, cap: 0 }), /Nobody bids for YES/)
  assert.equal(d.follows, 'bid')
  d.tif = 'ioc'
  assert.equal(d.follows, 'ask', 'a buy that does not wait meets the ask')
  assert.match(d.wrong({ qty: 1, worst: 0, cap: 0 }), /Nobody offers YES/)
  d.side = 'sell'
  assert.equal(d.follows, 'bid')
  d.tif = 'gtc'
  assert.equal(d.follows, 'ask')
  d.side = 'buy'
  assert.equal(d.entered(1, '2'), true, 'a new round')
  assert.deepEqual([d.price, d.lapsed], [null, false])
  d.propose(30)
  assert.equal(d.price, 30)
  d.choose(31)
  d.entered(1, '2')
  assert.equal(d.price, 31)
  d.entered(1, '3')
  assert.deepEqual([d.price, d.lapsed], [null, true])
  assert.match(d.wrong({ qty: 1, worst: 0, cap: 0 }), /new round/)
  d.propose(50)
  assert.equal(d.price, null, 'the user chooses again')
  d.choose(50)
  assert.equal(d.wrong({ qty: 1, worst: 0, cap: 0 }), '')
  assert.equal(d.entered(2, '9'), false)
  assert.deepEqual([d.price, d.lapsed], [null, false], 'another series')
  d.choose(51)
  assert.equal(d.entered(3, undefined), false)
  assert.deepEqual([d.price, d.lapsed], [null, false], 'a series without a round')
  d.choose(52)
  d.entered(3, undefined)
  assert.equal(d.price, 52)
  assert.equal(d.entered(3, '10'), true, 'its first round')
  assert.deepEqual([d.price, d.lapsed], [null, true])
  d.entered(2, '9')
  d.choose(53)
  d.entered(3, undefined)
  d.entered(2, '9')
  assert.deepEqual([d.price, d.lapsed], [null, false], 'the same round, after a series without one')
})

test('terms of market orders and of amounts follow the book, the cash and the fee', async () => {
  const { affordable, breakEven, eachCosts, feeOf, termsOf } = await load('ticket/pricing.ts')
  const { cents } = await load('shared/format.ts')
  const { Book } = await load('store/books.ts')
  assert.equal(feeOf(250, 10, 5000), 625)
  assert.equal(feeOf(250, 1, 5001), 63) // 62.49… rounded up
  assert.equal(feeOf(10000, 1_000_000, 5000), 2_500_000_000)
  assert.equal(eachCosts(250, 5000), 5063)
  const book = new Book({ market_id: 1, generation: 1, yes: [[4800, 5]], no: [[5000, 10], [4900, 10], [4000, 100]] })
  // asks of YES: 10 at 5000, 10 at 5100, 100 at 6000
  assert.equal(affordable(book, 'yes', 5000, 1e9, 250), 10)
  assert.equal(affordable(book, 'yes', 9999, 50_000 + 625, 250), 10)
  assert.equal(affordable(book, 'yes', 9999, 50_000 + 624, 250), 9)
  assert.equal(affordable(book, 'yes', 5100, 1e9, 250), 20)
  const input = { side: 'buy', outcome: 'yes', market: true, tick: 0, slip: 200, qty: 10, amount: 0 }
  assert.deepEqual(termsOf(input, book, 1e9, 250), { qty: 10, worst: 5200, cap: 52_630 })
  assert.deepEqual(termsOf(input, book, 30_000, 250), { qty: 10, worst: 5200, cap: 30_000 })
  assert.deepEqual(termsOf({ ...input, amount: 50_625 }, book, 1e9, 250), { qty: 10, worst: 5200, cap: 50_625 })
  assert.deepEqual(termsOf({ ...input, side: 'sell' }, book, 0, 250), { qty: 10, worst: 4600, cap: 0 })
  assert.equal(termsOf(input, undefined, 1e9, 250).worst, 0)
  assert.deepEqual(termsOf({ ...input, market: false, tick: 5000, amount: 50_630 }, book, 1e9, 250), { qty: 10, worst: 0, cap: 0 })
  for (const [qty, cost, shown] of [[10, 50_625, '51.3'], [3, 15_000, '50.7']]) {
    assert.equal(cents(breakEven(250, qty, cost)), shown)
    const returned = (pips) => qty * pips - feeOf(250, qty, pips)
    assert.ok(returned(shown * 100) >= cost && returned(shown * 100 - 10) < cost, shown)
  }
  assert.equal(breakEven(250, 1, 10_000), 0)
})

test('presets are valid mandates in pips', async () => {
  const { mandateFault, mandateOf, presets } = await load('agents/mandate.ts')
  const now = 1_700_000_000_000.5
  const want = {
    careful: { expires_ts: '1700086400001000000', price_collar: 300, max_order_cost: '20000', max_open_cost: '100000', max_daily_loss: '100000' },
    normal: { expires_ts: '1700604800001000000', price_collar: 500, max_order_cost: '100000', max_open_cost: '500000', max_daily_loss: '500000' },
    loose: { expires_ts: '1702592000001000000', price_collar: 1000, max_order_cost: '500000', max_open_cost: '2500000', max_daily_loss: '2500000' },
  }
  for (const [name, bounds] of Object.entries(presets)) {
    assert.deepEqual(mandateOf(bounds, now), want[name])
    assert.equal(mandateFault(mandateOf(bounds, now), now), undefined)
  }
  assert.deepEqual(mandateOf({ orderCost: null, openCost: 0, dailyLoss: null, collar: null, askAbove: 7.5, hours: null }, now), { max_open_cost: '0', ask_above: '75000' })
})

test('new bounds keep what they do not name', async () => {
  const { boundsOf, changed } = await load('agents/mandate.ts')
  const m = { categories: [1], max_order_cost: '20000', max_open_cost: '50000', price_collar: 300, expires_ts: '9000000000' }
  assert.deepEqual(boundsOf(m), { orderCost: 2, openCost: 5, dailyLoss: null, collar: 3, askAbove: null, hours: null })
  assert.deepEqual(changed(m, boundsOf(m), 0), m)
  assert.deepEqual(changed(m, { ...boundsOf(m), orderCost: 3, openCost: null, hours: 1 }, 0), { categories: [1], max_order_cost: '30000', price_collar: 300, expires_ts: '3600000000000' })
})

test('a file has money in dollars, no thousands separators and no formula', async () => {
  const { fillsCsv, ledgerCsv, ordersCsv, roundsCsv } = await load('portfolio/csv.ts')
  const name = () => 'BTC 60 s'
  const row = { n: '2', ts: '1700000000123456789', kind: 'fill', amount: '-12345', balance_after: '99', category: 1, round_number: '7', order_id: '5' }
  const deposit = { n: '1', ts: row.ts, kind: 'deposit', amount: '123456789012', balance_after: '100', ref: 'a,"b"' }
  assert.equal(ledgerCsv([row, deposit], name), ['n,time_utc,kind,amount_usd,balance_after_usd,series,round,order_id,reference',
    '2,2023-11-14T22:13:20.123Z,fill,-1.2345,0.0099,BTC 60 s,7,5,', '1,2023-11-14T22:13:20.123Z,deposit,12345678.9012,0.0100,,,,"a,""b"""', ''].join('\r\n'))
  for (const ref of ['=cmd|calc!A1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1']) { // no formula in a spreadsheet, and a loss keeps its sign
    const cell = ref.includes('\r') ? `"'${ref}"` : `'${ref}`
    assert.equal(ledgerCsv([{ ...row, ref }], name).split('\r\n')[1], `2,2023-11-14T22:13:20.123Z,fill,-1.2345,0.0099,BTC 60 s,7,5,${cell}`)
  }
  const fill = { n: '3', ts: row.ts, category: 1, round_number: '1234', side: 'buy', outcome: 'no', tick_yes: 4700, qty: 12345, fee: '625', role: 'taker', path: 'mint', order_id: '8', client_order_id: '9' }
  assert.equal(fillsCsv([fill], () => '=1').split('\r\n')[1], "3,2023-11-14T22:13:20.123Z,'=1,1234,buy,no,0.5300,12345,0.0625,taker,mint,8,9")
  const order = { created_ts: row.ts, side: 'sell', outcome: 'yes', type: 'limit', tick: 9990, qty: 1000000, filled_qty: 0, tif: 'gtc', status: 'rejected', reason: 'insufficient_contracts', order_id: null, client_order_id: '9' }
  assert.equal(ordersCsv([order], name).split('\r\n')[1], '2023-11-14T22:13:20.123Z,BTC 60 s,sell,yes,limit,0.9990,1000000,0,gtc,rejected,insufficient_contracts,,9')
  const round = { round_number: '7', category: 1, status: 'settled', winner: 'no', bought_yes: 1500, bought_no: 0, sold_yes: 0, sold_no: 0, redeemed: 0, paid: '7050000', received: '0', payout: '0', fees: '1', profit: '-7050001' }
  assert.equal(roundsCsv([round, { ...round, winner: null, profit: null }], name), `${roundsCsv([], name)}7,BTC 60 s,settled,no,1500,0,0,0,0,705.0000,0.0000,0.0000,0.0001,-705.0001\r\n7,BTC 60 s,settled,,1500,0,0,0,0,705.0000,0.0000,0.0000,0.0001,\r\n`)
})

// An account with a deposit, a round that was lost, one that was sold, one that is open and a rebate in it.
const HOUR = 3600
const ledgerAt = (n, hours, kind, amount, balance_after, round_number) => ({ n: String(n), ts: `${hours * HOUR}000000000`, kind, amount: String(amount), balance_after: String(balance_after), round_number })
const LEDGER = [
  ledgerAt(7, 51, 'rebate', 5, 935, '3'), ledgerAt(6, 50, 'fill', -100, 930, '3'), ledgerAt(5, 49, 'fill', 80, 1030, '2'), ledgerAt(4, 48, 'fill', -50, 950, '2'),
  ledgerAt(3, 1, 'fee', -1, 1000, '1'), ledgerAt(2, 1, 'fill', -40, 1001, '1'), ledgerAt(1, 0, 'deposit', 1041, 1041),
]
const ROUNDS = [{ round_number: '3', category: 1, profit: null }, { round_number: '2', category: 1, profit: '30' }, { round_number: '1', category: 2, profit: '-41' }]
const SETTLED = [{ round_number: '1', ts: `${2 * HOUR}000000000` }]

test('the equity is that of the ledger after each round, with open positions at their cost', async () => {
  const { equityOf } = await load('portfolio/performance.ts')
  const moments = equityOf(LEDGER, ROUNDS, SETTLED)
  assert.deepEqual(moments.map((m) => [m.at / HOUR / 1000, m.equity, ...m.rounds.map((r) => r.round_number)]), [[0, 1041], [2, 1000, '1'], [49, 1030, '2'], [51, 1035]])
  // Rounds that end together are one moment: what is between them was never the equity.
  const together = equityOf(LEDGER, ROUNDS, [{ round_number: '1', ts: `${49 * HOUR - 1}900000000` }])
  assert.deepEqual(together.map((m) => m.moved), [1041, 0, 0])
  assert.deepEqual(together.map((m) => [m.equity, ...m.rounds.map((r) => r.round_number)]), [[1041], [1030, '1', '2'], [1035]])
  assert.deepEqual(equityOf([], [], []), [])
  // A round that became final without a row of its own counts from its last fill on.
  const lost = equityOf(LEDGER, [{ ...ROUNDS[0], profit: '-100' }, ...ROUNDS.slice(1)], SETTLED)
  assert.deepEqual(lost.map((m) => m.equity), [1041, 1000, 1030, 930, 935])
})

test('bars a day have the profit and the number of the rounds that ended on it', async () => {
  const { daysOf } = await load('portfolio/performance.ts')
  assert.deepEqual(daysOf(LEDGER, ROUNDS, SETTLED, 52 * HOUR * 1000, 14), [{ day: '1970-01-01', profit: -41, rounds: 1 }, { day: '1970-01-02', profit: 0, rounds: 0 }, { day: '1970-01-03', profit: 30, rounds: 1 }])
  assert.deepEqual(daysOf(LEDGER, ROUNDS, [{ round_number: '1', ts: `${25 * HOUR}000000000` }], 52 * HOUR * 1000, 2).map((d) => d.profit), [-41, 30])
  assert.deepEqual(daysOf(LEDGER, ROUNDS.slice(0, 1), SETTLED, 52 * HOUR * 1000, 14), [])
})

test('profit by series, and the best and the worst round', async () => {
  const { bySeries, extremes } = await load('portfolio/performance.ts')
  const more = [...ROUNDS, { round_number: '0', category: 1, profit: '-5' }]
  assert.deepEqual(bySeries(more), [{ category: 1, profit: 25, rounds: 2, won: 1 }, { category: 2, profit: -41, rounds: 1, won: 0 }])
  assert.deepEqual([extremes(more).best.round_number, extremes(more).worst.round_number], ['2', '1'])
  assert.equal(extremes(ROUNDS.slice(0, 1)), undefined)
})

test('the days of a list begin at midnight in UTC', async () => {
  const { since } = await load('portfolio/portfolioData.svelte.ts')
  const now = Date.parse('2023-11-14T22:13:20.123Z')
  assert.deepEqual(['today', 'week', 'all'].map((w) => since(w, now)), [`${Date.parse('2023-11-14')}000000`, `${Date.parse('2023-11-08')}000000`, '0'])
})

test('a list pages on by cursor, reads again what it shows, and finds the rows of a filter', async () => {
  const { Listing, PAGE } = await load('portfolio/listing.svelte.ts')
  let all = Array.from({ length: 2500 }, (_, i) => 2500 - i)
  const sent = []
  const rest = {
    async get(target) {
      sent.push(target)
      const q = new URLSearchParams(target.split('?')[1])
      const [at, limit] = [Number(q.get('cursor') ?? 0), Number(q.get('limit'))]
      return { rows: all.slice(at, at + limit), cursor: at + limit < all.length ? String(at + limit) : '' }
    },
  }
  let every = 0 // one row in so many is shown
  const list = new Listing(rest, { field: 'rows', target: () => '/x?', keeps: () => (every ? (n) => n % every === 0 : undefined) })
  await list.choose('7')
  assert.deepEqual([list.shown.length, list.more, sent], [PAGE, true, ['/x?limit=100&min_seq=7']])
  await list.next()
  assert.deepEqual(list.shown, all.slice(0, 2 * PAGE))
  await list.refresh('7')
  assert.equal(sent.length, 2, 'it shows that state already')
  all = [2501, ...all]
  await list.refresh('8')
  assert.deepEqual(list.shown, all.slice(0, 2 * PAGE))
  assert.deepEqual(await list.whole(), all)
  every = 20
  await list.choose('8')
  assert.deepEqual([list.shown.length, list.more], [PAGE, true])
  await list.next()
  assert.deepEqual([list.shown, list.more], [all.filter((n) => n % 20 === 0), false])
  every = 10_000
  await list.choose('8')
  assert.deepEqual([list.shown, list.more, list.known], [[], false, true])
})

test('a series without a round waits for the next period', async () => {
  const { allSeries, wait } = await load('store/series.ts')
  const [minute, five] = allSeries
  assert.equal(wait(minute, 61_000), 59_000)
  assert.equal(wait(five, 240_000), 0) // a late opening, any moment
  assert.equal(wait(five, 240_001), 59_999)
})

test('the bounds of an agent in short', async () => {
  const { terms } = await load('agents/mandate.ts')
  const all = {
    expires_ts: '7200000000000', reduce_only: true, categories: [1, 9], price_collar: 250, max_order_qty: 1500, max_market_cost: '70000', max_order_cost: '20000', ask_above: '75000',
    max_open_orders: 1, max_orders_per_day: 2, max_open_cost: '3', max_daily_loss: '4', // limits has these, and three of the others
  }
  assert.deepEqual(terms(all, 0), ['$7.00 a market', '1,500 contracts an order', 'BTC 60 s, WTI 15 min', 'reduce-only', 'expires in 2 h'])
  assert.deepEqual(terms({ reduce_only: false, max_open_cost: '3' }, 0), [])
  assert.deepEqual(terms({ expires_ts: '0' }, 1), ['expired 1970-01-01 00:00'])
})

test('a bad mandate is found before it is sent, with its field', async () => {
  const { agentFault, mandateFault, mandateOf, presets } = await load('agents/mandate.ts')
  const now = 1000
  for (const good of [
    {}, { reduce_only: false }, { max_order_cost: '0' }, { max_order_cost: '18446744073709551615' }, { price_collar: 0 }, { price_collar: 9998 },
    { max_order_qty: 1_000_000 }, { max_open_orders: 0 }, { max_orders_per_day: 4294967295 }, { categories: [9, 1] }, { expires_ts: '1000000001' }, { ask_above: '0' },
  ]) assert.equal(mandateFault(good, now), undefined, JSON.stringify(good))
  for (const bad of [
    { max_cost: '1' }, { toString: 1 }, { max_order_cost: 5 }, { max_order_cost: '-1' }, { max_order_cost: '1.5' }, { max_order_cost: '18446744073709551616' }, { max_open_cost: 'NaN' },
    { max_daily_loss: null }, { max_market_cost: '' }, { price_collar: 9999 }, { price_collar: -1 }, { price_collar: 0.5 }, { price_collar: '300' }, { max_order_qty: 0 }, { max_order_qty: 1_000_001 },
    { max_open_orders: 4294967296 }, { max_orders_per_day: -1 }, { categories: [] }, { categories: [0] }, { categories: [10] }, { categories: [1, 1] }, { categories: 1 },
    { reduce_only: 1 }, { ask_above: 5 }, { expires_ts: '1000000000' }, { expires_ts: 2000000000 },
  ]) assert.equal(mandateFault(bad, now)?.field, Object.keys(bad)[0], JSON.stringify(bad))
  const careful = mandateOf(presets.careful, now)
  assert.equal(agentFault('btc-1', 50, careful, now), undefined)
  assert.equal(agentFault('btc-1', null, careful, now), undefined)
  for (const name of ['', '-a', 'A', 'a b', 'é', 'a'.repeat(33)]) assert.equal(agentFault(name, 50, careful, now)?.field, 'name')
  assert.equal(agentFault('a', -1, careful, now)?.field, 'fund')
  for (const fund of [0, 0.0001, 0.07, 50.1234, 123456.7891]) assert.equal(agentFault('a', fund, careful, now), undefined, String(fund))
  for (const fund of [0.00001, 1e-9, 50.12345]) assert.deepEqual(agentFault('a', fund, careful, now), { field: 'fund', must: 'be $0 or more, with at most four decimals' }, String(fund))
  for (const [key, value, field] of [['orderCost', -1, 'max_order_cost'], ['openCost', -1, 'max_open_cost'], ['dailyLoss', 1e30, 'max_daily_loss'], ['orderCost', 0.00001, 'max_order_cost'], ['askAbove', 1.00005, 'ask_above'], ['collar', 3.001, 'price_collar'], ['collar', 100, 'price_collar'], ['askAbove', -1, 'ask_above'], ['hours', 0, 'expires_ts'], ['hours', -1, 'expires_ts']]) {
    assert.equal(mandateFault(mandateOf({ ...presets.careful, [key]: value }, now), now)?.field, field)
  }
})

test('the bounds that are set are listed as in the form, with what is used and what is left', async () => {
  const { limits } = await load('agents/mandate.ts')
  const usage = { open_cost: '30000', loss_today: '5000', orders_today: 1007, open_orders: 2 }
  const of = (mandate, headroom) => limits({ usage, headroom }, mandate)
  assert.deepEqual(of({}, {}), [])
  assert.deepEqual(of({ expires_ts: '1', categories: [1], max_market_cost: '5', reduce_only: true }, {}), [], 'terms has these')
  const all = of(
    { max_open_orders: 0, max_orders_per_day: 2000, ask_above: '50000', price_collar: 250, max_daily_loss: '100000', max_open_cost: '50000', max_order_cost: '0' },
    { max_open_orders: 0, max_orders_per_day: 993, max_daily_loss: '65000', max_open_cost: '20000' },
  )
  assert.deepEqual(all.map((l) => [l.rule, l.name, l.value]), [
    ['max_order_cost', 'Cost of an order', '$0.00'],
    ['max_open_cost', 'Open cost', '$3.00 of $5.00 used'],
    ['max_daily_loss', 'Daily loss', '$3.50 of $10.00 used'],
    ['price_collar', 'Price collar', '2.5¢'],
    ['ask_above', 'At stake in a round unasked', '$5.00'],
    ['max_orders_per_day', 'Orders today', '1,007 of 2,000 used'],
    ['max_open_orders', 'Open orders', '2 of 0 used'],
  ])
  assert.ok(all.every((l) => l.says))
  assert.deepEqual(all.flatMap((l) => (l.gauge ? [[l.gauge.used, l.gauge.limit, l.gauge.left, l.gauge.money]] : [])), [[30000, 50000, 20000, true], [35000, 100000, 65000, true], [1007, 2000, 993, false], [2, 0, 0, false]])
  // A bound that is newer than the list has no headroom there yet.
  assert.deepEqual(of({ max_open_cost: '70000', max_open_orders: 1 }, {}).map((l) => l.gauge.left), [40000, 0])
})

test('an amount to move is above nothing and whole pips', async () => {
  const { moneyFault } = await load('agents/mandate.ts')
  for (const good of [0.0001, 5, 12.5]) assert.equal(moneyFault(good), undefined, String(good))
  for (const bad of [null, 0, -1, 0.00001, 5.00001]) assert.match(moneyFault(bad), /above \$0/, String(bad))
})

test('what an agent did is said in words, with why it was refused', async () => {
  const { done } = await load('agents/activity.ts')
  const said = (operation, more) => {
    const { text, what, why } = done({ operation, api_key: 'k', code: '', ...more })
    return [text, what, why].filter(Boolean).join(': ')
  }
  assert.equal(said('place_order'), 'Placed an order')
  assert.equal(said('place_order', { approval_id: '3' }), 'Asked you to approve an order')
  assert.equal(said('place_order', { approval_id: '3', code: 'approval_limit' }), 'Could not place an order: twenty orders of this agent wait for its owner already. Cancel one of them, or wait for a decision.')
  assert.equal(said('place_order', { code: 'mandate_violation', rule: 'max_order_cost' }), 'Could not place an order: the order costs too much.')
  assert.equal(said('place_order', { code: 'mandate_violation', rule: 'halted' }), 'Could not place an order: the agent is stopped.')
  assert.equal(said('put_quotes', { code: 'mandate_violation', rule: 'max_new_rule' }), 'Could not quote both sides: max new rule.')
  assert.equal(said('place_order', { code: 'insufficient_balance' }), 'Could not place an order: the free cash of the agent does not cover it.')
  assert.equal(said('redeem_pairs', { code: 'new_code' }), 'Could not redeem pairs: new code.')
  assert.equal(said('halt_agent', { api_key: null }), 'You halted it')
  assert.equal(said('approve_order', { api_key: null, approval_id: '3' }), 'You approved an order')
  assert.equal(said('transfer', { api_key: null, code: 'insufficient_balance' }), 'You could not move money: there was not enough free cash.')
  assert.equal(said('new_tool'), 'Did new tool')
  const order = { market_id: 3, generation: 9, category: 1, side: 'buy', outcome: 'yes', type: 'limit', tick: 5500, qty: 1500, filled_qty: 0, status: 'resting' }
  assert.equal(said('place_order', { order }), 'Placed an order: buy 1,500 YES at 55¢ or less, BTC 60 s; rests')
  assert.equal(said('place_order', { order: { ...order, filled_qty: 1500, status: 'executed' } }), 'Placed an order: buy 1,500 YES at 55¢ or less, BTC 60 s; filled')
  assert.equal(said('place_order', { order: { ...order, side: 'sell', category: undefined, filled_qty: 2, status: 'canceled' } }), 'Placed an order: sell 1,500 YES at 55¢ or more; 2 of 1,500 filled')
  assert.equal(said('place_order', { code: 'mandate_violation', rule: 'max_order_cost', order: { ...order, status: 'rejected', reason: 'mandate_violation' } }), 'Could not place an order: buy 1,500 YES at 55¢ or less, BTC 60 s: the order costs too much.')
  assert.equal(said('approve_order', { api_key: null, approval_id: '3', order: { ...order, status: 'refused', reason: 'insufficient_balance' } }), 'You approved an order: buy 1,500 YES at 55¢ or less, BTC 60 s; not placed: the free cash of the agent does not cover it.')
  assert.equal(said('transfer', { api_key: null, amount: '-70000' }), 'You moved money: $7.00 back to you')
  assert.equal(said('create_agent', { api_key: null, amount: '2500000' }), 'You created the agent: $250.00 to the agent')
})

test('each operation of the activity has words', async () => {
  const { done } = await load('agents/activity.ts')
  const names = readFileSync(new URL('../../../../core/view/activity.go', import.meta.url), 'utf8').match(/operationNames = \[operations\]string\{([^}]+)\}/)[1].match(/[a-z_]+/g)
  assert.ok(names.length > 20)
  for (const operation of names) assert.ok(!/^Did /.test(done({ operation, api_key: 'k', code: '' }).text), operation)
})

// storeOf is a store whose venue answers by answers, one after the other: an error to throw, or a
// response. It keeps the requests, but for those about approvals, which are waiting.
function storeOf(VenueError, answers, waiting = []) {
  const sent = []
  const limited = () => new VenueError(429, 'rate_limited', { error: { code: 'rate_limited', details: { retry_after_ms: '2' } } })
  const call = async (method, target, body) => {
    if (target.startsWith('/v1/portfolio/approvals')) return { approvals: waiting }
    sent.push({ method, target, ...(body ? JSON.parse(body) : {}) })
    const answer = answers.shift()
    if (answer === 'limited') throw limited()
    if (answer instanceof Error) throw answer
    return answer
  }
  return { sent, store: { rest: { call, get: (target) => call('GET', target) }, queue: { learn() {} }, books: new Map(), account: { open: new Map(), cash: 0 } } }
}

test('a close is tried again after a rate limit and after a lost answer, and sells once', async () => {
  const { VenueError } = await load('venue/rest.ts')
  const { closeLimit, closeOut } = await load('ticket/actions.ts')
  const { pendingOf } = await load('ticket/pending.svelte.ts')
  const sold = { status: 'executed', filled_qty: 6, resting_qty: 0, fills: [{ qty: 6, tick_yes: 5000 }] }
  const { store, sent } = storeOf(VenueError, ['limited', {}, 'limited', 'limited', new TypeError('lost'), { orders: [] }, sold])
  store.books.set(1, { generation: 2, best: () => 5000 })
  const position = { market_id: 1, generation: 2, yes_qty: 10, yes_reserved: 0, no_qty: 4, no_reserved: 0 }
  const redeemed = []
  assert.deepEqual(await closeOut(store, pendingOf(store).submit, position, (o) => closeLimit(store, position, o), (pairs) => redeemed.push(pairs)), [])
  assert.deepEqual(redeemed, [4])
  const redeems = sent.filter((r) => r.target.endsWith('/redeem'))
  assert.deepEqual(redeems.map((r) => r.qty), [4, 4], 'pairs are redeemed again after a rate limit')
  const sells = sent.filter((r) => r.target === '/v1/portfolio/orders')
  assert.equal(sells.length, 4)
  assert.equal(new Set(sells.map((r) => r.client_order_id)).size, 1, 'one id, so that it sells once')
  assert.deepEqual([sells[0].side, sells[0].qty, sells[0].worst_tick], ['sell', 6, 4800])
  assert.equal(sent[5].target, `/v1/portfolio/orders?client_order_id=${sells[0].client_order_id}`, 'it asks before it sends again')
})

test('a close says what it could not sell', async () => {
  const { VenueError } = await load('venue/rest.ts')
  const { closeLimit, closeOut } = await load('ticket/actions.ts')
  const { pendingOf } = await load('ticket/pending.svelte.ts')
  const part = { status: 'canceled', reason: 'no_liquidity', filled_qty: 2, resting_qty: 0, fills: [{ qty: 2, tick_yes: 5000 }] }
  const { store } = storeOf(VenueError, [part])
  store.books.set(1, { generation: 2, best: (outcome) => (outcome === 'yes' ? 5000 : 0) })
  const held = { market_id: 1, generation: 2, yes_qty: 5, yes_reserved: 0, no_qty: 0, no_reserved: 0 }
  const limit = (outcome) => closeLimit(store, held, outcome)
  assert.deepEqual(await closeOut(store, pendingOf(store).submit, held, limit), ['3 YES found no buyer at 48.0¢ or more'])
  assert.deepEqual(await closeOut(store, pendingOf(store).submit, { ...held, yes_qty: 0, no_qty: 5 }, limit), ['nobody bids for NO now'])
})

// settled sends an order to a venue that answers by answers, and returns what became of it with the requests.
// If it is late, every look at the clock is ten seconds after the one before.
async function settled(answers, late = false, waiting = []) {
  const { VenueError } = await load('venue/rest.ts')
  const { Submission } = await load('ticket/submission.svelte.ts')
  const { store, sent } = storeOf(VenueError, answers, waiting)
  const submission = new Submission(store)
  const real = performance.now
  let now = 0
  if (late) performance.now = () => (now += 10_000)
  try {
    await submission.send({ client_order_id: '7', market_id: 1, side: 'buy', outcome: 'yes', tick: 4000, qty: 10 }, (e) => `rejected: ${e.code}`)
  } finally {
    performance.now = real
  }
  return { text: submission.result.text, sent: sent.map((r) => `${r.method} ${r.target.replace('/v1/portfolio/orders', '')}`) }
}

const rested = { status: 'resting', qty: 10, filled_qty: 0, remaining_qty: 10, tick: 4000 }

test('nothing was placed once the venue has no order behind a cancel', async () => {
  const { VenueError } = await load('venue/rest.ts')
  const timeout = new VenueError(504, 'sequencing_timeout')
  const none = { orders: [] }
  const never = await settled([timeout, none, new TypeError('lost'), none, new VenueError(404, 'unknown_order'), none], true)
  assert.equal(never.text, 'It did not reach the venue. Nothing was placed.')
  assert.deepEqual(never.sent, ['POST ', 'GET ?client_order_id=7', 'DELETE /by-client-order-id/7', 'GET ?client_order_id=7', 'DELETE /by-client-order-id/7', 'GET ?client_order_id=7'])
  const after = await settled([timeout, none, {}, { orders: [{ ...rested, status: 'canceled', reason: 'user_cancel', remaining_qty: 0 }] }], true)
  assert.equal(after.text, 'The answer was lost, but your order arrived once: canceled: by you.')
})

test('an order that waits for its owner is not placed, not failed, and not sent again after a lost answer', async () => {
  const waiting = { status: 'waiting', approval_id: '9', client_order_id: '7', cost: '123400', expires_ts: '1700000000000000000', reason: '' }
  const says = 'Not placed yet: it waits for the owner until 22:13:20 UTC. Nothing is reserved.'
  assert.deepEqual(await settled([waiting]), { text: says, sent: ['POST '] })
  const none = { orders: [] }
  const lost = [new TypeError('lost'), none]
  assert.deepEqual(await settled([...lost], false, [{ ...waiting, client_order_id: '8' }, waiting]), { text: says, sent: ['POST ', 'GET ?client_order_id=7'] })
  const over = await settled([...lost], false, [{ ...waiting, status: 'canceled', reason: 'halted' }])
  assert.equal(over.text, 'The answer was lost. The order waited for the owner and was not placed: the agent was stopped.')
  const placed = await settled([...lost, new TypeError('lost'), { orders: [rested] }], false, [{ ...waiting, status: 'placed', order_id: '10' }])
  assert.equal(placed.text, 'The answer was lost, but your order arrived once: 10 rest in the book at 40.0¢.')
})

test('a rejected repeat settles an order only if the core rejected it', async () => {
  const { VenueError } = await load('venue/rest.ts')
  const none = { orders: [] }
  const rejection = (status, code, origin) => new VenueError(status, code, { error: { code, origin } })
  const open = await settled([new TypeError('lost'), none, rejection(429, 'rate_limited', 'gateway'), { orders: [rested] }])
  assert.equal(open.text, 'The answer was lost, but your order arrived once: 10 rest in the book at 40.0¢.')
  const late = await settled([new TypeError('lost'), none, rejection(409, 'market_paused', 'core')])
  assert.equal(late.text, 'rejected: market_paused')
})

test('an order is not asked for again with a key that was revoked', async () => {
  const { VenueError } = await load('venue/rest.ts')
  const { text, sent } = await settled([new TypeError('lost'), new VenueError(401, 'unauthorized')])
  assert.match(text, /whether the order was placed is not known/)
  assert.deepEqual(sent, ['POST ', 'GET ?client_order_id=7'])
})

test('an undo puts back only what the cancel took', async () => {
  const { VenueError } = await load('venue/rest.ts')
  const { cancelWithUndo } = await load('ticket/actions.ts')
  const { notices } = await load('shared/notices.svelte.ts')
  const { pendingOf } = await load('ticket/pending.svelte.ts')
  const order = (id) => ({ order_id: id, market_id: 1, generation: 2, side: 'buy', outcome: 'yes', tick: 4000, qty: 10, tif: 'gtc', flags: 0, group_id: 0, status: 'partially_filled', filled_qty: 1, remaining_qty: 6 })
  const ended = (id, seq, status, filled_qty) => ({ ...order(id), status, filled_qty, remaining_qty: 0, last_update_seq: seq })
  const rests = { status: 'resting', filled_qty: 0, resting_qty: 4, fills: [] }
  // Two of the first are filled before the cancel, the second is filled whole, and another cancel takes the third.
  const { store, sent } = storeOf(VenueError, [{ seq: '90' }, ended('a', '90', 'canceled', 3), ended('b', '88', 'executed', 7), ended('c', '89', 'canceled', 1), rests])
  for (const id of ['a', 'b', 'c']) store.account.open.set(id, order(id))
  const shown = []
  notices.show = (_tone, text, _more, _rule, act) => void shown.push({ text, act })
  try {
    await cancelWithUndo(store, pendingOf(store).submit, '', { market_id: 1, generation: 2 })
    shown[0].act.does()
    await eventually('the undo', () => shown.length === 2, 5000, 1)
  } finally {
    delete notices.show
  }
  const placed = sent.filter((r) => r.method === 'POST')
  assert.deepEqual(placed.map((r) => [r.tick, r.qty, r.post_only]), [[4000, 4, true]])
  assert.equal(shown[1].text, 'Put back 1 of 1')
})

test('the orders of a later round in the slot are none of the round that is shown', async () => {
  const { VenueError } = await load('venue/rest.ts')
  const { cancelWithUndo } = await load('ticket/actions.ts')
  const { notices } = await load('shared/notices.svelte.ts')
  const { store, sent } = storeOf(VenueError, [{ seq: '90' }])
  store.account.open.set('a', { order_id: 'a', market_id: 1, generation: 3 })
  const shown = []
  notices.show = (_tone, text) => void shown.push(text)
  try {
    await cancelWithUndo(store, undefined, ' in BTC 60 s', { market_id: 1, generation: 2 })
    await cancelWithUndo(store, undefined, '')
  } finally {
    delete notices.show
  }
  assert.deepEqual(shown, ['No open orders in BTC 60 s', 'Canceled 1 order'])
  assert.deepEqual(sent.map((r) => r.target), ['/v1/portfolio/orders'])
})

test('new bounds name the rev that they were made from', async () => {
  globalThis.sessionStorage = { getItem: () => null, setItem() {} }
  const real = globalThis.fetch
  const mandate = { rev: 1, mandate: { max_open_cost: '100000' } }
  const put = []
  globalThis.fetch = async (path, { method, body }) => {
    if (method === 'PUT') put.push(JSON.parse(body))
    const stale = method === 'PUT' && put.at(-1).if_rev !== mandate.rev
    const answer = path.endsWith('/mandate') ? { ...mandate } : { keys: [], agents: [{ user_id: 7, state: 'active', rev: mandate.rev }], activity: [], as_of_seq: '1' }
    return stale ? { ok: false, status: 409, json: async () => ({ error: { code: 'stale_mandate' } }) } : { ok: true, status: 200, json: async () => answer }
  }
  try {
    const { Agents } = await load('agents/agents.svelte.ts')
    const agents = new Agents({ now: () => 0 })
    await agents.signIn('t')
    const began = agents.mandates.get(7)
    Object.assign(mandate, { rev: 2, mandate: {} }) // elsewhere
    await agents.read()
    assert.equal(agents.mandates.get(7).rev, 2, 'the page has read it')
    await assert.rejects(agents.change(7, began.rev, began.mandate), { code: 'stale_mandate' })
    assert.deepEqual(put, [{ if_rev: 1, mandate: { max_open_cost: '100000' } }])
  } finally {
    globalThis.fetch = real
    delete globalThis.sessionStorage
  }
})

test('an agent is read as long as its card is in sight, and an older answer changes nothing', async () => {
  globalThis.sessionStorage = { getItem: () => null, setItem() {}, removeItem() {} }
  const real = globalThis.fetch
  const asked = []
  let seq = '5'
  globalThis.fetch = async (path) => {
    if (path.startsWith('/agents/')) asked.push(path)
    return { ok: true, status: 200, json: async () => ({ keys: [], agents: [{ user_id: 7, state: 'closed' }, { user_id: 8, state: 'closed' }], activity: [{ seq }], as_of_seq: seq }) }
  }
  try {
    const { Agents } = await load('agents/agents.svelte.ts')
    const agents = new Agents({ now: () => 0 })
    await agents.signIn('t')
    assert.deepEqual(asked, [], 'nothing is in sight')
    const stop = agents.watch(7, 4)
    await agents.read()
    assert.deepEqual([...new Set(asked)], ['/agents/7/keys', '/agents/7/activity?limit=4'])
    assert.deepEqual(agents.details.get(7).activity, [{ seq: '5' }])
    seq = '4'
    await agents.read()
    assert.deepEqual(agents.details.get(7).activity, [{ seq: '5' }])
    seq = '6'
    await agents.read()
    assert.deepEqual(agents.details.get(7).activity, [{ seq: '6' }])
    stop()
    asked.length = 0
    await agents.read()
    assert.deepEqual(asked, [])
    agents.signOut()
    assert.equal(agents.details.size, 0, 'the next account sees nothing of it')
  } finally {
    globalThis.fetch = real
    delete globalThis.sessionStorage
  }
})

test('an application is named by the host of its document, if it has one', async () => {
  const { hostOf } = await load('agents/agents.svelte.ts')
  assert.deepEqual(['https://claude.ai/oauth/client.json', 'dxc_5', '', undefined].map(hostOf), ['claude.ai', '', '', ''])
})

test('lists of the account that could not be read are not known to be empty, and are read again', async () => {
  const timers = []
  globalThis.window = { setInterval: (does) => void timers.push(does), setTimeout() {}, addEventListener() {} }
  globalThis.navigator = { onLine: false }
  globalThis.document = { visibilityState: 'visible' }
  try {
    const { TradingStore } = await load('store/store.ts')
    const { VenueClock } = await load('venue/clock.ts')
    const store = new TradingStore({ api: '', ws: '' }, {}, new VenueClock())
    let seq = '9'
    let fails = true
    store.rest.get = async (target) => {
      if (fails) throw new TypeError('lost')
      return { fills: [], settlements: [], orders: [], markets: [], rows: [], server_time: '0', as_of_seq: seq }
    }
    const snapshot = (as_of_seq) => store.frame('user', { type: 'user_snapshot', seq: as_of_seq, msg: { as_of_seq, cash: '0', reserved: '0', positions: [], orders: [], deadman: {} } })
    const passes = async () => {
      for (const does of timers) does()
      await new Promise((resolve) => setImmediate(resolve))
    }
    store.start()
    navigator.onLine = true
    store.status = 'live'
    snapshot('9')
    await passes()
    assert.equal(store.accountRead, false)
    fails = false
    await passes()
    assert.equal(store.accountRead, true)
    snapshot('12')
    await passes()
    assert.equal(store.accountRead, false, 'the pages are from before the snapshot')
    seq = '12'
    await passes()
    assert.equal(store.accountRead, true)
  } finally {
    for (const name of ['window', 'navigator', 'document']) delete globalThis[name]
  }
})

test('the table of errors is read again after it could not be', async () => {
  const { notices } = await load('shared/notices.svelte.ts')
  const real = globalThis.fetch
  const answers = [new TypeError('lost'), '<html>', '{"errors":[{"code":"shed","means":"Overloaded."}]}']
  globalThis.fetch = async () => {
    const answer = answers.shift()
    if (answer instanceof Error) throw answer
    return { ok: true, json: async () => JSON.parse(answer) }
  }
  try {
    const means = []
    for (let i = 0; i < 4; i++) means.push(await notices.meaning('shed'))
    assert.deepEqual(means, ['', '', 'Overloaded.', 'Overloaded.'])
  } finally {
    globalThis.fetch = real
  }
})

test('a fill is told where the page cannot make a notification', async () => {
  globalThis.localStorage = { getItem: () => '{"browser":true}' }
  globalThis.document = { hidden: true }
  globalThis.Notification = class {
    static permission = 'granted'
    constructor() {
      throw new TypeError('Illegal constructor')
    }
  }
  try {
    const { alerts } = await load('shared/alerts.svelte.ts')
    alerts.raise('fill', 'Bought 5 YES')
  } finally {
    for (const name of ['localStorage', 'document', 'Notification']) delete globalThis[name]
  }
})

test('a dead-man switch that is turned off stays off, whatever arrives after it', async () => {
  globalThis.Worker = class {
    postMessage() {}
  }
  try {
    const { VenueError } = await load('venue/rest.ts')
    const { Heartbeat } = await load('ticket/heartbeat.svelte.ts')
    const sent = []
    const answers = []
    const store = { rest: { call: (method) => new Promise((resolve, reject) => (sent.push(method), answers.push({ resolve, reject }))) } }
    const failed = []
    const heartbeat = new Heartbeat(store, (e) => failed.push(e))
    const started = heartbeat.start()
    const stopped = heartbeat.stop()
    answers[1].resolve() // the venue may have taken the disarm first
    await stopped
    answers[0].resolve()
    await new Promise((resolve) => setImmediate(resolve))
    answers[2].resolve()
    await started
    assert.deepEqual(sent, ['POST', 'DELETE', 'DELETE'])

    const lost = heartbeat.start()
    answers[3].reject(new TypeError('lost'))
    await new Promise((resolve) => setImmediate(resolve))
    answers[4].resolve()
    await lost
    const rejected = heartbeat.start()
    answers[5].reject(new VenueError(403, 'missing_scope'))
    await rejected
    assert.deepEqual(sent.slice(3), ['POST', 'DELETE', 'POST'])
    assert.deepEqual([heartbeat.on, failed.length], [false, 2])
  } finally {
    delete globalThis.Worker
  }
})

test('the later state of a round counts, wherever it comes from', async () => {
  const { Rounds } = await load('store/rounds.ts')
  const rounds = new Rounds()
  const r = { market_id: 1, generation: 2, round_number: '7', category: 1, status: 'trading', paused: false }
  assert.equal(rounds.put(r, '10'), true)
  assert.equal(rounds.put({ ...r, paused: true }, '12'), false)
  rounds.older(1, [r], '11') // a page that was on its way
  assert.equal(rounds.current(1).paused, true)
  rounds.put(r, '13')
  assert.equal(rounds.current(1).paused, false)
})

test('a request is accepted after a step of the computer clock in either direction', async () => {
  const { Rest } = await load('venue/rest.ts')
  const { VenueClock } = await load('venue/clock.ts')
  const { importSecret } = await load('venue/sign.ts')
  const none = { spend() {}, empty() {} }
  const rest = new Rest('http://venue', { id: 'k', key: await importSecret('00'.repeat(32)) }, new VenueClock(), { read: none, write: none, cancel: none })
  const real = { fetch: globalThis.fetch, now: Date.now }
  let venue = 1_700_000_000_000
  let step = 0
  Date.now = () => venue + step
  const stamps = []
  globalThis.fetch = async (_, { headers }) => {
    const stamp = Number(headers['DX-ACCESS-TIMESTAMP'])
    stamps.push(stamp)
    const ok = Math.abs(stamp - venue) <= 5000
    return { ok, status: ok ? 200 : 401, headers: new Headers({ Date: new Date(venue).toUTCString() }), json: async () => (ok ? {} : { error: { code: 'unauthorized' } }) }
  }
  try {
    for (step of [0, 3_600_000, 0, -3_600_000, 0]) {
      venue += 10_000
      await rest.get('/v1/portfolio/balance')
      await rest.get('/v1/portfolio/balance')
    }
    assert.equal(new Set(stamps).size, stamps.length, 'no stamp twice')
  } finally {
    globalThis.fetch = real.fetch
    Date.now = real.now
  }
})

test('an answer that arrives only in part, or is the page of a proxy, is a lost one', async () => {
  const { Rest } = await load('venue/rest.ts')
  const { Api } = await load('operator/api.ts')
  const { Owner } = await load('venue/owner.ts')
  const { importSecret } = await load('venue/sign.ts')
  const key = await importSecret('00'.repeat(32))
  const none = { spend() {}, empty() {} }
  const rest = new Rest('http://venue', { id: 'k', key }, { now: () => 0, dated() {} }, { read: none, write: none, cancel: none })
  const real = globalThis.fetch
  try {
    for (const [status, json] of [
      [200, async () => { throw new DOMException('signal timed out', 'TimeoutError') }],
      [200, async () => JSON.parse('<html>sign in</html>')],
      [502, async () => JSON.parse('<html>bad gateway</html>')],
    ]) {
      globalThis.fetch = async () => ({ ok: status === 200, status, json })
      await assert.rejects(rest.get('/v1/portfolio/orders'), TypeError)
      await assert.rejects(new Owner('t').balance(), TypeError)
      await assert.rejects(new Api('t').get('/admin/feeds'), TypeError)
    }
    globalThis.fetch = async () => ({ ok: false, status: 504, json: async () => ({ message: 'timed out' }) })
    await assert.rejects(rest.call('POST', '/v1/portfolio/orders'), TypeError)
  } finally {
    globalThis.fetch = real
  }
})

// operatorOf is the operator's page, signed in to a venue that answers each path by answers: a body, or text
// that is no JSON, or undefined for no answer before the time is up. sent has the requests. Call end after it.
async function operatorOf(answers) {
  const real = { fetch: globalThis.fetch, timeout: AbortSignal.timeout }
  globalThis.location = { hash: '' }
  globalThis.document = { hidden: false, addEventListener() {} }
  globalThis.addEventListener = () => {}
  AbortSignal.timeout = () => AbortSignal.abort(new DOMException('signal timed out', 'TimeoutError'))
  const sent = []
  globalThis.fetch = async (path, { method = 'GET', signal }) => {
    sent.push(`${method} ${path}`)
    const answer = answers[path.replace(/\?.*/, '')]
    if (answer === undefined) return signal ? Promise.reject(signal.reason) : new Promise(() => {})
    return { ok: true, status: 200, json: async () => (typeof answer === 'string' ? JSON.parse(answer) : answer) }
  }
  const { venue } = await load('operator/venue.svelte.ts')
  await venue.signIn('t')
  const end = () => {
    venue.signOut()
    globalThis.fetch = real.fetch
    AbortSignal.timeout = real.timeout
    for (const name of ['location', 'document', 'addEventListener']) delete globalThis[name]
  }
  return { venue, sent, end }
}

const WELL = {
  '/livez': { live: true, ready: true, reasons: [], warnings: [] }, '/admin/whoami': { name: 'ann', role: 'admin', actions: [], created_ts: '0', four_eyes: null },
  '/admin/feeds': { feeds: [] }, '/admin/markets': { markets: [], as_of_seq: '5' }, '/admin/withdrawals': { withdrawals: [], cursor: '' }, '/admin/approvals': { approvals: [] },
  '/admin/day': { since_ts: '0', interval_seconds: 300, places: 64, intervals: [] },
}

test('the page of the operator says what has no answer, and goes on', async () => {
  const answers = { ...WELL }
  const { venue, end } = await operatorOf(answers)
  try {
    assert.deepEqual([venue.lost, venue.seq], [false, '5'])
    answers['/admin/feeds'] = '<html>bad gateway</html>'
    await venue.refresh()
    assert.equal(venue.lost, true, 'no JSON')
    answers['/admin/feeds'] = { feeds: [] }
    await venue.refresh()
    assert.equal(venue.lost, false)
    delete answers['/livez']
    await Promise.race([venue.refresh(), new Promise((resolve) => setTimeout(resolve, 1000))])
    assert.equal(venue.lost, true, 'no answer')
  } finally {
    end()
  }
})

test('an action on a round is none on the next round in its slot', async () => {
  const answers = { ...WELL, '/admin/markets/3/pause': {}, '/admin/markets/3/void': {}, '/admin/markets/3/propose': {} }
  const { sent, end } = await operatorOf(answers)
  try {
    const { pause, proposePrice, voidRound } = await load('operator/actions.ts')
    const { actionDialog } = await load('operator/actionDialog.svelte.ts')
    const round = { market_id: 3, round_number: '70', series: 'BTC 60 s', strike: '1', open_interest: 0, halted: false }
    const posts = () => sent.filter((r) => r.startsWith('POST'))
    for (const act of [pause, proposePrice, voidRound]) {
      act(round)
      answers['/admin/markets'] = { markets: [{ ...round, round_number: '71' }], as_of_seq: '6' }
      await assert.rejects(actionDialog.action.does({ price: '1' }, 'why'), { code: 'invalid_transition' })
      answers['/admin/markets'] = { markets: [round], as_of_seq: '7' }
      await actionDialog.action.does({ price: '1' }, 'why')
    }
    assert.deepEqual(posts(), ['pause', 'propose', 'void'].map((action) => `POST /admin/markets/3/${action}`))
  } finally {
    end()
  }
})

test('a request keeps its id until it is answered, and a rejected one does not', async () => {
  const { VenueError } = await load('venue/rest.ts')
  const { IdempotencyKeys } = await load('venue/idempotency.ts')
  const keys = new IdempotencyKeys()
  const send = async (request, fails) => {
    let used
    await keys.send(request, async (id) => {
      used = id
      if (fails) throw fails
    }).catch((e) => assert.equal(e, fails))
    return used
  }
  const lost = new TypeError('lost')
  const first = await send('2.50 bank', lost)
  assert.equal(await send('2.50 bank', new VenueError(503, 'shed')), first, 'a repeat of a lost request')
  assert.notEqual(await send('1.50 bank'), first, 'another request')
  assert.equal(await send('2.50 bank'), first)
  const third = await send('3.50 bank', lost)
  assert.equal(await send('3.50 bank', new VenueError(429, 'rate_limited')), third)
  assert.equal(await send('3.50 bank'), third, 'that a repeat is rejected says nothing of the first one')
  assert.notEqual(await send('3.50 bank'), third, 'it was answered')
  const second = await send('2.50 bank', new VenueError(403, 'insufficient_balance'))
  assert.notEqual(second, first, 'the first one was answered')
  assert.notEqual(await send('2.50 bank'), second, 'the second one was rejected')
})

test('a token that is forgotten before the portal answers is not kept', async () => {
  const kept = new Map()
  globalThis.sessionStorage = { getItem: () => null, setItem: (k, v) => void kept.set(k, v), removeItem: (k) => void kept.delete(k) }
  const real = globalThis.fetch
  let answer
  globalThis.fetch = () => new Promise((resolve) => (answer = () => resolve({ ok: true, status: 200, json: async () => ({ keys: [] }) })))
  try {
    const { session } = await load('account/owner.svelte.ts')
    const opening = session.open('secret')
    session.close()
    answer()
    assert.equal(await opening, undefined)
    assert.deepEqual([session.owner, kept.size], [undefined, 0])
    const again = session.open('secret')
    answer()
    assert.equal(await again, session.owner)
    session.close()
  } finally {
    globalThis.fetch = real
    delete globalThis.sessionStorage
  }
})

test('the trades of a round that ended do not take the place of those of the next one', async () => {
  globalThis.window = { setInterval() {}, setTimeout() {}, addEventListener() {} }
  globalThis.navigator = { onLine: false }
  globalThis.document = { visibilityState: 'visible' }
  try {
    const { TradingStore } = await load('store/store.ts')
    const { VenueClock } = await load('venue/clock.ts')
    const store = new TradingStore({ api: '', ws: '' }, {}, new VenueClock())
    const answers = []
    store.rest.get = (target) => (target.includes('/trades') ? new Promise((resolve) => answers.push(resolve)) : Promise.reject(new TypeError('lost')))
    const trade = (seq, generation) => ({ seq, ts: '0', market_id: 1, generation, tick_yes: 5000, qty: 1 })
    const round = (generation) => ({ market_id: 1, generation, category: 1, round_number: String(generation), status: 'trading', open_ts: '0' })
    store.frame('rounds', { type: 'round', seq: '1', msg: round(1) })
    store.frame('rounds', { type: 'round', seq: '5', msg: round(2) })
    store.frame('trades', { type: 'trade', seq: '6', msg: trade('6', 2) })
    answers[0]({ trades: [trade('3', 1)], as_of_seq: '4' })
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(store.tape().map((t) => t.seq), ['6'])
  } finally {
    for (const name of ['window', 'navigator', 'document']) delete globalThis[name]
  }
})

test('an action goes on with the token of the operator who decided, and the answer to one who left signs nobody out', async () => {
  const { sent, venue, end } = await operatorOf({ ...WELL })
  const well = globalThis.fetch
  try {
    const { pause } = await load('operator/actions.ts')
    const { actionDialog } = await load('operator/actionDialog.svelte.ts')
    const round = { market_id: 3, round_number: '70', series: 'BTC 60 s', strike: '1', open_interest: 0, halted: false }
    const tokens = []
    let answer
    globalThis.fetch = (path, { headers, method }) => {
      if (method === 'POST') tokens.push(headers.Authorization)
      if (path === '/admin/markets') return new Promise((resolve) => (answer = resolve))
      return Promise.resolve({ ok: true, status: 200, json: async () => ({}) })
    }
    pause(round)
    const paused = actionDialog.action.does({}, 'why')
    globalThis.fetch = well
    venue.signOut()
    await venue.signIn('other')
    globalThis.fetch = (path, { headers }) => (tokens.push(headers.Authorization), Promise.resolve({ ok: true, status: 200, json: async () => ({}) }))
    answer({ ok: true, status: 200, json: async () => ({ markets: [round] }) })
    await paused
    assert.deepEqual(tokens, ['Bearer t'])

    const rejected = []
    globalThis.fetch = (path) => (path === '/livez' ? well(path, {}) : new Promise((resolve) => rejected.push(() => resolve({ ok: false, status: 401, json: async () => ({ error: { code: 'unauthorized' } }) }))))
    const read = venue.refresh()
    await eventually('the read', () => rejected.length === 4, 5000, 1)
    venue.signOut()
    globalThis.fetch = well
    await venue.signIn('t')
    for (const reject of rejected) reject()
    await read
    assert.equal(venue.me?.name, 'ann')
    assert.ok(sent.length > 0)
  } finally {
    globalThis.fetch = well
    end()
  }
})

test('the name of an agent is proposed from that of its client', async () => {
  const { proposeName } = await load('consent/request.ts')
  const { agentFault } = await load('agents/mandate.ts')
  const long = 'An application with quite a long name'
  for (const [client, taken, want] of [
    ['Claude', [], 'claude'],
    ['Claude', ['claude'], 'claude-2'],
    ['Claude', ['claude', 'claude-2'], 'claude-3'],
    ['Éditeur  de Zoë!', [], 'editeur-de-zoe'],
    ['--<b>--', [], 'b'],
    ['日本', [], 'agent'],
    ['日本', ['agent'], 'agent-2'],
    ['127.0.0.1:80', [], '127-0-0-1-80'],
    [long, [], 'an-application-with-quite-a-long'],
    [long, ['an-application-with-quite-a-long'], 'an-application-with-quite-a-lo-2'],
  ]) {
    const name = proposeName(client, new Set(taken))
    assert.equal(name, want)
    assert.equal(agentFault(name, 0, {}, 0), undefined, name)
  }
})

test('what an agent can have at risk is bounded by its money and its mandate', async () => {
  const { atRisk } = await load('consent/request.ts')
  assert.equal(atRisk(1_000_000, {}), 1_000_000)
  assert.equal(atRisk(1_000_000, { max_open_cost: '100000', max_daily_loss: '200000' }), 100_000)
  assert.equal(atRisk(1_000_000, { max_open_cost: '300000', max_daily_loss: '200000' }), 200_000)
  assert.equal(atRisk(50_000, { max_open_cost: '100000' }), 50_000)
  assert.equal(atRisk(50_000, { max_open_cost: '0' }), 0)
})

const asking = {
  approval_id: '9', user_id: 7, agent: 'scout', status: 'waiting', reason: '', market_id: 1, generation: 1, round_number: '5', category: 2, side: 'buy', outcome: 'no', type: 'limit', tick: 4150, qty: 1200,
  tif: 'gtc', flags: 0, cost: '5000001', open_cost: '0', client_order_id: '7', created_ts: '1700000130000000000', expires_ts: '1700000400000000000', decided_ts: '0', order_id: null,
}

test('an approval says what the order is, what it costs and how it ended', async () => {
  const { became, crosses, ends, limit, manner, sums, wanted } = await load('approvals/approval.ts')
  assert.equal(`${wanted(asking)} ${limit(asking)}`, 'Buy 1,200 NO at 41.5¢ or less')
  assert.equal(limit({ ...asking, side: 'sell', tick: 200 }), 'at 2¢ or more')
  assert.deepEqual(sums(asking).map((r) => r.value), ['$500.0001', '$500.0001', '$1,200.00', '$0.00'])
  assert.equal(new Date(ends(asking)).toISOString(), '2023-11-14T22:20:00.000Z')
  assert.equal(ends({ ...asking, category: 99 }), 0)
  assert.match(manner(asking), /rests until the round ends/)
  assert.match(manner({ ...asking, type: 'market', tif: 'ioc' }), /is canceled/)
  assert.equal(manner({ ...asking, flags: 0b0111 }), 'It rests until the round ends. If it would fill at once, it is canceled. It closes what the agent holds, and opens nothing. A pause cancels it.')
  // What one pays for an outcome now is what the other side of the book leaves.
  assert.deepEqual(['yes', 'no'].flatMap((outcome) => ['buy', 'sell'].map((side) => crosses({ ...asking, side, outcome }, 4000, 4500))), [4500, 4000, 6000, 5500])
  assert.equal(crosses(asking, 0, 4500), undefined)
  assert.equal(crosses({ ...asking, outcome: 'yes' }, 4000, 0), undefined)
  const end = (status, reason = '', order) => became({ ...asking, status, reason, order_id: status === 'placed' ? '33' : null }, order)?.text
  assert.equal(end('waiting'), undefined)
  assert.equal(end('placed'), 'Approved and placed as order 33.')
  assert.equal(end('placed', '', { order_id: '33', status: 'executed', filled_qty: 1200, resting_qty: 0, fills: [{ tick_yes: 6000, qty: 1200, path: 'direct' }] }), 'Bought 1,200 NO at 40.0¢ for $480.00 before fees.')
  assert.equal(end('refused', 'insufficient_balance'), 'Approved, but not placed: the free cash of the agent does not cover it.')
  assert.equal(end('refused', 'market_paused'), 'Approved, but not placed: trading is paused. Canceling still works.')
  assert.equal(end('rejected'), 'You rejected it. Nothing was placed.')
  assert.equal(end('expired'), 'It expired without a decision. Nothing was placed.')
  assert.equal(end('canceled', 'key_revoked'), 'Canceled: its key was revoked. Nothing was placed.')
  assert.equal(end('canceled', 'user_cancel'), 'Canceled: by the agent. Nothing was placed.')
})

test('what has ended never waits again, and a decision is sent as it was', async () => {
  const kept = new Map()
  globalThis.sessionStorage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => void kept.set(key, value), removeItem: (key) => void kept.delete(key) }
  globalThis.localStorage = { getItem: () => null }
  globalThis.document = { hidden: false }
  try {
    const { VenueError } = await load('venue/rest.ts')
    const { session } = await load('account/owner.svelte.ts')
    const { Approvals } = await load('approvals/approvals.svelte.ts')
    const approvals = new Approvals()
    const store = { me: 1, account: { approvals: new Map([['9', asking], ['8', { ...asking, approval_id: '8', user_id: 1 }]]) } }
    approvals.live(store)
    assert.deepEqual([approvals.cards, [...approvals.all.keys()]], [['9'], ['9']], 'what the key itself has asked is no card')

    const sent = []
    const answers = [new TypeError('lost'), { approval: { ...asking, status: 'placed', order_id: '33' } }]
    const owner = {
      decide: async (id, approve) => {
        sent.push([id, approve])
        const answer = answers.shift()
        if (answer instanceof Error) throw answer
        return answer
      },
      approval: async () => ({ ...asking, status: 'expired' }),
      approvals: async () => ({ approvals: [asking], as_of_seq: '20' }),
    }
    await approvals.decide('9', true)
    assert.deepEqual(sent, [], 'nobody decides without a token')
    approvals.use(owner)
    const [first] = [approvals.decide('9', true), approvals.decide('9', true)]
    await first
    assert.match(approvals.troubles.get('9'), /counts once/)
    await approvals.decide('9', true)
    assert.deepEqual(sent, [['9', true], ['9', true]], 'a second press during the first sends nothing')
    assert.deepEqual([approvals.all.get('9').status, approvals.troubles.size, approvals.deciding.size], ['placed', 0, 0])
    approvals.live(store)
    await approvals.read(false)
    assert.equal(approvals.all.get('9').status, 'placed', 'an older answer')
    assert.deepEqual(approvals.cards, ['9'], 'its end is shown until it is dismissed')
    approvals.putOff()
    assert.deepEqual([...new Approvals().later], ['9'], 'a tab that is loaded again has put it off as well')
    approvals.takeUp()
    assert.equal(new Approvals().later.size, 0)
    approvals.dismiss('9')
    assert.deepEqual(approvals.cards, [])

    // What is no longer in the list of those that wait is read, and an order that came after that list is not.
    const later = (id) => ({ ...asking, approval_id: id })
    owner.approvals = async () => ({ approvals: [later('10'), later('21')], as_of_seq: '21' })
    await approvals.read(true) // each is in both lists
    assert.deepEqual(approvals.cards, ['10', '21'])
    owner.approvals = async () => ({ approvals: [], as_of_seq: '20' })
    owner.approval = async (id) => ({ ...later(id), status: 'expired' })
    await approvals.read(false)
    assert.deepEqual(['10', '21'].map((id) => approvals.all.get(id).status), ['expired', 'waiting'])

    // Somebody else was faster; and a token that ended is forgotten.
    owner.decide = async () => {
      throw new VenueError(409, 'invalid_transition')
    }
    await approvals.decide('21', false)
    assert.deepEqual([approvals.all.get('21').status, approvals.troubles.size], ['expired', 0])
    session.owner = owner
    owner.approvals = async () => {
      throw new VenueError(401, 'unauthorized')
    }
    await approvals.read(false)
    assert.equal(session.owner, undefined)
    approvals.use(undefined)
    assert.deepEqual([...approvals.all.keys()], ['9'], 'what the socket has stays')
    store.account.approvals.clear()
    approvals.live(store)
    assert.equal(approvals.all.size, 0)
  } finally {
    for (const name of ['sessionStorage', 'localStorage', 'document']) delete globalThis[name]
  }
})

test('many fills in a short time are one notice, and a line shows an error before them', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { notices } = await load('shared/notices.svelte.ts')
  const fill = (more) => ({ side: 'buy', outcome: 'yes', tick_yes: 4700, qty: 5, fee: '120', ...more })
  const said = () => notices.list.map((n) => [n.text, n.more])
  notices.filled(fill(), 'BTC 60 s', ', taker, mint')
  assert.deepEqual(said(), [['Filled: bought 5 YES at 47.0¢', 'Fee $0.0120, taker, mint']])
  t.mock.timers.tick(4900)
  notices.filled(fill({ qty: 1000 }), 'BTC 60 s')
  assert.deepEqual(said(), [['2 fills of BTC 60 s', 'bought 1,005 YES; fees $0.0240']])
  notices.show('bad', 'Cancel did not work')
  notices.filled(fill({ side: 'sell', outcome: 'no', qty: 3 }), 'Gold 5 min')
  assert.deepEqual(said(), [['3 fills of 2 series', 'bought 1,005 YES, sold 3 NO; fees $0.0360'], ['Cancel did not work', '']])
  assert.equal(notices.line.text, 'Cancel did not work')
  for (let i = 0; i < 9; i++) {
    t.mock.timers.tick(1000) // each fill keeps the notice for as long as one
    notices.filled(fill(), 'BTC 60 s')
  }
  assert.deepEqual(said().map(([text]) => text), ['12 fills of 2 series'])
  assert.equal(notices.line.text, '12 fills of 2 series')
  t.mock.timers.tick(5000)
  assert.deepEqual(said(), [])
  notices.filled(fill(), 'BTC 60 s')
  assert.equal(notices.line.text, 'Filled: bought 5 YES at 47.0¢')
  notices.drop(notices.line.id)
  assert.equal(notices.line, undefined)
  notices.filled(fill(), 'BTC 60 s')
  assert.equal(notices.line.text, 'Filled: bought 5 YES at 47.0¢', 'a notice that was dismissed is over')
  notices.drop(notices.line.id)
})

test('the filters of the portfolio last over a reload, and what a page does not offer chooses all', async (t) => {
  const { keepFilters, storedFilters } = await load('portfolio/filters.ts')
  const all = { kinds: '', category: 0, when: 'all', side: '' }
  let kept = null
  globalThis.sessionStorage = { getItem: () => kept, setItem: (_, value) => void (kept = value) }
  t.after(() => delete globalThis.sessionStorage)
  assert.deepEqual(storedFilters(), all)
  for (const f of [{ kinds: 'fill,fee', category: 9, when: 'week', side: 'sell' }, { ...all, category: 1, when: 'today', side: 'buy' }, all]) {
    keepFilters(f)
    assert.deepEqual(storedFilters(), f)
  }
  for (const wrong of ['{', 'null', '[]', '{"kinds":"x","category":10,"when":"year","side":"both"}', '{"category":"1"}']) {
    kept = wrong
    assert.deepEqual(storedFilters(), all, wrong)
  }
})

test('a list that is not read says so, and that the venue does not answer', async () => {
  const { reading } = await load('shared/reading.ts')
  assert.equal(reading({ status: 'connecting', age: undefined }), 'Reading …')
  assert.equal(reading({ status: 'live', age: undefined }), 'Reading …')
  for (const down of [{ status: 'lost', age: undefined }, { status: 'connecting', age: 4 }]) assert.match(reading(down), /^The venue does not answer\./)
})
