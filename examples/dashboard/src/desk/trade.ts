import type { Action } from '../venue/rest.ts'
import type { Order, Placed, PlaceOrder, Preview } from '../venue/wire.ts'
import type { Desk } from './desk.ts'
import { changed } from './pulse.svelte.ts'

// The user's actions. Each is stored as the last action of the desk, to be copied.

function act<T>(desk: Desk, a: Action): Promise<T> {
  desk.last = a
  changed()
  return desk.rest.call<T>(a.method, a.target, a.body)
}

export function place(desk: Desk, o: PlaceOrder): Promise<Placed> {
  return act(desk, { method: 'POST', target: '/v1/portfolio/orders', body: JSON.stringify(o), tool: 'place_order', args: o })
}

// preview changes nothing, so it is not an action to copy. It uses the agent lane, where a
// rejection has HTTP status 200, so that the browser does not log it as an error.
export function preview(desk: Desk, o: PlaceOrder): Promise<Preview> {
  return desk.rest.tool('preview_order', o)
}

export function cancel(desk: Desk, o: Order): Promise<unknown> {
  return act(desk, { method: 'DELETE', target: `/v1/portfolio/orders/${o.order_id}`, body: '', tool: 'cancel_order', args: { order_id: o.order_id } })
}

// cancelAll cancels every order, or those of one market.
export function cancelAll(desk: Desk, market?: number): Promise<unknown> {
  const target = market === undefined ? '/v1/portfolio/orders' : `/v1/portfolio/orders?market_id=${market}`
  return act(desk, { method: 'DELETE', target, body: '', tool: 'cancel_all_orders', args: market === undefined ? {} : { market_id: market } })
}

export function redeem(desk: Desk, market: number, qty: number): Promise<unknown> {
  const args = { market_id: market, qty }
  return act(desk, { method: 'POST', target: '/v1/portfolio/redeem', body: JSON.stringify(args), tool: 'redeem_pairs', args })
}

// arm counts as an action if the user did it, not if the page repeats it.
export function arm(desk: Desk, timeout_ms: number, byHand: boolean): Promise<unknown> {
  const args = { timeout_ms }
  const a: Action = { method: 'POST', target: '/v1/portfolio/deadman', body: JSON.stringify(args), tool: 'arm_deadman', args }
  return byHand ? act(desk, a) : desk.rest.call(a.method, a.target, a.body)
}

export function disarm(desk: Desk): Promise<unknown> {
  return act(desk, { method: 'DELETE', target: '/v1/portfolio/deadman', body: '', tool: 'disarm_deadman', args: {} })
}

// freshId returns a client_order_id of 62 random bits.
export function freshId(): string {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2))
  return String((BigInt(high! & 0x3fffffff) << 32n) | BigInt((low! | 1) >>> 0))
}
