package servertest

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"duplex/client"
	"duplex/schemas"
)

// signer signs a request of a client again if its signature has left the replay window: because the request
// was on its way for so long, or because the clock of the venue stands still while that of the client runs.
type signer struct {
	transport http.RoundTripper
	now       func() time.Time // of the venue
	secret    []byte
	client    *client.Client
}

func (s *signer) RoundTrip(r *http.Request) (*http.Response, error) {
	for {
		resp, err := s.transport.RoundTrip(r)
		if err != nil || resp.StatusCode != http.StatusUnauthorized {
			return resp, err
		}
		resp.Header.Del("Date") // it is of the machine's clock, to which the client would set its own
		now := s.now()
		signed, err := strconv.ParseInt(r.Header.Get(schemas.HeaderTimestamp), 10, 64)
		if err != nil || now.Sub(time.UnixMilli(signed)).Abs() < schemas.ReplayWindowMs*time.Millisecond {
			return resp, nil
		}
		_ = resp.Body.Close() // the status says that the request was not executed
		s.client.SetClock(time.Until(now))
		r = r.Clone(r.Context())
		var body []byte
		if r.GetBody != nil {
			bytes, _ := r.GetBody() // those of the client are in memory
			body, _ = io.ReadAll(bytes)
			r.Body, _ = r.GetBody()
		}
		ts := strconv.FormatInt(now.UnixMilli(), 10)
		r.Header.Set(schemas.HeaderTimestamp, ts)
		r.Header.Set(schemas.HeaderSignature, schemas.Sign(s.secret, ts, r.Method, r.URL.RequestURI(), body))
	}
}
