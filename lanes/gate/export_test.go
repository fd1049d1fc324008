package gate

// OnVerify calls f before every verification of a signature.
func (g *Gate) OnVerify(f func(secret, body []byte)) {
	verify := g.verify
	g.verify = func(secret []byte, ts, method, target string, body []byte, signature string) bool {
		f(secret, body)
		return verify(secret, ts, method, target, body, signature)
	}
}

// CacheEntries returns the number of cache entries of a key.
func (g *Gate) CacheEntries(key string) (n int) {
	if _, ok := g.rateLimiters.keys.Load(key); ok {
		n++
	}
	if _, ok := g.Vault.secrets.Load(key); ok {
		n++
	}
	return n
}

// SignatureFailureBurst is the number of failed signatures of a key before they are limited.
const SignatureFailureBurst = signatureFailureBurst

// ForgetSignatureFailures forgets the failed signatures of all keys.
func (g *Gate) ForgetSignatureFailures() {
	for i := range g.keyFailures.buckets {
		g.keyFailures.buckets[i].Store(nil)
	}
}
