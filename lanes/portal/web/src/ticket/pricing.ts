import type { OutcomeName, Side } from '../venue/wire.ts'
import type { Book } from '../store/books.ts'

// Arithmetic of prices and fees (docs/rules/money.md#fees), in pips.

// feeOf is the taker fee of a fill: rate is in 1/10000, rounded up once.
export function feeOf(rate: number, qty: number, tick: number): number {
  const exact = BigInt(rate) * BigInt(qty) * BigInt(tick) * BigInt(10000 - tick)
  return Number((exact + 99_999_999n) / 100_000_000n)
}

// eachCosts is what a buy reserves for one contract at a price.
export function eachCosts(rate: number, tick: number): number {
  return tick + feeOf(rate, 1, tick)
}

// affordable returns how many contracts a market buy gets for an amount, at prices up to worst.
export function affordable(book: Book, outcome: OutcomeName, worst: number, amount: number, rate: number): number {
  let left = amount
  let n = 0
  for (const [bid, there] of book.bids(outcome === 'yes' ? 'no' : 'yes')) {
    const tick = 10000 - bid
    if (tick > worst) break
    let fits = Math.min(there, Math.floor(left / (tick + (rate * tick * (10000 - tick)) / 1e8)))
    while (fits > 0 && fits * tick + feeOf(rate, fits, tick) > left) fits -= 1
    n += fits
    left -= fits * tick + feeOf(rate, fits, tick)
    if (fits < there) break
  }
  return n
}

// SLIP is how far beyond the best price a market order may go unless the user says otherwise. It is that
// of dx order and dx top.
export const SLIP = 200 // pips

// TicketInput is what the ticket asks for; money and prices in pips, 0 for none.
export interface TicketInput {
  side: Side
  outcome: OutcomeName
  market: boolean
  tick: number // of a limit order
  slip: number // of a market order: how far beyond the best price it may go
  qty: number
  amount: number // to spend instead of qty; buys only
}

// Terms are what the ticket sends. worst and cap belong to market orders.
export interface Terms {
  qty: number
  worst: number
  cap: number
}

// termsOf works out the terms of the input against the book. worst is 0 if nobody is on the other
// side.
export function termsOf(w: TicketInput, book: Book | undefined, cash: number, rate: number): Terms {
  if (!w.market) return { qty: w.amount && w.tick ? Math.floor(w.amount / eachCosts(rate, w.tick)) : w.qty, worst: 0, cap: 0 }
  const other = w.outcome === 'yes' ? 'no' : 'yes'
  if (w.side === 'sell') {
    const bid = book?.best(w.outcome) ?? 0
    return { qty: w.qty, worst: bid && Math.max(1, bid - w.slip), cap: 0 }
  }
  const bid = book?.best(other) ?? 0
  const worst = bid && Math.min(9990, 10000 - bid + w.slip)
  const most = Math.min(w.amount || w.qty * eachCosts(rate, worst), cash)
  return { qty: w.amount && book ? affordable(book, w.outcome, worst, most, rate) : w.qty, worst, cap: Math.max(1, most) }
}

// breakEven returns the lowest price in pips at which selling all at once returns the cost, after
// the fee; 0 if no price does. It is in tenths of a cent, as it is shown.
export function breakEven(rate: number, qty: number, cost: number): number {
  let low = 1
  let high = 1000
  while (low < high) {
    const mid = Math.floor((low + high) / 2)
    if (qty * mid * 10 - feeOf(rate, qty, mid * 10) >= cost) high = mid
    else low = mid + 1
  }
  return low < 1000 ? low * 10 : 0
}
