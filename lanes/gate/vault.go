package gate

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"duplex/core"
	"duplex/schemas"
)

// Vault seals key secrets under the master key: HMAC needs a secret back, so it is
// sealed and not hashed (contract operator, At rest).
type Vault struct {
	nobodies [64]core.Key // each stands in for keys that are not there
	dummy    []byte       // and for their secrets
	open     sync.Map     // key id → *opened

	mu    sync.RWMutex
	seals []cipher.AEAD // under the master key in force, then under older ones
}

// NewVault makes one of a 32-byte master key.
func NewVault(master []byte) (*Vault, error) {
	v := &Vault{}
	for i := range v.nobodies {
		v.nobodies[i] = core.Key{ID: fmt.Sprintf("nobody, as long as a key %02d", i), Revoked: true}
	}
	dummy := sha256.Sum256(append([]byte("no such key"), master...))
	v.dummy = dummy[:]
	return v, v.Turn(master)
}

// Turn puts another master key in force. What older ones sealed opens on, until Forget.
func (v *Vault) Turn(master []byte) error {
	if len(master) != 32 {
		return errors.New("the master key must have 32 bytes")
	}
	block, err := aes.NewCipher(master)
	if err != nil {
		return err
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seals = append([]cipher.AEAD{seal}, v.seals...)
	v.open.Clear()
	return nil
}

// Forget lets all master keys go but the one in force.
func (v *Vault) Forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seals = v.seals[:1]
	v.open.Clear()
}

func (v *Vault) keys() []cipher.AEAD {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.seals
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

// Seal encrypts a secret under the master key in force, bound to the key's id.
func (v *Vault) Seal(id string, secret []byte) []byte {
	seal := v.keys()[0]
	nonce := make([]byte, seal.NonceSize(), seal.NonceSize()+len(secret)+seal.Overhead())
	_, _ = rand.Read(nonce)
	return seal.Seal(nonce, nonce, secret, []byte(id))
}

// Open decrypts a key's secret. It fails under another master key.
func (v *Vault) Open(k *core.Key) ([]byte, error) {
	secret, _, err := v.unseal(k)
	return secret, err
}

// unseal also tells which master key opened it: 0 is the one in force.
func (v *Vault) unseal(k *core.Key) (secret []byte, by int, err error) {
	err = errors.New("a sealed secret is too short")
	for i, seal := range v.keys() {
		n := seal.NonceSize()
		if len(k.Sealed) < n {
			return nil, 0, err
		}
		if secret, err = seal.Open(nil, k.Sealed[:n], k.Sealed[n:], []byte(k.ID)); err == nil {
			return secret, i, nil
		}
	}
	return nil, 0, err
}

// nobody is the key of an id that is none's. There are several, so that it lies in
// memory as keys do.
func (v *Vault) nobody(id string) *core.Key {
	n := 0
	for i := range len(id) {
		n = n*31 + int(id[i])
	}
	return &v.nobodies[uint(n)%uint(len(v.nobodies))]
}

// opened is what became of a key's sealed secret.
type opened struct {
	of     *core.Key
	secret []byte
	sound  bool
}

// secret gives a key's secret; of nobody, or of a key that cannot be opened, a dummy. All
// three take the same way, so that none can be told by its time.
func (v *Vault) secret(k *core.Key) (secret []byte, ok bool) {
	if x, ok := v.open.Load(k.ID); ok {
		if o := x.(*opened); o.of == k {
			return o.secret, o.sound
		}
	}
	o := &opened{of: k}
	if s, err := v.Open(k); err == nil {
		o.secret, o.sound = s, true
	} else {
		o.secret = bytes.Clone(v.dummy) // one of its own, as keys have
	}
	v.open.Store(k.ID, o)
	return o.secret, o.sound
}

// NewToken draws a bearer token and gives the hash that is kept of it.
func NewToken(prefix string) (token string, hash [32]byte) {
	var raw [32]byte
	_, _ = rand.Read(raw[:])
	token = prefix + hex.EncodeToString(raw[:])
	return token, sha256.Sum256([]byte(token))
}
