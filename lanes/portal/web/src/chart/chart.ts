import {
  type AutoscaleInfo, type Coordinate, type IChartApi, type IPriceLine, type IPrimitivePaneRenderer, type IPrimitivePaneView, type ISeriesApi, type ISeriesPrimitive,
  type PrimitivePaneViewZOrder, type SeriesAttachedParameter, type Time, type UTCTimestamp, createChart, LineSeries, LineStyle,
} from 'lightweight-charts'
import type { CanvasRenderingTarget2D } from 'fancy-canvas'
import { axis, percent } from '../shared/format.ts'
import { fitted } from './labels.ts'

// Shared parts of the two charts: the theme, a time scale with a place for every second,
// and shaded stretches of time.

export interface Palette {
  ink: string
  soft: string
  line: string
  index: string
  strike: string
  shade: string
  panel: string
  yes: string
  no: string
}

// palette returns the current colors of the style sheet.
export function palette(): Palette {
  const of = getComputedStyle(document.documentElement)
  const v = (name: string): string => of.getPropertyValue(name).trim()
  return { ink: v('--ink'), soft: v('--soft'), line: v('--line'), index: v('--accent'), strike: v('--strike'), shade: v('--shade'), panel: v('--panel'), yes: v('--yes'), no: v('--no') }
}

export function newChart(box: HTMLElement): IChartApi {
  return createChart(box, {
    autoSize: true,
    layout: { background: { color: 'transparent' }, fontSize: 11, fontFamily: getComputedStyle(document.body).fontFamily, attributionLogo: false },
    handleScroll: false,
    handleScale: false,
    rightPriceScale: { borderVisible: false, entireTextOnly: true, scaleMargins: { top: 0.2, bottom: 0.18 } },
    timeScale: { borderVisible: false, timeVisible: true, secondsVisible: true, shiftVisibleRangeOnNewBar: false, minBarSpacing: 0.02 },
    crosshair: { vertLine: { labelVisible: true, style: 2 }, horzLine: { style: 2 } },
    localization: { locale: 'en-US' },
  })
}

export function paint(chart: IChartApi, p: Palette): void {
  chart.applyOptions({
    layout: { textColor: p.soft },
    grid: { vertLines: { visible: false }, horzLines: { color: p.line } },
    crosshair: { vertLine: { color: p.soft, labelBackgroundColor: p.soft }, horzLine: { color: p.soft, labelBackgroundColor: p.soft } },
  })
}

// everySecond returns one point for each step of [from, to], with or without a value, so that
// equal distances on the chart are equal times. A step shows its last value.
export function everySecond<T extends { time: number }>(values: readonly T[], from: number, to: number, step: number): (Omit<T, 'time'> & { time: UTCTimestamp } | { time: UTCTimestamp })[] {
  const out: (Omit<T, 'time'> & { time: UTCTimestamp } | { time: UTCTimestamp })[] = []
  let at = 0
  while (at < values.length && values[at]!.time < from) at += 1
  for (let sec = from; sec <= to; sec += step) {
    let v: T | undefined
    while (at < values.length && values[at]!.time < sec + step) v = values[at++]
    out.push({ ...v, time: sec as UTCTimestamp })
  }
  return out
}

export interface Stretch {
  from: number
  to: number
  labels: string[] // what it is, in full and in fewer words
  strong: boolean
}

// Stretches shades stretches of time behind a series: the settlement windows.
export class Stretches implements ISeriesPrimitive<Time> {
  stretches: Stretch[] = []
  colours = { shade: '', ink: '', panel: '' }
  #chart: IChartApi | undefined
  #redraw: () => void = () => {}

  attached(p: SeriesAttachedParameter<Time>): void {
    this.#chart = p.chart as IChartApi
    this.#redraw = p.requestUpdate
  }

  detached(): void {
    this.#chart = undefined
  }

  show(stretches: Stretch[], colours: { shade: string; ink: string; panel: string }): void {
    this.stretches = stretches
    this.colours = colours
    this.#redraw()
  }

  paneViews(): IPrimitivePaneView[] {
    const view = (z: PrimitivePaneViewZOrder, draw: (t: CanvasRenderingTarget2D) => void): IPrimitivePaneView => ({ zOrder: () => z, renderer: (): IPrimitivePaneRenderer => ({ draw }) })
    return [view('bottom', (t) => this.#shade(t)), view('top', (t) => this.#label(t))]
  }

  #visible(): (Stretch & { left: Coordinate; end: Coordinate })[] {
    const scale = this.#chart?.timeScale()
    if (!scale) return []
    return this.stretches
      .map((s) => ({ ...s, left: scale.timeToCoordinate(s.from as UTCTimestamp), end: scale.timeToCoordinate(s.to as UTCTimestamp) }))
      .filter((s): s is Stretch & { left: Coordinate; end: Coordinate } => s.left !== null && s.end !== null)
      .sort((a, b) => a.from - b.from)
  }

  #shade(target: CanvasRenderingTarget2D): void {
    target.useMediaCoordinateSpace(({ context: c, mediaSize }) => {
      for (const s of this.#visible()) {
        c.fillStyle = this.colours.shade
        c.globalAlpha = s.strong ? 1 : 0.5
        c.fillRect(s.left, 0, s.end - s.left, mediaSize.height)
        c.fillStyle = this.colours.ink
        c.fillRect(s.end - 0.5, 0, 1, mediaSize.height)
        c.globalAlpha = 1
      }
    })
  }

  // #label writes above the lines of the chart, each label on a ground of its own.
  #label(target: CanvasRenderingTarget2D): void {
    target.useMediaCoordinateSpace(({ context: c, mediaSize }) => {
      const visible = this.#visible()
      c.font = `10px ${getComputedStyle(document.body).fontFamily}`
      c.textAlign = 'right'
      const labels = fitted(visible, (label) => c.measureText(label).width)
      visible.forEach((s, i) => {
        const label = labels[i]
        if (!label) return
        const wide = c.measureText(label).width
        c.fillStyle = this.colours.panel
        c.fillRect(s.end - 6 - wide, mediaSize.height - 17, wide + 4, 14)
        c.fillStyle = this.colours.ink
        c.fillText(label, s.end - 4, mediaSize.height - 6)
      })
    })
  }
}

// including widens a price scale so that it includes one more price.
export function including(price: number | undefined): (original: () => AutoscaleInfo | null) => AutoscaleInfo | null {
  return (original) => {
    const info = original()
    if (price === undefined) return info
    const range = info?.priceRange
    return { ...info, priceRange: { minValue: Math.min(range?.minValue ?? price, price), maxValue: Math.max(range?.maxValue ?? price, price) } }
  }
}

export type Line = ISeriesApi<'Line', Time>

interface Value {
  time: number
  value: number
}

// Plot is what the chart shows: the index above, the chance of YES below. Times are seconds.
export interface Plot {
  key: string // changes with the content
  from: number
  to: number
  step: number
  decimals: number
  index: Value[]
  mids: Value[]
  trades: Value[]
  mine: Value[]
  strike: number
  mean: number | undefined
  windows: Stretch[]
  fresh: boolean // the last price is the present one, and the axis shows it
  freshMid: boolean
}

// plot makes the chart in a box. draw shows a plot, applyTheme takes the colors of the page.
export function plot(box: HTMLElement): { draw: (v: Plot) => void; applyTheme: () => void; end: () => void } {
  const chart = newChart(box)
  const chanceFormat = { type: 'custom' as const, minMove: 0.1, formatter: (v: number) => (v < 0 || v > 100 ? '' : `${percent(v)}%`) } // the axis is longer than a chance can be
  const whole = (): AutoscaleInfo => ({ priceRange: { minValue: 0, maxValue: 100 } })
  const line = { priceLineVisible: false, lastValueVisible: false, crosshairMarkerRadius: 3, lineWidth: 2 as const }
  const dots = { ...line, lineVisible: false, pointMarkersVisible: true, priceFormat: chanceFormat, autoscaleInfoProvider: whole }
  const index = chart.addSeries(LineSeries, line, 0)
  const mid = chart.addSeries(LineSeries, { ...line, lineType: 1, priceFormat: chanceFormat, autoscaleInfoProvider: whole }, 1)
  const trades = chart.addSeries(LineSeries, { ...dots, pointMarkersRadius: 1.5 }, 1)
  const mine = chart.addSeries(LineSeries, { ...dots, pointMarkersRadius: 4 }, 1)
  chart.panes()[0]?.setStretchFactor(1.75)
  chart.panes()[1]?.setStretchFactor(1)
  const shades = new Stretches()
  const below = new Stretches()
  index.attachPrimitive(shades)
  mid.attachPrimitive(below)
  const strike = index.createPriceLine({ price: 0, lineStyle: LineStyle.Dashed, lineWidth: 1, axisLabelVisible: true, title: 'strike' })
  const half = mid.createPriceLine({ price: 50, lineStyle: LineStyle.Dotted, lineWidth: 1, axisLabelVisible: false, title: '' })
  let mean: IPriceLine | undefined
  let p = palette()
  let drawn = ''

  function applyTheme(): void {
    p = palette()
    drawn = ''
    paint(chart, p)
    chart.applyOptions({ layout: { panes: { separatorColor: p.line, separatorHoverColor: p.line, enableResize: false } } })
    index.applyOptions({ color: p.index })
    mid.applyOptions({ color: p.yes })
    trades.applyOptions({ color: p.no })
    mine.applyOptions({ color: p.strike })
    strike.applyOptions({ color: p.strike, axisLabelColor: p.strike, axisLabelTextColor: document.documentElement.dataset.shade === 'dark' ? '#14101c' : '#fff' })
    half.applyOptions({ color: p.soft })
  }

  function draw(v: Plot): void {
    index.applyOptions({ lastValueVisible: v.fresh })
    mid.applyOptions({ lastValueVisible: v.freshMid })
    if (v.key === drawn) return
    drawn = v.key
    // A step begins at a multiple of its length; each time scale has the same steps.
    const from = Math.floor(v.from / v.step) * v.step
    const set = (series: Line, values: Value[]): void => series.setData(everySecond(values, from, v.to, v.step))
    index.applyOptions({ priceFormat: { type: 'custom', minMove: 10 ** -v.decimals, formatter: (at: number) => axis(at, v.decimals) }, autoscaleInfoProvider: including(v.strike) })
    set(index, v.index)
    set(mid, v.mids)
    set(trades, v.trades)
    set(mine, v.mine)
    strike.applyOptions({ price: v.strike })
    if (mean) index.removePriceLine(mean)
    mean = v.mean === undefined ? undefined : index.createPriceLine({ price: v.mean, color: p.soft, lineStyle: LineStyle.LargeDashed, lineWidth: 1, axisLabelVisible: false, title: v.fresh ? 'mean so far' : 'mean' })
    const stretches = v.windows.map((w) => ({ ...w, from: Math.max(from, snap(w.from, v.step)), to: snap(w.to, v.step) })).filter((w) => w.to > from)
    shades.show(stretches, { shade: p.shade, ink: p.strike, panel: p.panel })
    below.show(stretches.map((w) => ({ ...w, labels: [] })), { shade: p.shade, ink: p.strike, panel: p.panel })
    chart.timeScale().setVisibleRange({ from: from as UTCTimestamp, to: v.to as UTCTimestamp })
  }

  applyTheme()
  return { draw, applyTheme, end: () => chart.remove() }
}

function snap(sec: number, step: number): number {
  return Math.round(sec / step) * step
}
