package bridge

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"duplex"
)

// The published descriptions of the bridge agree with each other, with the changelog and
// with the command line. .ci/registry validates both files against their schemas.
func TestPublished(t *testing.T) {
	var server struct {
		Version  string
		Packages []struct {
			Version          string
			PackageArguments []struct{ Value string }
			Variables        []struct {
				Name     string
				IsSecret bool
			} `json:"environmentVariables"`
		}
	}
	var manifest struct {
		Version string
		Server  struct {
			Config struct {
				Args []string
				Env  map[string]string
			} `json:"mcp_config"`
		}
		UserConfig map[string]struct{ Sensitive bool } `json:"user_config"`
	}
	read(t, "server.json", &server)
	read(t, "manifest.json", &manifest)
	newest := regexp.MustCompile(`(?m)^## (\d\S*)`).FindSubmatch(duplex.Changelog) // after Unreleased
	p := server.Packages[0]
	for _, v := range []string{server.Version, p.Version, manifest.Version} {
		if v != string(newest[1]) {
			t.Errorf("version %s, the changelog has %s", v, newest[1])
		}
	}
	if !slices.Equal(manifest.Server.Config.Args, []string{"mcp"}) || p.PackageArguments[0].Value != "mcp" {
		t.Errorf("%q and %q", manifest.Server.Config.Args, p.PackageArguments)
	}
	secret := map[string]bool{}
	for _, v := range p.Variables {
		secret[v.Name] = v.IsSecret
	}
	config := map[string]bool{}
	for name, from := range manifest.Server.Config.Env {
		config[name] = manifest.UserConfig[regexp.MustCompile(`^\$\{user_config\.(\w+)\}$`).FindStringSubmatch(from)[1]].Sensitive
	}
	if want := map[string]bool{"DX_URL": false, "DX_KEY": false, "DX_SECRET": true}; !maps.Equal(secret, want) || !maps.Equal(config, want) {
		t.Errorf("%v and %v", secret, config)
	}
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
