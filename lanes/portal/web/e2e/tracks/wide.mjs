// What a ticket could do to its user, on a wide screen.
import { safety } from '../safety.mjs'

await safety(1440)
