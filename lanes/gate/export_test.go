package gate

// Verifying puts f around every check of a signature.
func (g *Gate) Verifying(f func(secret, body []byte)) {
	verify := g.verify
	g.verify = func(secret []byte, ts, method, target string, body []byte, signature string) bool {
		f(secret, body)
		return verify(secret, ts, method, target, body, signature)
	}
}
