// Text and numbers as operators read them.
import { dollars, fine, grouped, MINUS } from '../shared/format.ts'
import type { U64 } from '../venue/wire.ts'

// Characters that change the order or the look of the text around them. The venue refuses them,
// but a journal can hold text from before it did.
const HIDDEN = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

// printable shows hidden characters by their number, so that a name cannot look like another one.
export function printable(text: string): string {
  return text.replace(HIDDEN, (c) => `[U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`)
}

export function words(name: string): string {
  return printable(name).replaceAll('_', ' ')
}

// sentence is words with a capital letter.
export function sentence(name: string): string {
  const w = words(name)
  return w.charAt(0).toUpperCase() + w.slice(1)
}

// money formats pips as dollars; every pip shows.
export function money(pips: U64 | number): string {
  const n = Number(pips)
  return Math.abs(n) <= Number.MAX_SAFE_INTEGER ? (n % 100 === 0 ? dollars(n) : fine(n)) : `${n < 0 ? MINUS : ''}$${grouped(Math.abs(n) / 10000)}`
}

// price formats an index price at 1e8 scale with all digits that it has, at least two.
export function price(at: U64 | null): string {
  if (at === null) return '–'
  const digits = at.padStart(9, '0')
  const whole = BigInt(digits.slice(0, -8)).toLocaleString('en-US')
  return `${whole}.${digits.slice(-8).replace(/0{1,6}$/, '')}`
}

// moment formats a time in ns as UTC: "11-24 02:10:04".
export function moment(ns: U64): string {
  return new Date(Number(BigInt(ns) / 1_000_000n)).toISOString().slice(5, 19).replace('T', ' ')
}

// age formats a time in ms: "4 s", "12 min", "3 h", "2 days".
export function age(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000))
  if (s < 120) return `${s} s`
  if (s < 7200) return `${Math.floor(s / 60)} min`
  if (s < 172_800) return `${Math.floor(s / 3600)} h`
  return `${Math.floor(s / 86_400)} days`
}

export function since(ns: U64, now: number): number {
  return now - Number(BigInt(ns) / 1_000_000n)
}

// scaled parses a decimal number as an integer of 10^-places; undefined unless it is exact and
// above 0.
export function scaled(text: string, places: number): U64 | undefined {
  const m = /^(\d{1,12})(?:\.(\d+))?$/.exec(text.trim().replaceAll(',', '').replace(/^\$/, ''))
  if (!m || (m[2] ?? '').length > places) return undefined
  const n = BigInt(m[1]! + (m[2] ?? '').padEnd(places, '0'))
  return n > 0n ? String(n) : undefined
}

export const pipsOf = (text: string): U64 | undefined => scaled(text, 4)
export const priceOf = (text: string): U64 | undefined => scaled(text, 8)
