package schemas

import (
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// vector is one row of vectors/signing.json, which was made with openssl.
type vector struct {
	Name      string `json:"name"`
	Secret    string `json:"secret"`
	Timestamp string `json:"timestamp"`
	Method    string `json:"method"`
	Target    string `json:"target"`
	Body      string `json:"body"`
	Signature string `json:"signature"`
}

func vectors(t testing.TB) []vector {
	raw, err := os.ReadFile("vectors/signing.json")
	if err != nil {
		t.Fatal(err)
	}
	var out []vector
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSignVectors(t *testing.T) {
	for _, v := range vectors(t) {
		secret, ok := ParseSecret(v.Secret)
		if !ok {
			t.Fatal(v.Name)
		}
		got := Sign(secret, v.Timestamp, v.Method, v.Target, []byte(v.Body))
		if got != v.Signature {
			t.Errorf("%s: got %s want %s", v.Name, got, v.Signature)
		}
		if !Verify(secret, v.Timestamp, v.Method, v.Target, []byte(v.Body), v.Signature) {
			t.Errorf("%s: does not verify", v.Name)
		}
		if Sign(secret, v.Timestamp, strings.ToLower(v.Method), v.Target, []byte(v.Body)) != got {
			t.Errorf("%s: the method is signed in capitals", v.Name)
		}
	}
}

// stray sets unused bits in the last base64 digit.
func stray(s string) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	i := strings.IndexByte(digits, s[42])
	return s[:42] + string(digits[i|1]) + s[43:]
}

func TestSecret(t *testing.T) {
	for _, s := range []string{"", "00", strings.Repeat("0", 63), strings.Repeat("0", 66), strings.Repeat("g", 64)} {
		if _, ok := ParseSecret(s); ok {
			t.Errorf("%q is no secret", s)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	v := vectors(b)[3]
	secret, _ := ParseSecret(v.Secret)
	body := []byte(v.Body)
	b.ReportAllocs()
	for b.Loop() {
		if !Verify(secret, v.Timestamp, v.Method, v.Target, body, v.Signature) {
			b.Fatal("no")
		}
	}
}
