// Package clientgo takes the official Go client through the agent lane, over the
// bridge: it lists the tools, calls every one that only reads, places an order and
// takes it back, in each revision of the protocol. It is a module of its own, so that
// the venue does not depend on it; .ci/clients runs it.
package clientgo
