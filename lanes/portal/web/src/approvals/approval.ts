import { errorOf, reasonOf } from '../shared/errors.ts'
import { fine, grouped, quote, words } from '../shared/format.ts'
import { boundary, seriesOf } from '../store/series.ts'
import { placed } from '../ticket/orderResult.ts'
import { VenueError } from '../venue/rest.ts'
import type { AgentApproval, ApprovalStatus, Placed } from '../venue/wire.ts'

// What a card says of an order that waits for the owner: the venue's data alone, and of the agent its name.

type Order = Pick<AgentApproval, 'side' | 'outcome' | 'qty' | 'tick' | 'type' | 'tif' | 'flags'>

// STATES name the states of an approval.
export const STATES: Record<ApprovalStatus, string> = { waiting: 'waits for you', placed: 'approved', refused: 'approved, not placed', rejected: 'rejected', expired: 'expired', canceled: 'canceled' }

// wanted is what the order buys or sells: "Buy 40 YES".
export function wanted(o: Order): string {
  return `${o.side === 'buy' ? 'Buy' : 'Sell'} ${grouped(o.qty)} ${o.outcome.toUpperCase()}`
}

// limit is the worst price of the order.
export function limit(o: Pick<Order, 'side' | 'tick'>): string {
  return `at ${quote(o.tick)} or ${o.side === 'buy' ? 'less' : 'more'}`
}

const POST_ONLY = 1
const REDUCE_ONLY = 2
const CANCEL_ON_PAUSE = 4

// manner says what becomes of what does not fill at once, and what the flags add.
export function manner(o: Order): string {
  const parts = [atOnce(o)]
  if (o.flags & REDUCE_ONLY) parts.push('It closes what the agent holds, and opens nothing.')
  if (o.flags & CANCEL_ON_PAUSE) parts.push('A pause cancels it.')
  return parts.join(' ')
}

function atOnce(o: Order): string {
  if (o.type === 'market' || o.tif === 'ioc') return 'What does not fill at once is canceled.'
  if (o.tif === 'fok') return 'It fills at once and completely, or is canceled.'
  const until = o.tif === 'gtt' ? 'for a time that the agent set' : 'until the round ends'
  return o.flags & POST_ONLY ? `It rests ${until}. If it would fill at once, it is canceled.` : `What does not fill at once rests ${until}.`
}

// crosses is the price in pips at which an order fills at once, by the best prices of YES (0 is none); undefined if
// nobody is on the other side.
export function crosses(o: Order, bid: number, ask: number): number | undefined {
  const yes = (o.outcome === 'yes') === (o.side === 'buy') ? ask : bid
  return yes === 0 ? undefined : o.outcome === 'yes' ? yes : 10000 - yes
}

// ends is when the round of an approval ends, in ms; 0 for a series that the page does not know. A round ends with
// the period of its series, and an order waits while its round trades.
export function ends(a: AgentApproval): number {
  const s = seriesOf(a.category)
  return s ? boundary({ open_ts: a.created_ts }, s) : 0
}

// REFUSED are the words for the owner where those for a trader would speak of the owner's own account.
const REFUSED: Record<string, string> = {
  insufficient_balance: 'the free cash of the agent does not cover it.',
  insufficient_position: 'the agent does not hold enough to sell.',
  per_market_limit: 'the holding of the agent in this market would pass its limit.',
  mandate_violation: 'the bounds of the agent do not allow it now.',
  user_suspended: 'the agent is suspended.',
  open_order_limit: 'the agent has too many open orders in this market.',
  reduce_only_violation: 'the agent holds less than the order would sell.',
}

// refused says for the owner why the venue refused an order of an agent.
export function refused(code: string): string {
  return REFUSED[code] ?? (lower(errorOf(new VenueError(0, code))) || `${words(code)}.`)
}

const CANCELED: Record<string, string> = { user_cancel: 'by the agent', mass_cancel: 'by the agent' }

// Became says what became of an order that waited.
export interface Became {
  tone: 'good' | 'plain' | 'bad'
  text: string
}

// became says how an approval ended; undefined while it waits. order is what the placement returned, if this page
// has approved it.
export function became(a: AgentApproval, order?: Placed): Became | undefined {
  switch (a.status) {
    case 'waiting':
      return undefined
    case 'placed':
      if (order) return placed({ side: a.side, outcome: a.outcome, tick: a.tick }, order)
      return { tone: 'good', text: `Approved and placed as order ${a.order_id}.` }
    case 'refused':
      return { tone: 'bad', text: `Approved, but not placed: ${refused(a.reason)}` }
    case 'rejected':
      return { tone: 'plain', text: 'You rejected it. Nothing was placed.' }
    case 'expired':
      return EXPIRED
    case 'canceled':
      return { tone: 'plain', text: `Canceled: ${CANCELED[a.reason] ?? reasonOf(a.reason)}. Nothing was placed.` }
  }
}

// EXPIRED is the end of what nobody decided in time.
export const EXPIRED: Became = { tone: 'plain', text: 'It expired without a decision. Nothing was placed.' }

const lower = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

// sums are the amounts of an order that waits, as the venue counts them.
export function sums(a: AgentApproval): { name: string; value: string }[] {
  const buys = a.side === 'buy'
  return [
    { name: 'Costs at most, with the fee', value: fine(Number(a.cost)) },
    { name: 'Most to lose', value: fine(Number(a.cost)) },
    ...(buys ? [{ name: `Pays if ${a.outcome.toUpperCase()} wins`, value: fine(a.qty * 10000) }] : []),
    { name: 'At stake in this round when it asked', value: fine(Number(a.open_cost)) },
  ]
}
