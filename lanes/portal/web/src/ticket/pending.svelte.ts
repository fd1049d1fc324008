import type { TradingStore } from '../store/store.ts'
import { Submission } from './submission.svelte.ts'
import { errorOf } from '../shared/errors.ts'
import type { SubmitOrder } from './actions.ts'

// PendingActions holds the requests of the user that the venue has not answered yet. It outlives the tables
// and the ticket: leaving one during a request neither unlocks it nor loses the result of the order.
export class PendingActions {
  readonly ticket: Submission
  readonly submit: SubmitOrder // an order that no ticket shows, with its own submission
  change = $state.raw<Submission>()! // of the order that takes the place of another; each has its own
  reducing = $state(false)
  closing = $state(false)

  constructor(store: TradingStore) {
    this.ticket = new Submission(store)
    this.change = new Submission(store)
    this.submit = async (order) => {
      const result = await new Submission(store, true).send(order, (e) => errorOf(e, { need: 0, cash: store.account.cash, held: 0 }) || e.message)
      return result! // a new submission has no lock
    }
  }
}

const all = new WeakMap<TradingStore, PendingActions>()

// pendingOf returns the pending actions of a store.
export function pendingOf(store: TradingStore): PendingActions {
  const have = all.get(store)
  if (have) return have
  const made = new PendingActions(store)
  all.set(store, made)
  return made
}
