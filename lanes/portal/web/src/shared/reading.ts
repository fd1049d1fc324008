import { track } from '../store/redraw.svelte.ts'
import type { TradingStore } from '../store/store.ts'

// reading says why a list is not there yet.
export function reading(store: Pick<TradingStore, 'status' | 'age'>): string {
  track()
  return store.status === 'lost' || store.age !== undefined ? 'The venue does not answer. This is read once it does.' : 'Reading …'
}
