import type { Desk } from '../store/desk.ts'
import { Intent } from './intent.svelte.ts'
import { errorOf } from '../shared/plain.ts'
import type { Sends } from './trade.ts'

// Work is what the user has sent and what is not answered yet. It outlives the tables and the ticket:
// leaving one while the venue is asked neither unlocks it nor loses what became of the order.
export class Work {
  readonly ticket: Intent
  readonly sends: Sends // an order that no ticket shows, with its own intent
  change = $state.raw<Intent>()! // of the order that takes the place of another; each has its own
  reducing = $state(false)
  closing = $state(false)

  constructor(desk: Desk) {
    this.ticket = new Intent(desk)
    this.change = new Intent(desk)
    this.sends = async (order) => {
      const intent = new Intent(desk, true)
      await intent.send(order, (e) => errorOf(e, { need: 0, cash: desk.account.cash, held: 0 }) || e.message)
      return intent.fate!
    }
  }
}

const works = new WeakMap<Desk, Work>()

// workOf returns the work of a desk.
export function workOf(desk: Desk): Work {
  const have = works.get(desk)
  if (have) return have
  const made = new Work(desk)
  works.set(desk, made)
  return made
}
