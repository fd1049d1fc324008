package server_test

import (
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"duplex/schemas"
	"duplex/server"
	"duplex/server/servertest"
)

const operatorToken = "t"

// liveOptions are the options of a live venue without prices.
func liveOptions(data string, change func(*server.Options)) server.Options {
	o := server.Options{Data: data, Environment: "live", OperatorToken: operatorToken}
	if change != nil {
		change(&o)
	}
	return o
}

func openLive(t *testing.T, data string, change func(*server.Options)) *servertest.Venue {
	t.Helper()
	return servertest.Open(t, liveOptions(data, change))
}

// startError returns the error with which a live venue does not start; nil if it starts.
func startError(t *testing.T, data string, change func(*server.Options)) error {
	t.Helper()
	v, err := server.Open(t.Context(), liveOptions(data, change))
	if err == nil {
		if err := v.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return err
}

// checkKeyWorks checks that a signed read with a key succeeds.
func checkKeyWorks(t *testing.T, v *servertest.Venue, k schemas.NewKey) {
	t.Helper()
	if _, err := v.ClientWithKey(k.APIKey, k.Secret).Balance(t.Context()); err != nil {
		t.Errorf("%s: %v", k.APIKey, err)
	}
}

// masterKeyOf reads the master key of a data folder.
func masterKeyOf(t *testing.T, data string) []byte {
	t.Helper()
	b, err := os.ReadFile(server.MasterKeyPath(data))
	if err != nil {
		t.Fatal(err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// request sends a request and returns status, header and body.
func request(t *testing.T, method, url, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

// askOperator sends a request with the operator's token and returns the body.
func askOperator(t *testing.T, v *servertest.Venue, method, path, body string) string {
	t.Helper()
	status, _, got := request(t, method, v.AdminURL()+path, body, "Authorization", "Bearer "+v.OperatorToken(), "Content-Type", "application/json")
	if status != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, path, status, got)
	}
	return got
}

// eventually waits until ok holds, for at most 30 s.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s within 30 s", what)
		}
	}
}
