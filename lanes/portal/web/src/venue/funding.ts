import type { Rest } from './rest.ts'
import type { Balance, Deposit, NewWithdrawal, Withdrawal } from './wire.ts'

// FundingClient reads and withdraws the money of an account: Owner with the account token, fundingClient
// with an API key. They throw VenueError for an error response, and TypeError without an answer.
export interface FundingClient {
  balance(): Promise<Balance>
  deposits(): Promise<{ deposits: Deposit[] }>
  address(): Promise<{ address: string; asset: string }>
  withdrawals(): Promise<{ withdrawals: Withdrawal[] }>
  withdraw(wanted: NewWithdrawal): Promise<unknown>
}

// SHOWN is the query for how many deposits and how many withdrawals the page lists.
export const SHOWN = '?limit=20'

const clients = new WeakMap<Rest, FundingClient>()

// fundingClient returns the one client of an API key. To withdraw, the key needs the scope withdraw.
export function fundingClient(rest: Rest): FundingClient {
  const have = clients.get(rest)
  if (have) return have
  const made: FundingClient = {
    balance: () => rest.get('/v1/portfolio/balance'),
    deposits: () => rest.get(`/v1/deposits${SHOWN}`),
    address: () => rest.get('/v1/deposits/address'),
    withdrawals: () => rest.get(`/v1/withdrawals${SHOWN}`),
    withdraw: (wanted) => rest.call('POST', '/v1/withdrawals', JSON.stringify(wanted)),
  }
  clients.set(rest, made)
  return made
}
