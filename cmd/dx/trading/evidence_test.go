package trading

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"duplex/client"
	"duplex/schemas"
)

// TestLastSettled checks that the newest settled round of a series is found, and not one that is
// proposed or void.
func TestLastSettled(t *testing.T) {
	rounds := map[string]string{
		"1": `{"round_number":"9","status":"proposed"},{"round_number":"8","status":"void"},{"round_number":"7","status":"settled"},{"round_number":"6","status":"settled"}`,
		"9": `{"round_number":"5","status":"trading"}`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"rounds":[%s],"cursor":"","as_of_seq":"1"}`, rounds[r.URL.Query().Get("category")])
	}))
	defer s.Close()
	c := client.Must(client.New(s.URL, "k", make([]byte, schemas.SecretLen)))
	if n, err := lastSettled(t.Context(), c, "btc-60s"); n != 7 || err != nil {
		t.Errorf("the last settled round of btc-60s: %d, %v, want 7", n, err)
	}
	if n, err := lastSettled(t.Context(), c, "wti-15m"); n != 0 || err == nil || err.Error() != "no round of wti-15m has settled yet" {
		t.Errorf("the last settled round of wti-15m: %d, %v, want an error that there is none", n, err)
	}
}
