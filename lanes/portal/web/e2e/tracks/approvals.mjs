// Orders of an agent that wait for its owner: the card, its address, the decisions, and what an agent's own page says.
import assert from 'node:assert/strict'
import { eventually } from '../eventually.mjs'
import { clientOf, freshId } from '../venue.mjs'
import { act, admin, button, context, expected, faultless, go, kind, list, live, page, roomy, run, snap, test, theme, trader, unit, venue } from '../harness.mjs'

const SIZES = [[1440, 900], [390, 844]]

const owner = async (method, path, body) => {
  const answer = await fetch(venue.portal + path, { method, headers: { Authorization: `Bearer ${trader.account_token}`, 'Content-Type': 'application/json' }, ...(body && { body: JSON.stringify(body) }) })
  const said = await answer.json()
  assert.ok(answer.ok, `${method} ${path}: ${JSON.stringify(said)}`)
  return said
}
const approval = (id) => owner('GET', `/approvals/${id}`)

// made makes an agent that may put $5 at stake in one round unasked, and returns a client of it.
async function made(name) {
  const { user_id } = await owner('POST', '/agents', { name, fund: '1000000', mandate: { ask_above: '50000' } })
  const key = await owner('POST', `/agents/${user_id}/keys`, { label: name, scopes: ['read', 'trade'] })
  return { ...clientOf(venue, key), user_id, name }
}

// roundWith returns the round of the longest time left, or of a time left within bounds in ms.
const roundWith = (least, most = Infinity) => eventually(`a round with ${least} ms left`, async () => {
  const left = (r) => Number(r.close_ts) / 1e6 - Date.now()
  const rounds = (await list('/v1/rounds?limit=60', 'rounds')).filter((r) => r.status === 'trading' && left(r) > least && left(r) < most)
  return rounds.sort((a, b) => left(b) - left(a))[0]
}, 150_000, 200)

// asks places an order of an agent that waits.
async function asks(agent, round, more = {}) {
  const { status, body } = await agent.call('POST', '/v1/portfolio/orders', { client_order_id: freshId(), market_id: round.market_id, side: 'buy', outcome: 'yes', tick: 100, qty: 1000, ...more })
  assert.deepEqual([status, body.status], [202, 'waiting'], JSON.stringify(body))
  return body
}

const card = (asked, status) => page.locator(`[data-test="approval"][data-id="${asked.approval_id}"]${status ? `[data-status="${status}"]` : ''}`)
const press = (asked, name) => card(asked).locator(`[data-test="${name}"][aria-disabled="false"]`).click()
const became = (asked, text) => card(asked).locator('[data-test="became"]').filter({ hasText: text }).waitFor()
const dismissed = async (asked) => {
  await press(asked, 'dismiss')
  await card(asked).waitFor({ state: 'detached' })
}
const signIn = async () => {
  await page.locator('[name=token]').fill(trader.account_token)
  await button('Continue').click()
}
const resting = async (agent) => (await agent.call('GET', '/v1/portfolio/orders?status=resting')).body.orders

let scout

await run({
  async 'an order above the bound waits: its card comes by itself, and leads to the account token'() {
    scout = await made('scout')
    const round = await eventually('a round with a second that had an offer', async () => {
      const r = await roundWith(30_000)
      const { body } = await trader.call('GET', `/v1/rounds/${r.market_id}/history?round_number=${r.round_number}&limit=1`)
      return body.rows?.[0]?.yes_ask > 0 && r
    }, 30_000)
    const asked = await asks(scout, round)
    assert.equal(asked.approve_url, `${venue.portal}/#/approvals/${asked.approval_id}`)
    await card(asked, 'waiting').waitFor()
    assert.equal(await test('approve').count() + (await test('reject').count()), 0, 'nobody decides without the token')
    await card(asked).locator('[data-test="decide"]').click()
    await page.locator('[name=token]').waitFor()
    await signIn()
    await test('approvals-page').waitFor()
    await card(asked).filter({ hasText: 'scout asks to place an order' }).filter({ hasText: 'Buy 1,000 ▲ YES at 1¢ or less' }).waitFor()
    await card(asked).locator('[data-test="approval-question"]').filter({ hasText: new RegExp(`^Will .* be above \\$[\\d,.]+ at ${new Date(Number(round.close_ts) / 1e6).toISOString().slice(11, 16)}\\?$`) }).waitFor()
    const { cost } = await approval(asked.approval_id)
    assert.equal(cost, asked.cost)
    const most = `$${(Number(cost) / 10000).toFixed(Number(cost) % 100 ? 4 : 2)}`
    assert.deepEqual(await card(asked).locator('dd').allTextContents(), [most, most, '$1,000.00', '$0.00'])
    await card(asked).locator('[data-test="price-then"]').filter({ hasText: '¢' }).waitFor()
    await card(asked).locator('[data-test="index-then"]').filter({ hasText: '$' }).waitFor()
    assert.match(await card(asked).locator('[data-test="time-left"]').textContent(), /^[0-5]:\d\d$/)
    assert.deepEqual(await resting(scout), [])

    // The first request is lost on its way, and the answer of the second one on its way back.
    const sent = []
    await page.route('**/approvals/*/approve', async (route) => {
      sent.push(route.request().url())
      if (sent.length === 2) await route.fetch()
      return sent.length < 3 ? route.abort() : route.fallback()
    })
    await press(asked, 'approve')
    await card(asked).getByRole('alert').filter({ hasText: 'Press the same button again' }).waitFor()
    assert.equal((await approval(asked.approval_id)).status, 'waiting')
    await press(asked, 'approve')
    await became(asked, 'Approved and placed as order')
    await page.unroute('**/approvals/*/approve')
    expected(/net::ERR_FAILED\b/)
    const placed = await approval(asked.approval_id)
    assert.deepEqual((await resting(scout)).map((o) => [o.order_id, o.qty]), [[placed.order_id, 1000]])
    await owner('POST', `/approvals/${asked.approval_id}/approve`) // once more: it counts once
    assert.equal((await resting(scout)).length, 1)
    assert.equal(await test('approve').count(), 0)
  },

  async 'the card is over the chart, elsewhere a line leads to it, and a decision says what became of the order'() {
    await go('Trade')
    const round = await roundWith(30_000)
    await eventually('a card that nobody needs', async () => {
      if ((await test('dismiss').count()) === 0) return true
      await page.locator('[data-test="dismiss"][aria-disabled="false"]').first().click()
      return false
    })
    const first = await asks(scout, round, { tick: 200 })
    await card(first, 'waiting').waitFor()
    for (const place of ['Portfolio', 'Account', 'Agents']) {
      await go(place)
      await test('asked').filter({ hasText: '1 order waits for you' }).waitFor()
      assert.equal(await test('approvals').count(), 0, place)
    }
    await test('show').click()
    await card(first, 'waiting').waitFor()
    assert.equal(await test('show').count(), 0, 'the page has it')
    await go('Trade')
    await press(first, 'approve')
    await became(first, '1,000 YES to buy rest in the book at 2.0¢')
    const second = await asks(scout, round, { tick: 300 })
    await card(second, 'waiting').filter({ hasText: 'At stake in this round when it asked' }).waitFor()
    assert.notEqual((await approval(second.approval_id)).open_cost, '0')
    await press(second, 'reject')
    await became(second, 'You rejected it. Nothing was placed.')
    assert.deepEqual((await resting(scout)).map((o) => o.tick).sort(), [100, 200])
    await dismissed(first)
    await dismissed(second)

    // A market order, whose other side is there or not, says what it did.
    const [market] = await eventually('a market with an offer', async () => {
      const soon = Date.now() + 20_000
      const late = new Map((await list('/v1/rounds?limit=60', 'rounds')).filter((r) => Number(r.close_ts) / 1e6 > soon).map((r) => [r.market_id, r]))
      const open = (await list('/v1/markets?status=trading', 'markets')).filter((m) => m.yes_bid >= 2000 && m.yes_ask && m.yes_ask <= 8000 && late.has(m.market_id))
      return open.length > 0 && open
    }, 100_000)
    const now = await asks(scout, market, { tick: undefined, type: 'market', worst_tick: 9000, qty: 20, max_cost: '200000' })
    await card(now, 'waiting').locator('[data-test="price-now"]').filter({ hasText: '¢' }).waitFor()
    await press(now, 'approve')
    await card(now, 'placed').locator('[data-test="became"]').filter({ hasText: /^Bought 20 YES at [\d.]+¢|^Canceled: / }).waitFor()
    await dismissed(now)
  },

  async 'a press that was meant for what was there before decides nothing'() {
    await page.evaluate(() => {
      window.pressed = 0
      new MutationObserver((_, seen) => {
        const approve = document.querySelector('[data-test=approve]')
        if (!approve) return
        seen.disconnect()
        approve.click()
        window.pressed += 1
      }).observe(document, { childList: true, subtree: true })
    })
    const round = await roundWith(30_000)
    const asked = await asks(scout, round, { tick: 400 })
    await page.waitForFunction(() => window.pressed === 1)
    await card(asked).locator('[data-test="approve"][aria-disabled="false"]').waitFor()
    // Another card joins: each button may have moved.
    const other = await asks(scout, round, { tick: 500 })
    await card(other, 'waiting').waitFor()
    await card(asked).locator('[data-test="approve"][aria-disabled="false"]').waitFor()
    for (const a of [asked, other]) assert.equal((await approval(a.approval_id)).status, 'waiting')
    await test('approvals').filter({ hasText: '2 orders wait for you' }).waitFor()
    // Later lasts for these orders over a reload, and ends with the next one that asks.
    await test('fold').click()
    assert.equal(await test('approval').count(), 0)
    await page.reload()
    await live()
    await test('approvals').filter({ hasText: '2 orders wait for you' }).filter({ hasText: 'Show' }).waitFor()
    assert.equal(await test('approval').count(), 0)
    const third = await asks(scout, round)
    await card(third, 'waiting').waitFor()
    await test('fold').click()
    await test('fold').click()
    await press(third, 'reject')
    await became(third, 'You rejected it.')
    await dismissed(third)
    await press(asked, 'reject')
    await became(asked, 'You rejected it.')

    // The agent is stopped: what waits ends with its orders.
    await owner('POST', `/agents/${scout.user_id}/halt`)
    await became(other, 'Canceled: the agent was stopped. Nothing was placed.')
    assert.equal(await card(other).locator('[data-test="approve"]').count(), 0)
    await owner('POST', `/agents/${scout.user_id}/resume`)
    await dismissed(asked)
    await dismissed(other)
  },

  async 'an order that is refused when it is approved says why'() {
    const asked = await asks(scout, await roundWith(30_000), { tick: 4000, qty: 200 })
    await card(asked, 'waiting').waitFor()
    const { mandate, rev } = await owner('GET', `/agents/${scout.user_id}/mandate`)
    await owner('PUT', `/agents/${scout.user_id}/mandate`, { if_rev: rev, mandate: { ...mandate, max_order_cost: '10000' } })
    await press(asked, 'approve')
    await became(asked, 'Approved, but not placed: the bounds of the agent do not allow it now.')
    await owner('PUT', `/agents/${scout.user_id}/mandate`, { if_rev: rev + 1, mandate })
    await dismissed(asked)
  },

  async 'the time runs out with the round, and from then on nothing can be decided'() {
    const round = await roundWith(5000, 15_000)
    const asked = await asks(scout, round)
    assert.equal(asked.expires_ts, round.close_ts)
    await card(asked, 'waiting').waitFor()
    await became(asked, 'It expired without a decision. Nothing was placed.')
    assert.equal(await card(asked).locator('[data-test="approve"], [data-test="reject"]').count(), 0)
    assert.ok(Date.now() >= Number(round.close_ts) / 1e6 - 1000, 'it is not early')
    await eventually('the venue says the same', async () => (await approval(asked.approval_id)).status === 'expired')
    await became(asked, 'It expired')
    await dismissed(asked)
  },

  async 'the address opens the card in a tab of its own, and says what has ended and what there is not'() {
    const asked = await asks(scout, await roundWith(30_000), { tick: 200, qty: 900 })
    const own = page
    act(await context.newPage())
    await page.goto(asked.approve_url)
    await signIn()
    await card(asked, 'waiting').waitFor()
    await press(asked, 'reject')
    await became(asked, 'You rejected it.')
    await page.reload() // the tab keeps the token
    await became(asked, 'You rejected it.')
    await page.locator(`[data-test="approval-row"][data-id="${asked.approval_id}"][data-status="rejected"]`).waitFor()
    await page.goto(`${venue.portal}/#/approvals/1`)
    await test('no-approval').filter({ hasText: 'No agent of yours has asked for approval 1' }).waitFor()
    expected(/status of 404/)
    // Another account owns none of it.
    const { account_token } = await admin('/admin/users', { name: 'stranger' })
    await page.evaluate(() => sessionStorage.clear())
    await page.goto(asked.approve_url)
    await page.reload()
    await page.locator('[name=token]').fill(account_token)
    await button('Continue').click()
    await test('no-approval').waitFor()
    expected(/status of 404/)
    await page.close()
    act(own)
  },

  async 'the page of the agents has the bound, the approvals and the activity'() {
    await go('Agents')
    await page.locator('[data-test="approval-row"][data-status="placed"]').first().waitFor()
    for (const status of ['rejected', 'refused', 'expired', 'canceled']) await page.locator(`[data-test="approval-row"][data-status="${status}"]`).first().waitFor()
    const row = page.locator('[data-test="agent"][data-name="scout"]')
    const bound = row.locator('[data-test="bound"][data-rule="ask_above"]')
    await bound.filter({ hasText: '$5.00' }).filter({ hasText: 'without asking' }).waitFor()
    await row.locator('[data-test="all-activity"]').click()
    for (const operation of ['place_order', 'approve_order', 'reject_order']) await row.locator(`[data-test="activity"][data-operation="${operation}"]`).filter({ has: page.locator('a[href^="#/approvals/"]') }).first().waitFor()
    await row.locator('[data-test="edit"]').click()
    assert.equal(await row.locator('[name=ask_above]').inputValue(), '5')
    await row.locator('[name=ask_above]').fill('7.5')
    await button('Save bounds').click()
    await bound.filter({ hasText: '$7.50' }).waitFor()
    assert.equal((await owner('GET', `/agents/${scout.user_id}/mandate`)).mandate.ask_above, '75000')
    await page.locator('[data-test="approval-row"][data-status="placed"] a').last().click()
    await test('became').filter({ hasText: 'Approved and placed as order' }).waitFor()
  },

  async 'the card fits both sizes in both themes'() {
    const round = await roundWith(60_000)
    const first = await asks(scout, round, { tick: 4500, qty: 30 })
    const second = await asks(scout, round, { outcome: 'no', tick: 300, qty: 1000 })
    const places = async () => {
      for (const [width, height] of SIZES) {
        await page.setViewportSize({ width, height })
        for (const scheme of ['light', 'dark']) {
          await theme(scheme)
          await card(first).locator('[data-test="approve"][aria-disabled="false"]').waitFor()
          await snap(`${width}-${scheme}-approvals-${where}`)
          await faultless(`approvals, ${where}, at ${width} × ${height}, ${scheme}`)
        }
      }
      await page.setViewportSize({ width: 1440, height: 900 })
    }
    // The card of the agent has what waits, and leads to its card.
    await go('Agents')
    const mine = page.locator('[data-test="agent"][data-name="scout"]').locator('[data-test="agent-approval"]')
    assert.deepEqual((await mine.evaluateAll((all) => all.map((e) => e.dataset.id))).sort(), [first, second].map((a) => a.approval_id).sort())
    await mine.and(page.locator(`[data-id="${first.approval_id}"]`)).filter({ hasText: /^Asks: Buy 30 YES at 45¢ or less, up to \$\d+\.\d\d\s*\d:\d\d$/ }).click()
    await test('approvals-page').waitFor()
    await card(first, 'waiting').waitFor()
    // On a phone that shows the agents, one more that asks leaves every Halt in reach.
    await page.setViewportSize({ width: 390, height: 844 })
    await go('Agents')
    const third = await asks(scout, round, { tick: 200 })
    await mine.and(page.locator(`[data-id="${third.approval_id}"]`)).waitFor()
    await test('asked').filter({ hasText: '3 orders wait for you' }).waitFor()
    await snap('390-agents-asked')
    await faultless('an agent that asks, on a phone')
    for (const halt of [page.locator('[data-test="agent"][data-name="scout"] [data-test="stop"]'), test('stop-all')]) await halt.click({ trial: true })
    await owner('POST', `/approvals/${third.approval_id}/reject`)
    await mine.and(page.locator(`[data-id="${third.approval_id}"]`)).waitFor({ state: 'detached' })
    await page.setViewportSize({ width: 1440, height: 900 })
    let where = 'trade'
    await go('Trade')
    await places()
    where = 'address'
    await page.goto(first.approve_url)
    await test('approvals-page').waitFor()
    await places()
    for (const a of [first, second]) await owner('POST', `/approvals/${a.approval_id}/reject`)
    await became(first, 'You rejected it.')
  },

  async 'an account without a key decides, and the page of an agent’s own key says that its order waits'() {
    // Without a key the account token decides all the same, and the card says what it does not know.
    const asked = await asks(scout, await roundWith(30_000), { tick: 200 })
    await go('Account')
    await test('show').waitFor()
    await test('sign-out').click()
    await page.locator('[name=token]').waitFor()
    assert.equal(await test('approvals').count(), 0)
    await page.evaluate((id) => (location.hash = `#/approvals/${id}`), asked.approval_id)
    await signIn()
    await card(asked, 'waiting').filter({ hasText: 'An account token reads no prices.' }).waitFor()
    for (const [width, height] of SIZES) {
      await page.setViewportSize({ width, height })
      await card(asked).locator('[data-test="approve"][aria-disabled="false"]').waitFor()
      await snap(`${width}-approvals-alone`)
      await faultless(`approvals without a key at ${width} × ${height}`)
    }
    await page.setViewportSize({ width: 1440, height: 900 })
    await press(asked, 'reject')
    await became(asked, 'You rejected it.')
    await page.getByRole('link', { name: 'Agents' }).first().click()
    await test('agents').waitFor()
    await button('Forget token').click()
    await page.getByRole('link', { name: 'Sign in with a key' }).click()
    await page.locator('[name=key]').fill(scout.api_key)
    await page.locator('[name=secret]').fill(scout.secret)
    await button('Sign in').click()
    await live()
    await roomy()
    await kind('limit')
    await unit('contracts')
    await page.locator('[name=price]').fill('1')
    await page.locator('[name=qty]').fill('2000')
    await page.locator('.submit', { hasText: 'Ask the owner: buy 2,000 YES' }).waitFor()
    await snap('1440-ticket-asks')
    await page.locator('.submit:not([aria-disabled=true])').click()
    await test('order-result').filter({ hasText: /^Not placed yet: it waits for the owner until \d\d:\d\d:\d\d UTC\./ }).waitFor()
    await snap('1440-ticket-waits')
    assert.equal(await test('approval').count(), 0, 'no card for the agent itself')
    const [waiting] = (await owner('GET', '/approvals?status=waiting')).approvals
    await owner('POST', `/approvals/${waiting.approval_id}/reject`)
    await page.locator('[data-test="notice"]', { hasText: 'The owner rejected it.' }).waitFor()

    // The answer of the next one is lost: it is found where it waits, and is not placed again.
    await page.route('**/v1/portfolio/orders', async (route) => {
      await route.fetch()
      await route.abort()
    }, { times: 1 })
    await page.locator('[name=qty]').fill('2100')
    await page.locator('.submit:not([aria-disabled=true])', { hasText: '2,100' }).click()
    await test('order-result').filter({ hasText: /^Not placed yet: it waits/ }).waitFor()
    expected(/net::ERR_FAILED\b/)
    assert.equal((await owner('GET', '/approvals?status=waiting')).approvals.length, 1)
  },
})
