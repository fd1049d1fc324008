package operator

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"duplex/cmd/dx/cli"
)

// TestDevFileIsWhole checks that a command takes address and token of the dev file together, or neither: with
// one of them alone it would act on the venue of the file, and not on the one that the user named.
func TestDevFileIsWhole(t *testing.T) {
	requests := 0
	dev := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		_, _ = w.Write([]byte("{}"))
	}))
	defer dev.Close()
	file := filepath.Join(t.TempDir(), "dev.json")
	if err := os.WriteFile(file, []byte(`{"admin":"`+dev.URL+`","operator_token":"dev"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []operatorFlags{{Admin: "http://192.0.2.1:8082"}, {OperatorToken: "live"}} {
		o.DevFile = file
		var bad cli.FlagError
		if _, err := o.response(t.Context(), "POST", "/markets/3/pause", nil); !errors.As(err, &bad) || bad.Flag != "admin" || requests != 0 {
			t.Errorf("%+v: %v after %d requests", o, err, requests)
		}
	}
	o := operatorFlags{DevFile: file}
	if _, err := o.response(t.Context(), "POST", "/markets/3/pause", nil); err != nil || requests != 1 {
		t.Errorf("the venue of the file: %v after %d requests", err, requests)
	}
}
