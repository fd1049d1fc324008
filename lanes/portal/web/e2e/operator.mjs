// Tests the operator's page in a browser against `dx dev` with prices by hand and two-person
// approval. The steps run in order, because each builds on the state of the one before. The first
// failure stops the run.
//
//   node e2e/operator.mjs [folder for screenshots]
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openBrowser } from './browser.mjs'
import { eventually } from './eventually.mjs'
import { faults } from './inspect.mjs'
import { clientOf, freshId, openVenue, traderOf } from './venue.mjs'

const shots = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'duplex-operator-'))
mkdirSync(shots, { recursive: true })

const ROUND_MS = 200_000 // two 60-second rounds and a wait for a decision
const LIMIT = 100 // dollars, of --four-eyes
const venue = await openVenue('--oracle', 'manual', '--no-maker', '--four-eyes', String(LIMIT))
const trader = traderOf(venue, 'trader')
const treasurer = traderOf(venue, 'treasurer')
const browser = await openBrowser()
const { page } = browser
page.setDefaultTimeout(60_000)

const test = (name) => page.locator(`[data-test="${name}"]`)
const button = (name) => page.getByRole('button', { name, exact: true })
const tokens = {}

async function admin(method, path, body) {
  const answer = await fetch(venue.admin + path, { method, headers: { Authorization: `Bearer ${venue.operator_token}`, 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) })
  const said = await answer.json()
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${JSON.stringify(said)}`)
  return said
}

// rejected takes back the console errors of responses with a status, of which there must be some.
async function rejected(status) {
  const is = (t) => t.includes(`the server responded with a status of ${status}`)
  await eventually(`a response ${status}`, () => browser.troubles.some(is))
  browser.troubles.splice(0, Infinity, ...browser.troubles.filter((t) => !is(t)))
}

async function signIn(name) {
  await page.goto(venue.admin)
  await page.locator('[name=token]').fill(tokens[name])
  await button('Sign in').click()
  await test('who').filter({ hasText: name }).waitFor()
}

const go = (name) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: new RegExp(`^${name}`, 'i') }).click()

// does fills the dialog of an action and waits until the page says that it is done.
async function does(yes, said, fields = {}, reason = 'the test wants it') {
  for (const [name, value] of Object.entries(fields)) {
    const field = test('action-dialog').locator(`[name=${name}]`)
    if (await field.evaluate((e) => e.tagName === 'SELECT')) await field.selectOption(value)
    else await field.fill(value)
  }
  await test('action-dialog').locator('[name=reason]').fill(reason)
  await button(yes).click()
  await test('said').filter({ hasText: said }).waitFor()
}

// account opens an account over the search.
async function account(q) {
  await go('accounts')
  await page.locator('[name=q]').fill(q)
  await button('Find').click()
  await test('account').waitFor()
}

async function secret() {
  const value = await test('secret').locator('code').textContent()
  await button('Done').click()
  await test('secret').waitFor({ state: 'detached' })
  return value
}

async function withdraw(dollars, destination) {
  const { status, body } = await treasurer.call('POST', '/v1/withdrawals', { client_withdrawal_id: freshId(), amount: String(dollars * 10000), destination })
  assert.equal(status, 202, JSON.stringify(body))
  return body.withdrawal_id
}

const snap = (name) => page.screenshot({ path: join(shots, `operator-${name}.png`) })

// prices posts a price of BTC four times a second until stop is called: the first of a venue
// without another source of prices.
function prices() {
  let go = true
  const done = (async () => {
    while (go) {
      await admin('POST', '/admin/oracle/ticks', { feed: 0, source: 'operator', price: '6500000000000' })
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
  })()
  return { stop: () => ((go = false), done) }
}

// withRound posts prices until a round for which wanted returns true trades for another 20 s, calls use with it,
// and posts no more.
async function withRound(wanted, use) {
  const posting = prices()
  const trades = (m) => m.status === 'trading' && Number(BigInt(m.close_ts) / 1_000_000n) - Date.now() > 20_000
  try {
    return await use(await eventually('a round that trades', async () => (await admin('GET', '/admin/markets')).markets.find((m) => trades(m) && wanted(m)), ROUND_MS))
  } finally {
    await posting.stop()
  }
}

const steps = {
  async 'signs in with the token of a named operator, which stays in memory'() {
    for (const [name, role] of [['vera', 'viewer'], ['sam', 'support'], ['tina', 'treasurer'], ['theo', 'treasurer'], ['ann', 'admin'], ['bob', 'admin']]) {
      tokens[name] = (await admin('POST', '/admin/operators', { name, role })).operator_token
    }
    await page.goto(venue.admin)
    await test('health').filter({ hasText: 'not ready: oracle stale' }).waitFor()
    await snap('sign-in')
    assert.deepEqual(await faults(page), [])
    await page.locator('[name=token]').fill('dxo_wrong')
    await button('Sign in').click()
    await page.getByRole('alert').filter({ hasText: 'not valid' }).waitFor()
    await rejected(401)
    await signIn('ann')
    const kept = await page.evaluate(async () => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, document.documentElement.outerHTML, await indexedDB.databases(), await caches.keys()]))
    assert.ok(!kept.includes(tokens.ann))
    await page.reload()
    await page.locator('[name=token]').waitFor()
    assert.equal(await page.locator('[name=token]').inputValue(), '')
  },

  async 'the policy of the page refuses foreign code and foreign hosts'() {
    await signIn('ann')
    const broken = await page.evaluate(async () => {
      const seen = []
      document.addEventListener('securitypolicyviolation', (e) => seen.push(e.effectiveDirective))
      const script = document.createElement('script')
      try {
        script.text = 'window.foreign = 1'
        document.head.append(script)
      } catch {}
      try {
        document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.foreign = 2">')
      } catch {}
      try {
        await fetch('https://elsewhere.example/')
      } catch {}
      await new Promise((resolve) => setTimeout(resolve, 100))
      return { foreign: window.foreign, seen }
    })
    assert.equal(broken.foreign, undefined)
    assert.ok(broken.seen.includes('connect-src') && broken.seen.some((d) => d.startsWith('require-trusted-types-for')), JSON.stringify(broken))
    browser.troubles.length = 0 // each refusal is a console error, and an attempt at another host is one too
  },

  async 'a viewer sees everything and has no action'() {
    const small = await withdraw(5, 'account of the treasurer')
    await signIn('vera')
    await test('feed').and(page.locator('[data-feed=BTC]')).waitFor()
    await eventually('one withdrawal', async () => (await test('count-withdrawals').textContent()) === '1')
    await test('need').filter({ hasText: '1 withdrawal to approve, $5.00' }).waitFor()
    for (const name of ['overview', 'withdrawals', 'accounts', 'approvals', 'audit', 'operators']) {
      await go(name)
      await page.locator('main .panel:visible').first().waitFor()
      if (name === 'accounts') await account(String(trader.user_id))
      assert.equal(await page.locator('main button', { hasText: '…' }).count(), 0, name)
    }
    await go('withdrawals')
    await test('withdrawal').and(page.locator(`[data-id="${small}"]`)).filter({ hasText: '$5.00' }).waitFor()
  },

  async 'support opens an account, finds it, and acts on its keys, orders and token'() {
    const placed = await withRound((m) => m.category !== 1, (m) => trader.call('POST', '/v1/portfolio/orders', { client_order_id: freshId(), market_id: m.market_id, side: 'buy', outcome: 'yes', tick: 1000, qty: 5 }))
    assert.equal(placed.status, 201, JSON.stringify(placed.body))
    await signIn('sam')
    await go('accounts')
    await button('New…').click()
    await button('Open the account').click()
    await page.getByRole('alert').filter({ hasText: 'Name is missing' }).waitFor()
    await test('action-dialog').locator('[name=name]').fill('Zoë & <b>co</b>')
    await button('Open the account').click()
    await page.getByRole('alert').filter({ hasText: 'Give a reason' }).waitFor()
    await does('Open the account', 'is open', {}, 'signed the contract')
    const token = await secret()
    assert.match(token, /^dxa_[0-9a-f]{64}$/)
    assert.ok(!(await page.content()).includes(token))
    await account('Zoë')
    await test('account').filter({ hasText: 'Zoë & <b>co</b>' }).waitFor()

    await account(placed.body.order_id) // finds the account of an order
    await test('account').and(page.locator(`[data-id="${trader.user_id}"]`)).waitFor()
    await test('open-order').filter({ hasText: 'buy 5 YES at 10.0¢' }).waitFor()
    assert.equal(await button('Deposit…').count(), 0)
    await button('Cancel orders…').click()
    await does('Cancel the orders', '1 orders')
    await eventually('no order', async () => (await test('open-order').count()) === 0)
    await test('event').first().waitFor()

    await account(trader.api_key)
    await test('key').and(page.locator(`[data-key="${trader.api_key}"]`)).locator('button').click()
    await does('Revoke the key', 'is revoked', {}, 'stolen')
    assert.equal((await trader.call('GET', '/v1/portfolio/balance')).status, 401)
    await eventually('no key', async () => (await page.locator(`[data-key="${trader.api_key}"]`).count()) === 0)

    await button('Reset token…').click()
    await does('Reset the token', 'new token')
    const fresh = await secret()
    const keys = (t) => fetch(`${venue.portal}/keys`, { headers: { Authorization: `Bearer ${t}` } }).then((r) => r.status)
    assert.deepEqual([await keys(fresh), await keys(trader.account_token)], [200, 401])

    // The page stays at the account of an action, also if another one was the last that was found.
    await account('Zoë')
    await test('account').filter({ hasText: 'Zoë & <b>co</b>' }).waitFor()
    await page.evaluate((id) => void (location.hash = `#/accounts/${id}`), trader.user_id)
    await test('account').and(page.locator(`[data-id="${trader.user_id}"]`)).locator('button', { hasText: 'Suspend…' }).click()
    await does('Suspend the account', 'is suspended')
    await test('account-state').filter({ hasText: 'Suspended' }).waitFor()
    // A read that goes on when the page has left the account asks for nothing of another one.
    let leave
    const left = new Promise((resolve) => (leave = resolve))
    await page.route(`**/admin/users/${trader.user_id}`, async (route) => {
      await left
      await route.continue()
    }, { times: 1 })
    await go('accounts')
    const asked = page.waitForRequest(`**/admin/users/${trader.user_id}`)
    await page.evaluate((id) => void (location.hash = `#/accounts/${id}`), trader.user_id)
    await asked
    await go('accounts')
    const ledger = page.waitForResponse(`**/admin/users/${trader.user_id}/ledger*`)
    leave()
    await ledger
    await page.evaluate((id) => void (location.hash = `#/accounts/${id}`), trader.user_id)
    // Esc takes back nothing that was sent, so the page says what became of it.
    await page.route('**/resume', async (route) => {
      await page.keyboard.press('Escape')
      await route.abort()
    }, { times: 1 })
    await button('Resume…').click()
    await does('Resume the account', 'it may have happened')
    const failed = (t) => t.includes('net::ERR_FAILED')
    await eventually('the console error', () => browser.troubles.some(failed))
    browser.troubles.splice(0, Infinity, ...browser.troubles.filter((t) => !failed(t)))
    await button('Resume…').click()
    await does('Resume the account', 'is active again')
    await snap('support-account')
  },

  async 'a treasurer books deposits and takes withdrawals from step to step, large ones with a second operator'() {
    const cash = async (id) => Number((await admin('GET', `/admin/users/${id}`)).cash) / 10000
    const before = await cash(trader.user_id)
    await signIn('tina')
    await account(String(trader.user_id))
    await button('Deposit…').click()
    await test('action-dialog').locator('[name=amount]').fill('12.00001')
    await test('action-dialog').locator('[name=id]').fill('wire-1')
    await test('action-dialog').locator('[name=reason]').fill('x')
    await button('Book the deposit').click()
    await page.getByRole('alert').filter({ hasText: 'four decimals' }).waitFor()
    await does('Book the deposit', '$12.50 are in account', { amount: '12.50' })
    assert.equal(await cash(trader.user_id), before + 12.5)
    await test('ledger-row').and(page.locator('[data-kind=deposit]')).filter({ hasText: 'wire-1' }).waitFor()
    await button('Deposit…').click()
    await does('Book the deposit', 'waits for the approval', { amount: '5000', id: 'wire-2' }, 'large wire')
    assert.equal(await cash(trader.user_id), before + 12.5)

    const [no, large] = [await withdraw(7, 'elsewhere'), await withdraw(500, 'bank')]
    const held = await cash(treasurer.user_id)
    await go('withdrawals')
    const row = (id) => page.locator(`[data-test=withdrawal][data-id="${id}"]`)
    const small = (await admin('GET', '/admin/withdrawals?status=pending')).withdrawals.find((w) => w.amount === '50000').withdrawal_id
    await row(small).getByRole('button', { name: 'Approve…' }).click()
    await does('Approve the withdrawal', `Withdrawal ${small} is approved`)
    await row(small).filter({ hasText: 'to pay' }).getByRole('button', { name: 'Paid…' }).click()
    await does('The payment is sent', `Withdrawal ${small} is sent`, { reference: 'wire-out-1' })
    await row(small).filter({ hasText: 'on its way' }).filter({ hasText: 'wire-out-1' }).getByRole('button', { name: 'Came back…' }).click()
    await does('Return the money', `Withdrawal ${small} is failed`)
    await row(small).waitFor({ state: 'detached' })
    await row(no).getByRole('button', { name: 'Reject…' }).click()
    await does('Reject the withdrawal', `Withdrawal ${no} is rejected`, {}, 'unknown payee')
    assert.equal(await cash(treasurer.user_id), held + 7 + 5)
    await row(large).getByRole('button', { name: 'Approve…' }).click()
    await does('Approve the withdrawal', 'waits for the approval')
    await row(large).getByText('waits for approval').waitFor()

    await go('approvals')
    await test('approval').filter({ hasText: 'Deposit $5,000.00' }).filter({ hasText: 'another operator decides' }).waitFor()
    assert.equal(await button('Approve…').count(), 0)
    await test('approval').filter({ hasText: `Approve withdrawal ${large}` }).getByRole('button', { name: 'Take back…' }).click()
    await does('Take it back', 'taken back')
    await go('withdrawals')
    await row(large).getByRole('button', { name: 'Approve…' }).click()
    await does('Approve the withdrawal', 'waits for the approval')
    await signIn('theo')
    await go('approvals')
    for (const what of ['Deposit $5,000.00', `Approve withdrawal ${large}, $500.00`]) {
      await test('approval').filter({ hasText: what }).getByRole('button', { name: 'Approve…' }).click()
      await does('Approve and execute', 'approved and executed', {}, 'checked with the bank')
    }
    await test('approval').filter({ hasText: 'Approved by theo' }).nth(1).waitFor()
    assert.equal(await cash(trader.user_id), before + 5012.5)
    await go('withdrawals')
    await row(large).getByRole('button', { name: 'Paid…' }).click()
    await does('The payment is sent', `Withdrawal ${large} is sent`, { reference: 'wire-out-2' })
    await row(large).getByRole('button', { name: 'Arrived…' }).click()
    await does('The payment has arrived', `Withdrawal ${large} is completed`)
    await button('Completed').click()
    await row(large).filter({ hasText: 'wire-out-2' }).waitFor()
    assert.equal(await cash(treasurer.user_id), held + 7 + 5)
  },

  async 'an admin posts a price, and decides a round without prices, with a second admin'() {
    await signIn('ann')
    await page.locator('[data-feed=BTC]').getByRole('button', { name: 'Price…' }).click()
    await does('Post the price', 'BTC is at 65,000.00', { price: '65,000' })
    await page.locator('[data-feed=BTC]').filter({ hasText: 'by hand' }).waitFor()
    // A 60-second round that opened, and gets no further prices, waits for a decision.
    const opened = await withRound((m) => m.category === 1, (m) => m)
    const row = page.locator(`[data-test=round][data-market="${opened.market_id}"]`)
    await row.filter({ hasText: 'needs a decision' }).waitFor({ timeout: ROUND_MS })
    await eventually('the count beside the page', async () => /^[1-9]/.test(await test('count-overview').textContent()))
    assert.match(await test('need').first().textContent(), new RegExp(`round ${opened.round_number} has no price, void in`))
    assert.equal(await test('round').first().getAttribute('data-market'), String(opened.market_id))
    await snap('decision')
    await row.getByRole('button', { name: 'Price…' }).click()
    await does('Set the price', 'waits for the approval', { price: '65100.5' }, 'mean of three exchanges')
    await signIn('bob')
    await test('need').filter({ hasText: 'ann asks' }).getByRole('link', { name: 'Decide' }).click()
    await test('approval').filter({ hasText: `round ${opened.round_number} at 65,100.50` }).getByRole('button', { name: 'Approve…' }).click()
    await does('Approve and execute', 'approved and executed')
    const ended = await eventually('the round is settled', async () => {
      const { body } = await treasurer.call('GET', `/v1/rounds?market_id=${opened.market_id}&limit=20`)
      return body.rounds.find((r) => r.round_number === opened.round_number && r.status === 'settled')
    })
    assert.deepEqual([ended.settle_price, ended.winner], ['6510050000000', 'yes'])

    await go('overview')
    await withRound(() => true, async (m) => {
      await page.locator(`[data-test=round][data-market="${m.market_id}"]`).getByRole('button', { name: 'Void…' }).click()
      await does('Void the round', 'waits for the approval', {}, 'wrong strike')
    })
    await button('Check the sums').click()
    await test('difference').filter({ hasText: 'none, to the pip' }).waitFor()
    await button('Write a snapshot').click()
    await does('Write it', 'The snapshot of seq')
    await signIn('ann')
    await go('approvals')
    await test('approval').filter({ hasText: 'Void market' }).getByRole('button', { name: 'Reject…' }).click()
    await does('Reject the request', 'rejected', {}, 'the strike is right')
  },

  async 'the last day has what was traded, paid and refused'() {
    await go('overview')
    const chart = (name) => page.locator(`[data-test=day-chart][data-name="${name}"]`)
    await chart('Money in').filter({ hasText: '$5,012.50' }).waitFor({ timeout: 60_000 })
    await chart('Money out').filter({ hasText: '$500.00' }).waitFor()
    await chart('Requests with an error').filter({ hasText: /[1-9][0-9]* of [0-9,]+/ }).waitFor()
    await chart('Most connections').filter({ hasText: /[1-9][0-9]* of [0-9,]+ places/ }).waitFor()
    await chart('Money in').getByRole('slider').press('Home')
    await chart('Money in').filter({ hasText: 'before the start' }).waitFor()
    await chart('Money in').getByRole('slider').press('End')
    await chart('Money in').filter({ hasText: /[0-9]{2}:[03]0 to [0-9]{2}:[03]0/ }).waitFor()
  },

  async 'the audit names who did what, and why'() {
    await go('audit')
    for (const [who, action, why] of [['sam', 'revoke_key', 'stolen'], ['theo', 'approve', 'checked with the bank'], ['tina', 'reject_withdrawal', 'unknown payee'], ['ann', 'request_approval', 'mean of three exchanges']]) {
      await page.locator('[name=who]').fill(who)
      await page.locator('[name=action]').fill(action)
      await button('Filter').click()
      await page.locator(`[data-test=action][data-action="${action}"]`).filter({ hasText: why }).first().waitFor()
      await eventually('no other person', async () => (await page.locator('[data-test=action]').evaluateAll((rows) => new Set(rows.map((r) => r.children[2].textContent)).size)) === 1)
    }
  },

  async 'every page fits every screen, in both themes'() {
    await withdraw(40, 'a bank with a long name, account DE00 0000 0000 0000 0000 00, for the treasurer of the venue')
    for (const [width, height] of [[1440, 900], [1024, 768], [390, 844]]) {
      await page.setViewportSize({ width, height })
      for (const scheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme: scheme })
        await page.locator(`html[data-shade="${scheme}"]`).waitFor({ state: 'attached' })
        for (const name of ['overview', 'withdrawals', 'accounts', 'approvals', 'audit', 'operators']) {
          await go(name)
          await page.locator('main .panel:visible').first().waitFor()
          if (name === 'accounts') await account(String(trader.user_id))
          await page.locator('main tbody tr:visible').first().waitFor()
          assert.equal(await page.locator('main').evaluate((e) => e.scrollTop), 0, `${name} begins at its top`)
          await snap(`${width}-${scheme}-${name}`)
          assert.deepEqual(await faults(page), [], `${name} at ${width} in ${scheme}`)
          await page.locator('main').evaluate((e) => e.scrollTo(0, 9))
        }
      }
    }
    await page.emulateMedia({ colorScheme: 'light' })
    await go('withdrawals')
    for (const [width, height] of [[390, 844], [1440, 900]]) {
      await page.setViewportSize({ width, height })
      await button('Reject…').first().click()
      await snap(`${width}-dialog`)
      assert.deepEqual(await faults(page), [], `dialog at ${width}`)
      const box = await test('action-dialog').boundingBox()
      assert.ok(box.x >= 0 && box.x + box.width <= width && box.y >= 0 && box.y + box.height <= height, `dialog at ${width}: ${JSON.stringify(box)}`)
      await button('Go back').click()
    }
  },

  async 'an operator who is revoked is signed out'() {
    await go('operators')
    await button('Add…').click()
    await does('Add the operator', 'is an operator', { name: 'eve', role: 'support' }, 'joins the desk')
    tokens.eve = await secret()
    await signIn('eve')
    await admin('DELETE', '/admin/operators/eve', { reason: 'left' })
    await page.getByText('Your token is no longer valid.').waitFor()
    await rejected(401)
  },
}

let failed = false
try {
  for (const [name, step] of Object.entries(steps)) {
    const begun = Date.now()
    try {
      await step()
      assert.deepEqual(browser.troubles, [])
      console.log(`ok    ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`)
    } catch (e) {
      failed = true
      console.log(`FAIL  ${name}\n${e.stack}\n${browser.troubles.join('\n')}`)
      await snap('failed')
      break
    }
  }
} finally {
  await browser.close()
  await venue.close()
}
console.log(`screenshots: ${shots}`)
process.exitCode = failed ? 1 : 0
