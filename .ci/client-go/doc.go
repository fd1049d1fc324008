// Package clientgo tests the agent lane with the official Go client, over the bridge. In each
// revision of the protocol it lists the tools, calls every read-only tool, places an order and
// cancels it. It is a separate module, so that the venue does not depend on the client.
// .ci/clients runs it.
package clientgo
