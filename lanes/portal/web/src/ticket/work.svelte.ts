import type { TradingStore } from '../store/store.ts'
import { Submission } from './submission.svelte.ts'
import { errorOf } from '../shared/errors.ts'
import type { Sends } from './trade.ts'

// Work is what the user has sent and what is not answered yet. It outlives the tables and the ticket:
// leaving one while the venue is asked neither unlocks it nor loses what became of the order.
export class Work {
  readonly ticket: Submission
  readonly sends: Sends // an order that no ticket shows, with its own submission
  change = $state.raw<Submission>()! // of the order that takes the place of another; each has its own
  reducing = $state(false)
  closing = $state(false)

  constructor(store: TradingStore) {
    this.ticket = new Submission(store)
    this.change = new Submission(store)
    this.sends = async (order) => {
      const submission = new Submission(store, true)
      await submission.send(order, (e) => errorOf(e, { need: 0, cash: store.account.cash, held: 0 }) || e.message)
      return submission.result!
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
