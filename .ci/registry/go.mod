// The schemas of what cmd/dx/bridge publishes. A module of its own, so that the
// program does not depend on what the schemas' projects depend on.
module duplex/registry

go 1.26.8

require (
	github.com/modelcontextprotocol/registry v1.8.9
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
)

require golang.org/x/text v0.43.0 // indirect
