import { VenueError } from '../venue/rest.ts'
import { type AgentApproval, ms, type Order, type PlaceOrder, type Placed, type Waiting } from '../venue/wire.ts'
import { cents, clock, dollars, grouped, words } from '../shared/format.ts'
import { errorOf, reasonOf } from '../shared/errors.ts'

// OrderResult is what became of an order, in words.
export interface OrderResult {
  tone: 'good' | 'plain' | 'bad'
  text: string
  error?: VenueError
  filled?: number // contracts, where the venue said so
}

// behind says where an order rests in the queue at its price.
export function behind(ahead: number | undefined): string {
  if (ahead === undefined) return ''
  return ahead === 0 ? ', first in the queue' : `, behind ${grouped(ahead)}`
}

const named = (o: { side: string; outcome: string }, qty: number): string => `${o.side === 'buy' ? 'Bought' : 'Sold'} ${grouped(qty)} ${o.outcome.toUpperCase()}`

// waits says that an order is not placed before its owner approves it.
export function waits(p: Pick<Waiting, 'expires_ts'>): OrderResult {
  return { tone: 'plain', text: `Not placed yet: it waits for the owner until ${clock(ms(p.expires_ts))} UTC. Nothing is reserved.` }
}

// placed says what became of an order that the venue answered.
export function placed(o: Pick<PlaceOrder, 'side' | 'outcome' | 'tick'>, p: Placed | Waiting): OrderResult {
  if (p.status === 'waiting') return waits(p)
  const price = (tick: number): number => (o.outcome === 'yes' ? tick : 10000 - tick)
  const money = p.fills.reduce((sum, f) => sum + f.qty * price(f.tick_yes), 0)
  const done = p.filled_qty ? `${named(o, p.filled_qty)} at ${cents(money / p.filled_qty)}¢ for ${dollars(money)} before fees` : ''
  const filled = p.filled_qty
  if (p.status === 'executed') return { tone: 'good', filled, text: `${done}.` }
  if (p.resting_qty) return { tone: 'plain', filled, text: `${done ? `${done}; ` : ''}${grouped(p.resting_qty)} ${o.outcome.toUpperCase()} ${done ? 'rest' : `to ${o.side} rest`} in the book at ${cents(o.tick ?? 0)}¢${behind(p.queue_ahead)}.` }
  const why = p.reason ? `: ${reasonOf(p.reason)}` : ''
  return done ? { tone: 'plain', filled, text: `${done}; the rest was canceled${why}.` } : { tone: 'bad', filled, text: `Canceled${why}.` }
}

// ended says how a past order ended, or what one that is open does.
export function ended(o: Pick<Order, 'status' | 'reason'>): string {
  return o.reason ? `${words(o.status)}: ${whyOf(o)}` : words(o.status)
}

function whyOf(o: Pick<Order, 'status' | 'reason'>): string {
  return (o.status === 'rejected' && errorOf(new VenueError(0, o.reason))) || reasonOf(o.reason)
}

// asked says what became of an order whose answer was lost, and that is none because it waits for the owner or did;
// undefined if it became an order.
export function asked(a: AgentApproval): OrderResult | undefined {
  if (a.status === 'placed' || a.status === 'refused') return undefined
  if (a.status === 'waiting') return waits(a)
  return { tone: 'bad', text: `The answer was lost. The order waited for the owner and was not placed: ${a.reason ? reasonOf(a.reason) : a.status}.` }
}

// recovered says what became of an order whose answer was lost.
export function recovered(o: Order): OrderResult {
  const lost = 'The answer was lost, but your order arrived once: '
  const filled = o.filled_qty ? `${grouped(o.filled_qty)} of ${grouped(o.qty)} filled` : ''
  if (o.status === 'rejected') return { tone: 'bad', text: `The answer was lost. The order was rejected: ${whyOf(o)}` }
  if (o.remaining_qty > 0 && (o.status === 'resting' || o.status === 'partially_filled')) return { tone: 'plain', filled: o.filled_qty, text: `${lost}${filled ? `${filled}, ` : ''}${grouped(o.remaining_qty)} rest in the book at ${cents(o.tick)}¢.` }
  return { tone: o.filled_qty ? 'good' : 'bad', filled: o.filled_qty, text: `${lost}${filled || ended(o)}.` }
}
