package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"duplex/internal/atomicfile"
)

// LoadOrCreateSecret reads a file that holds 32 bytes in hex. If there is no such file, it
// creates one with random bytes. It returns the hex text.
func LoadOrCreateSecret(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err == nil {
		text := strings.TrimSpace(string(b))
		if raw, err := hex.DecodeString(text); err != nil || len(raw) != 32 {
			return "", fmt.Errorf("%s: 64 hex characters are wanted", path)
		}
		return text, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var raw [32]byte
	_, _ = rand.Read(raw[:])
	text := hex.EncodeToString(raw[:])
	return text, atomicfile.Write(path, []byte(text+"\n"))
}

// deriveToken returns a token that is the same for the same master key and name.
func deriveToken(master []byte, prefix, name string) string {
	m := hmac.New(sha256.New, master)
	m.Write([]byte("token\n" + name))
	return prefix + hex.EncodeToString(m.Sum(nil))
}
