package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"duplex/internal/atomicfile"
	"duplex/schemas"
)

// profileMax bounds a profile file.
const profileMax = 64 << 10

// profileName is what names a profile instead of a file.
var profileName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// profilePath is the file of a profile that is given by name or as a file. Names are
// those of the files in the folder agents beside the dev file.
func profilePath(devFile, profile string) (string, error) {
	if profileName.MatchString(profile) {
		profile = filepath.Join(filepath.Dir(devFile), "agents", profile+".json")
	}
	return filepath.Abs(profile)
}

// readProfile reads a profile and accepts nothing else: a file that others can read, a
// member that a profile does not have, a key without its secret.
func readProfile(path string) (p schemas.Profile, err error) {
	b, err := readPrivate(path)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(b, &p, json.RejectUnknownMembers(true)); err != nil {
		if json.Unmarshal(b, new(schemas.DevFile)) == nil && bytes.Contains(b, []byte(`"operator_token"`)) {
			err = errors.New("a dev file, which holds the operator's token and every key; profiles are in the folder agents beside it")
		}
		return schemas.Profile{}, fmt.Errorf("%s: %w", path, err)
	}
	if err := checkProfile(&p); err != nil {
		return schemas.Profile{}, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// readPrivate reads a small file that only its owner may read.
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
	case runtime.GOOS != "windows" && s.Mode().Perm()&0o077 != 0: // there the mode says nothing
		return nil, fmt.Errorf("%s: mode %04o lets others read the secret: chmod 600 %s", path, s.Mode().Perm(), shellWord(path))
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
		u, err := url.Parse(at.value)
		if err != nil || u.Host == "" || u.Scheme != at.schemes[0] && u.Scheme != at.schemes[1] {
			return fmt.Errorf("%s: an address is wanted, as %s://127.0.0.1:8080", at.member, at.schemes[0])
		}
	}
	if p.APIKey == "" {
		return errors.New("api_key: a key is wanted")
	}
	if _, ok := schemas.ParseSecret(p.Secret); !ok {
		return errors.New("secret: 64 hex characters are wanted")
	}
	if p.Name != "" && !profileName.MatchString(p.Name) {
		return errors.New("name: up to 32 of a to z, 0 to 9 and -, and no - first")
	}
	return nil
}

// writeProfiles writes the profile of each account of a dev file into the folder agents
// beside it, each whole or not at all, for its owner alone.
func writeProfiles(devFile string, dev *schemas.DevFile) error {
	for _, a := range dev.Accounts {
		path, err := profilePath(devFile, a.Name)
		if err != nil {
			return err
		}
		b, err := json.Marshal(schemas.Profile{API: dev.API, WS: dev.WS, MCP: dev.MCP, Name: a.Name, UserID: a.UserID, APIKey: a.APIKey, Secret: a.Secret, Scopes: a.Scopes}, jsontext.WithIndent("  "))
		if err != nil {
			return err
		}
		if err := atomicfile.Write(path, append(b, '\n')); err != nil {
			return err
		}
	}
	return nil
}
