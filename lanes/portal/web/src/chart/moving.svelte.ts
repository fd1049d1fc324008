import type { TradingStore } from '../store/store.ts'
import type { Book } from '../store/books.ts'
import { errorOf } from '../shared/errors.ts'
import { exactly, notices } from '../shared/notices.svelte.ts'
import { insteadOf, replace } from '../ticket/actions.ts'
import { pendingOf } from '../ticket/pending.svelte.ts'
import { Submission } from '../ticket/submission.svelte.ts'
import type { Order, U64 } from '../venue/wire.ts'
import { boundsOf, nearest, rests, short, stepped } from './move.ts'

const MOVED = 'Moved to'

// Moving is the own order that is being moved to another price, from the first touch until the venue has
// moved it.
export class Moving {
  id = $state<U64 | null>('') // order_id
  tick = $state(0) // wanted
  sent = $state(false)
  refocus: U64 = '' // client_order_id of the order that takes the place of one with the focus
  readonly #store: TradingStore

  constructor(store: TradingStore) {
    this.#store = store
  }

  // begin returns false if nothing can be moved now.
  begin(o: Order): boolean {
    if (this.sent || pendingOf(this.#store).change.locked || !this.book(o)) return false
    this.id = o.order_id
    this.tick = o.tick
    return true
  }

  end(): void {
    this.id = ''
    this.sent = false
  }

  // book is the present book of the round in which an order rests; undefined if the round has ended.
  book(o: Order): Book | undefined {
    const r = this.#store.round
    if (!r || r.status !== 'trading' || r.market_id !== o.market_id || r.generation !== o.generation) return undefined
    const book = this.#store.reachable ? this.#store.books.get(o.market_id) : undefined
    return book?.generation === o.generation ? book : undefined
  }

  // at is the price of an order: of the one that is being moved the chosen price, while it would rest there.
  at(o: Order): number {
    if (this.id !== o.order_id) return o.tick
    const book = this.sent ? undefined : this.book(o)
    return book ? rests(o, this.tick, book) : this.tick
  }

  to(o: Order, axis: number): void {
    this.tick = nearest(o, axis)
  }

  step(o: Order, up: boolean): void {
    const book = this.book(o)
    if (book) this.tick = stepped(o, this.at(o), up, book)
  }

  // finish sends the move of an order as it was at the beginning. What filled since then comes off it.
  async finish(o: Order, focused: boolean): Promise<void> {
    const now = this.#store.account.open.get(o.order_id!)
    const tick = now && this.at(now)
    if (this.sent || !now || tick === undefined || tick === now.tick || !this.book(now)) return this.end()
    this.tick = tick
    this.sent = true
    if (!(await this.#send(now, tick, focused))) this.end() // else it ends with the order
  }

  // #send returns whether the order has moved.
  async #send(o: Order, tick: number, focused: boolean): Promise<boolean> {
    const store = this.#store
    const pending = pendingOf(store)
    const by = insteadOf(o, tick, o.remaining_qty)
    if (focused) this.refocus = by.client_order_id
    const result = await pending.change.send(by, (e) => errorOf(e, { need: 0, cash: store.account.cash, held: 0 }) || e.message, () => replace(store, o, by))
    if (!result) {
      notices.show('plain', 'Not moved', 'Another change of an order is on its way.')
      return false
    }
    if (result.error) {
      const title = result.error.code === 'unknown_order' ? 'The order had ended' : 'The order stays as it was'
      notices.show(result.tone, title, result.text, '', undefined, exactly(result.error))
      return false
    }
    pending.change = new Submission(store)
    const undo = result.tone === 'plain' ? { label: 'Undo', does: () => void this.#back(by.client_order_id, o.tick) } : undefined
    for (const n of notices.list) if (n.text.startsWith(MOVED)) notices.drop(n.id) // its Undo is of an order that is gone
    notices.show(result.tone, result.tone === 'bad' ? 'The order was canceled' : `${MOVED} ${short(tick)}`, result.text, '', undo)
    return true
  }

  // #back moves an order to where it was, if it still rests and would rest there.
  async #back(client: U64, tick: number): Promise<void> {
    const o = [...this.#store.account.open.values()].find((x) => x.client_order_id === client)
    const book = o && this.book(o)
    if (!o || !book) return notices.show('plain', 'Nothing to move back', 'The order has ended, or its round has.')
    const { low, high } = boundsOf(o, book)
    if (tick < low || tick > high) return notices.show('bad', 'Not moved back', `At ${short(tick)} it would trade now.`)
    await this.#send(o, tick, false)
  }
}
