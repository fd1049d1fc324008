// Tests the texts and numbers of the operator's page. Vite loads the module.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createServer } from 'vite'

let server
let text
let need
let day

before(async () => {
  server = await createServer({ configFile: false, root: new URL('..', import.meta.url).pathname, server: { middlewareMode: true, ws: false }, appType: 'custom', logLevel: 'error', optimizeDeps: { noDiscovery: true } })
  text = await server.ssrLoadModule('/src/operator/text.ts')
  need = await server.ssrLoadModule('/src/operator/need.ts')
  day = await server.ssrLoadModule('/src/operator/day.ts')
})
after(() => server.close())

test('hidden characters show by their number', () => {
  const { printable } = text
  assert.equal(printable('ann\u202egnp.exe'), 'ann[U+202E]gnp.exe')
  assert.equal(printable('a\u2028b\u2029c\u0007d\u200fe\ufefff'), 'a[U+2028]b[U+2029]c[U+0007]d[U+200F]e[U+FEFF]f')
  assert.equal(printable('Zoë 山 👍'), 'Zoë 山 👍')
})

test('amounts are exact or refused', () => {
  const { scaled } = text
  assert.equal(scaled('5,000', 4), '50000000')
  assert.equal(scaled('$0.0001', 4), '1')
  assert.equal(scaled('65004.54', 8), '6500454000000')
  for (const bad of ['', '0', '-1', '1e3', '0.00001', '1.', '.5', 'x', '1 000', '9999999999999']) assert.equal(scaled(bad, 4), undefined, bad)
})

test('numbers as people read them', () => {
  const { age, money, price } = text
  assert.equal(money('50000000'), '$5,000.00')
  assert.equal(money('605'), '$0.0605')
  assert.equal(money('-4000'), '−$0.40')
  assert.equal(price('6500454000000'), '65,004.54')
  assert.equal(price('6500454000001'), '65,004.54000001')
  assert.equal(price('100000000'), '1.00')
  assert.equal(price(null), '–')
  assert.deepEqual([age(4000), age(600_000), age(7_300_000), age(200_000_000)], ['4 s', '10 min', '2 h', '2 days'])
})

test('what waits for a person comes first', () => {
  const round = (category, more) => ({ category, status: 'trading', paused: false, halted: false, needs_decision: false, void_ts: null, close_ts: String(category), ...more })
  const rounds = [
    round(1), round(2, { status: 'proposed' }), round(3, { paused: true }), round(4, { paused: true, halted: true }),
    round(5, { status: 'frozen', needs_decision: true, void_ts: '9' }), round(6, { status: 'frozen', needs_decision: true, void_ts: '8' }), round(7, { close_ts: '0' }),
  ]
  assert.deepEqual(need.byNeed(rounds).map((r) => r.category), [6, 5, 4, 3, 2, 7, 1])

  const withdrawal = (state, amount, ts) => ({ state, amount, ts })
  const list = [withdrawal('sent', '1', '1'), withdrawal('pending', '2', '2'), withdrawal('pending', '30', '3')]
  assert.deepEqual(need.payouts(list).map((p) => [p.state, p.count, p.amount, p.oldest.ts]), [['pending', 2, 32n, '2'], ['sent', 1, 1n, '1']])

  const approval = (id, status, requested_by, expires_ts) => ({ approval_id: id, status, requested_by, expires_ts, requested_ts: id })
  const asked = [approval('1', 'pending', 'ann', '9'), approval('2', 'pending', 'me', '1'), approval('3', 'approved', 'ann', '1'), approval('4', 'pending', 'ann', '8')]
  assert.deepEqual(need.undecided(asked).map((a) => a.approval_id), ['2', '4', '1'])
  // Who asked, and who was added after it, is no second person.
  assert.deepEqual(['0', '1', '4'].map((created_ts) => asked.filter((a) => need.mayDecide(a, { name: 'me', created_ts })).map((a) => a.approval_id)), [['1', '3', '4'], ['3', '4'], []])
  assert.deepEqual(need.silent([{ feed: 1, stale: true, session_open: true }, { feed: 2, stale: true, session_open: false }, { feed: 3, stale: false, session_open: true }]).map((f) => f.feed), [1])
})

test('the last day is in bars of half an hour, of which those before the start are not known', () => {
  const { barsOf, BARS, sumOf, mostOf } = day
  const now = Date.UTC(2026, 0, 2, 12, 10)
  const at = (minutes) => String(BigInt(now - minutes * 60_000) * 1_000_000n)
  const one = { contracts: '2', fees: '3', deposited: '50000', paid_out: '7', requests: 10, rejected: 4, faults: 1, connections: 5 }
  const bars = barsOf({ since_ts: at(45), interval_seconds: 300, places: 64, intervals: [{ start_ts: at(1500), ...one }, { start_ts: at(40), ...one }, { start_ts: at(15), ...one, connections: 9 }, { start_ts: at(5), ...one }] }, now)
  assert.equal(bars.length, BARS)
  assert.deepEqual(bars.map((b) => b.known), Array.from({ length: BARS }, (_, i) => i >= BARS - 3))
  assert.deepEqual(bars.slice(-2).map((b) => [new Date(b.start).toISOString().slice(11, 16), b.contracts, b.fees, b.deposited, b.paid, b.requests, b.rejected, b.faults, b.connections]), [
    ['11:30', 4, 6, 100_000, 14, 20, 8, 2, 9], ['12:00', 2, 3, 50_000, 7, 10, 4, 1, 5],
  ])
  assert.deepEqual([sumOf(bars, 'contracts'), mostOf(bars, 'connections')], [6, 9])
})
