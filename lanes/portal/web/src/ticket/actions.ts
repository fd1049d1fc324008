import type { Action } from '../venue/rest.ts'
import type { Order, OutcomeName, Placed, PlaceOrder, Position, Preview, Round, U64, Waiting } from '../venue/wire.ts'
import type { TradingStore } from '../store/store.ts'
import type { OrderResult } from './orderResult.ts'
import { cents } from '../shared/format.ts'
import { notices } from '../shared/notices.svelte.ts'
import { retryRateLimited } from '../venue/retry.ts'
import { invalidate } from '../store/redraw.svelte.ts'
import { SLIP } from './pricing.ts'

// The user's actions. Each is stored as the last action of the store, to be copied.

function act<T>(store: TradingStore, a: Action): Promise<T> {
  store.last = a
  invalidate()
  return store.rest.call<T>(a.method, a.target, a.body)
}

export function place(store: TradingStore, o: PlaceOrder): Promise<Placed | Waiting> {
  return learned(store, act(store, { method: 'POST', target: '/v1/portfolio/orders', body: JSON.stringify(o), tool: 'place_order', args: o }))
}

// preview changes nothing, so it is not an action to copy. It uses the agent lane, where a
// rejection has HTTP status 200, so that the browser does not log it as an error.
export function preview(store: TradingStore, o: PlaceOrder): Promise<Preview> {
  return store.rest.tool('preview_order', o)
}

export function cancel(store: TradingStore, o: Order): Promise<unknown> {
  return act(store, { method: 'DELETE', target: `/v1/portfolio/orders/${o.order_id}`, body: '', tool: 'cancel_order', args: { order_id: o.order_id } })
}

// cancelAll cancels every order, or those of one market.
export function cancelAll(store: TradingStore, market?: number): Promise<{ seq: U64 }> {
  const target = market === undefined ? '/v1/portfolio/orders' : `/v1/portfolio/orders?market_id=${market}`
  return act(store, { method: 'DELETE', target, body: '', tool: 'cancel_all_orders', args: market === undefined ? {} : { market_id: market } })
}

export function redeem(store: TradingStore, market: number, qty: number): Promise<unknown> {
  const args = { market_id: market, qty }
  return act(store, { method: 'POST', target: '/v1/portfolio/redeem', body: JSON.stringify(args), tool: 'redeem_pairs', args })
}

// decrease lowers the quantity of a resting order, which keeps its place in the queue.
export function decrease(store: TradingStore, o: Order, qty: number): Promise<unknown> {
  const args = { order_id: o.order_id, reduce_to: qty }
  return act(store, { method: 'POST', target: `/v1/portfolio/orders/${o.order_id}/decrease`, body: JSON.stringify({ reduce_to: qty }), tool: 'decrease_order', args })
}

// insteadOf returns the order that is to rest in the place of another one.
export function insteadOf(o: Order, tick: number, qty: number): PlaceOrder {
  return { client_order_id: freshId(), market_id: o.market_id, generation: o.generation, side: o.side, outcome: o.outcome, tick, qty, ...flagged(o) }
}

// replace puts a new order in the place of a resting one, in one command.
export function replace(store: TradingStore, old: Order, by: PlaceOrder): Promise<Placed | Waiting> {
  const { market_id, generation, side, outcome, ...terms } = by // those of the old order
  return learned(store, act(store, { method: 'POST', target: `/v1/portfolio/orders/${old.order_id}/replace`, body: JSON.stringify(terms), tool: 'replace_order', args: { order_id: old.order_id, ...terms } }))
}

// learned stores the place in the queue of an order that rests.
async function learned(store: TradingStore, answer: Promise<Placed | Waiting>): Promise<Placed | Waiting> {
  const p = await answer
  if (p.status !== 'waiting' && p.queue_ahead !== undefined) store.queue.learn(p.order_id, p.queue_ahead, -1, performance.now())
  return p
}

const FLAGS = ['post_only', 'reduce_only', 'cancel_on_pause', 'stp_maker'] as const // by bit of flags

// flagged returns the terms of an order that a new one in its stead keeps.
function flagged(o: Order): Partial<PlaceOrder> {
  const terms: Partial<PlaceOrder> = {}
  if (o.tif === 'gtt') [terms.tif, terms.expiry_ts] = ['gtt', o.expiry_ts]
  if (o.group_id) terms.group_id = o.group_id
  FLAGS.forEach((f, bit) => o.flags & (1 << bit) && (terms[f] = true))
  return terms
}

// SubmitOrder places one order, whatever becomes of its answers, and says what became of it.
export type SubmitOrder = (order: PlaceOrder) => Promise<OrderResult>

// openIn returns the open orders of one round, or all. The slot of an ended round can have another one,
// whose orders are none of it.
export function openIn(store: TradingStore, r?: Round): Order[] {
  return [...store.account.open.values()].filter((o) => !r || (o.market_id === r.market_id && o.generation === r.generation))
}

// cancelWithUndo cancels the orders of one round, or all, and offers to put them back with submit.
export async function cancelWithUndo(store: TradingStore, submit: SubmitOrder, where: string, r?: Round): Promise<void> {
  const gone = openIn(store, r)
  if (gone.length === 0) return notices.show('plain', `No open orders${where}`)
  try {
    const { seq } = await cancelAll(store, r?.market_id)
    notices.show('plain', `Canceled ${gone.length === 1 ? '1 order' : `${gone.length} orders`}${where}`, 'Put back, they rest behind others at their price.', '', { label: 'Undo', does: () => void putBack(store, submit, gone, seq) })
  } catch (e) {
    await notices.failed('Cancel', e)
  }
}

// putBack places again what the cancel of a seq took of the orders that were seen before it, where they
// rest: none of them trades at once.
async function putBack(store: TradingStore, submit: SubmitOrder, seen: Order[], seq: U64): Promise<void> {
  try {
    const ended = await Promise.all(seen.map((o) => retryRateLimited(() => store.rest.get<Order>(`/v1/portfolio/orders/${o.order_id}`))))
    const orders = seen.map((o, i) => ({ ...o, remaining_qty: took(o, ended[i]!, seq) })).filter((o) => o.remaining_qty > 0)
    if (orders.length === 0) return notices.show('plain', 'Nothing to put back', 'The orders had filled or ended before the cancel.')
    const results = await Promise.all(orders.map((o) => submit({
      client_order_id: freshId(), market_id: o.market_id, generation: o.generation, side: o.side, outcome: o.outcome, tick: o.tick, qty: o.remaining_qty, ...flagged(o), post_only: true,
    })))
    const back = results.filter((f) => f.tone !== 'bad').length
    notices.show(back === orders.length ? 'plain' : 'bad', `Put back ${back} of ${orders.length}`, back === orders.length ? '' : 'The others would trade at once, or their round has ended.')
  } catch (e) {
    await notices.failed('Undo', e)
  }
}

// took is how many contracts the cancel of a seq took of an order: none if the order ended otherwise.
// What filled since the order was seen is no part of it.
function took(seen: Order, ended: Order, seq: U64): number {
  return ended.last_update_seq === seq ? seen.remaining_qty - (ended.filled_qty - seen.filled_qty) : 0
}

export const CLOSES = `no more than ${SLIP / 100}¢ below the best bid`

// closeLimit is the lowest price at which a close sells an outcome now, in pips; 0 if nobody else bids for it.
export function closeLimit(store: TradingStore, p: Position, outcome: OutcomeName): number {
  const book = store.books.get(p.market_id)
  const bid = book?.generation === p.generation ? book.best(outcome, [...store.account.open.values()]) : 0
  return bid && Math.max(100, bid - SLIP)
}

// closeOut redeems the pairs of a position and sells the rest at the market, no lower than limit says. It
// calls redeemed after a redemption, and returns what cannot be sold now.
export async function closeOut(store: TradingStore, submit: SubmitOrder, p: Position, limit: (o: OutcomeName) => number, redeemed: (pairs: number) => void): Promise<string[]> {
  const free = { yes: p.yes_qty - p.yes_reserved, no: p.no_qty - p.no_reserved }
  const pairs = Math.min(free.yes, free.no)
  if (pairs > 0) {
    await retryRateLimited(() => redeem(store, p.market_id, pairs))
    redeemed(pairs)
  }
  const stuck: string[] = []
  for (const outcome of ['yes', 'no'] as OutcomeName[]) {
    const qty = free[outcome] - pairs
    if (qty <= 0) continue
    const worst_tick = limit(outcome)
    if (worst_tick === 0) {
      stuck.push(`nobody bids for ${outcome.toUpperCase()} now`)
      continue
    }
    const done = await submit({ client_order_id: freshId(), market_id: p.market_id, generation: p.generation, side: 'sell', outcome, type: 'market', worst_tick, qty })
    if (done.filled === undefined) stuck.push(`${outcome.toUpperCase()}: ${done.text}`)
    else if (done.filled < qty) stuck.push(`${qty - done.filled} ${outcome.toUpperCase()} found no buyer at ${cents(worst_tick)}¢ or more`)
  }
  return stuck
}

// arm counts as an action if the user did it, not if the page repeats it.
export function arm(store: TradingStore, timeout_ms: number, byHand: boolean): Promise<unknown> {
  const args = { timeout_ms }
  const a: Action = { method: 'POST', target: '/v1/portfolio/deadman', body: JSON.stringify(args), tool: 'arm_deadman', args }
  return byHand ? act(store, a) : store.rest.call(a.method, a.target, a.body)
}

export function disarm(store: TradingStore): Promise<unknown> {
  return act(store, { method: 'DELETE', target: '/v1/portfolio/deadman', body: '', tool: 'disarm_deadman', args: {} })
}

// freshId returns a client_order_id of 62 random bits.
export function freshId(): string {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2))
  return String((BigInt(high! & 0x3fffffff) << 32n) | BigInt((low! | 1) >>> 0))
}
