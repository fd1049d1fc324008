import { VenueError } from '../venue/rest.ts'

// Wishes gives each request of the user an id. A request whose answer was lost keeps its id, so that
// the same request, sent again, has no second effect. A rejected request, and any other request, does
// not: the next one has a new id.
export class Wishes {
  readonly #unanswered = new Map<string, string>()

  // send sends a request with its id. wish names everything that makes it the same request. It throws
  // as sends does.
  async send<T>(wish: string, sends: (id: string) => Promise<T>): Promise<T> {
    const id = this.#unanswered.get(wish) ?? crypto.randomUUID()
    this.#unanswered.set(wish, id)
    try {
      const answer = await sends(id)
      this.#unanswered.delete(wish)
      return answer
    } catch (e) {
      if (e instanceof VenueError && e.status < 500) this.#unanswered.delete(wish)
      throw e
    }
  }
}
