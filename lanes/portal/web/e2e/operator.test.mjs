// Tests the texts and numbers of the operator's page. Vite loads the module.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createServer } from 'vite'

let server
let text

before(async () => {
  server = await createServer({ configFile: false, root: new URL('..', import.meta.url).pathname, server: { middlewareMode: true, ws: false }, appType: 'custom', logLevel: 'error', optimizeDeps: { noDiscovery: true } })
  text = await server.ssrLoadModule('/src/operator/text.ts')
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
