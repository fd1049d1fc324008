import { VenueError } from './rest.ts'

// IdempotencyKeys gives each request of the user an id. A request whose answer was lost keeps its id until it is
// done, so that the same request, sent again, has no second effect: that a repeat is rejected, for its rate
// or its key, says nothing of the first one. A request that was rejected alone, and any other request, does
// not: the next one has a new id.
export class IdempotencyKeys {
  readonly #unanswered = new Map<string, string>()
  readonly #lost = new Set<string>() // requests of which an answer was lost

  // send sendWith a request with its id. request names everything that makes it the same request. It throws
  // as sendWith does.
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
