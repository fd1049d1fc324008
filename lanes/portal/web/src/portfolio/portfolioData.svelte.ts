import type { LedgerRow, RoundResult } from '../venue/wire.ts'
import type { TradingStore } from '../store/store.ts'
import { retryRateLimited } from '../venue/retry.ts'

const SHOWN = 200 // rows of the ledger on the page
const PAGE = 1000 // the most that one read returns

// PortfolioData is the state of the portfolio page: the ledger and the result of every round.
export class PortfolioData {
  rounds = $state.raw<RoundResult[]>([]) // newest first, of the category
  every = $state.raw<RoundResult[]>([]) // newest first, of all series
  ledger = $state.raw<LedgerRow[]>([]) // newest first, of the kinds
  known = $state(false)
  kinds = $state<string>('') // comma-separated; '' for all
  category = $state(0) // 0 for all
  saving = $state<number>() // rows read so far for the file; undefined while none is made
  readonly #store: TradingStore
  #reads = 0
  #ledgerOf = '' // the state of the account that the ledger shows

  constructor(store: TradingStore) {
    this.#store = store
  }

  // read reads the results of the rounds, and the ledger if the account has changed. A network
  // failure leaves what is shown; the screen says that the venue is not reachable.
  async read(): Promise<void> {
    const mine = ++this.#reads
    const { account, pnl } = this.#store
    const now = `${this.kinds}: ${account.cash} ${account.reserved} ${pnl?.realized} ${pnl?.fees} ${pnl?.deposits_net} ${pnl?.transfers_net}`
    try {
      const [every, rounds, ledger] = await Promise.all([
        this.#all<RoundResult>(`/v1/portfolio/rounds?limit=${PAGE}`, 'rounds', PAGE),
        this.category ? this.#all<RoundResult>(`/v1/portfolio/rounds?limit=${PAGE}&category=${this.category}`, 'rounds', PAGE) : undefined,
        now === this.#ledgerOf ? this.ledger : this.#all<LedgerRow>(`/v1/portfolio/ledger?limit=${SHOWN}${this.kinds && `&kind=${this.kinds}`}`, 'ledger', SHOWN),
      ])
      if (mine !== this.#reads) return
      ;[this.every, this.rounds, this.ledger, this.known] = [every, rounds ?? every, ledger, true]
      this.#ledgerOf = now
    } catch (e) {
      if (!(e instanceof TypeError)) throw e
    }
  }

  // whole reads every row of the ledger that the venue lists, however many there are.
  async whole(): Promise<LedgerRow[]> {
    this.saving = 0
    try {
      return await this.#all<LedgerRow>(`/v1/portfolio/ledger?limit=${PAGE}${this.kinds && `&kind=${this.kinds}`}`, 'ledger', Infinity, (n) => (this.saving = n))
    } finally {
      this.saving = undefined
    }
  }

  async #all<T>(target: string, field: string, most: number, read: (rows: number) => void = () => {}): Promise<T[]> {
    const out: T[] = []
    let cursor = ''
    do {
      const page = await retryRateLimited(() => this.#store.rest.get<Record<string, T[]> & { cursor: string }>(cursor ? `${target}&cursor=${cursor}` : target))
      out.push(...page[field]!)
      cursor = page.cursor
      read(out.length)
    } while (cursor && out.length < most)
    return out
  }
}

// curve returns the profit of all rounds so far after each final round, oldest first. It ends with
// the profit now, of open positions too. Deposits and rebates are no profit of a round and are not
// in it.
export function curve(rounds: readonly RoundResult[], realized: number, unrealized: number): number[] {
  const profits = rounds.filter((r) => r.profit !== null).map((r) => Number(r.profit)).reverse()
  let at = realized - profits.reduce((sum, p) => sum + p, 0)
  return [at, ...profits.map((p) => (at += p)), realized + unrealized]
}

// csvOf writes the ledger as RFC 4180, with money in dollars and times in UTC. A reference that a spreadsheet
// would take for a formula has an apostrophe before it.
export function csvOf(rows: readonly LedgerRow[], name: (category: number) => string): string {
  const usd = (pips: string): string => {
    const n = BigInt(pips)
    const abs = n < 0n ? -n : n
    return `${n < 0n ? '-' : ''}${abs / 10000n}.${String(abs % 10000n).padStart(4, '0')}`
  }
  const cell = (v: string): string => (/[",\r\n]/.test(v) ? `"${v.replaceAll('"', '""')}"` : v)
  const noFormula = (v: string): string => (/^[=+\-@\t\r]/.test(v) ? `'${v}` : v)
  const head = 'n,time_utc,kind,amount_usd,balance_after_usd,series,round,order_id,reference'
  const lines = rows.map((r) => [
    r.n, new Date(Number(BigInt(r.ts) / 1_000_000n)).toISOString(), r.kind, usd(r.amount), usd(r.balance_after),
    r.category ? name(r.category) : '', r.round_number ?? '', r.order_id ?? '', noFormula(r.ref ?? ''),
  ].map((v) => cell(v)).join(','))
  return [head, ...lines].join('\r\n') + '\r\n'
}

