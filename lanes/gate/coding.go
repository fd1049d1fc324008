package gate

import (
	"net/http"
	"strings"
)

// AcceptsCoding reports whether a client accepts a content coding, such as "gzip", by name. A weight
// of 0 rejects it.
func AcceptsCoding(r *http.Request, coding string) bool {
	for accepted := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(accepted, " ", ""), ";")
		if strings.EqualFold(name, coding) {
			q, _ := strings.CutPrefix(weight, "q=")
			return strings.Trim(q, "0.") != "" || q == ""
		}
	}
	return false
}
