import type { Side } from '../venue/wire.ts'

// The filters of the lists last as long as the tab, also over a reload.

export type When = 'today' | 'week' | 'all'

export interface Filters {
  kinds: string // of the ledger, comma-separated; '' for all
  category: number // 0 for all
  when: When
  side: '' | Side
}

export const KINDS: { name: string; kinds: string }[] = [
  { name: 'All kinds', kinds: '' }, { name: 'Trades', kinds: 'fill,fee' }, { name: 'Results', kinds: 'settlement,void,redeem' },
  { name: 'Deposits and withdrawals', kinds: 'deposit,withdrawal,withdrawal_returned,transfer' }, { name: 'Rebates', kinds: 'rebate,referral' },
]

const STORE = 'duplex-portfolio'

// storedFilters returns what the tab has kept. What the page does not offer chooses all.
export function storedFilters(): Filters {
  let f: Partial<Filters>
  try {
    f = { ...(JSON.parse(sessionStorage.getItem(STORE) ?? '{}') as Partial<Filters>) }
  } catch {
    f = {}
  }
  return {
    kinds: KINDS.find((k) => k.kinds === f.kinds)?.kinds ?? '',
    category: Number.isInteger(f.category) && f.category! >= 1 && f.category! <= 9 ? f.category! : 0,
    when: f.when === 'today' || f.when === 'week' ? f.when : 'all',
    side: f.side === 'buy' || f.side === 'sell' ? f.side : '',
  }
}

export function keepFilters({ kinds, category, when, side }: Filters): void {
  sessionStorage.setItem(STORE, JSON.stringify({ kinds, category, when, side }))
}
