import { type FundingClient, SHOWN } from './funding.ts'
import { lost, TIMEOUT_MS, VenueError } from './rest.ts'
import type { Activity, Agent, AgentApproval, AgentMandate, Balance, DecidedApproval, Deposit, Key, Mandate, NewKey, NewWithdrawal, U64, Withdrawal } from './wire.ts'

// Owner calls the portal's routes about agents, keys and money with the account token of their owner.
// No API key reaches these routes.
export class Owner implements FundingClient {
  readonly #token: string

  constructor(token: string) {
    this.#token = token
  }

  // ending is the end of the token, by which its owner tells it from another.
  get ending(): string {
    return this.#token.slice(-4)
  }

  agents(): Promise<{ agents: Agent[]; as_of_seq: U64 }> {
    return this.call('GET', '/agents?limit=1000') // an owner has at most 1,000 agents
  }

  create(name: string, fund: U64, mandate: Mandate): Promise<{ user_id: number }> {
    return this.call('POST', '/agents', { name, fund, mandate })
  }

  mandate(id: number): Promise<AgentMandate> {
    return this.call('GET', `/agents/${id}/mandate`)
  }

  activity(id: number, limit: number): Promise<{ activity: Activity[]; as_of_seq: U64 }> {
    return this.call('GET', `/agents/${id}/activity?limit=${limit}`)
  }

  halt(id: number): Promise<unknown> {
    return this.call('POST', `/agents/${id}/halt`)
  }

  resume(id: number): Promise<unknown> {
    return this.call('POST', `/agents/${id}/resume`)
  }

  newKey(id: number, label: string): Promise<NewKey> {
    return this.call('POST', `/agents/${id}/keys`, { label, scopes: ['read', 'trade'] })
  }

  agentKeys(id: number): Promise<{ keys: Key[] }> {
    return this.call('GET', `/agents/${id}/keys`)
  }

  revokeAgentKey(id: number, key: string): Promise<unknown> {
    return this.call('DELETE', `/agents/${id}/keys/${key}`)
  }

  setMandate(id: number, if_rev: number, mandate: Mandate): Promise<{ rev: number }> {
    return this.call('PUT', `/agents/${id}/mandate`, { if_rev, mandate })
  }

  // move sends money to an agent, or takes it back. A repeat with the same id moves nothing.
  move(id: number, back: boolean, client_transfer_id: string, amount: U64): Promise<unknown> {
    return this.call('POST', `/agents/${id}/${back ? 'return' : 'fund'}`, { client_transfer_id, amount })
  }

  close(id: number): Promise<unknown> {
    return this.call('POST', `/agents/${id}/close`)
  }

  // approvals returns the newest of all agents, or all that wait.
  approvals(limit: number, status?: 'waiting'): Promise<{ approvals: AgentApproval[]; as_of_seq: U64 }> {
    return this.call('GET', `/approvals?limit=${limit}${status ? `&status=${status}` : ''}`)
  }

  approval(id: U64): Promise<AgentApproval> {
    return this.call('GET', `/approvals/${encodeURIComponent(id)}`)
  }

  // decide approves or rejects. The same decision again changes nothing.
  decide(id: U64, approve: boolean): Promise<DecidedApproval> {
    return this.call('POST', `/approvals/${id}/${approve ? 'approve' : 'reject'}`)
  }

  keys(): Promise<{ keys: Key[] }> {
    return this.call('GET', '/keys')
  }

  makeKey(label: string, scopes: string[]): Promise<NewKey> {
    return this.call('POST', '/keys', { label, scopes })
  }

  revokeKey(key: string): Promise<unknown> {
    return this.call('DELETE', `/keys/${key}`)
  }

  balance(): Promise<Balance> {
    return this.call('GET', '/balance')
  }

  deposits(): Promise<{ deposits: Deposit[] }> {
    return this.call('GET', `/deposits${SHOWN}`)
  }

  address(): Promise<{ address: string; asset: string }> {
    return this.call('GET', '/deposit-address')
  }

  withdrawals(): Promise<{ withdrawals: Withdrawal[] }> {
    return this.call('GET', `/withdrawals${SHOWN}`)
  }

  // withdraw requests a withdrawal. A repeat with the same id moves nothing.
  withdraw(wanted: NewWithdrawal): Promise<unknown> {
    return this.call('POST', '/withdrawals', wanted)
  }

  // call throws VenueError for an error response, and TypeError if no answer arrives.
  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.#token}` }
    if (body !== undefined) headers['Content-Type'] = 'application/json'
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const answer = await fetch(path, { method, headers, body: body === undefined ? null : JSON.stringify(body), cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer', signal }).catch(lost)
    const said: unknown = await answer.json().catch(lost)
    if (answer.ok) return said as T
    throw new VenueError(answer.status, (said as { error?: { code?: string } }).error?.code ?? `http_${answer.status}`, said)
  }
}
