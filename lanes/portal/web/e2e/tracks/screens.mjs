// Every task of a user on each screen, in both themes. On each a newcomer has an account of their own.
import assert from 'node:assert/strict'
import { eventually } from '../eventually.mjs'
import { clientOf, freshId } from '../venue.mjs'
import { FAR, LONG_MS, ROUND_MS, SCREENS, admin, button, clipped, closeAll, faultless, fills, go, kind, list, live, page, rests, roomy, run, snap, tab, test, theme, trader, unit, use, venue } from '../harness.mjs'

// newcomer opens an account with $10,000, and signs in with a key of it, in the place of the one before.
async function newcomer(name, engineer) {
  const { user_id, account_token } = await admin('/admin/users', { name })
  await admin(`/admin/users/${user_id}/deposits`, { deposit_id: `first-${user_id}`, amount: '100000000' })
  const key = await admin(`/admin/users/${user_id}/keys`, {})
  use(clientOf(venue, { ...key, account_token }))
  await page.evaluate((engineer) => {
    localStorage.setItem('duplex-engineer', engineer)
    localStorage.removeItem('duplex-guide')
    sessionStorage.clear() // the account token of the one before
  }, engineer ? 'on' : 'off')
  await page.reload()
  await live()
  await go('Account')
  await test('sign-out').click()
  await page.getByRole('link', { name: 'Sign in with a key' }).click()
  await page.locator('[name=key]').fill(key.api_key)
  await page.locator('[name=secret]').fill(key.secret)
  await button('Sign in').click()
  await live()
  return { account_token }
}

// tasks does every task on the screen.
async function tasks(width, height, scheme) {
  const narrow = width < 920
  const name = `${width}-${scheme}`
  const look = async (what) => {
    await snap(`${name}-${what}`)
    await faultless(`${what} at ${name}`)
  }
  await page.setViewportSize({ width, height })
  await theme(scheme)
  const { account_token } = await newcomer(name, scheme === 'dark') // half of the screens have the engineer view

  // The guide leads to a first trade.
  await go(narrow ? 'Chart' : 'Trade')
  await test('guide').and(page.locator('[data-step="choose"]')).waitFor()
  const guide = await test('guide').boundingBox()
  assert.ok(guide.y >= 0 && guide.y + guide.height < height, `the guide is at ${guide.y}`)
  await look('guide')
  await go('Trade')
  await roomy()
  await page.locator('.outcomes .no').click()
  await test('guide').and(page.locator('[data-step="send"]')).waitFor()
  await fills()
  await test('guide').and(page.locator('[data-step="holds"]')).waitFor()
  await test('skip').click()
  await test('guide').waitFor({ state: 'detached' })

  // A refused order says why.
  await kind('limit')
  await unit('contracts')
  await page.locator('.outcomes .yes').click()
  await page.locator('[name=qty]').fill('900000')
  await test('refusal').filter({ hasText: /This needs \$[\d,.]+ with its fee\. You have \$[\d,.]+ free/ }).waitFor()
  assert.ok(await page.locator('.submit').isDisabled())
  await page.locator('.exact summary:visible').click()
  await test('api-error').filter({ hasText: '"code": "insufficient_balance"' }).waitFor()
  await look('rejected')

  // A limit order is placed, changed, canceled with all others, and put back.
  await page.locator('[name=qty]').fill('5')
  await roomy(LONG_MS)
  const o = await rests(5, FAR)
  await go('Orders')
  await tab('Orders')
  const order = test('order')
  await order.and(page.locator(`[data-id="${o.order_id}"]`)).locator('[data-test="edit-qty"]').click()
  await page.locator('[name=edit_qty]').fill('3')
  await test('change').filter({ hasText: 'Keeps its place in the queue' }).waitFor()
  await look('changing')
  await page.keyboard.press('Enter')
  await order.locator('[data-test="edit-qty"]', { hasText: '3' }).waitFor()
  await order.locator('[data-test="edit-price"]').click()
  await page.locator('[name=edit_price]').fill('2')
  await test('save').click()
  await order.locator('[data-test="edit-price"]', { hasText: '2' }).waitFor()
  await test('cancel-all').click()
  await order.waitFor({ state: 'detached' })
  await test('undo').last().click()
  await order.locator('[data-test="edit-price"]', { hasText: '2' }).waitFor()
  await look('put-back')
  await order.locator('[data-test="cancel"]').click()
  await order.waitFor({ state: 'detached' })

  // A market order buys for dollars, no worse than a price, or as much as there is cash for.
  await go('Trade')
  await roomy()
  await kind('market')
  await button('Max').click()
  await page.locator('.submit').filter({ hasText: /^Buy [\d,]+ YES for \$/ }).waitFor()
  await unit('dollars')
  await page.locator('[name=amount]').fill('3')
  await test('worst').filter({ hasText: /[\d.]+¢/ }).waitFor()
  await fills()
  await test('order-result').filter({ hasText: /^Bought \d+ YES/ }).waitFor()
  await look('bought')
  await unit('contracts')
  await kind('limit')

  // Each part of the screen, and each table.
  for (const place of narrow ? ['Chart', 'Book', 'Trade', 'Orders'] : ['Trade']) {
    await go(place)
    await page.locator('main .panel:visible').first().waitFor()
    await look(place.toLowerCase())
    assert.equal(await page.locator('.outcomes').isVisible(), true, `the quotes are in sight in ${place}`)
  }
  await eventually('a chart of the whole time', async () => Number(await test('chart').getAttribute('data-points')) > 10 && Number(await test('chart').getAttribute('data-strike')) > 0)
  await go('Orders')
  for (const table of ['Orders', 'Fills', 'Settlements', 'Rounds', 'History', 'Positions']) {
    await tab(table)
    if (!narrow) assert.deepEqual(await clipped(), [], `${table} is cut off at ${name}`)
    await faultless(`${table} at ${name}`)
  }
  if (!narrow) assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('.market .bids, .series .list')].filter((e) => e.scrollHeight > e.clientHeight + 1).map((e) => `${e.className} ${e.scrollHeight} of ${e.clientHeight}`)), [], 'the ladder and the series fit')
  // Positions say what is at stake, how low they would close, and close. Nobody may bid for what is held.
  await eventually('a position that can close', async () => {
    if ((await test('close-limit').filter({ hasText: /^(no worse than [\d.]+¢|redeems \d+)$/ }).count()) > 0) return true
    const market = (await list('/v1/markets?status=trading', 'markets')).find((m) => m.yes_bid >= 2000 && m.yes_ask > 0 && m.yes_ask <= 9000)
    if (market) await trader.call('POST', '/v1/portfolio/orders', { client_order_id: freshId(), market_id: market.market_id, side: 'buy', outcome: 'yes', type: 'market', qty: 3, max_cost: '30000' })
    return false
  }, ROUND_MS, 1000)
  await look('positions')
  await closeAll()
  await tab('Orders')

  // The money, as rows and as a file.
  await go('Portfolio')
  await tab('Ledger')
  await page.getByLabel('Kinds').selectOption('Trades')
  await page.locator('[data-test="ledger"][data-kind="fee"]').first().waitFor()
  await Promise.all([page.waitForEvent('download'), test('csv').click()])
  await look('portfolio')

  // An agent is made and stopped, a key made and revoked.
  await go('Agents')
  await page.locator('[name=token]').fill(account_token)
  await button('Continue').click()
  await page.locator('[name=agent_name]').fill('scalper')
  await page.locator('[name=agent_fund]').fill('25')
  await look('new-agent')
  await button('Create agent').click()
  await test('issued').waitFor()
  await look('agent-key')
  await button('Done').click()
  const agent = page.locator('[data-test="agent"][data-name="scalper"]')
  await agent.and(page.locator('[data-state="active"]')).waitFor()
  await look('agents')
  await agent.locator('[data-test="stop"]').click()
  await agent.and(page.locator('[data-state="halted"]')).waitFor()
  await go('Account')
  await page.locator('[name=key_label]').fill('my bot')
  await button('Make a key').click()
  await test('issued').waitFor()
  await button('Done').click()
  await page.locator('[data-test="key"][data-label="my bot"]').waitFor()
  await look('account')
  await button('Revoke my bot').click()
  await test('confirm').getByRole('button', { name: 'Revoke' }).click()
  await page.locator('[data-test="key"][data-label="my bot"]').waitFor({ state: 'detached' })
}

await run(Object.fromEntries(SCREENS.map(([width, height, scheme]) => [`every task at ${width} × ${height}, ${scheme}`, () => tasks(width, height, scheme)])))
