// The actions of the page: what each says, asks and sends.
import { VenueError } from '../venue/rest.ts'
import type { U64 } from '../venue/wire.ts'
import { actionDialog, type Field, type OperatorAction, type Done } from './actionDialog.svelte.ts'
import { money, pipsOf, printable, price, priceOf } from './text.ts'
import { venue } from './venue.svelte.ts'
import type { Account, Approval, Feed, Operator, Pending, Round, Withdrawal, WithdrawalState } from './wire.ts'

const DOLLARS = 'An amount in dollars above 0, with at most four decimals.'
const PRICE = 'A price above 0, with at most eight decimals.'
const MONEY = { reads: pipsOf, wrong: DOLLARS }

function open(d: OperatorAction): void {
  actionDialog.message = ''
  actionDialog.action = d
}

const send = <T>(method: string, path: string, body: unknown): Promise<T> => venue.api!.call<T>(method, path, body)

// sendTo sends an action on a round. A request names the slot of its market, so that the round could have
// ended under the dialog: then it is rejected here, and the next round in the slot stays as it is.
async function sendTo<T>(r: Round, action: string, body: object): Promise<T> {
  const api = venue.api! // of the operator who decided, also if another one signs in meanwhile
  const { markets } = await api.get<{ markets: Round[] }>('/admin/markets')
  if (!markets.some((m) => m.market_id === r.market_id && m.round_number === r.round_number)) throw new VenueError(409, 'invalid_transition')
  return api.call<T>('POST', `/admin/markets/${r.market_id}/${action}`, body)
}

// outcome says what happened: done, or that a second operator has to approve it.
function outcome(answer: Pending, done: string): Done {
  return { text: answer.approval_id === undefined ? done : `Request ${answer.approval_id} waits for the approval of another operator.` }
}

export function voidRound(r: Round): void {
  open({
    title: `Void ${r.series}, round ${r.round_number}`, yes: 'Void the round',
    text: `Every open contract pays 50 cents, whatever the price. ${r.open_interest.toLocaleString('en-US')} pairs are open. A void cannot be taken back.`,
    does: async (_, reason) => outcome(await sendTo<Pending>(r, 'void', { reason }), `${r.series}, round ${r.round_number} is void.`),
  })
}

export function proposePrice(r: Round): void {
  open({
    title: `Price by hand for ${r.series}, round ${r.round_number}`, yes: 'Set the price',
    text: `The strike is ${price(r.strike)}. YES wins if and only if the settle price is strictly above it. After the dispute window the round settles at this price.`,
    fields: [{ name: 'price', label: 'Settle price', hint: 'In dollars, such as 65004.54', reads: priceOf, wrong: PRICE }],
    does: async (v, reason) => outcome(await sendTo<Pending>(r, 'propose', { settle_price: v['price'], reason }), `${r.series}, round ${r.round_number} has the settle price ${price(v['price']!)}.`),
  })
}

export function pause(r: Round): void {
  const on = !r.halted
  open({
    title: `${on ? 'Pause' : 'Resume'} ${r.series}, round ${r.round_number}`, yes: on ? 'Pause the market' : 'Resume the market',
    text: on ? 'Placements are rejected until you resume the market; cancels work.' : 'Placements are accepted again, if the feed has prices.',
    does: async (_, reason) => {
      await sendTo(r, on ? 'pause' : 'resume', { reason })
      return { text: `${r.series} is ${on ? 'paused' : 'resumed'}.` }
    },
  })
}

export function postPrice(f: Feed): void {
  open({
    title: `Price by hand for ${f.name}`, yes: 'Post the price',
    text: 'This is one index tick, for the present second. Without further prices the markets of the feed pause 5 s after it.',
    fields: [{ name: 'price', label: 'Price', hint: 'In dollars, such as 65004.54', reads: priceOf, wrong: PRICE }],
    does: async (v, reason) => {
      const a = await send<Pending & { indexed?: boolean }>('POST', '/admin/oracle/ticks', { feed: f.feed, source: 'operator', price: v['price'], reason })
      return outcome(a, a.indexed ? `${f.name} is at ${price(v['price']!)}.` : `The price of ${f.name} is noted, but the feed needs more sources for an index.`)
    },
  })
}

// Step takes a withdrawal on.
export interface Step {
  path: string
  name: string // of the button
  done: string // what the withdrawal is then
  yes: string
  says: (w: Withdrawal) => string
  fields?: Field[]
}

const PAYMENT = { name: 'reference', label: 'Reference of the payment', hint: 'Such as its number at the bank', reads: (text: string) => text.trim() || undefined, wrong: 'The reference that the bank gives the payment.' }
const back = (w: Withdrawal): string => `${money(w.amount)} return to the free cash of account ${w.user_id}. This is final.`
const REJECT: Step = { path: 'reject', name: 'Reject…', done: 'rejected', yes: 'Reject the withdrawal', says: back }

// STEPS has what can be done with a withdrawal in each state.
export const STEPS: Record<WithdrawalState, readonly Step[]> = {
  pending: [
    { path: 'approve', name: 'Approve…', done: 'approved', yes: 'Approve the withdrawal', says: (w) => `${money(w.amount)} of account ${w.user_id} are to be paid to “${printable(w.destination)}”. Pay once the approval is complete.` },
    REJECT,
  ],
  approved: [
    { path: 'send', name: 'Paid…', done: 'sent', yes: 'The payment is sent', says: (w) => `You have paid ${money(w.amount)} to “${printable(w.destination)}”.`, fields: [PAYMENT] },
    REJECT,
  ],
  sent: [
    { path: 'complete', name: 'Arrived…', done: 'completed', yes: 'The payment has arrived', says: (w) => `Payment ${printable(w.reference)} of ${money(w.amount)} has arrived at “${printable(w.destination)}”. This is final.` },
    { path: 'fail', name: 'Came back…', done: 'failed', yes: 'Return the money', says: (w) => `Payment ${printable(w.reference)} came back. ${back(w)}` },
  ],
  completed: [], failed: [], rejected: [],
}

export function stepWithdrawal(w: Withdrawal, s: Step): void {
  open({
    title: `Withdrawal ${w.withdrawal_id}`, yes: s.yes, text: s.says(w), ...(s.fields && { fields: s.fields }),
    does: async (v, reason) => outcome(await send<Pending>('POST', `/admin/withdrawals/${w.withdrawal_id}/${s.path}`, { ...v, reason }), `Withdrawal ${w.withdrawal_id} is ${s.done}.`),
  })
}

export function decideApproval(a: Approval, approve: boolean): void {
  const own = a.requested_by === venue.me?.name
  open({
    title: `${approve ? 'Approve' : own ? 'Take back' : 'Reject'} request ${a.approval_id}`, yes: approve ? 'Approve and execute' : own ? 'Take it back' : 'Reject the request',
    text: `${printable(a.requested_by)} requested: ${described(a)}. ${a.reason ? `Reason: ${printable(a.reason)}.` : 'No reason was given.'} ${approve ? 'The venue executes it at once.' : 'Nothing happens.'}`,
    does: async (_, reason) => {
      await send('POST', `/admin/approvals/${a.approval_id}/${approve ? 'approve' : 'reject'}`, { reason })
      return { text: `Request ${a.approval_id} is ${approve ? 'approved and executed' : own ? 'taken back' : 'rejected'}.` }
    },
  })
}

// described says what an approval would do.
export function described(a: Approval): string {
  switch (a.action) {
    case 'deposit':
      return `deposit ${money(a.amount!)} into account ${a.user_id}, ${printable(a.deposit_id!)}`
    case 'complete_withdrawal':
    case 'approve_withdrawal':
    case 'fail_withdrawal':
    case 'reject_withdrawal':
      return `${a.action.split('_')[0]} withdrawal ${a.withdrawal_id}, ${money(a.amount!)} of account ${a.user_id} to “${printable(a.destination!)}”`
    case 'void_market':
      return `void market ${a.market_id}, round ${a.round_number}`
    case 'propose_price':
      return `settle market ${a.market_id}, round ${a.round_number} at ${price(a.settle_price!)}`
    case 'set_fees':
      return `fees of ${a.fees!.maker_rate} and ${a.fees!.taker_rate} in 1/10000, ${a.fees!.maker_rebate_pct} % to makers, ${a.fees!.referral_pct} % to referrers`
    default:
      return `price ${price(a.price!)} for feed ${a.feed} from ${printable(a.source!)}`
  }
}

export function createAccount(opened: (id: number) => void): void {
  open({
    title: 'New account', yes: 'Open the account', text: 'The account starts without money and without keys. Its token is shown once.',
    fields: [{ name: 'name', label: 'Name', hint: 'At most 64 bytes' }],
    does: async (v, reason) => {
      const a = await send<{ user_id: number; account_token: string }>('POST', '/admin/users', { name: v['name'], reason })
      opened(a.user_id)
      return { text: `Account ${a.user_id} is open.`, secret: { what: `Account token of ${a.user_id}`, value: a.account_token } }
    },
  })
}

export function deposit(a: Account): void {
  const limit = venue.me?.four_eyes
  open({
    title: `Deposit into account ${a.user_id}`, yes: 'Book the deposit',
    text: `For ${printable(a.name)}. A repeat with the same reference and amount books nothing.${limit == null ? '' : ` More than ${money(limit)} needs another operator.`}`,
    fields: [
      { name: 'amount', label: 'Amount in dollars', ...MONEY },
      { name: 'id', label: 'Reference', hint: 'Of the bank, at most 128 bytes; it identifies the deposit for good' },
    ],
    does: async (v, reason) => outcome(await send<Pending>('POST', `/admin/users/${a.user_id}/deposits`, { deposit_id: v['id'], amount: v['amount'], reason }), `${money(v['amount']!)} are in account ${a.user_id}.`),
  })
}

export function suspend(a: Account): void {
  const on = a.state !== 'suspended'
  open({
    title: `${on ? 'Suspend' : 'Resume'} account ${a.user_id}`, yes: on ? 'Suspend the account' : 'Resume the account',
    text: on ? `${printable(a.name)} can cancel orders and read, and nothing else, until you resume the account.` : `${printable(a.name)} can trade again.`,
    does: async (_, reason) => {
      await send('POST', `/admin/users/${a.user_id}/${on ? 'suspend' : 'resume'}`, { reason })
      return { text: `Account ${a.user_id} is ${on ? 'suspended' : 'active again'}.` }
    },
  })
}

export function cancelOrders(a: Account): void {
  open({
    title: `Cancel the orders of account ${a.user_id}`, yes: 'Cancel the orders', text: `${printable(a.name)} has ${a.open_orders.length} resting orders. All of them end.`,
    does: async (_, reason) => {
      const { canceled } = await send<{ canceled: number }>('DELETE', `/admin/users/${a.user_id}/orders`, { reason })
      return { text: `${canceled} orders of account ${a.user_id} are canceled.` }
    },
  })
}

export function resetToken(a: Account): void {
  open({
    title: `New token for account ${a.user_id}`, yes: 'Reset the token', text: `The present token of ${printable(a.name)} ends at once. Keys go on working. Be sure whom you are talking to.`,
    does: async (_, reason) => {
      const t = await send<{ account_token: string }>('POST', `/admin/users/${a.user_id}/token`, { reason })
      return { text: `Account ${a.user_id} has a new token.`, secret: { what: `New account token of ${a.user_id}`, value: t.account_token } }
    },
  })
}

export function revokeKey(a: Account, key: string, label: string): void {
  open({
    title: 'Revoke a key', yes: 'Revoke the key', text: `${key}${label ? ` (${printable(label)})` : ''} of ${printable(a.name)} ends at once, on every interface. It cannot come back.`,
    does: async (_, reason) => {
      await send('DELETE', `/admin/users/${a.user_id}/keys/${encodeURIComponent(key)}`, { reason })
      return { text: `The key ${key} is revoked.` }
    },
  })
}

export function addOperator(): void {
  open({
    title: 'Add an operator', yes: 'Add the operator', text: 'The audit shows this name beside everything that the operator does. The token is shown once.',
    fields: [{ name: 'name', label: 'Name', hint: 'Letters, digits and . _ @ -' }, { name: 'role', label: 'Role', options: ['viewer', 'support', 'treasurer', 'service', 'admin'] }],
    does: async (v, reason) => {
      const o = await send<{ operator_token: string }>('POST', '/admin/operators', { name: v['name'], role: v['role'], reason })
      return { text: `${v['name']} is an operator.`, secret: { what: `Operator token of ${v['name']}`, value: o.operator_token } }
    },
  })
}

export function revokeOperator(o: Operator): void {
  open({
    title: `Revoke ${o.name}`, yes: 'Revoke the operator', text: 'The token is invalid at once.',
    does: async (_, reason) => {
      await send('DELETE', `/admin/operators/${o.name}`, { reason })
      return { text: `${o.name} is no operator any more.` }
    },
  })
}

export function snapshot(): void {
  open({
    title: 'Write a snapshot', yes: 'Write it', text: 'The venue writes its state to the disk; trading goes on.',
    does: async (_, reason) => {
      const s = await send<{ seq: U64 }>('POST', '/admin/snapshot', { reason })
      return { text: `The snapshot of seq ${s.seq} is written.` }
    },
  })
}

