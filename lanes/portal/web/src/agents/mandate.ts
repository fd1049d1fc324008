import { type Agent, type Headroom, type Mandate, ms, type U64 } from '../venue/wire.ts'
import { dollars, grouped, quote } from '../shared/format.ts'
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

// whole converts an amount to a whole number of units; one between two of them stays a fraction, which no bound may be.
function whole(amount: number, units: number): number {
  const n = Math.round(amount * units)
  return n / units === amount ? n : amount * units
}

// pipsOf converts dollars to pips. Of more than four decimals it makes no U64.
export function pipsOf(amount: number): U64 {
  return String(whole(amount, 10_000))
}

// mandateOf converts bounds to a mandate; now is the venue's time in ms.
export function mandateOf(b: Bounds, now: number): Mandate {
  const m: Mandate = {}
  if (b.hours !== null) m.expires_ts = `${Math.round(now + b.hours * 3_600_000)}000000`
  if (b.collar !== null) m.price_collar = whole(b.collar, 100)
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

// fields are the bounds of the form, by their names in a mandate.
export const fields: { key: keyof Bounds; field: string; label: string; says: string; step: number }[] = [
  { key: 'orderCost', field: 'max_order_cost', label: 'Cost of an order, $', says: 'The most that one order may cost, with its fee', step: 1 },
  { key: 'openCost', field: 'max_open_cost', label: 'Open cost, $', says: 'The most that resting orders and positions may cost together', step: 1 },
  { key: 'dailyLoss', field: 'max_daily_loss', label: 'Daily loss, $', says: 'The most that it may lose in a UTC day; open cost counts as well, because it can still be lost', step: 1 },
  { key: 'collar', field: 'price_collar', label: 'Price collar, ¢', says: 'How far beyond the best price of other accounts it may bid or offer', step: 0.1 },
  { key: 'askAbove', field: 'ask_above', label: 'At stake in a round unasked, $', says: 'What it may put at stake in one round without asking; an order above it waits up to five minutes for you to approve it', step: 1 },
  { key: 'hours', field: 'expires_ts', label: 'Expires after, hours', says: 'No order is accepted after this time', step: 1 },
]

// labels are the fields of a new agent, for messages about them.
export const labels: Record<string, string> = { name: 'Name', fund: 'Fund', ...Object.fromEntries(fields.map((f) => [f.field, f.label.replace(/,.*/, '')])) }

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
  term?: (v: never, now: number) => string // the bound in short, unless limits shows it
}

const amount = { valid: isU64, must: 'be $0 or more, with at most four decimals' }
const count = { valid: isInt(0, U32_MAX), must: `be a whole number from 0 to ${U32_MAX}` }

const FIELDS = new Map<string, Field>(Object.entries({
  max_order_cost: { ...amount, refused: 'the order costs too much' },
  max_market_cost: { ...amount, refused: 'too much in this market', term: (v: U64) => `${dollars(Number(v))} a market` },
  max_open_cost: { ...amount, refused: 'too much is open' },
  max_daily_loss: { ...amount, refused: 'the daily loss is used up' },
  max_order_qty: { valid: isInt(1, 1_000_000), must: 'be a whole number from 1 to 1,000,000', refused: 'too many contracts', term: (v: number) => `${grouped(v)} contracts an order` },
  max_open_orders: { ...count, refused: 'too many open orders' },
  max_orders_per_day: { ...count, refused: 'too many orders today' },
  price_collar: { valid: isInt(0, 9998), must: 'be 0 to 99.98¢, with at most two decimals', refused: 'too far from the market' },
  categories: {
    valid: (v: unknown) => Array.isArray(v) && v.length > 0 && v.every(isCategory) && new Set(v).size === v.length,
    must: 'list different series from 1 to 9', refused: 'this series is not allowed', term: (v: number[]) => v.map(named).join(', '),
  },
  reduce_only: { valid: (v: unknown) => typeof v === 'boolean', must: 'be true or false', refused: 'only reducing is allowed', term: (v: boolean) => (v ? 'reduce-only' : '') },
  ask_above: { ...amount, refused: 'more at stake in this round than it may put there without asking its owner' },
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

// terms lists the bounds of a mandate in short, without those that limits shows; now is the
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

// moneyFault says what is wrong with an amount to move, in dollars.
export function moneyFault(dollars: number | null): string | undefined {
  return dollars !== null && dollars > 0 && isU64(pipsOf(dollars)) ? undefined : 'The amount must be above $0, with at most four decimals.'
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
  if (fund !== null && !isU64(pipsOf(fund))) return { field: 'fund', must: amount.must }
  return mandateFault(m, now)
}

// Gauge is what is used of a bound of an account, and what the venue says is left: pips of money, else a count.
export interface Gauge {
  used: number
  limit: number
  left: number
  money: boolean
}

// Limit is a bound that is set, in the words of the form.
export interface Limit {
  rule: string
  name: string
  says: string
  value: string
  gauge?: Gauge
}

type Gauged = keyof Mandate & keyof Headroom

// gaugeOf returns what is used of a bound, undefined if it is not set. max_daily_loss counts open cost as well,
// because it can still be lost.
function gaugeOf(a: Agent, m: Mandate, rule: Gauged): Gauge | undefined {
  if (m[rule] === undefined) return undefined
  const open = Number(a.usage.open_cost)
  const used = { max_open_cost: open, max_daily_loss: Number(a.usage.loss_today) + open, max_orders_per_day: a.usage.orders_today, max_open_orders: a.usage.open_orders }[rule]
  const limit = Number(m[rule])
  return { used, limit, left: Number(a.headroom[rule] ?? Math.max(0, limit - used)), money: rule === 'max_open_cost' || rule === 'max_daily_loss' }
}

// amountOf formats what a gauge counts.
export function amountOf(g: Gauge, n: number): string {
  return g.money ? dollars(n) : grouped(n)
}

const COUNTS: { rule: Gauged; name: string; says: string }[] = [
  { rule: 'max_orders_per_day', name: 'Orders today', says: 'The most that it may place in a UTC day' },
  { rule: 'max_open_orders', name: 'Open orders', says: 'The most that may rest at once' },
]

// limits lists the bounds of a mandate that have an amount, in the order of the form, each with what is used of it
// if the venue counts that. terms has the others.
export function limits(a: Agent, m: Mandate): Limit[] {
  const amounts = fields.flatMap((f) => {
    const v = f.key === 'hours' ? undefined : m[f.field as 'max_order_cost' | 'price_collar']
    if (v === undefined) return []
    const gauge = f.key === 'openCost' || f.key === 'dailyLoss' ? gaugeOf(a, m, f.field as Gauged) : undefined
    return [{ rule: f.field, name: labels[f.field]!, says: f.says, value: f.key === 'collar' ? quote(Number(v)) : dollars(Number(v)), ...(gauge && used(gauge)) }]
  })
  const counts = COUNTS.flatMap((c) => {
    const gauge = gaugeOf(a, m, c.rule)
    return gauge ? [{ ...c, ...used(gauge) }] : []
  })
  return [...amounts, ...counts]
}

const used = (gauge: Gauge): { value: string; gauge: Gauge } => ({ value: `${amountOf(gauge, gauge.used)} of ${amountOf(gauge, gauge.limit)} used`, gauge })
