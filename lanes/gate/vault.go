package gate

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"

	"duplex/core"
	"duplex/schemas"
)

// Vault seals key secrets under the master key: HMAC needs a secret back, so it is
// sealed and not hashed (contract operator, At rest).
type Vault struct {
	seal  cipher.AEAD
	dummy []byte   // stands in for the secret of a key that is not there
	open  sync.Map // *core.Key → []byte
}

// NewVault makes one of a 32-byte master key.
func NewVault(master []byte) (*Vault, error) {
	if len(master) != 32 {
		return nil, errors.New("the master key must have 32 bytes")
	}
	block, err := aes.NewCipher(master)
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	dummy := sha256.Sum256(append([]byte("no such key"), master...))
	return &Vault{seal: seal, dummy: dummy[:]}, nil
}

// NewKey draws an id and a secret, and seals the secret for that id.
func (v *Vault) NewKey() (id string, secret, sealed []byte) {
	var raw [12]byte
	_, _ = rand.Read(raw[:])
	id = "dxk" + hex.EncodeToString(raw[:])
	secret = make([]byte, schemas.SecretLen)
	_, _ = rand.Read(secret)
	return id, secret, v.Seal(id, secret)
}

// Seal encrypts a secret, bound to the key's id.
func (v *Vault) Seal(id string, secret []byte) []byte {
	nonce := make([]byte, v.seal.NonceSize(), v.seal.NonceSize()+len(secret)+v.seal.Overhead())
	_, _ = rand.Read(nonce)
	return v.seal.Seal(nonce, nonce, secret, []byte(id))
}

// Open decrypts a key's secret. It fails under another master key.
func (v *Vault) Open(k *core.Key) ([]byte, error) {
	n := v.seal.NonceSize()
	if len(k.Sealed) < n {
		return nil, errors.New("a sealed secret is too short")
	}
	return v.seal.Open(nil, k.Sealed[:n], k.Sealed[n:], []byte(k.ID))
}

// secret gives a key's secret; of no key, or one that cannot be opened, a dummy.
func (v *Vault) secret(k *core.Key) (secret []byte, ok bool) {
	if k == nil {
		return v.dummy, false
	}
	if s, ok := v.open.Load(k); ok {
		return s.([]byte), true
	}
	s, err := v.Open(k)
	if err != nil {
		return v.dummy, false
	}
	v.open.Store(k, s)
	return s, true
}

// NewToken draws a bearer token and gives the hash that is kept of it.
func NewToken(prefix string) (token string, hash [32]byte) {
	var raw [32]byte
	_, _ = rand.Read(raw[:])
	token = prefix + hex.EncodeToString(raw[:])
	return token, sha256.Sum256([]byte(token))
}
