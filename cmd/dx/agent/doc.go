// Package agent has the commands of dx agent, by which an owner gives an agent an account of
// its own, with money and a mandate (docs/rules/agent-accounts.md).
//
//	flags → mandate check → request with the owner's token → portal → a profile, a table or JSON
//
// Invariants:
//
//  1. The owner's token and the portal's address come from the environment or from the dev
//     file, never from an argument.
//  2. A mandate that the venue would reject as bad_mandate is not sent, and the error names its
//     flag and its field.
//  3. A changed mandate keeps every bound that the command does not name.
//  4. The secret of a key is written to its profile and nowhere else.
//
// The package never repeats a request by itself.
package agent
