import type { FundingClient } from '../venue/funding.ts'
import { VenueError } from '../venue/rest.ts'
import { after, type Deposit, type U64, type Withdrawal } from '../venue/wire.ts'
import { IdempotencyKeys } from '../venue/idempotency.ts'

// Transfer is a deposit or a withdrawal, as one list shows both.
export type Transfer = ({ kind: 'deposit'; id: string } & Deposit) | ({ kind: 'withdrawal'; id: string } & Withdrawal)

// Withdrawing outlives the account page: leaving it while the venue is asked neither unlocks the form
// nor loses the id of a request whose answer was lost.
class Withdrawing {
  busy = $state(false)
  readonly requestIds = new IdempotencyKeys()
}

const all = new WeakMap<FundingClient, Withdrawing>()

function withdrawingOf(client: FundingClient): Withdrawing {
  const have = all.get(client) ?? new Withdrawing()
  all.set(client, have)
  return have
}

// Funds is the money of one account: its balance, its deposits and its withdrawals.
export class Funds {
  balance = $state.raw<{ cash: number; reserved: number }>()
  address = $state('') // with its asset; '' while unknown
  transfers = $state.raw<Transfer[]>([]) // newest first
  late = $state(false) // the last read failed
  readonly #client: FundingClient
  readonly #withdrawing: Withdrawing
  #reads = 0
  #seq: U64 = '0'

  constructor(client: FundingClient) {
    this.#client = client
    this.#withdrawing = withdrawingOf(client)
  }

  get busy(): boolean {
    return this.#withdrawing.busy
  }

  // read reads everything once, and the address until it is known. It drops what is older than what
  // is shown. It throws VenueError if the token or the key is not accepted.
  async read(): Promise<void> {
    const mine = ++this.#reads
    if (!this.address) void this.#readAddress()
    try {
      const [balance, d, w] = await Promise.all([this.#client.balance(), this.#client.deposits(), this.#client.withdrawals()])
      if (mine !== this.#reads || after(this.#seq, balance.as_of_seq)) return
      this.#seq = balance.as_of_seq
      this.balance = { cash: Number(balance.cash), reserved: Number(balance.reserved) }
      this.transfers = [
        ...d.deposits.map((x) => ({ kind: 'deposit' as const, id: x.deposit_id, ...x })),
        ...w.withdrawals.map((x) => ({ kind: 'withdrawal' as const, id: x.withdrawal_id, ...x })),
      ].sort((a, b) => (a.ts === b.ts ? 0 : after(a.ts, b.ts) ? -1 : 1))
      this.late = false
    } catch (e) {
      if (e instanceof VenueError && e.status === 401) throw e
      if (!(e instanceof VenueError) && !(e instanceof TypeError)) throw e
      if (mine === this.#reads) this.late = true
    }
  }

  // #readAddress leaves the address unknown while the funding service does not answer.
  async #readAddress(): Promise<void> {
    try {
      const { address, asset } = await this.#client.address()
      this.address = `${address} (${asset})`
    } catch (e) {
      if (!(e instanceof VenueError) && !(e instanceof TypeError)) throw e
    }
  }

  // withdraw sends one request and returns true. While another one is not answered it sends nothing. A
  // repeat after a lost answer has the same id, and no second effect. It throws as FundingClient does.
  async withdraw(amount: U64, destination: string): Promise<boolean> {
    const mine = this.#withdrawing
    if (mine.busy) return false
    mine.busy = true
    try {
      await mine.requestIds.send(`${amount} ${destination}`, (id) => this.#client.withdraw({ client_withdrawal_id: `web-${id}`, amount, destination }))
      return true
    } finally {
      mine.busy = false
    }
  }
}
