import type { VenueError } from '../venue/rest.ts'
import { cents, fine, words } from './format.ts'
import { refusal } from '../agents/mandate.ts'

// Plain words for what the venue says. The exact code is one click away, behind each message.

const ERRORS: Record<string, string> = {
  insufficient_balance: 'Your free cash does not cover this order with its fee.',
  insufficient_position: 'You hold fewer free contracts than that. There is no short selling: buy the other outcome instead.',
  per_market_limit: 'Your holding and your orders in this market would pass its limit.',
  market_not_trading: 'This round is not trading.',
  market_paused: 'Trading is paused. Canceling still works.',
  stale_generation: 'The round ended before your order arrived. Nothing was placed.',
  unknown_order: 'This order is no longer open: it was filled, canceled or it expired.',
  invalid_decrease: 'The new quantity must be lower than what remains.',
  reduce_only_violation: 'A reduce-only order cannot be larger than what you hold.',
  user_suspended: 'Your account is suspended. Canceling still works; ask the operator.',
  open_order_limit: 'You have too many open orders in this market. Cancel some first.',
  bad_expiry: 'The order would expire at once.',
  too_late: 'The order arrived too late. Nothing was placed.',
  crossed_quote: 'The bid of the quote is not below its ask. Nothing was changed.',
  group_tripped: 'The group of this order has filled its bound. Reset it first.',
  bad_price_tick: 'This price is not on the price grid.',
  bad_qty: 'The quantity must be a whole number from 1 to 1,000,000.',
  rate_limited: 'Too many requests at once. Wait a moment.',
  shed: 'The venue is overloaded. Nothing was placed.',
  draining: 'The venue is restarting. Nothing was placed.',
  unauthorized: 'The venue does not accept this key.',
  missing_scope: 'This key may not do that.',
  stale_mandate: 'The bounds were changed elsewhere. The form has them as they are now: make your change again.',
  duplicate_agent_name: 'You have used this name before.',
  approval_limit: 'Twenty orders of this agent wait for its owner already. Cancel one of them, or wait for a decision.',
  unknown_approval: 'There is no such order that waits for you.',
  agent_limit: 'You have as many agents as an account can have. Close one.',
}

// SHORT says what insufficient_balance means for a request that places no order, by the name of the request.
const SHORT: Record<string, string> = {
  'Create agent': 'The free cash of your account is less than the fund.',
  Fund: 'The free cash of your account is less than that.',
  Return: 'The free cash of the agent is less than that.',
  Withdraw: 'Your free cash is less than that.',
}

const REASONS: Record<string, string> = {
  post_only_cross: 'it would have traded at once',
  fok_infeasible: 'it could not be filled completely',
  ioc_remainder: 'nobody offers more within your price',
  self_trade_prevention: 'it met an order of your own',
  max_cost_infeasible: 'the spending limit was reached',
  user_cancel: 'by you',
  mass_cancel: 'by you',
  replaced: 'replaced by you',
  group_limit: 'by the bound of its group',
  requoted: 'by a newer quote of its group',
  disconnect: 'its connection ended',
  deadman: 'by the dead-man switch',
  decreased_to_zero: 'reduced to nothing',
  paused: 'trading was paused',
  round_closed: 'the round ended',
  suspended: 'the account was suspended',
  operator: 'by the operator',
  halted: 'the agent was stopped',
  mandate_expired: 'the mandate expired',
  reduce_only: 'it would have added to the position',
  key_revoked: 'its key was revoked',
}

// reasonOf says why an order was canceled.
export function reasonOf(reason: string): string {
  return REASONS[reason] ?? words(reason)
}

interface Situation {
  need: number // pips of cash that the order needs; 0 if unknown
  cash: number
  held: number
}

// errorOf says what an error means for the user, in dollars where money is the cause; '' if the
// page has no words of its own for it.
export function errorOf(e: VenueError, s?: Situation): string {
  if (e.code === 'insufficient_balance' && s?.need) return `This needs ${fine(s.need)} with its fee. You have ${fine(s.cash)} free.`
  if (e.code === 'insufficient_position' && s) return s.held ? `You have ${s.held} free to sell. There is no short selling: buy the other outcome instead.` : 'You hold nothing to sell. Buy the other outcome instead.'
  if (e.code === 'mandate_violation') return `The owner’s bounds do not allow this${ruleOf(e)}.`
  return ERRORS[e.code] ?? ''
}

// failureOf says what an error of a named request means; '' if the page has no words of its own for it.
export function failureOf(what: string, e: VenueError): string {
  return (e.code === 'insufficient_balance' && SHORT[what]) || errorOf(e)
}

function ruleOf(e: VenueError): string {
  const details = (e.body as { error?: { details?: Record<string, string> } } | undefined)?.error?.details
  const rule = details?.rule
  const room = details?.headroom
  if (!rule) return '' // a past order has the code alone
  if (room === undefined) return `: ${refusal(rule) ?? words(rule)}`
  return `: ${refusal(rule) ?? words(rule)}, ${/cost|loss|ask/.test(rule) ? fine(Number(room)) : rule === 'price_collar' ? `${cents(Number(room))}¢` : room} is left`
}
