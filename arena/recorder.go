package arena

import (
	"bytes"
	"net/http"
	"strings"
)

// recorder records an answer. With held it sends nothing; with hides it sends the answer at its end,
// without the name of the asset; with whole it keeps all of it.
type recorder struct {
	http.ResponseWriter
	held   bool
	hides  bool
	whole  bool
	header http.Header // of a held answer
	all    []byte      // of an answer that hides the asset, or is kept whole
	status int
	n      int
	body   bytes.Buffer
}

const recordMax = 256 << 10 // bytes of an answer

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) Header() http.Header {
	if r.held {
		if r.header == nil {
			r.header = http.Header{}
		}
		return r.header
	}
	return r.ResponseWriter.Header()
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	if !r.held {
		r.ResponseWriter.WriteHeader(status)
	}
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	r.n += len(b)
	if r.whole || r.hides && !r.held {
		r.all = append(r.all, b...)
		return len(b), nil
	}
	r.body.Write(b[:min(len(b), max(0, recordMax-r.body.Len()))])
	if r.held {
		return len(b), nil
	}
	return r.ResponseWriter.Write(b)
}

// assetNames and their replacements have the same lengths, so that an answer keeps its length.
var assetNames = strings.NewReplacer("BTC", "ABC", "btc", "abc", "Bitcoin", "Product", "bitcoin", "product")

// send sends an answer that hides the asset. The error is the client's, which may be gone.
func (r *recorder) send() {
	if !r.hides || len(r.all) == 0 {
		return
	}
	hidden := []byte(assetNames.Replace(string(r.all)))
	r.body.Write(hidden[:min(len(hidden), recordMax)])
	_, _ = r.ResponseWriter.Write(hidden)
}
