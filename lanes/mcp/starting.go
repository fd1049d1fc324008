package mcp

import (
	"net/http"

	"duplex/schemas"
)

// Refuse answers a request that no venue has read with an error in this lane's form.
func Refuse(w http.ResponseWriter, e schemas.Error) {
	writeFault(w, nil, faultOf(e))
}
