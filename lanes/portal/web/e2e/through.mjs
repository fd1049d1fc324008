// Opens the trading screen and the operator's page of a venue behind a proxy, as people on other
// machines do, and keeps a screenshot of each. .ci/operators sets the environment.
//
//	node e2e/through.mjs FOLDER NAME    screenshots FOLDER/NAME-*.png
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openBrowser } from './browser.mjs'

const [folder, name] = process.argv.slice(2)
const { PORTAL, API, ADMIN, SPKI, KEY, SECRET, CASH, OPERATOR, OPERATOR_TOKEN, ACCOUNT } = process.env
mkdirSync(folder, { recursive: true })

// A round of 15 minutes opens at any time with a minute left, and the order needs some time in it.
const CATEGORY = 3
const left = 900_000 - (Date.now() % 900_000)
if (left < 90_000) await new Promise((resolve) => setTimeout(resolve, left))

// The certificate is trusted by the hash of its key, as a browser trusts an authority's.
const browser = await openBrowser({ hosts: [PORTAL, API, ADMIN].map((u) => new URL(u).hostname), flags: [`--ignore-certificate-errors-spki-list=${SPKI}`] })
const { page } = browser
page.setDefaultTimeout(30_000)
const test = (what) => page.locator(`[data-test="${what}"]`)
const snap = (what) => page.screenshot({ path: join(folder, `${name}-${what}.png`) })
let failed = true
try {
  await page.goto(PORTAL)
  await page.locator('[name=key]').fill(KEY)
  await page.locator('[name=secret]').fill(SECRET)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.locator('[data-test="connection"][data-state="live"]:visible').waitFor()
  await test('cash').filter({ hasText: CASH }).first().waitFor()

  // An order is placed, arrives on the socket, and is canceled.
  await page.keyboard.press(String(CATEGORY))
  await page.locator(`[data-category="${CATEGORY}"][aria-pressed="true"]`).waitFor()
  await page.locator('[data-test=kind]').click() // a limit order
  await page.locator('[data-test=unit]').click() // of contracts
  await page.locator('[name=price]').fill('1')
  await page.locator('[name=qty]').fill('1')
  await page.evaluate(() => {
    window.heard = ''
    for (const socket of window.sockets) socket.addEventListener('message', (e) => (window.heard += e.data))
  })
  await page.locator('.submit:not([aria-disabled=true])').click()
  const order = await test('order').first().getAttribute('data-id')
  await page.waitForFunction((id) => window.heard.includes(`"order_id":"${id}"`), order)
  await snap('screen')
  await page.keyboard.press('Escape')
  await page.keyboard.press('x')
  await test('order').first().waitFor({ state: 'detached' })

  const asked = new Set(await page.evaluate(() => performance.getEntriesByType('resource').map((e) => new URL(e.name).origin)))
  assert.deepEqual([...asked].sort(), [API, PORTAL].sort())
  const sockets = new Set(await page.evaluate(() => window.sockets.map((s) => new URL(s.url).origin)))
  assert.deepEqual([...sockets], [API.replace('https', 'wss')])

  await page.goto(ADMIN)
  await page.locator('[name=token]').fill(OPERATOR_TOKEN)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await test('who').filter({ hasText: OPERATOR }).waitFor()
  await snap('operator')
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: /^audit/i }).click()
  await page.locator('[data-test=action][data-action="approve"]').first().waitFor()
  await snap('operator-audit')
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: /^accounts/i }).click()
  await page.locator('[name=q]').fill(ACCOUNT)
  await page.locator('[name=q]').press('Enter')
  await page.getByText(ACCOUNT, { exact: true }).first().waitFor()
  await snap('operator-account')
  assert.deepEqual(browser.troubles, [])
  failed = false
} finally {
  if (failed) {
    console.log(browser.troubles.join('\n'))
    await snap('failed')
  }
  await browser.close()
}
