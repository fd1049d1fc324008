// A week of a venue's operators: 40 accounts, deposits and withdrawals on both sides of the limit of
// --four-eyes, a void, a leaked key, a suspended account, and a start from a backup in another folder.
// Each figure on the operator's page must be that of the admin routes and of the mirror, and each action
// must be in the audit with its person.
//
//   node e2e/week.mjs [folder for screenshots]
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { openBrowser } from './browser.mjs'
import { eventually } from './eventually.mjs'
import { buildVenue, clientOf, freshId } from './venue.mjs'

const dir = mkdtempSync(join(tmpdir(), 'duplex-week-'))
const shots = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'duplex-week-shots-'))
mkdirSync(shots, { recursive: true })
const dx = process.env.E2E_DX ?? join(dir, 'dx')
if (!process.env.E2E_DX) buildVenue(dx)

const ACCOUNTS = 40
const LIMIT = 1000 // dollars
const usd = (dollars) => String(dollars * 10_000)

// serve starts a live venue with prices by hand, and reads its addresses from the log.
async function serve(data) {
  const any = '127.0.0.1:0'
  const child = spawn(dx, ['serve', '--data', data, '--oracle', 'manual', '--four-eyes', String(LIMIT), '--api', any, '--portal', any, '--admin', any], { cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const lines = []
  const opened = await new Promise((resolve, reject) => {
    createInterface(child.stderr).on('line', (line) => {
      lines.push(line)
      if (line.includes('"venue open"')) resolve(JSON.parse(line))
    })
    void ended.then((code) => reject(new Error(`dx serve ended with ${code}\n${lines.join('\n')}`)))
  })
  return {
    data, api: opened.api, admin: opened.admin, shared: readFileSync(join(data, 'operator.token'), 'utf8').trim(),
    async stop() {
      child.kill('SIGTERM')
      assert.equal(await ended, 0)
    },
    kill: () => child.kill('SIGKILL'),
  }
}

let venue = await serve(join(dir, 'venue'))
const tokens = { operator: venue.shared }
const done = [] // the actions so far, as the audit shows them: who, action, why

async function request(who, method, path, body) {
  const answer = await fetch(venue.admin + path, { method, headers: { Authorization: `Bearer ${tokens[who]}`, 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) })
  return { status: answer.status, said: await answer.json() }
}
const get = async (path) => (await request('vera', 'GET', path)).said

// all reads every page of a list.
async function all(path, name) {
  const rows = []
  for (let cursor = ''; ; ) {
    const page = await get(`${path}${path.includes('?') ? '&' : '?'}limit=1000${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
    rows.push(...page[name])
    if (!(cursor = page.cursor)) return rows
  }
}

// act sends an action of an operator, and notes it for the comparison with the audit.
async function act(who, action, method, path, body, why, status) {
  const { status: got, said } = await request(who, method, path, { ...body, reason: why })
  assert.equal(got, status, `${who} ${method} ${path}: ${JSON.stringify(said)}`)
  done.push([who, got === 202 ? 'request_approval' : action, why])
  return said
}
const decide = (who, what, { approval_id }, why) => act(who, what, 'POST', `/admin/approvals/${approval_id}/${what}`, {}, why, 200)

// mirror queries the mirror once it has everything up to a seq.
async function mirror(sql, seq) {
  const read = (q) => JSON.parse(execFileSync('python3', ['-c', 'import sqlite3,json,sys;print(json.dumps(sqlite3.connect("file:"+sys.argv[1]+"?mode=ro",uri=True).execute(sys.argv[2]).fetchall()))', join(venue.data, 'mirror', 'history.db'), q]))
  await eventually('the mirror', () => read('SELECT seq FROM cursor')[0][0] >= Number(seq))
  return read(sql)
}

const browser = await openBrowser()
const { page } = browser
page.setDefaultTimeout(60_000)
const test = (name) => page.locator(`[data-test="${name}"]`)
const go = (name) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: new RegExp(`^${name}`, 'i') }).click()
const snap = (name) => page.screenshot({ path: join(shots, `week-${name}.png`) })
const cells = (name) => test(name).evaluateAll((rows) => rows.map((r) => [...r.children].map((c) => c.textContent.trim())))
const money = (pips) => `${pips < 0 ? '−' : ''}$${(Math.abs(pips) / 10_000).toLocaleString('en-US', { minimumFractionDigits: 2 })}`

// more opens the rest of a list.
async function more() {
  const button = page.locator('main').getByRole('button', { name: 'Show more', exact: true }).first()
  for (let rows = -1; await button.isVisible(); ) {
    rows = await page.locator('main tbody tr, main li').count()
    await button.click()
    await eventually('more rows', async () => (await page.locator('main tbody tr, main li').count()) > rows || !(await button.isVisible()))
  }
}

// same waits until the page shows what it should.
async function same(what, shown, want) {
  let seen
  await eventually(what, async () => JSON.stringify((seen = await shown())) === JSON.stringify(want)).catch(() => assert.deepEqual(seen, want, what))
}

// compare compares every figure of the page with the admin routes and the mirror.
async function compare(name) {
  await page.goto(venue.admin)
  await page.locator('[name=token]').fill(tokens.ann)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await test('who').filter({ hasText: 'ann' }).waitFor()

  const state = await get('/admin/state')
  await page.getByRole('button', { name: 'Check the sums' }).click()
  await same('sums', () => test('sums').locator('dd').allTextContents(), [...['cash', 'reserved', 'collateral', 'fees', 'deposits', 'withdrawals'].map((x) => money(state[x])), 'none, to the pip'])
  await snap(`${name}-overview`)

  const users = await all('/admin/users', 'users')
  assert.equal(users.length, ACCOUNTS)
  const mirrored = new Map((await mirror('SELECT user_id, name, suspended, (SELECT balance_after FROM ledger l WHERE l.user_id = u.user_id ORDER BY n DESC LIMIT 1) FROM users u', state.seq)).map((r) => [r[0], r]))
  const ledgers = await mirror('SELECT user_id, kind, amount, balance_after FROM ledger ORDER BY user_id, n DESC', state.seq)
  let [cash, reserved] = [0, 0]
  await go('accounts')
  await more()
  await same('accounts', async () => (await test('user').allTextContents()).map((t) => t.replace(/\s+/g, ' ').trim()), users.map((u) => `${u.user_id} ${u.name}${u.suspended ? ' suspended' : ''}`))
  for (const u of users) {
    const a = await get(`/admin/users/${u.user_id}`)
    cash += Number(a.cash)
    reserved += Number(a.reserved)
    assert.deepEqual(mirrored.get(u.user_id), [u.user_id, u.name, Number(u.suspended), Number(a.cash) + Number(a.reserved)])
    const ledger = await all(`/admin/users/${u.user_id}/ledger`, 'ledger')
    assert.deepEqual(ledgers.filter((r) => r[0] === u.user_id), ledger.map((r) => [u.user_id, r.kind, Number(r.amount), Number(r.balance_after)]))
    await page.locator(`[data-test=user][data-id="${u.user_id}"]`).click()
    await page.locator(`[data-test=account][data-id="${u.user_id}"] dl`).waitFor()
    await same(`account ${u.user_id}`, () => test('account').locator('dd').allTextContents(), [a.state === 'active' ? 'Active' : 'Suspended', money(a.cash), money(a.reserved), a.volume_30d, new Date(Number(BigInt(a.created_ts) / 1_000_000n)).toISOString().slice(5, 19).replace('T', ' ')])
    await same(`ledger of ${u.user_id}`, async () => (await cells('ledger-row')).map((c) => c.slice(1, 4)), ledger.map((r) => [r.kind.replaceAll('_', ' '), money(r.amount), money(r.balance_after)]))
    assert.deepEqual(await test('key').evaluateAll((rows) => rows.map((r) => r.dataset.key)), a.keys.map((k) => k.api_key))
  }
  assert.deepEqual([cash, reserved], [Number(state.cash), Number(state.reserved)])
  await snap(`${name}-account`)

  await go('withdrawals')
  for (const [button, status] of [['Waiting', 'pending'], ['Completed', 'completed'], ['Rejected', 'rejected']]) {
    await page.getByRole('button', { name: button, exact: true }).click()
    const rows = await all(`/admin/withdrawals?status=${status}`, 'withdrawals')
    assert.ok(rows.length > 0)
    await same(`withdrawals ${status}`, async () => (await cells('withdrawal')).map((c) => c.slice(0, 4)), rows.map((w) => [w.withdrawal_id, String(w.user_id), money(w.amount), w.destination]))
    await snap(`${name}-withdrawals-${status}`)
  }
  const paid = await mirror("SELECT -sum(amount) FROM ledger WHERE kind IN ('withdrawal', 'withdrawal_returned')", state.seq)
  assert.equal(paid[0][0], Number(state.withdrawals))

  await go('approvals')
  const approvals = await all('/admin/approvals', 'approvals')
  await same('approvals', () => test('approval').evaluateAll((rows) => rows.map((r) => [r.dataset.id, r.dataset.status, r.children[2].textContent]).sort()), approvals.map((a) => [a.approval_id, a.status, a.requested_by]).sort())
  await snap(`${name}-approvals`)

  await go('audit')
  const audit = (await all('/admin/audit', 'actions')).filter((a) => a.action !== 'post_tick')
  assert.deepEqual(await mirror("SELECT seq, who, action, why FROM actions WHERE action <> 'post_tick' ORDER BY seq DESC", state.seq), audit.map((a) => [Number(a.seq), a.who, a.action, a.why]))
  for (const who of [...new Set(done.map(([w]) => w))]) {
    const own = done.filter(([w]) => w === who)
    assert.deepEqual(audit.filter((a) => a.who === who).map((a) => [a.who, a.action, a.why]).reverse(), own)
    for (const action of new Set(own.map(([, a]) => a))) {
      await page.locator('[name=who]').fill(who)
      await page.locator('[name=action]').fill(action)
      await page.getByRole('button', { name: 'Filter' }).click()
      const rows = audit.filter((a) => a.who === who && a.action === action)
      await eventually(`${action} of ${who}`, async () => (await cells('action'))[0]?.[0] === rows[0].seq)
      await more()
      await same(`${action} of ${who}`, async () => (await cells('action')).map((c) => [c[0], c[2], c[3], c[6]]), rows.map((a) => [a.seq, a.who, a.action.replaceAll('_', ' '), a.why]))
    }
  }
  await snap(`${name}-audit`)
  assert.deepEqual(browser.troubles, [])
  return state
}

let failed = true
try {
  // Monday: the people, and the accounts with their first deposits.
  tokens.ann = (await act('operator', 'add_operator', 'POST', '/admin/operators', { name: 'ann', role: 'admin' }, 'first admin', 201)).operator_token
  for (const [name, role] of [['bob', 'admin'], ['tina', 'treasurer'], ['theo', 'treasurer'], ['sam', 'support'], ['vera', 'viewer'], ['funding', 'service']]) {
    tokens[name] = (await act('ann', 'add_operator', 'POST', '/admin/operators', { name, role }, 'joins', 201)).operator_token
  }
  const people = []
  for (let n = 1; n <= ACCOUNTS; n++) {
    const { user_id } = await act('sam', 'create_user', 'POST', '/admin/users', { name: `person ${n}` }, 'signed the contract', 201)
    const deposit = (who, amount, why, status) => act(who, 'deposit', 'POST', `/admin/users/${user_id}/deposits`, { deposit_id: `wire-${n}`, amount: usd(amount) }, why, status)
    if (n % 10 === 4) {
      await decide('theo', 'approve', await deposit('tina', 5000, 'large wire', 202), 'seen at the bank')
    } else await deposit('funding', 500 + n, 'wire', 201)
    const { api_key, secret } = await act('sam', 'create_key', 'POST', `/admin/users/${user_id}/keys`, { label: 'first', scopes: ['read', 'trade', 'withdraw'] }, 'asked for it', 201)
    people.push({ user_id, ...clientOf(venue, { api_key, secret }) })
  }
  const [, alice, bruno, carla, dora, emil, fritz, gina, hugo, ida] = people

  // Tuesday: two accounts trade, and the round turns out to be wrong.
  const left = 900_000 - (Date.now() % 900_000) // a round of 15 minutes opens at any time with a minute left
  if (left < 90_000) await new Promise((resolve) => setTimeout(resolve, left))
  let priced = true
  const prices = (async () => {
    while (priced) {
      const { status } = await request('bob', 'POST', '/admin/oracle/ticks', { feed: 0, source: 'operator', price: '6500000000000' })
      assert.equal(status, 200)
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  })()
  const market = await eventually('a round', async () => (await get('/admin/markets')).markets.find((m) => m.category === 3 && m.status === 'trading'))
  const buy = async (who, outcome, tick, want) => {
    const { status, body } = await who.call('POST', '/v1/portfolio/orders', { client_order_id: freshId(), market_id: market.market_id, side: 'buy', outcome, tick, qty: 10 })
    assert.equal(status, want, JSON.stringify(body))
    return body
  }
  await buy(alice, 'yes', 6000, 201)
  await buy(bruno, 'no', 4000, 201)
  const resting = await buy(ida, 'yes', 100, 201)
  priced = false
  await prices
  await decide('bob', 'approve', await act('ann', 'void_market', 'POST', `/admin/markets/${market.market_id}/void`, {}, 'wrong source', 202), 'I see it too')
  await eventually('the end of the order', async () => (await ida.call('GET', `/v1/portfolio/orders/${resting.order_id}`)).body.status === 'canceled')

  // Wednesday: a key has leaked, and an account is suspended.
  await act('sam', 'revoke_key', 'DELETE', `/admin/users/${fritz.user_id}/keys/${fritz.api_key}`, {}, 'leaked', 200)
  assert.equal((await fritz.call('GET', '/v1/portfolio/balance')).status, 401)
  await act('sam', 'reset_token', 'POST', `/admin/users/${fritz.user_id}/token`, {}, 'leaked', 200)
  await act('sam', 'suspend_user', 'POST', `/admin/users/${gina.user_id}/suspend`, {}, 'chargeback', 200)
  assert.equal((await buy(gina, 'yes', 100, 403)).error.code, 'user_suspended')

  // Thursday: withdrawals below and above the limit, paid, rejected and still waiting.
  const withdraw = async (who, dollars) => {
    const { status, body } = await who.call('POST', '/v1/withdrawals', { client_withdrawal_id: freshId(), amount: usd(dollars), destination: `iban of ${who.user_id}` })
    assert.equal(status, 202, JSON.stringify(body))
    return body.withdrawal_id
  }
  const judge = (who, id, what, why, status) => act(who, `${what}_withdrawal`, 'POST', `/admin/withdrawals/${id}/${what}`, {}, why, status)
  await judge('tina', await withdraw(dora, 100), 'complete', 'paid', 200)
  await judge('tina', await withdraw(emil, 50), 'reject', 'unknown payee', 200)
  const large = await withdraw(carla, 2000)
  await decide('theo', 'approve', await judge('tina', large, 'approve', 'large', 202), 'called back')
  await act('tina', 'send_withdrawal', 'POST', `/admin/withdrawals/${large}/send`, { reference: 'bank-1' }, 'paid', 200)
  await judge('tina', large, 'complete', 'arrived', 200)
  await decide('theo', 'reject', await judge('tina', await withdraw(carla, 1500), 'approve', 'large again', 202), 'not called back')
  await withdraw(hugo, 25)
  assert.equal((await request('sam', 'POST', '/admin/users/1/deposits', { deposit_id: 'mine', amount: '1' })).said.error.code, 'missing_scope')

  // Friday: everything adds up. The weekend: another folder.
  const before = await compare('venue')
  execFileSync(dx, ['backup', venue.data, '--to', join(dir, 'backup')], { cwd: dir, stdio: 'inherit' })
  await page.goto('about:blank') // a page that asks a venue that is away reports it
  await venue.stop()
  execFileSync(dx, ['restore', join(dir, 'backup'), '--data', join(dir, 'restored')], { cwd: dir, stdio: 'inherit' })
  copyFileSync(join(venue.data, 'master.key'), join(dir, 'restored', 'master.key'))
  venue = await serve(join(dir, 'restored'))
  const after = await compare('restored')
  for (const sum of ['cash', 'reserved', 'collateral', 'fees', 'deposits', 'withdrawals']) assert.equal(after[sum], before[sum], sum)
  await venue.stop()
  failed = false
} finally {
  if (failed) {
    console.log(browser.troubles.join('\n'))
    await snap('failed')
    venue.kill()
  }
  await browser.close()
  if (!failed) rmSync(dir, { recursive: true, force: true })
}
console.log(`${done.length} actions; screenshots: ${shots}`)
