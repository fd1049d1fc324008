package agent

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"duplex/schemas"
)

// roundTrip answers requests without a network.
type roundTrip func() (status int, body string)

func (f roundTrip) RoundTrip(*http.Request) (*http.Response, error) {
	status, body := f()
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// TestWaitsForABound tests that a request that meets a bound of the venue is sent again after the time that the venue
// names, and that a bound of hours is an error.
func TestWaitsForABound(t *testing.T) {
	limited := func(ms int64) string {
		b, _ := schemas.Append(nil, schemas.ErrorBody{Error: schemas.RateLimited(ms)})
		return string(b)
	}
	for _, c := range []struct {
		name    string
		answers []string
		waited  time.Duration
		fails   bool
	}{
		{"at once", []string{`{"user_id":7}`}, 0, false},
		{"twice", []string{limited(6_000), limited(41), `{"user_id":7}`}, 6041 * time.Millisecond, false},
		{"an hour", []string{limited(3_600_000)}, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said bytes.Buffer
				begun, answers := time.Now(), c.answers
				p := &portal{base: "http://portal.test", said: &said, http: http.Client{Transport: roundTrip(func() (int, string) {
					text := answers[0]
					answers = answers[1:]
					if strings.Contains(text, "error") {
						return 429, text
					}
					return 201, text
				})}}
				var made schemas.AgentCreated
				_, err := p.do(t.Context(), "POST", "/agents", nil, &made)
				if (err != nil) != c.fails || !c.fails && made.UserID != 7 || time.Since(begun) != c.waited || len(answers) != 0 {
					t.Errorf("%+v, %v after %s, %d answers left", made, err, time.Since(begun), len(answers))
				}
				if n := strings.Count(said.String(), "waiting"); n != max(0, len(c.answers)-1) {
					t.Errorf("it said %q", said.String())
				}
			})
		})
	}
}

// TestFieldAtFault tests that the error of a bad argument names the member and what is legal there.
func TestFieldAtFault(t *testing.T) {
	p := &portal{base: "http://portal.test", http: http.Client{Transport: roundTrip(func() (int, string) {
		return 400, `{"error":{"code":"schema_violation","num":null,"origin":"gateway","message":"schema_violation","details":null,"field":"limit","hint":"1 to 1000"}}`
	})}}
	_, err := p.do(t.Context(), "GET", "/approvals?limit=0", nil, nil)
	if want := "schema_violation (400): limit: 1 to 1000"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
