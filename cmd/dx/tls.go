package main

import "duplex/server"

// tlsFlags are where the certificate of the public listeners comes from.
type tlsFlags struct {
	TLSCert       string   `name:"tls-cert" help:"Certificate with its chain (PEM) of the API, the portal and an admin listener that is not on loopback; read again when it changes." placeholder:"FILE" type:"path"`
	TLSKey        string   `name:"tls-key" help:"Private key (PEM) of --tls-cert." placeholder:"FILE" type:"path"`
	ACMEDomain    []string `name:"acme-domain" help:"Names for which an authority issues certificates by ACME; the flag agrees to its terms. It must reach the venue at port 443 of each name, or at port 80 with --acme-http." placeholder:"NAME"`
	ACMEEmail     string   `name:"acme-email" help:"Where the authority reports problems." placeholder:"ADDRESS"`
	ACMEDirectory string   `name:"acme-directory" help:"The authority; default: Let's Encrypt." placeholder:"URL"`
	ACMEHTTP      string   `name:"acme-http" help:"Address of a listener, such as :80, that answers the authority and sends every other request to https." placeholder:"ADDRESS"`
}

func (f *tlsFlags) options() server.TLS {
	return server.TLS{Cert: f.TLSCert, Key: f.TLSKey, ACMEDomains: f.ACMEDomain, ACMEEmail: f.ACMEEmail, ACMEDirectory: f.ACMEDirectory, ACMEHTTP: f.ACMEHTTP}
}
