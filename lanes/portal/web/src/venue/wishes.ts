import { VenueError } from './rest.ts'

// Wishes gives each request of the user an id. A request whose answer was lost keeps its id until it is
// done, so that the same request, sent again, has no second effect: that a repeat is rejected, for its rate
// or its key, says nothing of the first one. A request that was rejected alone, and any other request, does
// not: the next one has a new id.
export class Wishes {
  readonly #unanswered = new Map<string, string>()
  readonly #lost = new Set<string>() // wishes of which an answer was lost

  // send sends a request with its id. wish names everything that makes it the same request. It throws
  // as sends does.
  async send<T>(wish: string, sends: (id: string) => Promise<T>): Promise<T> {
    const id = this.#unanswered.get(wish) ?? crypto.randomUUID()
    this.#unanswered.set(wish, id)
    try {
      const answer = await sends(id)
      this.#unanswered.delete(wish)
      this.#lost.delete(wish)
      return answer
    } catch (e) {
      if (!(e instanceof VenueError && e.status < 500)) this.#lost.add(wish)
      else if (!this.#lost.has(wish)) this.#unanswered.delete(wish)
      throw e
    }
  }
}
