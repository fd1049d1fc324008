package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"duplex/client"
	"duplex/internal/atomicfile"
	"duplex/schemas"
)

// profileMax bounds a profile file.
const profileMax = 64 << 10

// profileFolder returns the folder of the profiles of a dev file. Dev files in one folder have
// folders of their own, so that a second venue leaves the profiles of the first alone.
func profileFolder(devFile string) string {
	folder := "agents"
	if name := filepath.Base(devFile); name != filepath.Base(DevFileDefault) {
		folder = strings.TrimSuffix(name, ".json") + "-agents"
	}
	return filepath.Join(filepath.Dir(devFile), folder)
}

// ProfilePath returns the absolute path of a profile, given its name or its path. A name is
// that of a file in the folder of the dev file's profiles (docs/rules/agents.md#bridge).
func ProfilePath(devFile, profile string) (string, error) {
	if schemas.IsAgentName(profile) {
		profile = filepath.Join(profileFolder(devFile), profile+".json")
	}
	return filepath.Abs(profile)
}

// devFileOf returns the dev file whose profiles are in the folder of a profile, or "" if there is none.
func devFileOf(profile string) string {
	folder := filepath.Dir(profile)
	name, ok := strings.CutSuffix(filepath.Base(folder), "-agents")
	switch {
	case ok:
		name += ".json"
	case filepath.Base(folder) == filepath.Base(profileFolder(DevFileDefault)):
		name = filepath.Base(DevFileDefault)
	default:
		return ""
	}
	path := filepath.Join(filepath.Dir(folder), name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// ReadProfile reads a profile. It rejects a file that other users can read, an unknown
// member, and a key without its secret.
func ReadProfile(path string) (p schemas.Profile, err error) {
	b, err := readPrivate(path)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(b, &p, json.RejectUnknownMembers(true)); err != nil {
		if json.Unmarshal(b, new(schemas.DevFile)) == nil && bytes.Contains(b, []byte(`"operator_token"`)) {
			err = errors.New("this is a dev file, which holds the operator's token and every key; use a profile from the folder agents beside it")
		}
		return schemas.Profile{}, fmt.Errorf("%s: %w", path, err)
	}
	p.APIKey, p.Secret = strings.TrimSpace(p.APIKey), strings.TrimSpace(p.Secret)
	if err := checkProfile(&p); err != nil {
		return schemas.Profile{}, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// OpenProfile reads the profile of a flag --profile, and returns its path as well. An error is
// a FlagError.
func OpenProfile(devFile, profile string) (p schemas.Profile, path string, err error) {
	path, err = ProfilePath(devFile, profile)
	if err == nil {
		p, err = ReadProfile(path)
	}
	if err != nil {
		err = BadFlag("profile", err)
	}
	return p, path, err
}

// readPrivate reads a file of at most profileMax bytes that only its owner can read.
func readPrivate(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !s.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a file", path)
	case runtime.GOOS != "windows" && s.Mode().Perm()&0o077 != 0: // Windows has no such mode
		return nil, fmt.Errorf("%s: mode %04o lets others read the secret: chmod 600 %s", path, s.Mode().Perm(), ShellWord(path))
	}
	b, err := io.ReadAll(io.LimitReader(f, profileMax+1))
	if err == nil && len(b) > profileMax {
		err = fmt.Errorf("%s: more than %d bytes", path, profileMax)
	}
	return b, err
}

func checkProfile(p *schemas.Profile) error {
	for _, at := range []struct {
		member, value string
		schemes       [2]string
		needed        bool
	}{{"api", p.API, [2]string{"http", "https"}, true}, {"ws", p.WS, [2]string{"ws", "wss"}, false}, {"mcp", p.MCP, [2]string{"http", "https"}, false}} {
		if at.value == "" && !at.needed {
			continue
		}
		list := []string{at.value}
		if several := client.Addresses(at.value); at.member == "api" && len(several) > 1 {
			list = several
		}
		for _, a := range list {
			u, err := url.Parse(a)
			if err != nil || u.Host == "" || u.Scheme != at.schemes[0] && u.Scheme != at.schemes[1] {
				return fmt.Errorf("%s: must be an address like %s://127.0.0.1:8080", at.member, at.schemes[0])
			}
		}
	}
	if p.APIKey == "" {
		return errors.New("api_key: missing")
	}
	if _, ok := schemas.ParseSecret(p.Secret); !ok {
		return errors.New("secret: must be 64 hex characters")
	}
	if p.Name != "" && !schemas.IsAgentName(p.Name) {
		return errors.New("name: must be up to 32 of a to z, 0 to 9 and -, and not begin with -")
	}
	return nil
}

// WriteProfile writes a profile atomically. Only its owner can read it.
func WriteProfile(path string, p *schemas.Profile) error {
	b, err := json.Marshal(p, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(b, '\n'))
}
