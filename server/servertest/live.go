package servertest

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/schemas"
	"duplex/server"
)

// LiveOptions returns the options of a live venue without prices, whose operator token is "t".
func LiveOptions(data string, change func(*server.Options)) server.Options {
	o := server.Options{Data: data, Environment: "live", OperatorToken: "t"}
	if change != nil {
		change(&o)
	}
	return o
}

// OpenLive opens a venue with LiveOptions, as dx serve does.
func OpenLive(t testing.TB, data string, change func(*server.Options)) *Venue {
	t.Helper()
	return Open(t, LiveOptions(data, change))
}

// DataWithDeposits returns a data folder with a few groups in its journal, and a key.
func DataWithDeposits(t testing.TB) (dir string, k schemas.NewKey) {
	t.Helper()
	dir = t.TempDir()
	v := OpenLive(t, dir, nil)
	k = v.NewAccount("a")
	for i := range 5 {
		v.Submit(&core.Deposit{User: 1, DepositID: strconv.Itoa(i), Amount: 1000})
	}
	v.Close()
	return dir, k
}

// CheckKey checks that a signed read with a key succeeds.
func CheckKey(t testing.TB, v *Venue, k schemas.NewKey) {
	t.Helper()
	if _, err := v.ClientWithKey(k.APIKey, k.Secret).Balance(t.Context()); err != nil {
		t.Errorf("%s: %v", k.APIKey, err)
	}
}

// MasterKey reads the master key of a data folder.
func MasterKey(t testing.TB, data string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(data, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// RemoveFile removes a file and fails the test if it cannot.
func RemoveFile(t testing.TB, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// WaitForMirror waits until the mirror has every command of the venue.
func (v *Venue) WaitForMirror() {
	v.t.Helper()
	for m := v.Mirror(); m.Wait(v.Engine().Seq()) > 0; time.Sleep(time.Millisecond) {
		if err := m.LastError(); err != nil && !strings.Contains(err.Error(), "locked") {
			v.t.Fatal(err)
		}
	}
}
