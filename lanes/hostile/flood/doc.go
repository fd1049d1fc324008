// Package flood has tests of a whole venue, with all its listeners, whose attacker opens as many connections
// and bodies as it can (docs/security.md#too-much-work). In the gate the venue serves few connections; the
// long tests have the real bounds, and an attacker in a process of its own.
package flood
