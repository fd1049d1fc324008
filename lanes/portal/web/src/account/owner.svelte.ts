import { Owner } from '../venue/owner.ts'

const TOKEN = 'duplex-account-token'

// OwnerSession is the account token of this tab, with its client. sessionStorage survives a reload and
// ends with the tab.
class OwnerSession {
  owner = $state.raw<Owner>()
  readonly #owners = new Map<string, Owner>() // by token

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

  // open keeps a token that the portal accepts. It throws as Owner does.
  async open(token: string): Promise<Owner> {
    const owner = new Owner(token)
    await owner.keys()
    sessionStorage.setItem(TOKEN, token)
    return (this.owner = this.#ownerOf(token))
  }

  // close removes the token from this tab.
  close(): void {
    sessionStorage.removeItem(TOKEN)
    this.owner = undefined
  }
}

export const session = new OwnerSession()
