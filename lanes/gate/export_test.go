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
