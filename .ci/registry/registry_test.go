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

// TestServer validates server.json against the current version of the MCP registry's schema.
func TestServer(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/modelcontextprotocol/registry").Output()
	if err != nil {
		t.Fatal(err)
	}
	schema := filepath.Join(strings.TrimSpace(string(out)), "internal", "validators", "schemas", model.CurrentSchemaVersion+".json")
	conforms(t, schema, server, "name", "description", "version")
	v, _ := load(t, server).(map[string]any)
	if v["$schema"] != model.CurrentSchemaURL {
		t.Errorf("$schema is %v, want %s", v["$schema"], model.CurrentSchemaURL)
	}
}

// TestManifest validates manifest.json against the schema of the bundle's tools, which is among
// the packages of .ci/node.
func TestManifest(t *testing.T) {
	conforms(t, "../node/node_modules/@anthropic-ai/mcpb/schemas/mcpb-manifest-v0.3.schema.json", manifest, "name", "server", "author")
}

// conforms checks that a file is valid against a schema, and invalid without each of members.
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
			t.Errorf("%s is valid without %s", file, m)
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
