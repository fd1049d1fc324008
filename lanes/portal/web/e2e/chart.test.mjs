// Unit tests of the chart that need no browser.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { load } from './load.mjs'

// random returns numbers that are the same at every run.
function random(seed) {
  let s = seed
  return () => (s = (s * 16807) % 2147483647) / 2147483647
}

test('labels never overlap, lie inside, and the weightiest has a place', async () => {
  const { place } = await load('chart/labels.ts')
  let [given, lost, moved] = [0, 0, 0]
  for (let seed = 1; seed <= 400; seed++) {
    const next = random(seed)
    const pane = { left: Math.round(next() * 50), top: Math.round(next() * 50), width: 60 + next() * 600, height: 20 + next() * 300 }
    const wanted = Array.from({ length: 1 + Math.floor(next() * 25) }, () => ({
      left: next() * 700 - 50, top: next() * 400 - 50, width: 5 + next() * 150, height: 10 + next() * 20, weight: Math.floor(next() * 4), dx: next() < 0.5 ? 0 : next() * 100, dy: next() < 0.3 ? 0 : next() * 100,
    }))
    const line = Array.from({ length: 40 }, (_, i) => ({ x: i * 15, y: next() * 300 }))
    const got = place(wanted, pane, line)
    assert.deepEqual(place(structuredClone(wanted), pane, line), got, 'the same again')
    assert.equal(got.length, wanted.length)
    const placed = got.filter(Boolean)
    placed.forEach((a, i) => {
      assert.ok(a.left >= pane.left && a.top >= pane.top && a.left + a.width <= pane.left + pane.width + 1e-9 && a.top + a.height <= pane.top + pane.height + 1e-9, `seed ${seed}: outside`)
      for (const b of placed.slice(i + 1)) assert.ok(a.left + a.width <= b.left || b.left + b.width <= a.left || a.top + a.height <= b.top || b.top + b.height <= a.top, `seed ${seed}: two overlap`)
    })
    got.forEach((box, i) => {
      const w = wanted[i]
      given += 1
      if (!box) return void (lost += 1)
      assert.deepEqual([box.width, box.height], [w.width, w.height])
      const inside = (at, low, high) => Math.min(high, Math.max(low, at))
      const by = [box.left - inside(w.left, pane.left, pane.left + pane.width - w.width), box.top - inside(w.top, pane.top, pane.top + pane.height - w.height)].map(Math.abs)
      assert.ok(by[0] <= w.dx + 1e-9 && by[1] <= w.dy + 1e-9, `seed ${seed}: moved too far`)
      if (by[0] + by[1] > 0) moved += 1
    })
    const first = wanted.reduce((best, w, i) => (w.weight > wanted[best].weight ? i : best), 0)
    assert.equal(got[first] !== undefined, wanted[first].width <= pane.width && wanted[first].height <= pane.height, `seed ${seed}: the weightiest`)
  }
  assert.ok(lost > 100 && moved > 100 && lost < given, `of ${given} boxes ${lost} have no place and ${moved} moved: the boxes try too little`)
})

test('a label goes beside the line, and the least important one is left out', async () => {
  const { place } = await load('chart/labels.ts')
  const pane = { left: 0, top: 0, width: 300, height: 100 }
  const box = { left: 100, top: 40, width: 60, height: 16, weight: 1 }
  const line = Array.from({ length: 75 }, (_, i) => ({ x: i * 4, y: 48 }))
  assert.deepEqual(place([box], pane, line), [{ left: 100, top: 40, width: 60, height: 16 }], 'what may not move stays')
  const [free] = place([{ ...box, dy: 40 }], pane, line)
  assert.ok(free.top >= 48 || free.top + 16 <= 48, `at ${free.top}`)
  const [low, high] = place([box, { ...box, weight: 2 }], pane)
  assert.deepEqual([low, high?.top], [undefined, 40])
})

test('a label keeps off rules, but for the one that it names', async () => {
  const { place } = await load('chart/labels.ts')
  const pane = { left: 0, top: 0, width: 300, height: 100 }
  const box = { left: 100, top: 40, width: 60, height: 16, weight: 1, dx: 150, dy: 40 }
  const [off] = place([box], pane, [], [{ y: 48 }])
  assert.ok(off.top >= 48 || off.top + 16 <= 48, `at ${off.top}`)
  assert.deepEqual(place([{ ...box, names: 48 }], pane, [], [{ y: 48 }])[0].top, 40)
  const [beside] = place([{ ...box, dy: 0 }], pane, [], [{ y: 48, from: 90, to: 130 }])
  assert.ok(beside.left >= 130 || beside.left + 60 <= 90, `at ${beside.left}`)
})

test('times of day are centred at their second, and the last one is the end', async () => {
  const { frameOf, timesOf } = await load('chart/draw.ts')
  for (const [width, moved] of [[700, false], [390, true]]) {
    const p = aPlot(10)
    const f = frameOf(p, { width, height: 400 }, measure)
    const words = timesOf(p, f, measure)
    const [last] = words.slice(-1)
    assert.equal(last.id, `time ${p.to}`)
    assert.equal(last.left + last.width, moved ? width - 8 : last.left + last.width)
    for (const w of moved ? words.slice(0, -1) : words) assert.ok(Math.abs(w.left + w.width / 2 - f.x(Number(w.id.slice(5)))) < 0.1, w.text)
    words.slice(1).forEach((w, i) => assert.ok(w.left - words[i].left - words[i].width >= 10, `${words[i].text} ${w.text}`))
  }
})

test('the title of the chance keeps off its line', async () => {
  const { frameOf, lowerOf } = await load('chart/draw.ts')
  for (const value of [50, 97]) {
    const p = aPlot(200)
    p.mids = p.mids.map(({ time }) => ({ time, value }))
    const f = frameOf(p, { width: 700, height: 420 }, measure)
    const { title, y } = lowerOf(p, f, [], 120, measure)
    assert.ok(y(value) <= title.top || y(value) >= title.top + title.height || title.left >= f.x(p.from + 200), `at ${value} % the title is at ${title.left}, ${title.top}`)
    if (value === 50) assert.equal(title.left, f.pad)
  }
})

test('price axes have 3 to 5 round ticks, and contain what they show', async () => {
  const { priceAxis } = await load('chart/scale.ts')
  const next = random(11)
  for (let i = 0; i < 3000; i++) {
    const low = next() * 10 ** (Math.floor(next() * 6) - 1)
    const span = 10 ** (next() * 7 - 3)
    const [least, most] = i % 2 ? [3, 5] : [2, 4]
    const a = priceAxis(low, low + span, least, most)
    assert.ok(a.ticks.length >= least && a.ticks.length <= most, `${a.ticks.length} ticks from ${low} to ${low + span}`)
    assert.ok(a.low <= low && a.high >= low + span && a.high - a.low <= 2.2 * span, `${a.low} to ${a.high} for ${low} to ${low + span}`)
    const between = a.ticks[1] - a.ticks[0]
    const unit = Number(between.toPrecision(1))
    assert.ok(/^[125]/.test(unit.toExponential()) && Math.abs(between - unit) < unit * 1e-4, `steps of ${between}`)
    for (const t of a.ticks) {
      assert.ok(t >= a.low - unit * 1e-6 && t <= a.high + unit * 1e-6)
      assert.ok(Math.abs(t / unit - Math.round(t / unit)) < 1e-3 && Number(t.toFixed(a.decimals)) === t, `${t} in steps of ${unit}`)
    }
  }
  assert.deepEqual(priceAxis(64_978, 65_104, 3, 5), { low: 64_978, high: 65_104, decimals: 0, ticks: [65_000, 65_050, 65_100] })
})

test('times are at whole steps that have room', async () => {
  const { timeTicks, timeOf } = await load('chart/scale.ts')
  const room = (seconds) => (seconds ? 70 : 50)
  const steps = (secs, width) => timeTicks(1_800_000_000 - secs, 1_800_000_000, width, room)
  for (const [secs, width, step] of [[72, 600, 10], [72, 390, 30], [360, 600, 60], [1080, 600, 300], [3600, 590, 900], [86_400, 600, 14_400], [86_400, 2000, 3600]]) {
    const { at, seconds } = steps(secs, width)
    assert.equal(at[1] - at[0], step, `${secs} s in ${width} px`)
    assert.equal(seconds, step < 60)
    assert.ok(at.every((t) => t % step === 0) && at.at(-1) === 1_800_000_000)
  }
  assert.equal(timeOf(1_800_000_000, false), '08:00')
  assert.equal(timeOf(1_800_000_010, true), '08:00:10')
})

const fill = (sec, side, outcome, qty, tick_yes) => ({ ts: `${sec}000000000`, side, outcome, qty, tick_yes })

test('fills near each other are one entry, with their total and average', async () => {
  const { entriesOf, entryLabel } = await load('chart/plot.ts')
  const all = entriesOf([fill(100, 'buy', 'yes', 10, 6000), fill(103, 'buy', 'no', 5, 6000), fill(104, 'buy', 'yes', 20, 6060), fill(130, 'buy', 'yes', 1, 5000), fill(131, 'sell', 'yes', 2, 7000)], 10)
  assert.deepEqual(all.map(entryLabel), ['30 YES at 60.4¢', '5 NO at 40.0¢', '1 YES at 50.0¢', 'sold 2 YES at 70.0¢'])
  assert.deepEqual(all.map((e) => [e.from, e.to]), [[100, 104], [103, 103], [130, 130], [131, 131]])
})

test('the value at a time is the newest one before it, unless that is old', async () => {
  const { at } = await load('chart/plot.ts')
  const values = [{ time: 10, value: 1 }, { time: 11, value: 2 }, { time: 20, value: 3 }]
  assert.deepEqual([9, 10, 11, 15, 16, 17, 20, 25, 26].map((t) => at(values, t, 5)?.value), [undefined, 1, 2, 2, 2, undefined, 3, 3, undefined])
  assert.equal(at([], 10, 5), undefined)
})

const order = (side, outcome, tick) => ({ order_id: '1', market_id: 1, generation: 2, side, outcome, tick, remaining_qty: 25 })

test('an own order moves on the grid, and stops one step before it would trade', async () => {
  const { Book } = await load('store/books.ts')
  const { onGrid } = await load('ticket/draft.svelte.ts')
  const { boundsOf, nearest, onAxis, rests, saying, stepped } = await load('chart/move.ts')
  const book = new Book({ market_id: 1, generation: 2, yes: [[5800, 25], [6000, 40]], no: [[3500, 30]] }) // YES 60 bid, 65 offered
  const bounds = (o) => Object.values(boundsOf(o, book))
  assert.deepEqual(bounds(order('buy', 'yes', 5800)), [100, 6400])
  assert.deepEqual(bounds(order('sell', 'yes', 7000)), [6100, 9990])
  assert.deepEqual(bounds(order('buy', 'no', 3000)), [100, 3900]) // NO is offered at 40
  assert.deepEqual(bounds(order('sell', 'no', 5000)), [3600, 9990])
  for (const [o, top, bottom] of [[order('buy', 'yes', 5800), 6400, 100], [order('sell', 'yes', 7000), 9990, 6100], [order('buy', 'no', 3000), 9900, 6100], [order('sell', 'no', 5000), 6400, 10]]) {
    for (let axis = -500; axis <= 10_500; axis += 7) {
      const tick = rests(o, nearest(o, axis), book)
      assert.ok(onGrid(tick / 100), `${tick}`)
      const at = onAxis(o, tick)
      assert.ok(at >= bottom && at <= top, `${o.side} ${o.outcome} at ${at}`)
      if (axis >= bottom && axis <= top) assert.ok(Math.abs(at - axis) <= 50)
    }
    let tick = o.tick
    for (let i = 0; i < 300; i++) tick = stepped(o, tick, true, book)
    assert.equal(onAxis(o, tick), top)
    for (let i = 0; i < 300; i++) tick = stepped(o, tick, false, book)
    assert.equal(onAxis(o, tick), bottom)
  }
  const o = order('buy', 'yes', 5800)
  assert.equal(saying(o, 6000, book), 'Buy 25 YES at 60¢: rests, goes behind others at its price')
  assert.equal(saying(o, 6100, book), 'Buy 25 YES at 61¢: rests, first at its price')
  assert.equal(saying(o, 5800, book), 'Buy 25 YES 58¢: stays as it is')
  assert.equal(saying(order('sell', 'no', 5000), 4200, book), 'Sell 25 NO at 42¢: rests, goes behind others at its price')
  const empty = new Book({ market_id: 1, generation: 2, yes: [], no: [] })
  assert.deepEqual(Object.values(boundsOf(o, empty)), [100, 9990])
})

// aPlot is a plot of a round of 5 minutes after some of its seconds.
function aPlot(secs, more) {
  const [from, to] = [1_799_999_640, 1_800_000_000]
  const next = random(5)
  const index = Array.from({ length: secs }, (_, i) => ({ time: from + i, value: 65_000 + i / 5 + next() * 10 }))
  return {
    from, to, step: 1, decimals: 2, index, mids: index.map(({ time }, i) => ({ time, value: 40 + (i % 30) })), trades: [], mine: [], fills: [fill(from + 90, 'buy', 'yes', 30, 6040)],
    strike: 65_009.98, strikePrice: '65,009.98', mean: undefined, meanLabel: '', windows: [{ from: to - 30, to }, { from: from + 30, to: from + 60 }], ended: [{ from: from - 240, to: from + 60, winner: 'no', result: '▼ NO' }],
    evens: [{ outcome: 'no', tick: 6100 }], last: '65,070.02', fresh: true, live: true, wide: false, ...more,
  }
}
const measure = (words, bold) => Math.ceil(words.length * (bold ? 7 : 6.5))

test('what is drawn lies inside, at every size and second', async () => {
  const { frameOf, lowerOf, timesOf, upperOf } = await load('chart/draw.ts')
  let entries = 0
  for (const [width, height] of [[700, 420], [455, 380], [390, 360], [390, 200], [320, 220], [1400, 800]]) {
    for (let secs = 0; secs <= 360; secs += 12) {
      const mean = secs > 330 ? { mean: 65_040, meanLabel: 'average so far 65,041.27' } : {}
      const p = aPlot(secs, mean)
      const f = frameOf(p, { width, height }, measure)
      const u = upperOf(p, f, measure)
      const l = f.lower ? lowerOf(p, f, [{ id: '7', label: 'Buy 25 YES 58¢', chance: 58, moving: false }], 120, measure) : undefined
      assert.equal(l !== undefined, height >= 300)
      const words = [...u.words, ...(l ? [l.title] : []), ...(l?.words ?? []), ...(l?.orders.values() ?? []), ...timesOf(p, f, measure)]
      words.forEach((a, i) => {
        assert.ok(a.left >= 0 && a.top >= 0 && a.left + a.width <= width && a.top + a.height <= height, `${a.text} at ${width} × ${height} after ${secs} s`)
        for (const b of words.slice(i + 1)) assert.ok(a.left + a.width <= b.left || b.left + b.width <= a.left || a.top + a.height <= b.top || b.top + b.height <= a.top, `${a.text} and ${b.text} overlap`)
      })
      const text = words.map((w) => w.text)
      for (const must of ['YES wins above', 'NO wins below', '65,009.98']) assert.ok(text.includes(must), `${must} at ${width} × ${height} after ${secs} s`)
      if (secs > 330) assert.ok(text.includes('average so far 65,041.27'))
      if (text.includes('30 YES at 60.4¢')) entries += 1
      if (l) assert.equal(l.evens[0], Math.round(l.y(39) * 10) / 10, 'of NO, on the axis of YES')
      assert.ok(!/NaN|Infinity|undefined/.test(u.line + u.area + (l?.line ?? '')), u.line)
      const ys = [...u.line.matchAll(/[ML][\d.]+ ([\d.-]+)/g)].map(([, y]) => Number(y))
      assert.equal(ys.length, secs)
      assert.ok(ys.every((y) => y >= f.top && y <= f.split))
    }
  }
  assert.ok(entries > 50, `${entries} entries have a label`)
})

test('a line has a gap where values are missing, and between two rounds', async () => {
  const { frameOf, lowerOf, upperOf } = await load('chart/draw.ts')
  const p = aPlot(200)
  p.index.splice(100, 20)
  const f = frameOf(p, { width: 700, height: 420 }, measure)
  assert.equal(upperOf(p, f, measure).line.match(/M/g).length, 2)
  assert.equal(upperOf(p, f, measure).area.match(/Z/g).length, 2)
  assert.equal(lowerOf(p, f, [], 0, measure).line.match(/M/g).length, 2)
  assert.equal(lowerOf({ ...p, ended: [] }, f, [], 0, measure).line.match(/M/g).length, 1)
})

test('over a longer time rounds end in a line and have a result, as far as there is room', async () => {
  const { frameOf, upperOf } = await load('chart/draw.ts')
  const from = 1_799_996_400
  const rounds = (secs) => Array.from({ length: 3600 / secs - 1 }, (_, i) => ({ from: from + i * secs, to: from + (i + 1) * secs, winner: 'yes', result: '▲ YES' })).toReversed()
  const index = Array.from({ length: 350 }, (_, i) => ({ time: from + i * 10, value: 65_000 + (i % 40) }))
  for (const [secs, ends, results] of [[60, 0, 0], [180, 19, 0], [300, 11, 11], [900, 3, 3]]) {
    const p = aPlot(0, { from, to: from + 3600, step: 10, index, wide: true, fills: [], ended: rounds(secs) })
    const f = frameOf(p, { width: 600, height: 400 }, measure)
    const u = upperOf(p, f, measure)
    assert.equal(f.lower, false, 'the chance is not shown')
    assert.ok(u.words.every((w) => w.text !== 'average'), 'a band of 5 px has no word')
    assert.deepEqual([u.ends.length, u.words.filter((w) => w.id.startsWith('ended')).length], [ends, results], `rounds of ${secs} s`)
  }
})
