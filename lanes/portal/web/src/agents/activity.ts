import { limit, refused } from '../approvals/approval.ts'
import { dollars, grouped, words } from '../shared/format.ts'
import { ofCategory } from '../shared/names.ts'
import type { Activity, ActivityOrder } from '../venue/wire.ts'
import { refusal } from './mandate.ts'

// OPERATIONS are what an agent or its owner does, as the past and the plain form of a verb, and its object.
const OPERATIONS: Record<string, [string, string, string]> = {
  place_order: ['placed', 'place', 'an order'],
  replace_order: ['replaced', 'replace', 'an order'],
  decrease_order: ['reduced', 'reduce', 'an order'],
  cancel_order: ['canceled', 'cancel', 'an order'],
  cancel_all_orders: ['canceled', 'cancel', 'all orders'],
  put_quotes: ['quoted', 'quote', 'both sides'],
  redeem_pairs: ['redeemed', 'redeem', 'pairs'],
  submit_forecast: ['submitted', 'submit', 'a forecast'],
  arm_deadman: ['armed', 'arm', 'the dead-man switch'],
  disarm_deadman: ['disarmed', 'disarm', 'the dead-man switch'],
  cancel_on_disconnect: ['bound', 'bind', 'its orders to its connection'],
  set_group: ['set', 'set', 'an order group'],
  reset_group: ['reset', 'reset', 'an order group'],
  delete_group: ['deleted', 'delete', 'an order group'],
  renew_grant: ['renewed', 'renew', 'its connection'],
  request_withdrawal: ['requested', 'request', 'a withdrawal'],
  create_agent: ['created', 'create', 'the agent'],
  transfer: ['moved', 'move', 'money'],
  set_mandate: ['changed', 'change', 'its bounds'],
  halt_agent: ['halted', 'halt', 'it'],
  resume_agent: ['resumed', 'resume', 'it'],
  close_agent: ['closed', 'close', 'it'],
  create_key: ['made', 'make', 'a key'],
  revoke_key: ['revoked', 'revoke', 'a key'],
  approve_order: ['approved', 'approve', 'an order'],
  reject_order: ['rejected', 'reject', 'an order'],
}

// Done is an entry of the activity in words: what was done or tried, with what, and why the venue refused it.
export interface Done {
  text: string
  what: string
  why: string
}

// done says what an entry of the activity is. The owner reads it, so an entry without a key is "You …".
export function done(a: Activity): Done {
  const [past, plain, object] = OPERATIONS[a.operation] ?? ['did', 'do', words(a.operation)]
  const owner = a.api_key === null
  const text = a.code ? `could not ${plain} ${object}` : a.operation === 'place_order' && a.approval_id ? 'asked you to approve an order' : `${past} ${object}`
  const what = a.order ? `${ordered(a.order)}${a.code ? '' : became(a.order)}` : a.amount ? `${dollars(Math.abs(Number(a.amount)))} ${Number(a.amount) < 0 ? 'back to you' : 'to the agent'}` : ''
  const refusedLater = a.operation === 'approve_order' && a.order?.status === 'refused' // by a check of the placement
  return { text: owner ? `You ${text}` : text.charAt(0).toUpperCase() + text.slice(1), what, why: a.code ? reason(a) : refusedLater ? refused(a.order!.reason ?? '') : '' }
}

// ordered is an order in words: "buy 3 YES at 55¢ or less, BTC 60 s".
function ordered(o: ActivityOrder): string {
  return `${o.side} ${grouped(o.qty)} ${o.outcome.toUpperCase()} ${limit(o)}${o.category ? `, ${ofCategory(o.category)}` : ''}`
}

// became is what an order has come to.
function became(o: ActivityOrder): string {
  if (o.filled_qty === o.qty) return '; filled'
  if (o.filled_qty > 0) return `; ${grouped(o.filled_qty)} of ${grouped(o.qty)} filled`
  return { resting: '; rests', canceled: '; canceled', expired: '; expired', refused: '; not placed' }[o.status] ?? ''
}

function reason(a: Activity): string {
  const rule = a.rule && (refusal(a.rule) ?? words(a.rule))
  if (rule) return `${rule}.`
  return a.operation === 'transfer' && a.code === 'insufficient_balance' ? 'there was not enough free cash.' : refused(a.code)
}
