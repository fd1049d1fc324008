// Keys, agents, money and sign-in, on one screen.
import assert from 'node:assert/strict'
import { eventually } from '../eventually.mjs'
import { clientOf, freshId, traderOf } from '../venue.mjs'
import { SCREENS, admin, button, expected, faultless, go, list, live, page, roomy, run, snap, test, theme, trader, venue } from '../harness.mjs'

await run({
  async 'the account page makes, labels and revokes keys, and keeps the settings of notifications'() {
    await go('Account')
    await page.locator('[name=token]').fill(trader.account_token)
    await button('Continue').click()
    await test('key').first().waitFor()
    await page.locator('[name=key_label]').fill('my bot')
    await button('Make a key').dblclick()
    const made = clientOf(venue, { api_key: await test('issued-key').textContent(), secret: await test('issued-secret').textContent() })
    await button('Done').click()
    await page.locator('[data-test="key"][data-label="my bot"]').waitFor()
    assert.equal((await made.call('GET', '/v1/portfolio/balance')).status, 200)
    await test('deposit').first().waitFor()
    await page.locator('[name=alert_settlement]').uncheck()
    for (const scheme of ['light', 'dark']) {
      await theme(scheme)
      await snap(`1440-${scheme}-account`)
    }
    await button('Revoke my bot').click()
    await test('confirm').getByRole('button', { name: 'Revoke' }).click()
    await page.locator('[data-test="key"][data-label="my bot"]').waitFor({ state: 'detached' })
    assert.equal((await made.call('GET', '/v1/portfolio/balance')).status, 401)
    await page.reload()
    assert.ok(!(await page.locator('[name=alert_settlement]').isChecked()))
    await button('Forget token').click()
    await page.locator('[name=token]').waitFor()
  },

  async 'an agent is created, watched and stopped'() {
    await go('Agents')
    await page.locator('[name=token]').fill(trader.account_token)
    await button('Continue').click()
    await test('agents').waitFor()
    await button('Normal').click()
    await button('Careful').click()
    for (const [name, value] of Object.entries({ max_order_cost: '2', max_open_cost: '10', max_daily_loss: '10', price_collar: '3', expires_ts: '24' })) {
      assert.equal(await page.locator(`[name=${name}]`).inputValue(), value, name)
    }
    await page.locator('[name=agent_name]').fill('scalper')
    await page.locator('[name=agent_fund]').fill('25')
    await page.locator('[name=price_collar]').fill('100')
    await button('Create agent').click()
    await page.locator('[data-test="fault"]', { hasText: 'Price collar must be' }).waitFor()
    assert.equal(await page.locator('[name=price_collar]').getAttribute('aria-invalid'), 'true')
    await page.locator('[name=price_collar]').fill('3')
    await page.locator('[name=agent_fund]').fill('0.00001')
    await page.locator('[data-test="fault"]', { hasText: 'Fund must be $0 or more, with at most four decimals.' }).waitFor()
    await page.locator('[name=agent_fund]').fill('1000000')
    await button('Create agent').click()
    await page.locator('[data-test="notice"]', { hasText: 'The free cash of your account is less than the fund.' }).waitFor()
    expected(/status of 403/)
    assert.equal(await page.locator('[data-test="agent"][data-name="scalper"]').count(), 0)
    await page.locator('[name=agent_fund]').fill('25')
    await button('Create agent').click()
    await test('issued').waitFor()
    const secret = await test('issued-secret').textContent()
    const agent = clientOf(venue, { api_key: await test('issued-key').textContent(), secret })
    await test('issued').getByText('dx mcp --profile scalper').first().waitFor()
    await snap('1440-agents-key')
    await button('Done').click()
    await test('issued').waitFor({ state: 'detached' })
    const text = () => page.evaluate(() => JSON.stringify([location.href, { ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML]))
    assert.ok(!(await text()).includes(secret), 'the secret is shown once')

    const row = page.locator('[data-test="agent"][data-name="scalper"]')
    await row.and(page.locator('[data-state="active"]')).waitFor()
    assert.equal(await row.locator('[data-test="equity"]').textContent(), '$25.00')
    const place = async (tick, qty) => {
      const [market] = await eventually('a market that trades', async () => {
        const soon = Date.now() + 30_000
        const late = (await list('/v1/rounds?limit=60', 'rounds')).filter((r) => Number(r.close_ts) / 1e6 > soon).map((r) => r.market_id)
        const open = (await list('/v1/markets?status=trading', 'markets')).filter((m) => m.yes_bid >= 2000 && late.includes(m.market_id))
        return open.length > 0 && open
      }, 100_000)
      return agent.call('POST', '/v1/portfolio/orders', { client_order_id: freshId(), market_id: market.market_id, side: 'buy', outcome: 'yes', tick, qty })
    }
    // The first order costs $1.00 and its fee, the second more than $2.
    const first = await place(100, 100)
    assert.equal(first.status, 201, JSON.stringify(first.body))
    const large = await place(100, 1000)
    assert.deepEqual([large.status, large.body.error.code, large.body.error.details.rule], [403, 'mandate_violation', 'max_order_cost'])
    const did = row.locator('[data-test="activity"]')
    await did.and(page.locator('[data-operation="place_order"][data-code=""]')).first().waitFor()
    await did.and(page.locator('[data-code="mandate_violation"][data-rule="max_order_cost"]')).filter({ hasText: /Could not place an order: buy 1,000 YES .*: the order costs too much\./ }).waitFor()
    assert.equal(await did.count(), 3, 'the last three')
    const older = row.locator('[data-test="all-activity"]')
    await older.click()
    await did.and(page.locator('[data-operation="create_agent"]')).filter({ hasText: 'You created the agent' }).waitFor()
    await older.click()
    await did.and(page.locator('[data-operation="create_agent"]')).waitFor({ state: 'detached' })
    const gauge = row.locator('[data-rule="max_open_cost"]')
    await eventually('the open cost of the order', async () => Number(await gauge.getAttribute('data-used')) >= 10000)
    // The bounds are those of the venue, with what is used and what is left, and today's result is signed.
    const { agents } = await fetch(`${venue.portal}/agents`, { headers: { Authorization: `Bearer ${trader.account_token}` } }).then((r) => r.json())
    const said = agents.find((a) => a.name === 'scalper')
    const usd = (pips) => `$${(Number(pips) / 10000).toFixed(2)}`
    await gauge.filter({ hasText: `${usd(said.usage.open_cost)} of $10.00 used` }).filter({ hasText: `${usd(said.headroom.max_open_cost)} left` }).filter({ hasText: 'The most that resting orders and positions may cost together' }).waitFor()
    assert.deepEqual(await row.locator('[data-test="gauge"], [data-test="bound"]').evaluateAll((all) => all.map((e) => e.dataset.rule)), ['max_order_cost', 'max_open_cost', 'max_daily_loss', 'price_collar'])
    await row.locator('[data-test="terms"]').filter({ hasText: 'expires in 24 h' }).waitFor()
    assert.equal(await row.locator('[data-test="profit-today"]').textContent(), '$0.00')
    for (const [width, height, scheme] of SCREENS) {
      await page.setViewportSize({ width, height })
      await theme(scheme)
      await snap(`${width}-${scheme}-agents`)
      await faultless(`agents at ${width} × ${height}, ${scheme}`)
    }
    await page.setViewportSize({ width: 1440, height: 900 })

    // The keyboard reaches everything in the order in which it is shown.
    await row.locator('[data-test="stop"]').focus()
    const order = []
    for (let n = 0; n < 5; n++) {
      await page.keyboard.press('Tab')
      order.push(await page.evaluate(() => document.activeElement.textContent.trim()))
    }
    assert.deepEqual(order, ['Show more', 'Fund or return', 'Bounds', 'Keys', 'Close'])

    for (const form of ['fund', 'edit', 'keys']) {
      await row.locator(`[data-test="${form}"]`).click()
      for (const [width, height, scheme] of [SCREENS[0], SCREENS.at(-1)]) {
        await page.setViewportSize({ width, height })
        await theme(scheme)
        await row.locator(`[data-test="${form}"]`).evaluate((e) => e.scrollIntoView({ block: 'start' }))
        await snap(`${width}-${scheme}-agents-${form}`)
        await faultless(`the form ${form} at ${width} × ${height}`)
      }
      await page.setViewportSize({ width: 1440, height: 900 })
    }
    await row.locator('[data-test="edit"]').click()
    await row.locator('[name=price_collar]').fill('100')
    await row.getByRole('alert').filter({ hasText: 'Price collar must be 0 to 99.98¢, with at most two decimals.' }).waitFor()
    await row.locator('[name=price_collar]').fill('3')
    await row.locator('[name=max_order_cost]').fill('3')
    await button('Save bounds').click()
    await row.locator('[data-test="bound"][data-rule="max_order_cost"]', { hasText: '$3.00' }).waitFor()
    await row.locator('[data-test="fund"]').click()
    await row.locator('[name=fund_amount]').fill('5')
    // The answer is lost, and the user sends it again: it arrives once.
    await page.route('**/fund', async (route) => {
      await route.fetch()
      await route.abort()
    }, { times: 1 })
    await button('Send to agent').click()
    await page.locator('[data-test="notice"]', { hasText: 'Fund: no answer' }).waitFor()
    expected(/net::ERR_FAILED\b/)
    const sent = { fund: 0, keys: 0 }
    const count = (request) => void (request.method() === 'POST' && sent[request.url().split('/').at(-1)]++)
    page.on('request', count)
    const twice = (name) => row.getByRole('button', { name }).evaluate((b) => [b.click(), b.click()])
    await twice('Send to agent')
    await row.locator('[name=fund_amount]').waitFor({ state: 'detached' })
    await eventually('the money', async () => (await row.locator('[data-test="equity"]').textContent()) === '$30.00')
    await row.locator('[data-test="keys"]').click()
    await row.locator('[data-test="agent-key"][data-kind="hmac"]').filter({ hasText: 'read, trade' }).waitFor()
    await twice('New key')
    await test('issued').waitFor()
    await button('Done').click()
    page.off('request', count)
    assert.deepEqual(sent, { fund: 1, keys: 1 }, 'a double press sends one request')

    // Halt is one press, also of a key, and the next press at the same place resumes nothing.
    await row.locator('[data-test="keys"]').click()
    const halt = row.locator('[data-test="stop"]')
    const spot = await halt.boundingBox()
    await halt.focus()
    await page.keyboard.press('Enter')
    await row.and(page.locator('[data-state="halted"]')).waitFor()
    assert.equal(await test('confirm').count(), 0)
    assert.deepEqual(await halt.boundingBox(), spot)
    await page.keyboard.press('Enter')
    assert.equal(await halt.getAttribute('aria-disabled'), 'true')
    const open = await agent.call('GET', '/v1/portfolio/orders?status=resting')
    assert.deepEqual(open.body.orders, [])
    const refused = await place(100, 10)
    assert.deepEqual([refused.status, refused.body.error.code, refused.body.error.details.rule], [403, 'mandate_violation', 'halted'])
    await did.and(page.locator('[data-code="mandate_violation"][data-rule="halted"]')).waitFor()
    await row.locator('[data-test="resume"]').click()
    await row.and(page.locator('[data-state="active"]')).waitFor()
    await test('stop-all').click()
    await row.and(page.locator('[data-state="halted"]')).waitFor()
    await eventually('no agent is active', async () => (await page.locator('[data-test="agent"][data-state="active"]').count()) === 0)
    assert.equal((await place(100, 10)).body.error.details.rule, 'halted')
    await snap('1440-dark-agents-stopped')

    await page.reload() // the tab keeps the token, and nothing else does
    await row.waitFor()
    const [stored, session] = await page.evaluate(() => [JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage })])
    assert.ok(session.includes(trader.account_token) && !stored.includes(trader.account_token) && !page.url().includes(trader.account_token))
    await page.setViewportSize({ width: 1024, height: 768 })
    await snap('1024-dark-agents')
    await row.locator('[data-test="close-agent"]').click()
    await test('confirm').getByRole('button', { name: 'Close agent' }).click()
    await row.waitFor({ state: 'detached' })
    await test('closed-agents').filter({ hasText: '1 closed agent' }).click()
    await row.and(page.locator('[data-state="closed"]')).waitFor()
    assert.equal(await row.locator('[data-test="stop"], [data-test="edit"]').count(), 0)
    await did.and(page.locator('[data-operation="close_agent"]')).filter({ hasText: 'You closed it' }).waitFor()
    await row.scrollIntoViewIfNeeded()
    await snap('1024-dark-agents-closed')
    await test('closed-agents').click()
    await row.waitFor({ state: 'detached' })
    await page.setViewportSize({ width: 1440, height: 900 })
    await go('Trade')
    await live()
    await roomy()
  },

  async 'a pasted key survives a reload, and no script can read it'() {
    const reader = traderOf(venue, 'reader')
    await page.getByRole('button', { name: /^Sign out/ }).click()
    await page.locator('[name=key]').waitFor()
    await page.reload() // it lasts, although the venue lends a key
    await page.locator('[name=key]').fill(reader.api_key)
    await page.locator('[name=secret]').fill('not a secret')
    await button('Sign in').click()
    await page.getByRole('alert').waitFor()
    await page.locator('[name=secret]').fill(reader.secret)
    await button('Sign in').click()
    await live()
    await page.getByRole('button', { name: 'This key cannot trade' }).waitFor()
    await page.reload()
    await live()
    await page.getByRole('button', { name: 'This key cannot trade' }).waitFor()
    const extractable = await page.evaluate(
      () =>
        new Promise((resolve, reject) => {
          const request = indexedDB.open('duplex')
          request.onerror = () => reject(request.error)
          request.onsuccess = () => {
            const got = request.result.transaction('keys').objectStore('keys').get('signed-in')
            got.onsuccess = () => resolve(got.result.key.extractable)
          }
        }),
    )
    assert.equal(extractable, false)
    const text = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML]))
    assert.ok(!text.includes(reader.secret) && !text.includes(trader.account_token))
  },

  async 'every term leads to its rule or to the glossary'() {
    const leads = new Set()
    for (const place of ['Trade', 'Portfolio', 'Agents', 'Account']) {
      await go(place)
      if (place === 'Trade') await page.locator('summary', { hasText: 'More options' }).click()
      for (const to of await page.locator('a[href^="/rules"], a[href^="/glossary"]').evaluateAll((all) => all.map((a) => a.getAttribute('href')))) leads.add(to)
    }
    await go('Trade')
    assert.ok(leads.size > 12, [...leads].join(' '))
    for (const to of leads) {
      const answer = await fetch(venue.portal + to)
      assert.equal(answer.status, 200, to)
      const [, anchor] = to.split('#')
      if (anchor) assert.ok((await answer.text()).includes(`id="${anchor}"`), `${to} leads nowhere`)
    }
  },

  async 'every page fits each screen and scrolls to its end, with and without the account token'() {
    const fits = async (what) => {
      for (const [width, height, scheme] of SCREENS) {
        await page.setViewportSize({ width, height })
        await theme(scheme)
        await snap(`${width}-${scheme}-${what}`)
        await faultless(`${what} at ${width} × ${height}`)
        if (!what.startsWith('account')) continue
        for (const e of await page.locator('main button').all()) await reachable(e, `${what} at ${width}: ${await e.textContent()}`)
      }
      await page.setViewportSize({ width: 1440, height: 900 })
    }
    // reachable scrolls as a user does, and checks that the whole of a button is in sight.
    const reachable = async (e, what) => {
      await e.evaluate((b) => b.scrollIntoView({ block: 'center' }))
      const cut = await e.evaluate((b) => new Promise((resolve) => new IntersectionObserver(([seen]) => resolve(1 - seen.intersectionRatio)).observe(b)))
      assert.ok(cut < 0.02, `${what} is cut off`)
    }
    const token = async () => {
      await page.locator('[name=token]').fill(trader.account_token)
      await button('Continue').click()
    }
    await go('Agents')
    await page.locator('[name=token]').waitFor()
    await fits('agents-no-token')
    await go('Account')
    await page.locator('[name=token]').waitFor()
    await fits('account-no-token')
    await token()
    await test('key').first().waitFor()
    await fits('account-token')
    await go('Portfolio')
    await fits('portfolio')
    await go('Account')
    await test('sign-out').click()
    await page.locator('[name=token]').waitFor()
    await fits('account-alone-no-token')
    await page.getByRole('link', { name: 'Sign in with a key' }).click()
    await page.locator('[name=key]').waitFor()
    await fits('sign-in')
    await page.getByRole('link', { name: 'make a key' }).click()
    await token()
    await test('key').first().waitFor()
    await fits('account-alone')
    await page.getByRole('link', { name: 'Agents' }).first().click()
    await test('agents').waitFor()
    await fits('agents-alone')
    await page.getByRole('link', { name: 'Sign in with a key' }).click()
    await button('Use the trader key of this dev venue').click()
    await live()
  },

  async 'a newcomer on a phone sees the guide first'() {
    await page.setViewportSize({ width: 390, height: 844 })
    await page.evaluate(() => localStorage.removeItem('duplex-guide'))
    await page.reload()
    await live()
    await test('guide').waitFor()
    const { y, height } = await test('guide').boundingBox()
    assert.ok(y >= 0 && y + height < 844 / 2, `the guide is at ${y}`)
    await snap('390-guide')
    await faultless('the guide at 390')
    await page.setViewportSize({ width: 1440, height: 900 })
  },

  async 'an account token alone shows and withdraws the money'() {
    await page.getByRole('button', { name: /^Sign out/ }).click()
    await page.getByRole('link', { name: 'make a key' }).click()
    assert.equal(await page.locator('[name=withdraw_amount]').count(), 0)
    await page.locator('[name=token]').fill(trader.account_token)
    await button('Continue').click()
    await page.locator(`[data-test="key"][data-key="${trader.api_key}"]`).waitFor()
    const venueHas = async () => (await trader.call('GET', '/v1/withdrawals?limit=20')).body.withdrawals.map((w) => [w.amount, w.destination, w.status])
    const before = await venueHas()
    const free = async () => `$${(Number((await trader.call('GET', '/v1/portfolio/balance')).body.cash) / 10000).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`
    const same = () => eventually('the free cash of the account', async () => (await test('free-cash').textContent()) === (await free()))
    await same()
    await test('deposit').first().waitFor()
    assert.equal(await test('address').textContent(), await trader.call('GET', '/v1/deposits/address').then(({ body }) => `${body.address} (${body.asset})`))
    // The answer of a withdrawal is lost, and the list shows that it arrived once. The same one, sent
    // again, moves nothing, and neither does the second click of two.
    const ids = []
    await page.route('**/withdrawals', async (route) => {
      if (route.request().method() !== 'POST') return route.fallback()
      ids.push(route.request().postDataJSON().client_withdrawal_id)
      if (ids.length > 1) return route.fallback()
      await route.fetch()
      await route.abort()
    })
    const asks = async (amount) => {
      await page.locator('[name=withdraw_amount]').fill(amount)
      await page.locator('[name=withdraw_to]').fill('my bank')
      await button('Withdraw').dblclick()
    }
    await asks('4.20')
    await page.locator('[data-test="notice"]', { hasText: 'Withdraw: no answer' }).waitFor()
    expected(/net::ERR_FAILED\b/)
    const row = test('withdrawal').filter({ hasText: 'my bank' }).filter({ hasText: '−$4.20' })
    await row.filter({ hasText: 'pending' }).waitFor()
    await button('Withdraw').click()
    await page.waitForFunction(() => document.querySelector('[name=withdraw_amount]').value === '')
    assert.deepEqual(ids, [ids[0], ids[0]])
    assert.deepEqual(await venueHas(), [['42000', 'my bank', 'pending'], ...before])
    await same()
    // Too much is rejected before it is sent; then the operator decides, and the page shows it.
    await asks('99000000')
    assert.equal(await page.locator('[name=withdraw_amount]:invalid').count(), 1)
    assert.equal(ids.length, 2)
    await page.unroute('**/withdrawals')
    for (const [width, height, scheme] of SCREENS) {
      await page.setViewportSize({ width, height })
      await theme(scheme)
      await snap(`${width}-${scheme}-money-alone`)
      await faultless(`the money alone at ${width} × ${height}`)
    }
    await page.setViewportSize({ width: 1440, height: 900 })
    await admin(`/admin/withdrawals/${await row.getAttribute('data-id')}/complete`, {})
    await row.filter({ hasText: 'completed' }).waitFor()
    await button('Forget token').click()
    await page.locator('[name=withdraw_amount]').waitFor({ state: 'detached' })
    // A key that may not withdraw says how to, and with the token the same page does.
    await page.getByRole('link', { name: 'Sign in with a key' }).click()
    await button('Use the trader key of this dev venue').click()
    await live()
    await go('Account')
    await page.getByText('To withdraw, sign in with your account token').waitFor()
    await test('deposit').first().waitFor()
    await page.locator('[name=token]').fill(trader.account_token)
    await button('Continue').click()
    await asks('1.10')
    await test('withdrawal').filter({ hasText: '−$1.10' }).filter({ hasText: 'pending' }).waitFor()
    assert.deepEqual((await venueHas())[0], ['11000', 'my bank', 'pending'])
    await test('sign-out').click()
    await page.locator('[name=token]').waitFor()
    assert.equal(await page.locator('[name=withdraw_amount]').count(), 0)
    await page.getByRole('link', { name: 'Sign in with a key' }).click()
    await page.locator('[name=key]').waitFor()
  },

  async 'money is withdrawn with a key that may'() {
    const treasurer = traderOf(venue, 'treasurer')
    await page.locator('[name=key]').fill(treasurer.api_key)
    await page.locator('[name=secret]').fill(treasurer.secret)
    await button('Sign in').click()
    await live()
    await go('Account')
    const asks = async (amount, press = 'dblclick') => {
      await page.locator('[name=withdraw_amount]').fill(amount)
      await page.locator('[name=withdraw_to]').fill('my bank')
      await button('Withdraw')[press]()
    }
    const notice = (text) => page.locator('[data-test="notice"]', { hasText: text }).first().waitFor() // each click may bring one
    await page.waitForFunction(() => !document.querySelector('[data-test=notice]')) // of the step before
    const money = async () => (await treasurer.call('GET', '/v1/withdrawals?limit=20')).body.withdrawals.map((w) => [w.amount, w.destination])
    // A rejected request changes nothing, and the next one goes through.
    await admin(`/admin/users/${treasurer.user_id}/suspend`, { reason: 'a test' })
    await asks('2.50')
    await notice('Withdraw did not work')
    expected(/status of 403/)
    await admin(`/admin/users/${treasurer.user_id}/resume`, { reason: 'a test' })
    assert.deepEqual(await money(), [])
    // The answer is lost: the list shows that the request arrived. The same one moves nothing again,
    // and one of another amount goes through before that.
    await page.route('**/v1/withdrawals', async (route) => {
      if (route.request().method() !== 'POST') return route.fallback()
      await route.fetch()
      await route.abort()
    })
    await asks('2.50', 'click') // a second click that comes after the loss is a request of its own
    await notice('Withdraw: no answer')
    await page.unroute('**/v1/withdrawals')
    expected(/net::ERR_FAILED\b/)
    await test('withdrawal').filter({ hasText: 'my bank' }).filter({ hasText: '−$2.50' }).waitFor()
    for (const amount of ['1.50', '2.50']) {
      await asks(amount)
      await page.waitForFunction(() => document.querySelector('[name=withdraw_amount]').value === '')
      await test('withdrawal').filter({ hasText: '−$1.50' }).waitFor()
      assert.deepEqual(await money(), [['15000', 'my bank'], ['25000', 'my bank']])
    }
    await snap('1440-withdrawal')
  },
})
