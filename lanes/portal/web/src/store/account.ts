import type { AgentApproval, Deadman, Fill, Order, Position, Settlement, UserEvent, UserSnapshot, U64 } from '../venue/wire.ts'
import { after } from '../venue/wire.ts'
import { RecordList } from './records.ts'

const CAP = 300
const live = new Set(['resting', 'partially_filled'])

// Account is the state of the user's account: a snapshot, and the events after it.
export class Account {
  cash = 0
  reserved = 0
  known = false
  asOf: U64 = '0' // of the snapshot
  seq: U64 = '0' // of the latest change
  deadman: Deadman = { armed: false, timeout_ms: 0, deadline_ts: '0' }
  fired = false
  readonly open = new Map<string, Order>()
  readonly done = new Map<string, Order>()
  readonly positions = new Map<string, Position>()
  readonly approvals = new Map<U64, AgentApproval>() // that wait, of this account or of its agents, and that have ended since
  readonly fills = new RecordList<Fill>(CAP)
  readonly settlements = new RecordList<Settlement>(CAP)

  // snapshot replaces the state. The lists must be read again over REST.
  snapshot(s: UserSnapshot): void {
    this.known = true
    this.asOf = this.seq = s.as_of_seq
    this.cash = Number(s.cash)
    this.reserved = Number(s.reserved)
    this.deadman = s.deadman
    this.open.clear()
    this.done.clear()
    this.positions.clear()
    for (const o of s.orders) this.order(o)
    for (const p of s.positions) this.position(p)
    for (const [id, a] of this.approvals) if (a.status === 'waiting') this.approvals.delete(id)
    for (const a of s.approvals ?? []) this.approval(a)
    this.fills.forget()
    this.settlements.forget()
  }

  // event applies an event and tells whether it was new.
  event(e: UserEvent): boolean {
    switch (e.event) {
      case 'order':
        this.order(e.order)
        return true
      case 'fill':
        return this.fills.live(e)
      case 'balance':
        this.cash = Number(e.cash)
        this.reserved = Number(e.reserved)
        return true
      case 'position':
        this.position(e)
        return true
      case 'settlement':
        return this.settlements.live(e)
      case 'approval':
        this.approval(e.approval)
        return true
      case 'deadman':
        if (e.group_id) return true // the switch of a group; the screen has that of the account
        this.deadman = { armed: e.armed, timeout_ms: e.timeout_ms, deadline_ts: e.deadline_ts }
        this.fired = e.fired
        return true
      default:
        return false
    }
  }

  // order stores an order from any source; the one with the later update counts.
  order(o: Order): void {
    const id = o.order_id ?? `rejected ${o.client_order_id}`
    const have = this.open.get(id) ?? this.done.get(id)
    if (have && after(have.last_update_seq, o.last_update_seq)) return
    this.open.delete(id)
    this.done.delete(id)
    const into = live.has(o.status) ? this.open : this.done
    into.set(id, o)
    if (this.done.size > CAP) this.done.delete(oldest(this.done))
  }

  // approval stores an approval. One that has ended never waits again.
  approval(a: AgentApproval): void {
    if (a.status === 'waiting' && this.approvals.has(a.approval_id)) return
    this.approvals.set(a.approval_id, a)
    for (const id of this.approvals.keys()) if (this.approvals.size > CAP) this.approvals.delete(id)
  }

  position(p: Position): void {
    const id = `${p.market_id}.${p.generation}`
    if (p.yes_qty + p.no_qty > 0) this.positions.set(id, p)
    else this.positions.delete(id)
  }
}

function oldest(orders: Map<string, Order>): string {
  let found = ''
  let seq: U64 = ''
  for (const [id, o] of orders) {
    if (found === '' || after(seq, o.last_update_seq)) [found, seq] = [id, o.last_update_seq]
  }
  return found
}

// newestFirst sorts orders as the venue lists them: newest first.
export function newestFirst(orders: Iterable<Order>): Order[] {
  return [...orders].sort((a, b) => (after(a.created_seq, b.created_seq) ? -1 : 1))
}
