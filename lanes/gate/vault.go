package gate

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"duplex/core"
	"duplex/schemas"
)

// Vault encrypts the secrets of keys under the master key. HMAC needs the secret itself, so
// a hash would not do (docs/rules/accounts.md#secrets-at-rest). It is safe for concurrent
// use.
type Vault struct {
	dummyKeys   [1024]core.Key // used in place of unknown keys
	dummySecret []byte         // used in place of their secrets
	secrets     sync.Map       // key id → *cachedSecret

	mu      sync.RWMutex
	ciphers []cipher.AEAD // of the current master key, then of older ones
	roots   [][]byte      // by the same index: what Derived derives from
	drops   atomic.Uint64 // how often DropOldMasterKeys was called

	held sync.Map // key id → secret that the journal does not have, see Hold
}

// NewVault returns a vault with a 32-byte master key.
func NewVault(masterKey []byte) (*Vault, error) {
	v := &Vault{}
	for i := range v.dummyKeys {
		v.dummyKeys[i] = core.Key{ID: fmt.Sprintf("dummy key %017d", i), Revoked: true} // as long as a real id
	}
	dummy := sha256.Sum256(append([]byte("no such key"), masterKey...))
	v.dummySecret = dummy[:]
	return v, v.AddMasterKey(masterKey)
}

// AddMasterKey makes a 32-byte key the current master key. Older ones still decrypt until
// DropOldMasterKeys.
func (v *Vault) AddMasterKey(masterKey []byte) error {
	if len(masterKey) != 32 {
		return errors.New("the master key must have 32 bytes")
	}
	block, err := aes.NewCipher(masterKey)
	if err != nil {
		return err
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ciphers = append([]cipher.AEAD{seal}, v.ciphers...)
	v.roots = append([][]byte{derive(masterKey, "derived keys")}, v.roots...)
	v.secrets.Clear()
	return nil
}

// DropOldMasterKeys drops all master keys but the current one.
func (v *Vault) DropOldMasterKeys() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ciphers, v.roots = v.ciphers[:1], v.roots[:1]
	v.drops.Add(1)
	v.secrets.Clear()
}

func (v *Vault) masterCiphers() []cipher.AEAD {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.ciphers
}

// Derived returns a key for a purpose from each master key, the current one first.
func (v *Vault) Derived(purpose string) (keys [][]byte) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, root := range v.roots {
		keys = append(keys, derive(root, purpose))
	}
	return keys
}

func derive(key []byte, purpose string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(purpose))
	return m.Sum(nil)
}

// The id of a key is the prefix and hex of random bytes.
const (
	keyPrefix  = "dxk"
	keyIDBytes = 12
)

// NewKey returns a random key id, a random secret and the secret sealed for that id.
func (v *Vault) NewKey() (id string, secret, sealed []byte) {
	var raw [keyIDBytes]byte
	_, _ = rand.Read(raw[:])
	id = keyPrefix + hex.EncodeToString(raw[:])
	secret = make([]byte, schemas.SecretLen)
	_, _ = rand.Read(secret)
	return id, secret, v.Seal(id, secret)
}

// Seal encrypts a secret under the current master key, bound to the id of its key.
func (v *Vault) Seal(id string, secret []byte) []byte {
	seal := v.masterCiphers()[0]
	nonce := make([]byte, seal.NonceSize(), seal.NonceSize()+len(secret)+seal.Overhead())
	_, _ = rand.Read(nonce)
	return seal.Seal(nonce, nonce, secret, []byte(id))
}

// Hold keeps the secret of a key in memory, whose sealed secret in the journal is empty. An arena
// publishes its journals, so they hold no secrets.
func (v *Vault) Hold(id string, secret []byte) { v.held.Store(id, secret) }

// Open decrypts the secret of a key. It fails if no master key of the vault sealed it.
func (v *Vault) Open(k *core.Key) ([]byte, error) {
	secret, _, err := v.openWith(k)
	return secret, err
}

// openWith is Open, and returns the index of the master key: 0 is the current one.
func (v *Vault) openWith(k *core.Key) (secret []byte, masterIndex int, err error) {
	if held, ok := v.held.Load(k.ID); ok && len(k.Sealed) == 0 {
		return held.([]byte), 0, nil
	}
	err = errors.New("a sealed secret is too short")
	for i, seal := range v.masterCiphers() {
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

// dummyKey returns the key to verify for an unknown id. The ids spread over many dummy keys, so
// that their memory accesses resemble those of real keys: a few would stay in the processor's
// caches and be verified 100 ns sooner.
func (v *Vault) dummyKey(id string) *core.Key {
	n := 0
	for i := range len(id) {
		n = n*31 + int(id[i])
	}
	return &v.dummyKeys[uint(n)%uint(len(v.dummyKeys))]
}

// cachedSecret is the decrypted secret of a key. If valid is false, decryption failed and
// secret is a dummy.
type cachedSecret struct {
	key    *core.Key
	secret []byte
	valid  bool
}

// secretOf reads a key and returns it with its secret, see secret. It reads the key again if
// the older master keys were dropped meanwhile, since the first read may have returned the
// key as it was sealed before.
func (v *Vault) secretOf(read func() *core.Key) (k *core.Key, secret []byte, ok bool) {
	for {
		drops := v.drops.Load()
		k = read()
		secret, ok = v.secret(k)
		if v.drops.Load() == drops {
			return k, secret, ok
		}
	}
}

// secret returns the secret of a key, or a dummy for a dummy key and for a key that no
// master key decrypts. All three take the same path, so that their times do not differ.
func (v *Vault) secret(k *core.Key) (secret []byte, ok bool) {
	if x, ok := v.secrets.Load(k.ID); ok {
		if o := x.(*cachedSecret); o.key == k {
			return o.secret, o.valid
		}
	}
	o := &cachedSecret{key: k}
	if s, err := v.Open(k); err == nil {
		o.secret, o.valid = s, true
	} else {
		o.secret = bytes.Clone(v.dummySecret) // a copy, since every key has its own memory
	}
	v.secrets.Store(k.ID, o)
	return o.secret, o.valid
}
