import type { VenueClock } from './clock.ts'
import type { RateLimits } from './rateLimits.ts'
import { VenueError } from './rest.ts'
import { type Credentials, subprotocols } from './sign.ts'
import { after, type U64 } from './wire.ts'

export type Channel = 'orderbook_delta' | 'trades' | 'oracle' | 'rounds' | 'user'

// Frame is one message of a subscription.
export interface Frame {
  type: string
  sid: number
  seq: U64
  prev_seq: U64
  msg: unknown
}

export interface Listener {
  // ready is called before each connection. An error it throws prevents the connection.
  ready(): Promise<void>
  // began is called when all subscriptions are active. A list read over REST after this is
  // complete together with the frames after its seq. resumed: the account continues without
  // a new snapshot.
  began(resumed: boolean): void
  frame(channel: Channel, f: Frame): void
  // missed is called when a frame was lost on a channel that has no snapshot.
  missed(channel: Channel): void
  state(s: SocketState, why: string): void
}

export type SocketState = 'connecting' | 'live' | 'lost' | 'refused'

const PUBLIC: Channel[] = ['rounds', 'oracle', 'orderbook_delta', 'trades']
const PROBE_MS = 5000
const SILENCE_MS = 12_000
const WAIT_MS = { first: 250, longest: 8000 }
const REVOKED = 4401

// Socket subscribes to everything that the screen shows and reconnects when a connection
// breaks. It passes on each event of the account once.
export class Socket {
  gaps = 0
  breaks = 0
  rtt = 0
  seq: U64 = '0'
  readonly #url: string
  readonly #credentials: Credentials
  readonly #clock: VenueClock
  readonly #rateLimits: RateLimits
  readonly #to: Listener
  #ws: WebSocket | undefined
  #id = 0
  #channels = new Map<number, Channel>()
  #chains = new Map<string, U64>()
  #awaited = new Set<string>()
  #mark: Mark = { seq: '0', frames: 0 }
  #skip: Mark = { seq: '0', frames: 0 }
  #wait = WAIT_MS.first
  #retry = 0
  #probe = 0
  #probed: { id: number; at: number } | undefined
  #heard = 0
  #closed = false
  #opening = false

  constructor(url: string, credentials: Credentials, clock: VenueClock, rateLimits: RateLimits, to: Listener) {
    this.#url = url
    this.#credentials = credentials
    this.#clock = clock
    this.#rateLimits = rateLimits
    this.#to = to
  }

  // open connects now, even if a retry is scheduled for later.
  async open(): Promise<void> {
    if (!navigator.onLine) return this.#to.state('lost', 'this computer is offline') // the store retries on the online event
    if (this.#closed || this.#opening || (this.#ws && this.#ws.readyState < WebSocket.CLOSING)) return
    clearTimeout(this.#retry)
    this.#opening = true
    this.#to.state('connecting', '')
    try {
      await this.#to.ready()
      await this.#connect()
    } catch (e) {
      if (e instanceof VenueError && e.status === 401) this.#end('the key is not accepted')
      else this.#broke(0, e instanceof VenueError ? e.message : 'the venue cannot be reached')
      if (!(e instanceof VenueError || e instanceof TypeError)) throw e
    } finally {
      this.#opening = false
    }
  }

  async #connect(): Promise<void> {
    const offered = await subprotocols(this.#credentials, String(Math.round(this.#clock.now())))
    if (this.#closed) return
    const ws = new WebSocket(this.#url, offered)
    this.#ws = ws
    ws.onopen = () => this.#subscribe()
    ws.onmessage = (m: MessageEvent<string>) => ws === this.#ws && this.#take(m.data)
    ws.onclose = (e) => ws === this.#ws && this.#broke(e.code, e.reason)
  }

  // end stops for good, because reconnecting would not help.
  #end(why: string): void {
    this.#closed = true
    this.#to.state('refused', why)
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#retry)
    clearInterval(this.#probe)
    this.#ws?.close(1000)
  }

  // abandon drops a connection that may be dead.
  abandon(why: string): void {
    const ws = this.#ws
    this.#ws = undefined
    ws?.close(1000)
    this.#broke(0, why)
  }

  #subscribe(): void {
    this.#channels.clear()
    this.#chains.clear()
    this.#awaited.clear()
    this.#heard = performance.now()
    this.#send('subscribe', { channels: PUBLIC })
    const since = resumeFrom(this.#mark)
    this.#skip = since === this.#mark.seq ? { seq: '0', frames: 0 } : { ...this.#mark }
    this.#send('subscribe', since === '0' ? { channels: ['user'] } : { channels: ['user'], since_seq: since })
    clearInterval(this.#probe)
    this.#probe = window.setInterval(() => this.#ping(), PROBE_MS)
    this.#ping()
  }

  // ping measures the round-trip time and detects a dead connection.
  #ping(): void {
    if (performance.now() - this.#heard > SILENCE_MS) return this.abandon('no data received')
    const at = performance.now()
    this.#probed = { id: this.#send('list_subscriptions', {}), at }
  }

  #send(cmd: string, params: object): number {
    this.#id += 1
    this.#rateLimits.read.spend(1, performance.now())
    // A closing socket still receives frames but cannot send; the next connection starts anew.
    if (this.#ws?.readyState === WebSocket.OPEN) this.#ws.send(JSON.stringify({ id: this.#id, cmd, params }))
    return this.#id
  }

  #take(text: string): void {
    this.#heard = performance.now()
    const m = JSON.parse(text) as Partial<Frame> & { id?: number; type: string; msg: unknown }
    if (m.sid !== undefined) return this.#frame(m as Frame)
    if (m.id !== undefined && m.id === this.#probed?.id) this.rtt = performance.now() - this.#probed.at
    if (m.type === 'subscribed') this.#subscribed(m.msg as { channel: Channel; sid: number; resumed?: boolean })
    if (m.type === 'error') this.#refused((m.msg as { name: string }).name)
  }

  #subscribed(msg: { channel: Channel; sid: number; resumed?: boolean }): void {
    this.#channels.set(msg.sid, msg.channel)
    if (msg.channel === 'rounds' || msg.channel === 'oracle') this.#snapshot(msg.sid)
    if (msg.channel !== 'user') return
    if (!msg.resumed) this.#skip = { seq: '0', frames: 0 }
    this.#wait = WAIT_MS.first
    this.#to.state('live', '')
    this.#to.began(msg.resumed === true)
  }

  // refused is called when the venue rejects a command. Only a new connection brings the
  // subscriptions back into a known state.
  #refused(name: string): void {
    this.abandon(name)
  }

  #snapshot(sid: number, market?: number): void {
    this.#send('update_subscription', market === undefined ? { sid, action: 'get_snapshot' } : { sid, action: 'get_snapshot', market_ids: [market] })
  }

  #frame(f: Frame): void {
    const channel = this.#channels.get(f.sid)
    if (!channel) return
    if (after(f.seq, this.seq)) this.seq = f.seq
    if (!this.#follows(channel, f)) return
    if (channel === 'user' && !this.#fresh(f)) return
    this.#to.frame(channel, f)
  }

  // follows tells whether to use a frame. After a gap it requests a snapshot once, and
  // drops frames until the snapshot arrives.
  #follows(channel: Channel, f: Frame): boolean {
    const market = channel === 'orderbook_delta' ? (f.msg as { market_id: number }).market_id : undefined
    const chain = `${f.sid}.${market ?? ''}`
    const before = this.#chains.get(chain) ?? '0'
    this.#chains.set(chain, f.seq)
    if (f.type === 'orderbook_snapshot' || f.type === 'user_snapshot') {
      this.#awaited.delete(chain)
      return true
    }
    if (this.#awaited.has(chain)) return false
    if (f.prev_seq === before) return true
    this.gaps += 1
    if (channel === 'trades') {
      this.#to.missed(channel)
      return true
    }
    this.#snapshot(f.sid, market)
    if (channel === 'rounds' || channel === 'oracle') return true // each frame is complete by itself
    this.#awaited.add(chain)
    return false
  }

  // fresh tells whether an event of the account is new. A resume starts one seq before the
  // last, in case the connection broke between two events of one command, and skips those
  // events of it that arrived before.
  #fresh(f: Frame): boolean {
    if (f.type === 'user_snapshot') {
      this.#mark = { seq: f.seq, frames: 0 }
      this.#skip = { seq: '0', frames: 0 }
      return true
    }
    if (f.seq === this.#skip.seq && this.#skip.frames > 0) {
      this.#skip.frames -= 1
      return false
    }
    this.#mark = f.seq === this.#mark.seq ? { seq: f.seq, frames: this.#mark.frames + 1 } : { seq: f.seq, frames: 1 }
    return true
  }

  #broke(code: number, why: string): void {
    clearInterval(this.#probe)
    if (this.#closed) return
    if (code === REVOKED) return this.#end('the key was revoked')
    this.breaks += 1
    this.#to.state('lost', why || `connection closed with code ${code}`)
    this.#retry = window.setTimeout(() => void this.open(), this.#wait / 2 + (Math.random() * this.#wait) / 2)
    this.#wait = Math.min(this.#wait * 2, WAIT_MS.longest)
  }
}

// Mark is the last event received of the account: a seq, and how many of its events
// arrived. The count is 0 after a snapshot, which includes all events of its seq.
interface Mark {
  seq: U64
  frames: number
}

function resumeFrom(m: Mark): U64 {
  return m.frames === 0 ? m.seq : String(BigInt(m.seq) - 1n)
}
