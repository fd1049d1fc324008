package server_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"duplex/cluster"
	"duplex/core"
	"duplex/core/engine"
	"duplex/server"
)

// files returns the path, the size, the time and the content of each file of a folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = info.ModTime().String() + string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEnvironment opens the folder of a venue as one of another environment, or as that of a follower of
// one: it is refused with both names and changes no byte, also without the file beside the log, and beside
// the file of another venue.
func TestEnvironment(t *testing.T) {
	var follow *cluster.FollowerOptions
	open := func(data, environment string) error {
		v, err := server.Open(t.Context(), server.Options{Data: data, Environment: environment, Oracle: "manual", OperatorToken: "dxo_test", MasterKey: make([]byte, 32),
			Follow: follow, API: "127.0.0.1:0", Portal: "127.0.0.1:0", Admin: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			err = v.Close(context.Background())
		}
		return err
	}
	refused := func(data, environment, recorded string) {
		t.Helper()
		before := files(t, data)
		err := open(data, environment)
		var o *server.OptionError
		if !errors.As(err, &o) || o.Option != "Data" || !strings.Contains(err.Error(), data+" holds a "+recorded+" venue, and this command runs a "+environment+" venue") {
			t.Errorf("%s as %s: %v", recorded, environment, err)
		}
		if !maps.Equal(files(t, data), before) {
			t.Errorf("%s as %s: the files have changed", recorded, environment)
		}
	}
	for recorded, other := range map[string]string{"live": "dev", "dev": "live"} {
		data := t.TempDir()
		for range 2 {
			if err := open(data, recorded); err != nil {
				t.Fatal(err)
			}
		}
		refused(data, other, recorded)

		// A copy of the log alone. The log is without a snapshot, and then with one.
		if err := os.Remove(filepath.Join(data, "journal", server.EnvironmentFile)); err != nil {
			t.Fatal(err)
		}
		refused(data, other, recorded)
		if err := open(data, recorded); err != nil {
			t.Fatal(err)
		}
		refused(data, other, recorded)

		// The file of another venue beside the log.
		if err := os.WriteFile(filepath.Join(data, "journal", server.EnvironmentFile), []byte(other+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(data, recorded, other)
		if err := open(data, other); err == nil || !strings.Contains(err.Error(), "holds a "+recorded+" venue") {
			t.Errorf("%s as %s: %v", recorded, other, err)
		}
	}

	// A journal of before environments were recorded.
	data := t.TempDir()
	e, err := engine.Open(engine.Options{Dir: filepath.Join(data, "journal"), Now: func() int64 { return time.Now().UnixNano() }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Submit(t.Context(), &core.CreateUser{Name: "alice"}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused(data, "dev", "live")
	if err := open(data, "live"); err != nil {
		t.Fatal(err)
	}
	refused(data, "dev", "live")

	// The folder of a follower of a live venue, with the log of a dev venue.
	data = t.TempDir()
	if err := open(data, "dev"); err != nil {
		t.Fatal(err)
	}
	identity := fmt.Sprintf(`{"format": 1, "node": %d, "settings": {"environment": "live"}}`, uint32(cluster.FollowerNode))
	sum := crc32.Checksum([]byte(identity), crc32.MakeTable(crc32.Castagnoli))
	if err := os.WriteFile(filepath.Join(data, "CLUSTER"), fmt.Appendf(nil, "%s\ncrc32c %08x\n", identity, sum), 0o600); err != nil {
		t.Fatal(err)
	}
	follow = &cluster.FollowerOptions{Name: "f", From: []string{"127.0.0.1:1"}}
	refused(data, "live", "dev")
	if err := os.Remove(filepath.Join(data, "journal", server.EnvironmentFile)); err != nil {
		t.Fatal(err)
	}
	refused(data, "live", "dev")
}
