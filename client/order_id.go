package client

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"

	"duplex/schemas"
)

// ClientOrderID returns the client_order_id of a text, such as a UUID: decimal digits up to 2^64 − 1 are the number,
// of any other text it is the first 8 bytes of its SHA-256, big-endian, without the highest bit. The clients in other
// languages return the same (schemas/vectors/client_order_ids.json). Two texts with one id, about one pair in 10^19, are
// as two orders with one id: the second one is duplicate_client_order_id. An empty text is an error.
func ClientOrderID(text string) (id schemas.U64, err error) {
	if text == "" {
		return 0, errors.New("client: an empty client_order_id")
	}
	if strings.Trim(text, "0123456789") == "" && id.UnmarshalText([]byte(text)) == nil {
		return id, nil
	}
	hash := sha256.Sum256([]byte(text))
	return schemas.U64(binary.BigEndian.Uint64(hash[:8]) &^ (1 << 63)), nil
}
