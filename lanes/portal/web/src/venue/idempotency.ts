import { VenueError } from './rest.ts'

// IdempotencyKeys gives each request of the user an id. A request whose answer was lost keeps its id until
// one is accepted, so that sending it again has no second effect. A rejected repeat, for its rate or its
// key, does not end that: it says nothing about the first attempt. Any other request gets a new id, and so
// does a repeat of a request that was rejected at its first attempt.
export class IdempotencyKeys {
  readonly #unanswered = new Map<string, string>()
  readonly #lost = new Set<string>() // requests with a lost answer

  // send sends a request with its id. request names everything that makes it the same request. It throws
  // what sendWith throws.
  async send<T>(request: string, sendWith: (id: string) => Promise<T>): Promise<T> {
    const id = this.#unanswered.get(request) ?? crypto.randomUUID()
    this.#unanswered.set(request, id)
    try {
      const answer = await sendWith(id)
      this.#unanswered.delete(request)
      this.#lost.delete(request)
      return answer
    } catch (e) {
      if (!(e instanceof VenueError && e.status < 500)) this.#lost.add(request)
      else if (!this.#lost.has(request)) this.#unanswered.delete(request)
      throw e
    }
  }
}
