// An open page that nobody touches, alone: other tracks would take its processor. What it does is bounded: how
// often it draws, the frames and the requests. The processor time is a figure, and bounded as a multiple of a
// fixed calculation in the same process, which takes as much longer on a slower machine.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { eventually } from '../eventually.mjs'
import { browser, context, open, page, run, test } from '../harness.mjs'

const IDLE_MS = 30_000
const HERTZ = 100 // of the times in /proc

// The most in IDLE_MS, of a page that draws once a second while nobody touches it.
const DRAWS = 45
const FRAMES = 30 // that the page asks for
const REQUESTS = 30
const LOOPS = 3 // the processor time, in calibration loops

// processes returns those of the browser: their type, and their processor time so far in ms.
function processes() {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return [{ pid, parent: fields[1], ms: ((Number(fields[11]) + Number(fields[12])) * 1000) / HERTZ, line: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') }]
    } catch (e) {
      if (e.code === 'ENOENT' || e.code === 'ESRCH') return [] // it ended meanwhile
      throw e
    }
  })
  const found = all.filter((p) => p.line.includes(`--user-data-dir=${browser.profile} `) && !p.line.includes('--type='))
  assert.equal(found.length, 1, 'the browser')
  for (const parent of found) found.push(...all.filter((p) => p.parent === parent.pid))
  return found.map((p) => ({ pid: p.pid, type: { renderer: 'renderer', 'gpu-process': 'raster' }[/--type=(\S+)/.exec(p.line)?.[1]] ?? 'rest', ms: p.ms }))
}

// spent returns the processor time in ms by type of process since before.
function spent(before) {
  const by = { renderer: 0, raster: 0, rest: 0 }
  for (const p of processes()) by[p.type] += p.ms - (before.find((b) => b.pid === p.pid)?.ms ?? 0)
  return by
}

// calibrate returns the processor time in ms of a fixed calculation in the page, of the kind that a page does.
async function calibrate() {
  const loop = () => {
    const seen = new Map()
    let sum = 0
    for (let i = 0; i < 15_000_000; i++) {
      const key = (i * 2654435761) % 4096
      seen.set(key, (seen.get(key) ?? 0) + i)
      if (i % 64 === 0) sum += JSON.parse(`{"tick":${key},"qty":[${i},1]}`).qty[0]
    }
    return sum + seen.size
  }
  await page.evaluate(loop) // compiles it
  const before = processes()
  await page.evaluate(loop)
  return spent(before).renderer
}

await run({
  async 'a page that nobody touches does little'() {
    await eventually('a chart with points', async () => (await test('chart').getAttribute('data-points')) > 20 && (await test('chart').getAttribute('data-mids')) > 20)
    const loop = await calibrate()
    const cdp = await context.newCDPSession(page)
    await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
    const metrics = async () => Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map((m) => [m.name, m.value]))
    const counts = () => page.evaluate(() => ({ draws: window.redraws, frames: window.frames, requests: window.requests }))
    const [first, begun, before, from] = [await counts(), await metrics(), processes(), performance.now()]
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
    const [by, ms, ended, last] = [spent(before), performance.now() - from, await metrics(), await counts()]
    const did = Object.fromEntries(Object.keys(first).map((name) => [name, last[name] - first[name]]))
    const percent = (part) => `${((part / ms) * 100).toFixed(1)} %`
    const total = by.renderer + by.raster + by.rest
    const took = ['TaskDuration', 'ScriptDuration', 'LayoutDuration', 'RecalcStyleDuration'].map((name) => `${name} ${percent((ended[name] - begun[name]) * 1000)}`)
    console.log(`      ${percent(total)} of a processor core: renderer ${percent(by.renderer)}, raster ${percent(by.raster)}, rest ${percent(by.rest)}; ${took.join(', ')}`)
    console.log(`      ${did.draws} draws, ${did.frames} frames asked for, ${did.requests} requests in ${(ms / 1000).toFixed(0)} s; ${(total / loop).toFixed(1)} calibration loops of ${loop} ms`)
    assert.ok(did.draws > 10, `${did.draws} draws: the page shows nothing new`)
    assert.ok(did.draws < DRAWS, `${did.draws} draws`)
    assert.ok(did.frames < FRAMES, `${did.frames} frames`)
    assert.ok(did.requests < REQUESTS, `${did.requests} requests`)
    assert.ok(total / loop < LOOPS, `${(total / loop).toFixed(1)} calibration loops`)
  },
}, async () => {
  await page.addInitScript(() => {
    window.frames = window.requests = 0
    const [frame, send] = [window.requestAnimationFrame, window.fetch]
    window.requestAnimationFrame = (does) => (window.frames++, frame(does))
    window.fetch = (...args) => (window.requests++, send(...args))
  })
  await open()
}, '--quiet-market=false')
