import { type Agent, type Mandate, ms, type U64 } from '../venue/wire.ts'
import { cents, dollars, grouped } from '../shared/format.ts'
import { seriesOf } from '../store/series.ts'

// Bounds are the terms of a new agent as the owner types them: dollars, cents of price and
// hours. null sets no bound.
export interface Bounds {
  orderCost: number | null
  openCost: number | null
  dailyLoss: number | null
  collar: number | null
  askAbove: number | null
  hours: number | null
}

export type Preset = 'careful' | 'normal' | 'loose'

export const presets: Record<Preset, Bounds> = {
  careful: { orderCost: 2, openCost: 10, dailyLoss: 10, collar: 3, askAbove: null, hours: 24 },
  normal: { orderCost: 10, openCost: 50, dailyLoss: 50, collar: 5, askAbove: null, hours: 7 * 24 },
  loose: { orderCost: 50, openCost: 250, dailyLoss: 250, collar: 10, askAbove: null, hours: 30 * 24 },
}

const NAME = /^[a-z0-9][a-z0-9-]{0,31}$/
const U64_MAX = 2n ** 64n - 1n
const U32_MAX = 2 ** 32 - 1

// pipsOf converts dollars to pips.
export function pipsOf(amount: number): U64 {
  return String(Math.round(amount * 10000))
}

// mandateOf converts bounds to a mandate; now is the venue's time in ms.
export function mandateOf(b: Bounds, now: number): Mandate {
  const m: Mandate = {}
  if (b.hours !== null) m.expires_ts = `${Math.round(now + b.hours * 3_600_000)}000000`
  if (b.collar !== null) m.price_collar = Math.round(b.collar * 100)
  if (b.orderCost !== null) m.max_order_cost = pipsOf(b.orderCost)
  if (b.openCost !== null) m.max_open_cost = pipsOf(b.openCost)
  if (b.dailyLoss !== null) m.max_daily_loss = pipsOf(b.dailyLoss)
  if (b.askAbove !== null) m.ask_above = pipsOf(b.askAbove)
  return m
}

// boundsOf is the inverse of mandateOf; hours is null, which keeps the time of the mandate.
export function boundsOf(m: Mandate): Bounds {
  const typed = (pips: U64 | undefined): number | null => (pips === undefined ? null : Number(pips) / 10000)
  return { orderCost: typed(m.max_order_cost), openCost: typed(m.max_open_cost), dailyLoss: typed(m.max_daily_loss), collar: m.price_collar === undefined ? null : m.price_collar / 100, askAbove: typed(m.ask_above), hours: null }
}

// changed returns a mandate with other bounds. What the bounds do not name stays.
export function changed(m: Mandate, b: Bounds, now: number): Mandate {
  const { max_order_cost: _, max_open_cost: __, max_daily_loss: ___, price_collar: ____, ask_above: _____, ...rest } = m
  return { ...rest, ...mandateOf(b, now) }
}

// Fault names the field of a request that the venue would reject, and says what it must be.
export interface Fault {
  field: string
  must: string
}

type Test = (v: unknown) => boolean

const isU64: Test = (v) => typeof v === 'string' && /^[0-9]{1,20}$/.test(v) && BigInt(v) <= U64_MAX
const isInt = (low: number, high: number): Test => (v) => typeof v === 'number' && Number.isInteger(v) && v >= low && v <= high
const isCategory = isInt(1, 9)

// Field is a field of a mandate with the words of the page for it.
interface Field {
  valid: Test
  must: string // what a valid value must do or be
  refused: string // why it refused an order
  term?: (v: never, now: number) => string // the bound in short, unless a gauge shows it
}

const amount = { valid: isU64, must: 'be $0 or more' }
const count = { valid: isInt(0, U32_MAX), must: `be a whole number from 0 to ${U32_MAX}` }

const FIELDS = new Map<string, Field>(Object.entries({
  max_order_cost: { ...amount, refused: 'the order costs too much', term: (v: U64) => `orders up to ${dollars(Number(v))}` },
  max_market_cost: { ...amount, refused: 'too much in this market', term: (v: U64) => `${dollars(Number(v))} a market` },
  max_open_cost: { ...amount, refused: 'too much is open' },
  max_daily_loss: { ...amount, refused: 'the daily loss is used up' },
  max_order_qty: { valid: isInt(1, 1_000_000), must: 'be a whole number from 1 to 1,000,000', refused: 'too many contracts', term: (v: number) => `${grouped(v)} contracts an order` },
  max_open_orders: { ...count, refused: 'too many open orders' },
  max_orders_per_day: { ...count, refused: 'too many orders today' },
  price_collar: { valid: isInt(0, 9998), must: 'be 0 to 99.98¢', refused: 'too far from the market', term: (v: number) => `collar ${cents(v)}¢` },
  categories: {
    valid: (v: unknown) => Array.isArray(v) && v.length > 0 && v.every(isCategory) && new Set(v).size === v.length,
    must: 'list different series from 1 to 9', refused: 'this series is not allowed', term: (v: number[]) => v.map(named).join(', '),
  },
  reduce_only: { valid: (v: unknown) => typeof v === 'boolean', must: 'be true or false', refused: 'only reducing is allowed', term: (v: boolean) => (v ? 'reduce-only' : '') },
  ask_above: { ...amount, refused: 'more at stake in this round than it may put there without asking its owner', term: (v: U64) => `asks you above ${dollars(Number(v))} a round` },
  expires_ts: { valid: isU64, must: 'be a time in the future', refused: 'the time has run out', term: (v: U64, now: number) => ends(ms(v), now) },
}))

function named(category: number): string {
  const s = seriesOf(category)
  return s ? `${s.asset.name} ${s.cadence}` : `series ${category}`
}

function ends(at: number, now: number): string {
  const minutes = Math.floor((at - now) / 60_000)
  if (minutes < 0) return `expired ${new Date(at).toISOString().slice(0, 16).replace('T', ' ')}`
  if (minutes < 120) return `expires in ${minutes} min`
  return minutes < 72 * 60 ? `expires in ${Math.round(minutes / 60)} h` : `expires in ${Math.round(minutes / 1440)} d`
}

// terms lists the bounds of a mandate in short, without those that gauges shows; now is the
// venue's time in ms.
export function terms(m: Mandate, now: number): string[] {
  return [...FIELDS].flatMap(([name, f]) => {
    const v = m[name as keyof Mandate]
    return (v !== undefined && f.term?.(v as never, now)) || []
  })
}

// refusal says why a rule of a mandate refused an order; undefined if the page has no words for it.
export function refusal(rule: string): string | undefined {
  return rule === 'halted' ? 'the agent is stopped' : FIELDS.get(rule)?.refused
}

// mandateFault makes the check behind bad_mandate: the first field that is unknown, ill-typed
// or out of range; now is the venue's time in ms.
export function mandateFault(m: object, now: number): Fault | undefined {
  for (const [field, value] of Object.entries(m)) {
    const f = FIELDS.get(field)
    const must = f?.must ?? 'not be set: no bound has this name'
    if (!f?.valid(value)) return { field, must }
    if (field === 'expires_ts' && BigInt(value as U64) <= BigInt(Math.ceil(now)) * 1_000_000n) return { field, must }
  }
  return undefined
}

// agentFault checks name and fund (in dollars) of a new agent, and then its mandate.
export function agentFault(name: string, fund: number | null, m: object, now: number): Fault | undefined {
  if (!NAME.test(name)) return { field: 'name', must: 'be 1 to 32 lowercase letters, digits or hyphens, and not begin with a hyphen' }
  if (fund !== null && !isU64(pipsOf(fund))) return { field: 'fund', must: 'be $0 or more' }
  return mandateFault(m, now)
}

// Gauge is a bound of an account with what is used of it.
export interface Gauge {
  rule: string
  name: string
  used: number
  limit: number
  money: boolean // in pips, else a count
}

// gauges returns the bounds of an agent that its usage fills, in the order of their rules.
// max_daily_loss counts open cost as well, because it can still be lost.
export function gauges(a: Agent, m: Mandate): Gauge[] {
  const open = Number(a.usage.open_cost)
  const all: [keyof Mandate & string, string, number, boolean][] = [
    ['max_open_orders', 'Open orders', a.usage.open_orders, false],
    ['max_orders_per_day', 'Orders today', a.usage.orders_today, false],
    ['max_open_cost', 'Open cost', open, true],
    ['max_daily_loss', 'Loss today + open cost', Number(a.usage.loss_today) + open, true],
  ]
  return all.flatMap(([rule, name, used, money]) => (m[rule] === undefined ? [] : [{ rule, name, used, limit: Number(m[rule]), money }]))
}
