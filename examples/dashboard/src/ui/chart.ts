import {
  type AutoscaleInfo, type IChartApi, type IPrimitivePaneRenderer, type IPrimitivePaneView, type ISeriesApi, type ISeriesPrimitive,
  type PrimitivePaneViewZOrder, type SeriesAttachedParameter, type Time, type UTCTimestamp, createChart,
} from 'lightweight-charts'
import type { CanvasRenderingTarget2D } from 'fancy-canvas'

// Shared parts of the two charts: the theme, a time scale with a place for every second,
// and shaded stretches of time.

export interface Palette {
  ink: string
  soft: string
  line: string
  index: string
  strike: string
  shade: string
  yes: string
  no: string
}

// palette returns the current colors of the style sheet.
export function palette(): Palette {
  const of = getComputedStyle(document.documentElement)
  const v = (name: string): string => of.getPropertyValue(name).trim()
  return { ink: v('--ink'), soft: v('--soft'), line: v('--line'), index: v('--accent'), strike: v('--strike'), shade: v('--shade'), yes: v('--yes'), no: v('--no') }
}

export function newChart(box: HTMLElement): IChartApi {
  return createChart(box, {
    autoSize: true,
    layout: { background: { color: 'transparent' }, fontSize: 11, fontFamily: getComputedStyle(document.body).fontFamily, attributionLogo: false },
    handleScroll: false,
    handleScale: false,
    rightPriceScale: { borderVisible: false, entireTextOnly: true, scaleMargins: { top: 0.12, bottom: 0.1 } },
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

// everySecond returns one point for each second of [from, to], with or without a value, so
// that equal distances on the chart are equal times.
export function everySecond<T extends { time: number }>(values: readonly T[], from: number, to: number): (Omit<T, 'time'> & { time: UTCTimestamp } | { time: UTCTimestamp })[] {
  const out: (Omit<T, 'time'> & { time: UTCTimestamp } | { time: UTCTimestamp })[] = []
  let at = 0
  while (at < values.length && values[at]!.time < from) at += 1
  for (let sec = from; sec <= to; sec++) {
    const v = values[at]?.time === sec ? values[at++] : undefined
    out.push({ ...v, time: sec as UTCTimestamp })
  }
  return out
}

export interface Stretch {
  from: number
  to: number
  label: string
  strong: boolean
}

// Stretches shades stretches of time behind a series: the settlement windows.
export class Stretches implements ISeriesPrimitive<Time> {
  stretches: Stretch[] = []
  colours = { shade: '', ink: '' }
  #chart: IChartApi | undefined
  #redraw: () => void = () => {}

  attached(p: SeriesAttachedParameter<Time>): void {
    this.#chart = p.chart as IChartApi
    this.#redraw = p.requestUpdate
  }

  detached(): void {
    this.#chart = undefined
  }

  show(stretches: Stretch[], colours: { shade: string; ink: string }): void {
    this.stretches = stretches
    this.colours = colours
    this.#redraw()
  }

  paneViews(): IPrimitivePaneView[] {
    return [{ zOrder: (): PrimitivePaneViewZOrder => 'bottom', renderer: (): IPrimitivePaneRenderer => ({ draw: (t) => this.#draw(t) }) }]
  }

  #draw(target: CanvasRenderingTarget2D): void {
    const scale = this.#chart?.timeScale()
    if (!scale) return
    target.useMediaCoordinateSpace(({ context: c, mediaSize }) => {
      for (const s of this.stretches) {
        const left = scale.timeToCoordinate(s.from as UTCTimestamp)
        const right = scale.timeToCoordinate(s.to as UTCTimestamp)
        if (left === null || right === null) continue
        c.fillStyle = this.colours.shade
        c.globalAlpha = s.strong ? 1 : 0.5
        c.fillRect(left, 0, right - left, mediaSize.height)
        c.fillStyle = this.colours.ink
        c.fillRect(right - 0.5, 0, 1, mediaSize.height)
        c.globalAlpha = 1
        c.font = `10px ${getComputedStyle(document.body).fontFamily}`
        c.textAlign = 'right'
        c.fillText(s.label, right - 4, mediaSize.height - 6)
      }
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
