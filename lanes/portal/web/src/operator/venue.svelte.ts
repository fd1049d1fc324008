import { VenueError } from '../venue/rest.ts'
import { Api } from './api.ts'
import { actionDialog } from './actionDialog.svelte.ts'
import type { Approval, Feed, Health, LastDay, Me, Round, Withdrawal } from './wire.ts'

const EVERY_MS = 2000
const DAY_EVERY_MS = 30_000 // for the last day
const TIMEOUT_MS = 5000 // for an answer of /livez

export type Page = 'overview' | 'withdrawals' | 'accounts' | 'approvals' | 'audit' | 'operators'
export const PAGES: readonly Page[] = ['overview', 'withdrawals', 'accounts', 'approvals', 'audit', 'operators']

function pageNow(): Page {
  return PAGES.find((p) => location.hash.slice(2).startsWith(p)) ?? 'overview'
}

// Venue is what the page knows of the venue. It asks every two seconds while an operator is signed
// in and the page is visible.
class Venue {
  page = $state<Page>(pageNow())
  me = $state.raw<Me>()
  health = $state.raw<Health>()
  feeds = $state.raw<Feed[]>([])
  rounds = $state.raw<Round[]>([])
  pending = $state.raw<Withdrawal[]>([])
  morePending = $state(false) // there are more than one page
  approvals = $state.raw<Approval[]>([])
  day = $state.raw<LastDay>()
  seq = $state('0')
  now = $state(Date.now()) // of the newest answer
  lost = $state(false) // the last request had no answer
  ended = $state('') // why the venue ended the sign-in
  changes = $state(0) // counts the actions of this page, for lists that then read again
  api: Api | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #dayRead = -Infinity // ms

  constructor() {
    addEventListener('hashchange', () => (this.page = pageNow()))
    document.addEventListener('visibilitychange', () => void this.refresh())
  }

  may(action: string): boolean {
    return this.me?.actions.includes(action) ?? false
  }

  // signIn throws as Api does if the venue does not accept the token.
  async signIn(token: string): Promise<void> {
    const api = new Api(token)
    this.me = await api.get<Me>('/admin/whoami')
    this.api = api
    this.ended = ''
    await this.refresh()
  }

  signOut(why = ''): void {
    clearTimeout(this.#timer)
    this.api = undefined
    this.me = undefined
    this.ended = why
    actionDialog.action = actionDialog.secret = undefined
    actionDialog.message = ''
    this.feeds = this.rounds = this.pending = this.approvals = []
    this.day = undefined
    this.#dayRead = -Infinity
  }

  // readHealth needs no token. It asks /livez, which has the same body as /readyz and is an error
  // only if the venue has stopped.
  async readHealth(): Promise<void> {
    try {
      const r = await fetch('/livez', { cache: 'no-store', credentials: 'omit', signal: AbortSignal.timeout(TIMEOUT_MS) })
      this.health = (await r.json()) as Health
      this.lost = false
    } catch {
      this.lost = true // shown in the header until the venue answers again
    }
  }

  // refresh reads what the page shows all the time, and again after EVERY_MS.
  async refresh(): Promise<void> {
    clearTimeout(this.#timer)
    const api = this.api
    if (!api) return
    try {
      if (!document.hidden) await this.#read(api)
    } finally {
      if (this.api === api) {
        clearTimeout(this.#timer)
        this.#timer = setTimeout(() => void this.refresh(), EVERY_MS)
      }
    }
  }

  async #read(api: Api): Promise<void> {
    await this.readHealth()
    if (this.lost || this.health?.start) return
    try {
      const dayIsOld = Date.now() - this.#dayRead >= DAY_EVERY_MS
      const [f, m, w, a, d] = await Promise.all([
        api.get<{ feeds: Feed[] }>('/admin/feeds'), api.get<{ markets: Round[]; as_of_seq: string }>('/admin/markets'),
        api.get<{ withdrawals: Withdrawal[]; cursor: string }>('/admin/withdrawals?status=pending&limit=100'), api.get<{ approvals: Approval[] }>('/admin/approvals?limit=1000'),
        dayIsOld ? api.get<LastDay>('/admin/day') : this.day,
      ])
      if (this.api !== api) return
      this.feeds = f.feeds
      this.rounds = m.markets
      this.seq = m.as_of_seq
      this.pending = w.withdrawals
      this.morePending = w.cursor !== ''
      this.approvals = a.approvals
      this.now = Date.now()
      this.day = d
      if (dayIsOld) this.#dayRead = this.now
    } catch (e) {
      if (this.api !== api) return // that operator has signed out
      if (e instanceof VenueError && e.status === 401) this.signOut('Your token is no longer valid.')
      else if (e instanceof TypeError) this.lost = true
      else if (!(e instanceof VenueError)) throw e // a rejection, such as draining, shows in the health
    }
  }

  // acted reads everything again after an action.
  async acted(): Promise<void> {
    this.changes += 1
    await this.refresh()
  }
}

export const venue = new Venue()
