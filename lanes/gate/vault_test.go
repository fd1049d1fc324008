package gate

import (
	"testing"

	"duplex/core"
)

// TestVault checks that a sealed secret decrypts only for its own key id and master key.
func TestVault(t *testing.T) {
	v, err := NewVault(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	id, secret, sealed := v.NewKey()
	k := &core.Key{ID: id, Sealed: sealed}
	if got, err := v.Open(k); err != nil || string(got) != string(secret) {
		t.Errorf("Open: %x, %v, want the secret that was sealed", got, err)
	}
	if _, err := v.Open(&core.Key{ID: "dxk0", Sealed: sealed}); err == nil {
		t.Error("it decrypts for another key id")
	}
	other, err := NewVault(append(make([]byte, 31), 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Open(k); err == nil {
		t.Error("it decrypts under another master key")
	}
	if _, ok := v.secret(v.dummyKey("dxk")); ok {
		t.Error("an unknown key has a valid secret")
	}
	for _, n := range []int{0, 5, len(sealed) - 1} {
		if _, err := v.Open(&core.Key{ID: id, Sealed: sealed[:n]}); err == nil {
			t.Errorf("the first %d bytes decrypt", n)
		}
	}
	if _, err := NewVault(make([]byte, 31)); err == nil {
		t.Error("a master key of 31 bytes is accepted")
	}
}

// TestKeyReadBeforeADrop checks that a key that was read before it was sealed anew has its
// secret after the old master key was dropped.
func TestKeyReadBeforeADrop(t *testing.T) {
	v, err := NewVault(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	id, secret, sealed := v.NewKey()
	current := &core.Key{ID: id, Sealed: sealed}
	reads := 0
	k, got, ok := v.secretOf(func() *core.Key {
		read := current
		if reads++; reads == 1 {
			if err := v.AddMasterKey(append(make([]byte, 31), 1)); err != nil {
				t.Fatal(err)
			}
			current = &core.Key{ID: id, Sealed: v.Seal(id, secret)}
			v.DropOldMasterKeys()
		}
		return read
	})
	if k != current || !ok || string(got) != string(secret) || reads != 2 {
		t.Errorf("%+v, %x, %t after %d reads", k, got, ok, reads)
	}
}
