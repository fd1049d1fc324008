// How figures are written. Digits are aligned by the style sheet, so each kind has a
// fixed number of decimals.

export const MINUS = '−'

// dollars of pips, with cents: "$1,234.50".
export function dollars(pips: number): string {
  return `${pips < 0 ? MINUS : ''}$${grouped(Math.abs(pips) / 10000, 2)}`
}

// exact dollars of pips, to the pip where it matters: fees are small.
export function fine(pips: number): string {
  return `${pips < 0 ? MINUS : ''}$${grouped(Math.abs(pips) / 10000, pips % 100 === 0 ? 2 : 4)}`
}

// cents of a tick: 4700 is "47.0".
export function cents(tick: number): string {
  return (tick / 100).toFixed(1)
}

export function grouped(n: number, decimals = 0): string {
  return n.toLocaleString('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals })
}

export function signed(n: number, decimals: number): string {
  return `${n < 0 ? MINUS : '+'}${grouped(Math.abs(n), decimals)}`
}

// countdown of ms: "0:42", "12:05".
export function countdown(left: number): string {
  const secs = Math.max(0, Math.ceil(left / 1000))
  return `${Math.floor(secs / 60)}:${String(secs % 60).padStart(2, '0')}`
}

// clock of ms, UTC.
export function clock(at: number): string {
  return new Date(at).toISOString().slice(11, 19)
}

export function words(code: string): string {
  return code.replaceAll('_', ' ')
}
