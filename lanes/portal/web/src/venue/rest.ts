import type { VenueClock } from './clock.ts'
import { bucketOf, type RateLimits } from './rateLimits.ts'
import { type Credentials, sign } from './sign.ts'

// VenueError is an error response of the venue.
export class VenueError extends Error {
  readonly status: number
  readonly code: string
  readonly body: unknown // as the venue sent it

  constructor(status: number, code: string, body?: unknown) {
    super(code.replaceAll('_', ' '))
    this.status = status
    this.code = code
    this.body = body
  }
}

// ToolResult is the response of the agent lane to tools/call.
interface ToolResult {
  result: { isError?: boolean; structuredContent: { error?: { code: string } } }
}

export const TIMEOUT_MS = 8000 // without an answer a request counts as lost
const REVISION = '2025-11-25' // of the agent lane

// lost throws what ended a request. An answer that is not there in time, or only in part, or that is not
// the venue's but the page of a proxy, is a lost connection, which is a TypeError.
export function lost(e: unknown): never {
  throw e instanceof DOMException || e instanceof SyntaxError ? new TypeError(e.message) : e
}

// Action is a request that can be copied as a curl command or as a tool call.
export interface Action {
  method: string
  target: string
  body: string
  tool: string
  args: unknown
}

// Rest sends signed requests, timestamped by the venue's clock.
export class Rest {
  readonly base: string
  readonly #credentials: Credentials
  readonly #clock: VenueClock
  readonly #rateLimits: RateLimits
  #last = 0

  constructor(base: string, credentials: Credentials, clock: VenueClock, rateLimits: RateLimits) {
    this.base = base
    this.#credentials = credentials
    this.#clock = clock
    this.#rateLimits = rateLimits
  }

  get<T>(target: string): Promise<T> {
    return this.call<T>('GET', target)
  }

  // tool calls a tool of the agent lane. It throws VenueError as call does.
  async tool<T>(name: string, args: unknown): Promise<T> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } })
    const { result } = await this.call<ToolResult>('POST', '/v1/mcp', body)
    const said = result.structuredContent
    if (result.isError) throw new VenueError(200, said.error?.code ?? 'unknown', said)
    return said as T
  }

  // call throws VenueError for an error response of the venue, and TypeError if there is no answer of it.
  // After a 401 it sets the clock from the Date header and sends the request once more: a
  // request with a rejected signature had no effect.
  async call<T>(method: string, target: string, body = ''): Promise<T> {
    const first = await this.#send(method, target, body)
    if (first.status !== 401) return this.#read<T>(first, method, target)
    this.#clock.dated(first.headers.get('Date'), Date.now())
    this.#last = Math.min(this.#last, Math.round(this.#clock.now())) // the venue rejected what is ahead of its clock
    return this.#read<T>(await this.#send(method, target, body), method, target)
  }

  async #send(method: string, target: string, body: string): Promise<Response> {
    const ts = this.#stamp()
    const headers: Record<string, string> = {
      'DX-ACCESS-KEY': this.#credentials.id,
      'DX-ACCESS-TIMESTAMP': ts,
      'DX-ACCESS-SIGNATURE': await sign(this.#credentials.key, ts, method, target, body),
    }
    if (body) headers['Content-Type'] = 'application/json'
    if (target === '/v1/mcp') headers['MCP-Protocol-Version'] = REVISION
    this.#rateLimits[bucketOf(method, target)].spend(1, performance.now())
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    return fetch(this.base + target, { method, headers, body: body || null, cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer', signal }).catch(lost)
  }

  // stamp never returns the same timestamp twice: the same request signed twice in one
  // millisecond would count as an exact repeat.
  #stamp(): string {
    this.#last = Math.max(Math.round(this.#clock.now()), this.#last + 1)
    return String(this.#last)
  }

  async #read<T>(answer: Response, method: string, target: string): Promise<T> {
    const body: unknown = await answer.json().catch(lost)
    if (answer.ok) return body as T
    const error = (body as { error?: { code?: string; data?: { code?: string } } }).error // data: from the agent lane
    const code = error?.data?.code ?? error?.code
    if (code === undefined) throw new TypeError(`status ${answer.status}`) // of a proxy
    if (code === 'rate_limited') this.#rateLimits[bucketOf(method, target)].empty(performance.now())
    throw new VenueError(answer.status, code, body)
  }
}
