package schemas

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
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

func TestVerifyRefuses(t *testing.T) {
	v := vectors(t)[3]
	secret, _ := ParseSecret(v.Secret)
	verify := func(change func(*vector)) bool {
		w := v
		change(&w)
		return Verify(secret, w.Timestamp, w.Method, w.Target, []byte(w.Body), w.Signature)
	}
	if !verify(func(*vector) {}) {
		t.Fatal("the vector itself")
	}
	mac, _ := base64.StdEncoding.DecodeString(v.Signature)
	for name, change := range map[string]func(*vector){
		"no signature":     func(w *vector) { w.Signature = "" },
		"unpadded":         func(w *vector) { w.Signature = strings.TrimRight(w.Signature, "=") },
		"url alphabet":     func(w *vector) { w.Signature = strings.NewReplacer("+", "-", "/", "_").Replace(w.Signature) + " " },
		"hex":              func(w *vector) { w.Signature = strings.Repeat("ab", 32) },
		"trailing":         func(w *vector) { w.Signature += "\n" },
		"newline inside":   func(w *vector) { w.Signature = w.Signature[:10] + "\n" + w.Signature[11:] },
		"short":            func(w *vector) { w.Signature = base64.StdEncoding.EncodeToString(mac[:31]) },
		"long":             func(w *vector) { w.Signature = base64.StdEncoding.EncodeToString(append(mac[:32:32], 0)) },
		"stray last bits":  func(w *vector) { w.Signature = stray(w.Signature) },
		"another body":     func(w *vector) { w.Body += " " },
		"no body":          func(w *vector) { w.Body = "" },
		"another method":   func(w *vector) { w.Method = "PUT" },
		"another target":   func(w *vector) { w.Target += "?" },
		"another time":     func(w *vector) { w.Timestamp = "1700000000003" },
		"seconds":          func(w *vector) { resign(w, secret, "1700000000") },
		"a plus":           func(w *vector) { resign(w, secret, "+170000000000") },
		"fourteen digits":  func(w *vector) { resign(w, secret, "01700000000002") },
		"no time":          func(w *vector) { resign(w, secret, "") },
		"digits elsewhere": func(w *vector) { resign(w, secret, "17000000000٠2") },
	} {
		if verify(change) {
			t.Errorf("%s is accepted", name)
		}
	}
}

// resign replaces the timestamp and signs the request again.
func resign(w *vector, secret []byte, ts string) {
	w.Timestamp = ts
	w.Signature = Sign(secret, ts, w.Method, w.Target, []byte(w.Body))
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

// TestSignIsHMAC compares the pooled HMAC with the standard library's.
func TestSignIsHMAC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "secret")
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		target := rapid.String().Draw(t, "target")
		h := hmac.New(sha256.New, secret)
		h.Write(Message("1700000000000", "post", target, body))
		want := base64.StdEncoding.EncodeToString(h.Sum(nil))
		if got := Sign(secret, "1700000000000", "POST", target, body); got != want {
			t.Fatalf("got %s want %s", got, want)
		}
	})
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
