// What a ticket could do to its user, on a phone that is touched.
import { safety } from '../safety.mjs'

await safety(390)
