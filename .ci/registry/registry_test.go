package registry

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/registry/pkg/model"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	server   = "../../cmd/dx/bridge/server.json"
	manifest = "../../cmd/dx/bridge/manifest.json"
)

// The MCP registry's schema, of the version that it takes now.
func TestServer(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/modelcontextprotocol/registry").Output()
	if err != nil {
		t.Fatal(err)
	}
	schema := filepath.Join(strings.TrimSpace(string(out)), "internal", "validators", "schemas", model.CurrentSchemaVersion+".json")
	conforms(t, schema, server, "name", "description", "version")
	v, _ := load(t, server).(map[string]any)
	if v["$schema"] != model.CurrentSchemaURL {
		t.Errorf("$schema is %v, not %s", v["$schema"], model.CurrentSchemaURL)
	}
}

// The schema of the bundle's own tools, from the packages of .ci/node.
func TestManifest(t *testing.T) {
	conforms(t, "../node/node_modules/@anthropic-ai/mcpb/schemas/mcpb-manifest-v0.3.schema.json", manifest, "name", "server", "author")
}

// conforms wants a file to be as a schema says, and not to be if a member is missing.
func conforms(t *testing.T, schema, file string, members ...string) {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(load(t, file)); err != nil {
		t.Error(err)
	}
	for _, m := range members {
		v, _ := load(t, file).(map[string]any)
		delete(v, m)
		if s.Validate(v) == nil {
			t.Errorf("%s conforms without %s", file, m)
		}
	}
}

func load(t *testing.T, file string) any {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
