// Takes the pictures of the other pages for docs/pictures: the portfolio and the agents after some rounds, and the
// operator's page with work to do. Before, the account and its agents trade for MINUTES in a venue with its makers.
//
//	node e2e/page-pictures.mjs FOLDER [MINUTES]
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openBrowser } from './browser.mjs'
import { clientOf, freshId, openVenue, traderOf } from './venue.mjs'

const [folder, minutes = '12'] = process.argv.slice(2)
const TRADE_MS = 7000 // between two trades: the pictures show an account that trades at the pace of a person
mkdirSync(folder, { recursive: true })
const venue = await openVenue('--four-eyes', '1000')
const [trader, treasurer] = [traderOf(venue, 'trader'), traderOf(venue, 'treasurer')]
const browser = await openBrowser({ colorScheme: 'dark' })
const { page } = browser
const test = (name) => page.locator(`[data-test="${name}"]`)

async function said(answer, what) {
  const body = await answer.json()
  assert.ok(answer.ok, `${what}: ${JSON.stringify(body)}`)
  return body
}
const send = (base, token) => async (method, path, body) =>
  said(await fetch(base + path, { method, headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }, ...(body && { body: JSON.stringify(body) }) }), `${method} ${path}`)
const owner = send(venue.portal, trader.account_token)
const admin = send(venue.admin, venue.operator_token)

async function agentOf(name, fund, mandate) {
  const { user_id } = await owner('POST', '/agents', { name, fund, mandate })
  return clientOf(venue, await owner('POST', `/agents/${user_id}/keys`, { label: name, scopes: ['read', 'trade'] }))
}

// trade buys one side of a round for some dollars, or sells it again. The market can refuse either.
async function trade(of, r, outcome, cost, side = 'buy') {
  const more = side === 'buy' ? { max_cost: String(cost * 10_000) } : {}
  await of.call('POST', '/v1/portfolio/orders', { client_order_id: freshId(), market_id: r.market_id, generation: r.generation, side, outcome, qty: cost, type: 'market', ...more })
}

try {
  const agents = [
    await agentOf('momentum', '250000', { max_order_cost: '40000', max_open_cost: '150000', max_daily_loss: '150000', ask_above: '60000' }),
    await agentOf('careful', '100000', { max_order_cost: '15000', max_open_cost: '50000', max_daily_loss: '50000', price_collar: 500 }),
  ]
  const end = Date.now() + Number(minutes) * 60_000
  for (let turn = 0; Date.now() < end; turn++) {
    const { body } = await trader.call('GET', '/v1/rounds?limit=60')
    const open = body.rounds.filter((r) => r.status === 'trading' && Number(r.close_ts) / 1e6 - Date.now() > 12_000)
    const r = open[turn % Math.max(1, open.length)]
    if (r) {
      const favourite = BigInt(r.index ?? r.strike) > BigInt(r.strike) ? 'yes' : 'no'
      await trade(trader, r, turn % 4 === 3 ? (favourite === 'yes' ? 'no' : 'yes') : favourite, 10 + (turn % 5) * 4)
      await trade(agents[0], r, favourite, 3)
      if (turn % 2 === 0) await trade(agents[1], r, favourite === 'yes' ? 'no' : 'yes', 1)
    }
    await new Promise((resolve) => setTimeout(resolve, TRADE_MS))
  }

  const snap = async (name) => {
    await page.evaluate(() => new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve), 1500))) // fonts and previews
    await page.screenshot({ path: join(folder, `${name}.png`) })
    console.log(name)
  }
  const live = () => page.locator('[data-test="connection"][data-state="live"]:visible').waitFor()
  for (const [name, width, height] of [['portfolio', 1440, 900], ['portfolio-phone', 390, 844]]) {
    await page.setViewportSize({ width, height })
    await page.goto(`${venue.portal}/#/portfolio`)
    await page.reload()
    await live()
    await test('curve').waitFor()
    await snap(name)
  }
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.goto(`${venue.portal}/#/agents`)
  await page.reload()
  await page.locator('[name=token]').fill(trader.account_token)
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await test('agents').waitFor()
  await snap('agents')
  for (const [amount, destination] of [[5_000_000, 'DE02 1203 0000 0000 2020 51'], [250_000, 'FR76 3000 6000 0112 3456 7890 189'], [20_000_000, 'GB33 BUKB 2020 1555 5555 55']]) {
    const { status, body } = await treasurer.call('POST', '/v1/withdrawals', { client_withdrawal_id: freshId(), amount: String(amount), destination })
    assert.equal(status, 202, JSON.stringify(body))
    if (amount === 250_000) {
      await admin('POST', `/admin/withdrawals/${body.withdrawal_id}/approve`, {})
      await admin('POST', `/admin/withdrawals/${body.withdrawal_id}/send`, { reference: 'SEPA-4711' })
      await admin('POST', `/admin/withdrawals/${body.withdrawal_id}/complete`, {})
    }
  }
  await admin('POST', `/admin/users/${trader.user_id}/deposits`, { deposit_id: 'SEPA-4712', amount: '7500000' })
  const { operator_token } = await admin('POST', '/admin/operators', { name: 'ann', role: 'admin' })
  await admin('POST', `/admin/users/${trader.user_id}/deposits`, { deposit_id: 'SEPA-4713', amount: '25000000' })
  await page.goto(venue.admin)
  await page.locator('[name=token]').fill(operator_token)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await test('last-day').waitFor()
  await snap('operator')
} finally {
  await browser.close()
  await venue.close()
}
