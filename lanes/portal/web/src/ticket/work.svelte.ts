import type { TradingStore } from '../store/store.ts'
import { Intent } from './intent.svelte.ts'
import { errorOf } from '../shared/errors.ts'
import type { Sends } from './trade.ts'

// Work is what the user has sent and what is not answered yet. It outlives the tables and the ticket:
// leaving one while the venue is asked neither unlocks it nor loses what became of the order.
export class Work {
  readonly ticket: Intent
  readonly sends: Sends // an order that no ticket shows, with its own intent
  change = $state.raw<Intent>()! // of the order that takes the place of another; each has its own
  reducing = $state(false)
  closing = $state(false)

  constructor(store: TradingStore) {
    this.ticket = new Intent(store)
    this.change = new Intent(store)
    this.sends = async (order) => {
      const intent = new Intent(store, true)
      await intent.send(order, (e) => errorOf(e, { need: 0, cash: store.account.cash, held: 0 }) || e.message)
      return intent.fate!
    }
  }
}

const works = new WeakMap<TradingStore, Work>()

// workOf returns the work of a store.
export function workOf(store: TradingStore): Work {
  const have = works.get(store)
  if (have) return have
  const made = new Work(store)
  works.set(store, made)
  return made
}
