// The page on which an owner allows or denies an OAuth client, and what the client gets.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { eventually } from '../eventually.mjs'
import { SCREENS, act, admin, browser, button, context, expected, faultless, page, run, snap, test, theme, trader, venue } from '../harness.mjs'

// client is an application on this machine: it has a document, takes the redirect and keeps it.
const taken = []
const client = createServer((request, response) => {
  const url = new URL(request.url, at('/'))
  if (url.pathname === '/client.json') {
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ client_id: at('/client.json'), client_name: 'Documented', redirect_uris: [at('/callback'), 'https://elsewhere.example/callback'] }))
    return
  }
  if (url.pathname === '/callback') taken.push(Object.fromEntries(url.searchParams))
  response.setHeader('Content-Type', 'text/html')
  response.end(url.pathname === '/frame' ? `<!doctype html><html lang="en"><title>Frame</title><link rel="icon" href="data:,"><iframe src="${url.searchParams.get('of').replaceAll('&', '&amp;')}"></iframe></html>` : '<!doctype html><html lang="en"><title>The client</title><link rel="icon" href="data:,"><p>The client has the answer.</p></html>')
})
const at = (path) => `http://127.0.0.1:${client.address().port}${path}`

async function register(name, ...redirects) {
  const answer = await fetch(`${venue.portal}/oauth/register`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ client_name: name, redirect_uris: redirects }) })
  assert.equal(answer.status, 201)
  return (await answer.json()).client_id
}

// authorization begins an authorization of a client. tokens exchanges its code.
function authorization(client_id, redirect_uri, more = {}) {
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(8).toString('hex')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  return {
    state,
    url: `${venue.portal}/oauth/authorize?${new URLSearchParams({ response_type: 'code', client_id, redirect_uri, code_challenge: challenge, code_challenge_method: 'S256', state, ...more })}`,
    async tokens(code) {
      const answer = await fetch(`${venue.portal}/oauth/token`, { method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body: new URLSearchParams({ grant_type: 'authorization_code', code, client_id, redirect_uri, code_verifier: verifier }) })
      return { status: answer.status, ...(await answer.json()) }
    },
  }
}

const owner = async (method, path, body) => {
  const answer = await fetch(venue.portal + path, { method, headers: { Authorization: `Bearer ${trader.account_token}`, 'Content-Type': 'application/json' }, ...(body && { body: JSON.stringify(body) }) })
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`)
  return answer.json()
}
const agentOf = async (name) => (await owner('GET', '/agents')).agents.find((a) => a.name === name)
const allowable = () => page.locator('[data-test="allow"][aria-disabled="false"]').waitFor()
const forgotten = () => page.evaluate(() => sessionStorage.clear())

async function signIn(token = trader.account_token) {
  await page.locator('[name=token]').fill(token)
  await button('Continue').click()
}

// answered waits for the redirect of an authorization and returns it.
async function answered(state) {
  const got = await eventually('the redirect', () => taken.find((a) => a.state === state))
  assert.equal(got.iss, venue.portal)
  return got
}

async function begin() {
  await new Promise((resolve) => client.listen(0, '127.0.0.1', resolve))
}

let assistant // the client_id of a client that the first step connects

await run({
  async 'a new agent is made with its bounds, and the client gets a code that works'() {
    assistant = await register('My Assistant', at('/callback'))
    const asked = authorization(assistant, at('/callback'))
    await page.goto(asked.url)
    await test('unverified').filter({ hasText: 'Not verified: any application can call itself so.' }).waitFor()
    await test('redirect').filter({ hasText: `The answer goes to ${new URL(at('/')).host}, an application on this computer.` }).waitFor()
    assert.equal(await test('allow').count() + (await test('deny').count()), 0, 'nobody decides without a token')
    await signIn()
    await test('signed-in').filter({ hasText: `Signed in as trader, with the token …${trader.account_token.slice(-4)}` }).waitFor()
    assert.equal(await page.locator('[name=agent_name]').inputValue(), 'my-assistant')
    assert.equal(await page.locator('[name=fund]').inputValue(), '100')
    assert.equal(await page.locator('[name=expires]').inputValue(), String(30 * 24 * 3600))
    assert.equal(await page.locator('[name=expires_ts]').count(), 0, 'the mandate ends with the connection')

    // A wrong form says why it cannot be allowed, and Enter in a field allows nothing.
    const reason = page.locator('#reason')
    for (const [field, wrong, says, right] of [
      ['agent_name', 'My Agent', 'Name must be 1 to 32', 'my-assistant'],
      ['agent_name', 'agent', 'that you have not used before', 'my-assistant'],
      ['fund', '1000000000', 'at most your free cash', '25'],
      ['price_collar', '100', 'Price collar must be', '3'],
    ]) {
      await page.locator(`[name=${field}]`).fill(wrong)
      await reason.filter({ hasText: says }).waitFor()
      assert.equal(await test('allow').getAttribute('aria-disabled'), 'true', says)
      await page.locator(`[name=${field}]`).fill(right)
      await reason.filter({ hasText: /^$/ }).waitFor({ state: 'attached' })
    }
    await button('Normal').click()
    await page.locator('[name=max_order_cost]').fill('4')
    await page.locator('[name=expires]').selectOption('7 days')
    await test('effect').filter({ hasText: /My Assistant may place orders as the agent my-assistant, with at most \$25\.00 at risk at a time, until .* UTC\. The agent can never lose more than it has, which will be \$25\.00\. It can never withdraw\./ }).waitFor()
    await page.locator('[name=fund]').press('Enter')
    await allowable()
    assert.equal(taken.length, 0)
    await test('allow').click()

    const got = await answered(asked.state)
    const agent = await agentOf('my-assistant')
    assert.deepEqual([agent.client, agent.equity], [assistant, '250000'])
    const { mandate } = await owner('GET', `/agents/${agent.user_id}/mandate`)
    const { expires_ts, ...bounds } = mandate
    assert.deepEqual(bounds, { price_collar: 500, max_order_cost: '40000', max_open_cost: '500000', max_daily_loss: '500000' })
    assert.ok(Math.abs(Number(expires_ts) / 1e6 - Date.now() - 7 * 86_400_000) < 60_000, 'it ends with the connection')
    const tokens = await asked.tokens(got.code)
    assert.deepEqual([tokens.status, tokens.scope, tokens.access_token.slice(0, 4)], [200, 'read trade', 'dxt_'])
  },

  async 'the second time, one click connects the same agent'() {
    const asked = authorization(assistant, at('/callback'))
    await page.goto(asked.url)
    const agent = await agentOf('my-assistant')
    await page.waitForFunction((id) => document.querySelector('[name=agent]')?.value === String(id), agent.user_id)
    assert.equal(await page.locator('[name=fund]').inputValue(), '0')
    for (const says of ['Cost of an order', '$4.00', '$0.00 of $50.00 used', 'expires in']) await test('mandate').filter({ hasText: says }).waitFor()
    let sent
    await page.route('**/oauth/consent', (route) => {
      sent = route.request().postDataJSON()
      return route.fallback()
    })
    await allowable()
    await test('allow').click()
    await answered(asked.state)
    await page.unroute('**/oauth/consent')
    assert.deepEqual(sent.agent, { user_id: agent.user_id, if_rev: 1 }, 'no mandate is sent')
    assert.equal((await agentOf('my-assistant')).equity, '250000')
  },

  async 'money moves once, whatever becomes of the answers'() {
    const asked = authorization(assistant, at('/callback'))
    await page.goto(asked.url)
    await test('mandate').waitFor()
    await page.locator('[name=fund]').fill('5')
    const ids = []
    await page.route('**/oauth/consent', async (route) => {
      ids.push(route.request().postDataJSON().client_transfer_id)
      if (ids.length > 1) return route.fallback()
      await route.fetch()
      await route.abort()
    })
    await allowable()
    await test('allow').click()
    await page.getByText('No answer came.').waitFor()
    expected(/net::ERR_FAILED\b/)
    assert.equal(await page.locator('[name=fund]').inputValue(), '5', 'nothing that was typed is lost')
    await allowable()
    await test('allow').dblclick()
    await answered(asked.state)
    await page.unroute('**/oauth/consent')
    assert.deepEqual(ids, [ids[0], ids[0]])
    assert.equal((await agentOf('my-assistant')).equity, '300000')

    // The answer about a new agent is lost: the agent is there, is selected, and gets no more money.
    const again = authorization(assistant, at('/callback'))
    await page.goto(again.url)
    await test('mandate').waitFor()
    await page.locator('[name=agent]').selectOption('A new agent')
    assert.equal(await page.locator('[name=agent_name]').inputValue(), 'my-assistant-2')
    await page.route('**/oauth/consent', async (route) => {
      await route.fetch()
      await route.abort()
    }, { times: 1 })
    await allowable()
    await test('allow').click()
    await page.getByText('The agent my-assistant-2 exists and is selected now.').waitFor()
    expected(/net::ERR_FAILED\b/)
    assert.equal(await page.locator('[name=fund]').inputValue(), '0')
    await allowable()
    await test('allow').click()
    await answered(again.state)
    assert.equal((await agentOf('my-assistant-2')).equity, '1000000')
  },

  async 'an owner denies, and an application of its own scheme leaves the page open'() {
    const asked = authorization(assistant, at('/callback'))
    await page.goto(asked.url)
    await test('deny').click()
    assert.equal((await answered(asked.state)).error, 'access_denied')

    // The browser asks whether to open the application, and until then takes no click on the tab.
    const own = page
    act(await context.newPage())
    const app = authorization(await register('Editor', 'cursor://anysphere.cursor/callback'), 'cursor://anysphere.cursor/callback')
    await page.goto(app.url)
    await signIn()
    await test('redirect').filter({ hasText: 'cursor://anysphere.cursor, an application on this device' }).waitFor()
    await test('deny').click()
    await page.getByRole('heading', { name: 'Denied.' }).waitFor()
    await page.getByText('You can close this page.').waitFor()
    await snap('1440-consent-denied')
    expected(/cursor:\/\/anysphere/)
    await page.close()
    act(own)
  },

  async 'a token that is wrong, ends, or is another owner’s'() {
    const asked = authorization(assistant, at('/callback'))
    await page.goto(asked.url)
    await test('mandate').waitFor()
    await button('Use another account').click()
    await signIn('dxa_wrong')
    await page.getByText('The portal does not know this token.').waitFor()
    expected(/status of 401/)
    const { account_token, user_id } = await admin('/admin/users', { name: 'newcomer' })
    await signIn(account_token)
    await test('signed-in').filter({ hasText: account_token.slice(-4) }).filter({ hasText: 'Free cash $0.00' }).waitFor()
    assert.equal(await page.locator('[name=agent]').inputValue(), '0', 'the agent is the other owner’s')
    assert.equal(await page.locator('[name=fund]').inputValue(), '0')
    await page.locator('[name=agent_name]').fill('mine')
    const { account_token: next } = await admin(`/admin/users/${user_id}/token`, { reason: 'lost' })
    await allowable()
    await test('allow').click()
    await page.getByText('The account token is not valid any more.').waitFor()
    expected(/status of 401/)
    await signIn(next)
    await test('effect').waitFor()
    assert.equal(await page.locator('[name=agent_name]').inputValue(), 'mine', 'the choices of the same account are kept')
    await forgotten()
  },

  async 'an agent that is halted meanwhile, or whose bounds change, is decided about again'() {
    const { user_id } = await agentOf('my-assistant-2')
    const asked = authorization(assistant, at('/callback'))
    await page.goto(asked.url)
    if (await page.locator('[name=token]').or(test('mandate')).first().getAttribute('name') === 'token') await signIn()
    await page.locator('[name=agent]').selectOption(String(user_id))
    await test('mandate').filter({ hasText: 'my-assistant-2' }).waitFor()
    await owner('PUT', `/agents/${user_id}/mandate`, { if_rev: 1, mandate: { max_order_cost: '70000' } })
    await allowable()
    await test('allow').click()
    await page.getByText('The bounds of this agent were changed meanwhile.').waitFor()
    expected(/status of 409/)
    await test('mandate').filter({ hasText: '$7.00' }).waitFor()
    await owner('POST', `/agents/${user_id}/halt`)
    await allowable()
    await test('allow').click()
    await page.getByText('This agent is not active any more.').waitFor()
    expected(/status of 409/)
    assert.equal(await page.locator('[name=agent] option:checked').textContent(), 'Choose an agent')
    assert.equal(await test('allow').getAttribute('aria-disabled'), 'true', 'a second press chooses no other agent')
    await owner('POST', `/agents/${user_id}/resume`)
    await page.locator('[name=agent]').selectOption('A new agent')
    await page.locator('[name=fund]').fill('5.12345')
    await page.locator('#reason').filter({ hasText: 'at most four decimals' }).waitFor()
    await forgotten()
  },

  async 'a document vouches, a reader cannot trade, and a name is text'() {
    const documented = authorization(at('/client.json'), at('/callback'), { scope: 'read' })
    await page.goto(documented.url)
    await test('verified').filter({ hasText: `Verified by ${new URL(at('/')).host}.` }).waitFor()
    await signIn()
    await test('effect').filter({ hasText: 'It may not trade.' }).waitFor()
    await page.goto(authorization(at('/client.json'), 'https://elsewhere.example/callback').url)
    await test('redirect').filter({ hasText: `elsewhere.example, which is another host than ${new URL(at('/')).host}` }).waitFor()

    const name = '<img src=x onerror=document.title=1> "&quot;'
    await page.goto(authorization(await register(name, at('/callback')), at('/callback')).url)
    assert.equal(await test('client').textContent(), name)
    await test('effect').filter({ hasText: name }).waitFor()
    assert.equal(await page.locator('img[src=x]').count(), 0)
    assert.equal(await page.locator('[name=agent_name]').inputValue(), 'img-src-x-onerror-document-title')
  },

  async 'a click that comes too early allows nothing, and no page frames it'() {
    const asked = authorization(assistant, at('/callback'))
    const own = page
    act(await context.newPage())
    await page.addInitScript(() => {
      new MutationObserver((_, seen) => {
        const allow = document.querySelector('[data-test=allow]')
        if (!allow) return
        seen.disconnect()
        allow.click()
        window.pressed = true
      }).observe(document, { childList: true, subtree: true })
    })
    await page.goto(asked.url)
    await signIn()
    await page.waitForFunction(() => window.pressed)
    await allowable()
    await page.evaluate(() => {
      dispatchEvent(new Event('focus'))
      document.querySelector('[data-test=allow]').click()
    })
    assert.equal(await test('allow').getAttribute('aria-disabled'), 'true')
    await allowable()
    assert.ok(!taken.some((a) => a.state === asked.state))
    await page.close()
    act(own)

    await page.goto(at(`/frame?${new URLSearchParams({ of: asked.url })}`))
    await eventually('the refusal of the frame', () => browser.troubles.some((t) => t.includes('frame-ancestors')))
    assert.equal(await page.frames()[1]?.locator('[data-test=consent]').count(), 0)
    expected(/frame-ancestors|chrome-error/)
  },

  async 'the page fits each screen, with every field in reach of the keyboard'() {
    const asked = authorization(await register('Research Assistant with a name of the greatest length 1234567890', at('/callback')), at('/callback'))
    const again = authorization(assistant, at('/callback'))
    for (const [what, url, shown] of [['new', asked.url, 'effect'], ['existing', again.url, 'mandate']]) {
      await page.goto(url)
      await test(shown).waitFor()
      for (const [width, height, scheme] of SCREENS) {
        await page.setViewportSize({ width, height })
        await theme(scheme)
        await allowable()
        await snap(`${width}-${scheme}-consent-${what}`)
        await faultless(`${what} at ${width} × ${height}, ${scheme}`)
      }
    }
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.locator('[name=agent]').selectOption('A new agent')
    await page.locator('body').click({ position: { x: 2, y: 2 } })
    const order = []
    for (let n = 0; n < 15; n++) {
      await page.keyboard.press('Tab')
      order.push(await page.evaluate(() => document.activeElement.getAttribute('name') || document.activeElement.textContent.trim()))
    }
    assert.deepEqual(order, ['Use another account', 'agent', 'agent_name', 'fund', 'expires', 'Careful', 'Normal', 'Loose', 'max_order_cost', 'max_open_cost', 'max_daily_loss', 'price_collar', 'ask_above', 'Deny', 'Allow'])
    assert.notEqual(await test('allow').evaluate((e) => getComputedStyle(e).outlineStyle), 'none')
    await forgotten()
    await page.goto(asked.url)
    await page.locator('[name=token]').waitFor()
    for (const [width, height, scheme] of SCREENS) {
      await page.setViewportSize({ width, height })
      await theme(scheme)
      await snap(`${width}-${scheme}-consent-sign-in`)
      await faultless(`the sign-in at ${width} × ${height}, ${scheme}`)
    }
    await page.setViewportSize({ width: 1440, height: 900 })
  },

  async 'the page of the agents shows the application and ends its connection'() {
    const { user_id } = await agentOf('my-assistant-2')
    await page.goto(`${venue.portal}/#/agents`)
    await signIn()
    const row = page.locator('[data-test="agent"][data-name="my-assistant-2"]')
    const key = row.locator('[data-test="agent-key"][data-kind="oauth"]')
    await key.first().filter({ hasText: 'My Assistant' }).filter({ hasText: /ends \d{4}-\d\d-\d\d/ }).waitFor()
    for (const [width, height, scheme] of SCREENS) {
      await page.setViewportSize({ width, height })
      await theme(scheme)
      await key.first().scrollIntoViewIfNeeded()
      await snap(`${width}-${scheme}-agents-connected`)
      await faultless(`connected agents at ${width} × ${height}, ${scheme}`)
    }
    await page.setViewportSize({ width: 1440, height: 900 })
    for (let left = await key.count(); left > 0; left--) {
      await key.first().getByRole('button', { name: 'Disconnect My Assistant' }).click()
      await test('confirm').getByRole('button', { name: 'Disconnect' }).click()
      await eventually('the key is gone', async () => (await key.count()) < left)
    }
    assert.deepEqual((await owner('GET', `/agents/${user_id}/keys`)).keys.filter((k) => k.kind === 'oauth'), [])
  },
}, begin)
client.close()
client.closeAllConnections()
