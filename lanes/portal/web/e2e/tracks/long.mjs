// What takes minutes, under a page that stays open: the chart after two of them, its chance, and the profit
// of 20 rounds. Meanwhile the account trades over REST.
import assert from 'node:assert/strict'
import { eventually } from '../eventually.mjs'
import { freshId } from '../venue.mjs'
import { LONG_MS, ROUND_MS, charted, go, list, page, roomy, run, snap, test, trader } from '../harness.mjs'

const OPEN_MS = 120_000
const CHANCES = 10 // compared with the chart
const ROUNDS = 20
const SOON_MS = 90_000 // before its end a round is traded in: every one of 60 seconds, and the others late
const LEAST_MS = 10_000 // for the orders of a round

const traded = new Set() // the numbers of rounds

// order sends a market order and returns how much of it was filled. Nobody may be on the other side, and
// the round may end meanwhile.
async function order(r, side, outcome, qty) {
  const { status, body } = await trader.call('POST', '/v1/portfolio/orders', { client_order_id: freshId(), market_id: r.market_id, generation: r.generation, side, outcome, type: 'market', qty, ...(side === 'buy' && { max_cost: String(qty * 10_300) }) })
  if (status === 201) return body.filled_qty
  assert.match(body.error.code, /^(market_not_trading|market_paused|stale_generation|unknown_market|shed)$/)
  return 0
}

// WAYS are the ways to trade in a round: to hold to its end, to sell a part, to redeem, to hold both.
const WAYS = [
  async (r) => order(r, 'buy', 'yes', 5),
  async (r) => {
    const n = await order(r, 'buy', 'no', 7)
    if (n > 1) await order(r, 'sell', 'no', n - 1)
    return n
  },
  async (r) => {
    const [yes, no] = [await order(r, 'buy', 'yes', 6), await order(r, 'buy', 'no', 4)]
    const pairs = Math.min(yes, no)
    if (pairs > 0) {
      const { status, body } = await trader.call('POST', '/v1/portfolio/redeem', { market_id: r.market_id, qty: pairs })
      assert.equal(status, 200, JSON.stringify(body))
    }
    return yes + no
  },
  async (r) => (await order(r, 'buy', 'no', 3)) + (await order(r, 'buy', 'yes', 3)),
]

// trades trades once in each round that ends soon, until there are enough, and returns the account's rounds.
async function trades() {
  const open = traded.size < ROUNDS ? await list('/v1/rounds?limit=60', 'rounds') : []
  for (const r of open) {
    const left = Number(r.close_ts) / 1e6 - Date.now()
    if (r.status !== 'trading' || traded.has(r.round_number) || left > SOON_MS || left < LEAST_MS) continue
    if ((await WAYS[traded.size % WAYS.length](r)) > 0) traded.add(r.round_number)
  }
  return list('/v1/portfolio/rounds?limit=1000', 'rounds')
}

const gain = (pips) => `${pips < 0 ? '−' : pips > 0 ? '+' : ''}$${(Math.abs(pips) / 10000).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`

await run({
  async 'the chart is the history two minutes after it opened'() {
    await eventually('two minutes', async () => {
      await trades()
      return page.evaluate((ms) => performance.now() > ms, OPEN_MS)
    }, 2 * OPEN_MS, 1000)
    await charted('two minutes after it opened')
  },

  async 'the chart has the chance of the book'() {
    await roomy(LONG_MS)
    // Each chance that stays for three frames is compared once.
    await page.evaluate((n) => {
      window.compared = []
      let [was, frames] = ['', 0]
      const look = () => {
        const now = document.querySelector('[data-test=chance] b').textContent.trim()
        frames = now === was ? frames + 1 : 0
        was = now
        if (frames === 3 && /^\d/.test(now)) window.compared.push([now, document.querySelector('[data-test=chart-chance]').textContent])
        if (window.compared.length < n) requestAnimationFrame(look)
      }
      look()
    }, CHANCES)
    await eventually('chances', async () => {
      await trades()
      return page.evaluate((n) => window.compared.length === n, CHANCES)
    }, ROUND_MS, 1000)
    const compared = await page.evaluate(() => window.compared)
    assert.deepEqual(compared.map(([, chart]) => chart), compared.map(([book]) => book))
    assert.ok(new Set(compared.map(([book]) => book)).size > 1, `the chance stays ${compared[0][0]}`)
    await snap('1440-chance')
  },

  async 'the profit of 20 rounds is that of get_pnl and of the fills, to the pip'() {
    const own = await eventually(`${ROUNDS} rounds that are settled`, async () => {
      const rounds = await trades()
      return rounds.length >= ROUNDS && rounds.every((r) => r.profit !== null) && rounds
    }, ROUNDS * 60_000, 1000)
    await go('Portfolio')
    await eventually('the results on the screen', async () => (await page.locator('[data-test="result"]:not([data-profit=""])').count()) === own.length)
    const shown = Object.fromEntries(await test('result').evaluateAll((all) => all.map((e) => [e.dataset.round, Number(e.dataset.profit)])))
    const fills = await list('/v1/portfolio/fills?limit=1000', 'fills')
    const settlements = await list('/v1/portfolio/settlements?limit=1000', 'settlements')
    const summed = Object.fromEntries(own.map((r) => {
      const of = (rows) => rows.filter((x) => x.round_number === r.round_number)
      const paid = of(fills).reduce((sum, f) => sum + (f.side === 'sell' ? 1 : -1) * f.qty * (f.outcome === 'yes' ? f.tick_yes : 10000 - f.tick_yes) - Number(f.fee), 0)
      return [r.round_number, of(settlements).reduce((sum, s) => sum + Number(s.payout), paid + r.redeemed * 10000)]
    }))
    assert.deepEqual(shown, summed)
    const made = Object.values(shown).reduce((sum, p) => sum + p, 0)
    const { body: pnl } = await trader.call('GET', '/v1/portfolio/pnl')
    assert.deepEqual([pnl.realized, pnl.unrealized], [String(made), '0'])
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_pnl', arguments: {} } }
    const { body: tool } = await trader.call('POST', '/v1/mcp', call, { 'MCP-Protocol-Version': '2025-11-25' })
    assert.equal(tool.result.structuredContent.realized, pnl.realized)
    assert.equal(pnl.fees, String(fills.reduce((sum, f) => sum + Number(f.fee), 0)))
    await eventually('the profit in total', async () => (await page.locator('[data-test="tile"][data-name="Profit in total"]').textContent()) === gain(made + Number(pnl.rebates)))
    // It begins anew at midnight.
    await eventually('the profit of today', async () => (await test('today').textContent()) === gain(Number((await trader.call('GET', '/v1/portfolio/pnl')).body.realized_today)))
    await snap('1440-profit')
    console.log(`      ${own.length} rounds with ${fills.length} fills made ${gain(made)}`)
  },
})
