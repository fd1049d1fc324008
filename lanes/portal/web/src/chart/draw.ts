import { grouped } from '../shared/format.ts'
import { type Box, dense, type Point, place, type Rule, type Wanted } from './labels.ts'
import { at, entriesOf, entryLabel, type Plot, type Value } from './plot.ts'
import { linear, priceAxis, type Scale, timeOf, timeTicks } from './scale.ts'

// The geometry of a plot, in px from the top left of the chart.

export type Measure = (words: string, bold?: boolean) => number

export interface Size {
  width: number
  height: number
}

// Word is a text and the box that it fills.
export interface Word extends Box {
  id: string
  text: string
  look: string // its classes
}

// Frame is where the parts of the chart are.
export interface Frame extends Size {
  small: boolean
  pad: number
  right: number // end of the panes and begin of the axis
  top: number // below the strip with the read-out
  split: number // end of the upper pane
  bottom: number // of both panes
  lower: boolean // there is room for the lower pane
  x: Scale
  secondAt: (x: number) => number
}

const SMALL = 500
const LOWER = 300 // from this height on there is a lower pane
const LINE = 16 // height of a word
const TAG = 22
const TIMES = 26
const NEAR = 60 // between two entries with one label
const NARROW = 16 // a band that has no word

export function frameOf(p: Plot, { width, height }: Size, measure: Measure): Frame {
  const small = width < SMALL
  const right = small ? width : width - Math.max(measure(p.strikePrice, true), measure(p.last, true), measure('100%')) - 30
  const bottom = height - TIMES
  const lower = !p.wide && height >= LOWER
  const split = lower ? bottom - Math.max(88, Math.round(height * 0.27)) : bottom
  const x = linear(p.from, p.to, 0, right)
  return { width, height, small, pad: small ? 16 : 28, right, top: small ? 44 : 36, split, bottom, lower, x, secondAt: (px) => Math.round(linear(0, right, p.from, p.to)(px)) }
}

export interface Mark extends Point {
  id: string
}

// Upper is the index.
export interface Upper {
  strike: number
  line: string
  area: string
  band: { left: number; right: number } | undefined
  ends: number[]
  dot: (Point & { side: 'yes' | 'no' }) | undefined
  mean: { from: number; to: number; y: number } | undefined
  entries: Mark[]
  words: Word[]
}

type Asked = Omit<Word, keyof Box> & Wanted

export function upperOf(p: Plot, f: Frame, measure: Measure): Upper {
  const index = p.index.filter((v) => v.time >= p.from && v.time <= p.to)
  const window = p.windows[0]
  const all = [p.strike, ...index.map((v) => v.value), ...(p.mean === undefined ? [] : [p.mean])]
  const axis = rangeOf(all, p.decimals, f)
  const y = linear(axis.low, axis.high, f.split, f.top)
  const strike = round(y(p.strike))
  const points = index.map((v) => ({ x: f.x(v.time), y: y(v.value) }))
  const { line, area } = paths(index, points, strike, 3 * p.step + 5)
  const last = index.at(-1)
  const side = (v: number): 'yes' | 'no' => (v > p.strike ? 'yes' : 'no')
  const dot = p.live && last ? { x: round(f.x(last.time)), y: round(y(last.value)), side: side(last.value) } : undefined
  const mean = p.mean !== undefined && window && last && last.time >= window.from ? { from: round(f.x(window.from)), to: round(f.x(Math.min(window.to, last.time))), y: round(y(p.mean)) } : undefined

  const entries = entriesOf(p.fills, (NEAR / f.right) * (p.to - p.from)).flatMap((e, i) => {
    const v = at(index, e.from, 5 * p.step)
    return v ? [{ id: `entry ${i}`, x: round(f.x(e.from)), y: round(y(v.value)), text: entryLabel(e) }] : []
  })

  const asked: Asked[] = entries.map((e) => ({ id: '', text: '', look: '', left: e.x - 6, top: e.y - 6, width: 12, height: 12, weight: 1000 }))
  if (dot) asked.push({ id: '', text: '', look: '', left: dot.x - 6, top: dot.y - 6, width: 12, height: 12, weight: 1000 })
  const add = (id: string, text: string, look: string, left: (width: number) => number, top: number, weight: number, more: { dx?: number; dy?: number; within?: number } = {}): void => {
    const width = measure(text, look.includes('bold'))
    if (more.within === undefined || width <= more.within) asked.push({ id, text, look, left: left(width), top, width, height: LINE, weight, ...more })
  }
  if (mean) add('mean', p.meanLabel, 'ink bold', (w) => mean.from - w - 8, mean.y + 6, 95, { dx: 80, dy: 60 })
  add('above', 'YES wins above', 'yes bold', () => f.pad, strike - LINE - 4, 97, { dx: f.right })
  add('below', 'NO wins below', 'no bold', () => f.pad, strike + 4, 96, { dx: f.right })
  if (window && f.x(window.to) - f.x(window.from) >= NARROW) add('window', 'average', 'soft', (w) => (f.x(window.from) + f.x(window.to) - w) / 2, f.top - 2, 40)
  for (const e of entries) add(e.id, e.text, 'mine', (w) => e.x - w / 2, e.y + 9, 80, { dx: 90, dy: 48 })
  p.ended.forEach((e, i) => {
    const [from, to] = [Math.max(0, f.x(e.from)), f.x(e.to)]
    add(`ended ${i}`, e.result, e.winner ?? 'soft', (w) => to - w - 6, f.split - LINE - 3, 50 - i / 1000, { within: to - from - 8 })
  })

  const onAxis: Asked[] = []
  const label = (id: string, text: string, look: string, v: number, weight: number, dy = 0): void => {
    const tag = look.startsWith('tag')
    const width = measure(text, look.includes('bold')) + (tag ? 12 : 0)
    const height = tag ? TAG : LINE
    onAxis.push({ id, text, look, left: f.width - width - (tag ? 10 : 16), top: y(v) - height / 2, width, height, weight, dy })
  }
  if (dot && p.fresh) label('last', p.last, `tag bold ${dot.side}`, last!.value, 100, f.small ? 40 : 0)
  label('strike', p.strikePrice, 'ink bold', p.strike, 98, 40)
  for (const v of axis.ticks) label(`tick ${v}`, grouped(v, axis.decimals), 'soft', v, 30)

  const pane = (left: number, right: number): Box => ({ left, top: f.top - 4, width: right - left, height: f.split - f.top + 3 })
  const rules: Rule[] = [{ y: strike }, ...(mean ? [mean] : [])]
  const words = f.small ? placed([...asked, ...onAxis], pane(0, f.width), points, rules) : [...placed(asked, pane(0, f.right), points, rules), ...placed(onAxis, pane(f.right, f.width))]
  return {
    strike, line, area, dot, mean, entries, words,
    band: window && { left: round(Math.max(0, f.x(window.from))), right: round(f.x(window.to)) },
    ends: p.ended.filter((e) => f.x(e.to) - f.x(e.from) >= 12 && e.to < p.to).map((e) => round(f.x(e.to))),
  }
}

// rangeOf returns the axis of prices. Room above and below them is for words beside the strike.
function rangeOf(all: readonly number[], decimals: number, f: Frame): ReturnType<typeof priceAxis> {
  const [low, high] = [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))]
  const span = Math.max(high - low, 10 * 10 ** -decimals)
  const px = Math.max(1, f.split - f.top)
  const room = (span * Math.min(0.3, 28 / px)) / (1 - 2 * Math.min(0.3, 28 / px))
  return priceAxis(low - room, low + span + room, f.small ? 2 : 3, f.small ? 4 : 5)
}

// OwnLine is an own order of the lower pane.
export interface OwnLine {
  id: string
  label: string
  chance: number // percent, on the axis of YES
  moving: boolean
}

// Lower is the chance of YES.
export interface Lower {
  y: Scale // of a chance in percent
  chanceAt: (y: number) => number
  grid: { chance: number; y: number }[]
  line: string
  trades: string // one path with all dots
  mine: Mark[]
  evens: number[]
  title: Box
  words: Word[]
  orders: Map<string, Box> // where the label of an own order is
}

// lowerOf finds the title, which has a width, a place too.
export function lowerOf(p: Plot, f: Frame, orders: readonly OwnLine[], title: number, measure: Measure): Lower {
  const [top, bottom] = [f.split + 12, f.bottom - 10]
  const y = linear(100, 0, top, bottom)
  const within = (v: Value): boolean => v.time >= p.from && v.time <= p.to
  const mids = p.mids.filter(within)
  const points = mids.map((v) => ({ x: f.x(v.time), y: y(v.value) }))
  const breaks = new Set(p.ended.map((e) => e.to))
  const grid = [0, 50, 100].map((chance) => ({ chance, y: round(y(chance)) }))
  const evens = p.evens.map((e) => ({ ...e, y: round(y((e.outcome === 'yes' ? e.tick : 10000 - e.tick) / 100)) }))

  const named: Asked = { id: 'title', text: 'title', look: '', left: f.pad, top: top + 2, width: title, height: LINE, weight: 1000, dx: f.right, dy: bottom - top }
  const asked: Asked[] = [named]
  for (const o of orders) {
    const width = measure(o.label) + 12
    asked.push({ id: `order ${o.id}`, text: o.label, look: '', left: f.pad - 6, top: y(o.chance) - LINE / 2, width, height: LINE, weight: o.moving ? 900 : 90, dx: f.right, dy: o.moving ? 200 : 34, names: y(o.chance) })
  }
  for (const e of evens) {
    const text = `${e.outcome === 'no' ? 'NO ' : ''}break-even ${(e.tick / 100).toFixed(1)}¢`
    asked.push({ id: `even ${e.outcome}`, text, look: 'mine ground', left: f.right * 0.76 - measure(text) / 2, top: e.y + 3, width: measure(text), height: LINE, weight: 80, dx: f.right / 2, dy: 30, names: e.y })
  }
  const onAxis: Asked[] = f.small ? [] : grid.map((g) => {
    const text = `${g.chance}%`
    return { id: text, text, look: 'soft', left: f.width - measure(text) - 16, top: g.y - LINE / 2, width: measure(text), height: LINE, weight: 30 }
  })
  const pane = (left: number, right: number): Box => ({ left, top: f.split + 2, width: right - left, height: f.bottom - f.split })
  const words = placed(asked, pane(0, f.right), points, [...evens, ...orders.map((o) => ({ y: y(o.chance) }))])
  return {
    y, chanceAt: linear(top, bottom, 100, 0), grid, evens: evens.map((e) => e.y),
    line: paths(mids, points, 0, 5, breaks).line,
    trades: p.trades.filter(within).map((v) => `M${round(f.x(v.time))} ${round(y(v.value))}h0`).join(''),
    mine: p.mine.filter(within).map((v) => ({ id: String(v.time), x: round(f.x(v.time)), y: round(y(v.value)) })),
    title: words.find((w) => w.id === named.id) ?? named,
    words: [...words.filter((w) => w.id !== named.id && !w.id.startsWith('order ')), ...placed(onAxis, pane(f.right, f.width))],
    orders: new Map(words.filter((w) => w.id.startsWith('order ')).map((w) => [w.id.slice(6), w])),
  }
}

// timesOf returns the labels of the time axis.
export function timesOf(p: Plot, f: Frame, measure: Measure): Word[] {
  const edge = 8
  const { seconds, at: ticks } = timeTicks(p.from, p.to, f.right, (s) => measure(s ? '00:00:00' : '00:00') * (f.small ? 1.5 : 1) + 20)
  const asked = ticks.flatMap((sec): Asked[] => {
    const text = timeOf(sec, seconds)
    const width = measure(text)
    const left = f.x(sec) - width / 2
    return left < edge ? [] : [{ id: `time ${sec}`, text, look: 'soft', left, top: f.bottom + 5, width, height: LINE, weight: sec }] // without an axis at the right the last one moves inward
  })
  return placed(asked, { left: edge, top: f.bottom, width: f.width - 2 * edge, height: f.height - f.bottom })
}

// placed returns the words that have a place. What has no text only takes one.
function placed(asked: readonly Asked[], pane: Box, line: readonly Point[] = [], rules: readonly Rule[] = []): Word[] {
  return place(asked, pane, dense(line), rules).flatMap((box, i) => {
    const { id, text, look } = asked[i]!
    return box && text ? [{ id, text, look, left: round(box.left), top: round(box.top), width: box.width, height: box.height }] : []
  })
}

// paths returns a line through points, and the area between it and the height of base. Both have a gap
// where values are more than gap seconds apart, and after a time in breaks.
function paths(values: readonly Value[], points: readonly Point[], base: number, gap: number, breaks = new Set<number>()): { line: string; area: string } {
  let [line, area, begun] = ['', '', '']
  points.forEach(({ x, y }, i) => {
    const here = `${round(x)} ${round(y)}`
    const was = values[i - 1]?.time ?? -Infinity
    const now = values[i]!.time
    const starts = now - was > gap || [...breaks].some((b) => was < b && now >= b)
    if (starts) {
      if (begun) area += `V${base}Z`
      area += (begun = `M${round(x)} ${base}`) + `L${here}`
    } else area += `L${here}`
    line += (starts ? 'M' : 'L') + here
  })
  return { line, area: begun ? `${area}V${base}Z` : '' }
}

// round keeps a tenth of a pixel.
function round(v: number): number {
  return Math.round(v * 10) / 10
}
