// Unit tests that need no browser. Vite loads the modules.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { createServer } from 'vite'

let server
const load = (path) => server.ssrLoadModule(`/src/${path}`)

before(async () => {
  server = await createServer({ root: new URL('..', import.meta.url).pathname, server: { middlewareMode: true, ws: false }, appType: 'custom', logLevel: 'error', optimizeDeps: { noDiscovery: true } })
})
after(() => server.close())

test('signatures match the test vectors', async () => {
  const { importSecret, sign } = await load('venue/sign.ts')
  const vectors = JSON.parse(readFileSync(new URL('../../../schemas/vectors/signing.json', import.meta.url), 'utf8'))
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

test('a list combines a REST page with later socket messages', async () => {
  const { Ledgered, keyed } = await load('desk/ledgered.ts')
  const row = (seq, n = 0) => ({ seq: String(seq), n })
  const l = new Ledgered(4)
  assert.ok(l.live(row(9)))
  assert.ok(l.live(row(10)))
  l.read([row(9), row(8), row(8, 1)], '9')
  assert.deepEqual(l.rows, [row(10), row(9), row(8), row(8, 1)])
  assert.ok(!l.live(row(9)), 'the page already has it')
  assert.ok(l.live(row(11)))
  assert.deepEqual(l.rows.map((r) => r.seq), ['11', '10', '9', '8'])
  assert.deepEqual(keyed([row(11), row(8), row(8, 1)]).map((k) => k.key), ['11 0', '8 0', '8 1'])
})

test('the ladder shows every price of the grid, totals and own orders', async () => {
  const { ladder } = await load('desk/ladder.ts')
  const { Book } = await load('desk/books.ts')
  const book = new Book({ market_id: 1, generation: 2, yes: [[400, 5], [390, 7]], no: [[9500, 3]] })
  const mine = { market_id: 1, generation: 2, side: 'sell', outcome: 'no', tick: 9600, remaining_qty: 2 }
  const l = ladder(book, 'yes', [mine, { ...mine, generation: 1 }], 3)
  assert.deepEqual(l.bids, [{ tick: 400, qty: 5, sum: 5, mine: 2 }, { tick: 390, qty: 7, sum: 12, mine: 0 }, { tick: 380, qty: 0, sum: 12, mine: 0 }])
  assert.deepEqual(l.asks.map((r) => [r.tick, r.sum]), [[500, 3], [600, 3], [700, 3]]) // 10000 − the NO bid
  assert.equal(l.most, 12)
  const other = ladder(book, 'no', [mine], 3)
  assert.deepEqual(other.asks.map((r) => [r.tick, r.qty, r.mine]), [[9600, 5, 2], [9610, 7, 0], [9620, 0, 0]])
  assert.deepEqual(book.chance, { value: 4.5, bound: '' })
  book.apply({ market_id: 1, generation: 2, changes: [{ outcome: 'no', tick: 9500, qty: 0 }] })
  assert.deepEqual(book.chance, { value: 4, bound: '≥' })
})

test('index prices are truncated, and a settlement looks different from its strike', async () => {
  const { axis, coordinate, distance, price, telling } = await load('desk/format.ts')
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
  const { Prices } = await load('desk/prices.ts')
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

test('the ticket produces valid orders', async () => {
  const { Draft, onGrid } = await load('desk/draft.svelte.ts')
  for (const [cents, fine] of [[1, true], [0.9, false], [3.9, true], [3.95, false], [4, true], [4.1, false], [96, true], [96.1, true], [99.9, true], [100, false], [null, false]]) assert.equal(onGrid(cents), fine, String(cents))
  const round = { market_id: 3, generation: 7 }
  const d = new Draft()
  d.price = 47
  d.id = '5'
  assert.deepEqual(d.order(round, 0), { client_order_id: '5', market_id: 3, generation: 7, side: 'buy', outcome: 'yes', qty: 10, tick: 4700 })
  d.tif = 'gtt'
  d.seconds = 2
  d.postOnly = true
  assert.deepEqual(d.order(round, 1000), { client_order_id: '5', market_id: 3, generation: 7, side: 'buy', outcome: 'yes', qty: 10, tick: 4700, tif: 'gtt', expiry_ts: '3000000000', post_only: true })
  d.kind = 'market'
  assert.deepEqual(d.order(round, 1000), { client_order_id: '5', market_id: 3, generation: 7, side: 'buy', outcome: 'yes', qty: 10, type: 'market', max_cost: '100000' })
  d.side = 'sell'
  d.worst = 12.34
  d.reduceOnly = true
  assert.deepEqual(d.order(round, 1000), { client_order_id: '5', market_id: 3, generation: 7, side: 'sell', outcome: 'yes', qty: 10, type: 'market', worst_tick: 1234, reduce_only: true })
  d.qty = 1.5
  assert.match(d.wrong, /Quantity/)
})

test('presets are valid mandates in pips', async () => {
  const { mandateFault, mandateOf, presets } = await load('desk/mandate.ts')
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
  assert.deepEqual(mandateOf({ orderCost: null, openCost: 0, dailyLoss: null, collar: null, hours: null }, now), { max_open_cost: '0' })
})

test('a bad mandate is found before it is sent, with its field', async () => {
  const { agentFault, mandateFault, mandateOf, presets } = await load('desk/mandate.ts')
  const now = 1000
  for (const good of [
    {}, { reduce_only: false }, { max_order_cost: '0' }, { max_order_cost: '18446744073709551615' }, { price_collar: 0 }, { price_collar: 9998 },
    { max_order_qty: 1_000_000 }, { max_open_orders: 0 }, { max_orders_per_day: 4294967295 }, { categories: [9, 1] }, { expires_ts: '1000000001' },
  ]) assert.equal(mandateFault(good, now), undefined, JSON.stringify(good))
  for (const bad of [
    { max_cost: '1' }, { toString: 1 }, { max_order_cost: 5 }, { max_order_cost: '-1' }, { max_order_cost: '1.5' }, { max_order_cost: '18446744073709551616' }, { max_open_cost: 'NaN' },
    { max_daily_loss: null }, { max_market_cost: '' }, { price_collar: 9999 }, { price_collar: -1 }, { price_collar: 0.5 }, { price_collar: '300' }, { max_order_qty: 0 }, { max_order_qty: 1_000_001 },
    { max_open_orders: 4294967296 }, { max_orders_per_day: -1 }, { categories: [] }, { categories: [0] }, { categories: [10] }, { categories: [1, 1] }, { categories: 1 },
    { reduce_only: 1 }, { expires_ts: '1000000000' }, { expires_ts: 2000000000 },
  ]) assert.equal(mandateFault(bad, now)?.field, Object.keys(bad)[0], JSON.stringify(bad))
  const careful = mandateOf(presets.careful, now)
  assert.equal(agentFault('btc-1', 50, careful, now), undefined)
  assert.equal(agentFault('btc-1', null, careful, now), undefined)
  for (const name of ['', '-a', 'A', 'a b', 'é', 'a'.repeat(33)]) assert.equal(agentFault(name, 50, careful, now)?.field, 'name')
  assert.equal(agentFault('a', -1, careful, now)?.field, 'fund')
  for (const [key, value, field] of [['orderCost', -1, 'max_order_cost'], ['openCost', -1, 'max_open_cost'], ['dailyLoss', 1e30, 'max_daily_loss'], ['collar', 100, 'price_collar'], ['hours', 0, 'expires_ts'], ['hours', -1, 'expires_ts']]) {
    assert.equal(mandateFault(mandateOf({ ...presets.careful, [key]: value }, now), now)?.field, field)
  }
})

test('gauges show the bounds of an account that are set', async () => {
  const { gauges } = await load('desk/mandate.ts')
  const agent = { usage: { open_cost: '30000', loss_today: '5000', orders_today: 7, open_orders: 2 } }
  assert.deepEqual(gauges(agent, { max_order_cost: '1' }), [])
  assert.deepEqual(
    gauges(agent, { max_daily_loss: '100000', max_open_cost: '50000', max_orders_per_day: 9, max_open_orders: 0 }).map((g) => [g.rule, g.used, g.limit, g.money]),
    [['max_open_orders', 2, 0, false], ['max_orders_per_day', 7, 9, false], ['max_open_cost', 30000, 50000, true], ['max_daily_loss', 35000, 100000, true]],
  )
})
