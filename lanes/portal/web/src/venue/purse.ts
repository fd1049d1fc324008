import type { Rest } from './rest.ts'
import type { Balance, Deposit, NewWithdrawal, Withdrawal } from './wire.ts'

// Purse reads and withdraws the money of an account. Owner does it with the account token, purseOf with
// an API key. They throw VenueError for an error response, and TypeError without an answer.
export interface Purse {
  balance(): Promise<Balance>
  deposits(): Promise<{ deposits: Deposit[] }>
  address(): Promise<{ address: string; asset: string }>
  withdrawals(): Promise<{ withdrawals: Withdrawal[] }>
  withdraw(wanted: NewWithdrawal): Promise<unknown>
}

// SHOWN is the query for how many deposits and how many withdrawals the page lists.
export const SHOWN = '?limit=20'

const purses = new WeakMap<Rest, Purse>()

// purseOf returns the one purse of an API key. To withdraw, the key needs the scope withdraw.
export function purseOf(rest: Rest): Purse {
  const have = purses.get(rest)
  if (have) return have
  const made: Purse = {
    balance: () => rest.get('/v1/portfolio/balance'),
    deposits: () => rest.get(`/v1/deposits${SHOWN}`),
    address: () => rest.get('/v1/deposits/address'),
    withdrawals: () => rest.get(`/v1/withdrawals${SHOWN}`),
    withdraw: (wanted) => rest.call('POST', '/v1/withdrawals', JSON.stringify(wanted)),
  }
  purses.set(rest, made)
  return made
}
