// Number formats. The style sheet aligns digits, so each kind of number has a fixed number
// of decimals.

export const MINUS = '−'

// dollars formats pips as dollars and cents: "$1,234.50".
export function dollars(pips: number): string {
  return `${pips < 0 ? MINUS : ''}$${grouped(Math.abs(pips) / 10000, 2)}`
}

// fine formats pips as dollars, with four decimals unless they are whole cents.
export function fine(pips: number): string {
  return `${pips < 0 ? MINUS : ''}$${grouped(Math.abs(pips) / 10000, pips % 100 === 0 ? 2 : 4)}`
}

// gain formats a profit with its sign: "+$5.00", "−$0.40".
export function gain(pips: number): string {
  return `${pips > 0 ? '+' : ''}${dollars(pips)}`
}

// tone is the class of money made. A loss has its sign, and the color of any other number.
export function tone(pips: number): 'gain' | '' {
  return pips > 0 ? 'gain' : ''
}

// cents formats a tick in cents: 4700 is "47.0".
export function cents(tick: number): string {
  return (tick / 100).toFixed(1)
}

// quote formats a tick as a price in cents, with tenths only where it has them: "47¢", "98.7¢".
export function quote(tick: number): string {
  return `${tick % 100 === 0 ? tick / 100 : cents(tick)}¢`
}

// share formats a chance of a whole percent without decimals, as quote does: "73%", "98.7%".
export function share(value: number): string {
  return `${percent(value).replace(/\.0$/, '')}%`
}

// percent formats a chance in percent with one decimal, half a tenth rounded up, as dx top does.
export function percent(value: number): string {
  return (Math.floor((Math.round(value * 200) + 10) / 20) / 10).toFixed(1)
}

// formats are by their decimals: to make one takes longer than to use it.
const formats: Intl.NumberFormat[] = []

export function grouped(n: number | bigint, decimals = 0): string {
  formats[decimals] ??= new Intl.NumberFormat('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals })
  return formats[decimals].format(n)
}

// price formats an index price at 1e8 scale in dollars. It truncates and never rounds up:
// the venue rounds means down, and a settlement just below its strike must not look equal
// to it.
export function price(at: bigint, decimals: number): string {
  const shown = at / 10n ** BigInt(8 - decimals)
  const unit = 10n ** BigInt(decimals)
  const whole = grouped(shown / unit)
  return decimals === 0 ? whole : `${whole}.${String(shown % unit).padStart(decimals, '0')}`
}

// distance formats the difference of two index prices with its sign, truncated as well.
export function distance(by: bigint, decimals: number): string {
  return `${by < 0n ? MINUS : '+'}${price(by < 0n ? -by : by, decimals)}`
}

// telling returns how many decimals two prices need to look different if they are: the
// usual number, or more if that is not enough.
export function telling(a: bigint, b: bigint, decimals: number): number {
  let n = decimals
  while (n < 8 && a !== b && price(a, n) === price(b, n)) n += 1
  return n
}

// coordinate converts an index price to a value on a chart's axis.
export function coordinate(at: bigint): number {
  return Number(at) / 1e8
}

// axis formats a value on a chart's axis, truncated like any price.
export function axis(value: number, decimals: number): string {
  return price(BigInt(Math.max(0, Math.round(value * 1e8))), decimals).replaceAll(',', '')
}

// countdown formats a time left in ms: "0:42", "12:05".
export function countdown(left: number): string {
  const secs = Math.max(0, Math.ceil(left / 1000))
  return `${Math.floor(secs / 60)}:${String(secs % 60).padStart(2, '0')}`
}

// remaining formats a time left in ms where seconds matter in the last minute only: "4 min", "0:42".
export function remaining(left: number): string {
  return left > 60_000 ? `${Math.ceil(left / 60_000)} min` : countdown(left)
}

// clock formats a time in ms as UTC time of day.
export function clock(at: number): string {
  return new Date(at).toISOString().slice(11, 19)
}

// day formats a time in ms as UTC date.
export function day(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

export function words(code: string): string {
  return code.replaceAll('_', ' ')
}
