import { Owner } from '../venue/owner.ts'

const TOKEN = 'duplex-account-token'

// OwnerSession is the account token of this tab, with its client. sessionStorage survives a reload and
// ends with the tab.
class OwnerSession {
  owner = $state.raw<Owner>()
  readonly #owners = new Map<string, Owner>() // by token
  #changes = 0 // of the token

  constructor() {
    const token = sessionStorage.getItem(TOKEN)
    if (token) this.owner = this.#ownerOf(token)
  }

  // #ownerOf returns one client for a token, so that a withdrawal whose answer was lost keeps its id while
  // the token is forgotten and entered again.
  #ownerOf(token: string): Owner {
    const owner = this.#owners.get(token) ?? new Owner(token)
    this.#owners.set(token, owner)
    return owner
  }

  // open keeps a token that the portal accepts. It returns undefined if the token of the tab changed
  // before the portal answered: that change counts. It throws as Owner does.
  async open(token: string): Promise<Owner | undefined> {
    const mine = ++this.#changes
    const owner = new Owner(token)
    await owner.keys()
    if (mine !== this.#changes) return undefined
    sessionStorage.setItem(TOKEN, token)
    return (this.owner = this.#ownerOf(token))
  }

  // close removes the token from this tab.
  close(): void {
    this.#changes += 1
    sessionStorage.removeItem(TOKEN)
    this.owner = undefined
  }
}

export const session = new OwnerSession()
