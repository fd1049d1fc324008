import type { TradingStore } from '../store/store.ts'
import { gain, grouped } from '../shared/format.ts'
import { notices } from '../shared/notices.svelte.ts'
import { closeLimit, closeOut } from '../ticket/actions.ts'
import type { PendingActions } from '../ticket/pending.svelte.ts'
import type { OutcomeName, Position } from '../venue/wire.ts'

// closePositions closes positions at the market, and says what could not be closed. shown is the limit that
// the user saw on the button of one outcome: a press keeps it.
export async function closePositions(store: TradingStore, pending: PendingActions, list: Position[], shown?: { outcome: OutcomeName; limit: number }): Promise<void> {
  if (pending.closing) return
  pending.closing = true
  try {
    for (const p of list) {
      try {
        const stuck = await closeOut(store, pending.submit, p, (o) => (shown?.outcome === o ? shown.limit : closeLimit(store, p, o)), redeemed)
        if (stuck.length) notices.show('bad', 'Not all of it could be closed', `${stuck.join('; ')}.`)
      } catch (e) {
        await notices.failed('Close', e)
      }
    }
  } finally {
    pending.closing = false
  }
}

// redeemed says what a redemption brought.
export const redeemed = (pairs: number): void => notices.show('good', `Redeemed ${pairs === 1 ? '1 pair' : `${grouped(pairs)} pairs`}: ${gain(pairs * 10000)}`)
