import type { Settlement } from '../venue/wire.ts'

// result.of is the settlement that the card of the result shows; undefined without one.
export const result = $state<{ of: Settlement | undefined }>({ of: undefined })
