// Package operator has the commands of dx admin and dx keys. Each sends one request to the
// admin listener of a venue and prints the response.
//
// Invariants:
//
//  1. A command sends one request, and its reason is written to the journal with the action
//     (docs/rules/operation.md#audit).
//  2. On a terminal a response is lines and tables, elsewhere and with --json it is the venue's JSON.
//  3. The operator's token comes from the environment or from the dev file.
//
// The package never decides whether an action is allowed: the venue does.
package operator
