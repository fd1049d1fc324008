package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// bank is where the money is. Replace folderBank by one that talks to yours.
type bank interface {
	// pay pays amount pips to a destination. The same id again is the same payment: it returns what
	// became of it and pays nothing. errClosed means that the payment can never be made.
	pay(id, amount int64, destination string) error
	// paid returns the sum of all payments.
	paid() (int64, error)
}

// errClosed is the permanent failure of a payment.
var errClosed = errors.New("the account is closed")

// folderBank is a bank for trying: each payment is a file, named by its id. It knows the accounts that
// begin with "closed" as closed.
type folderBank struct{ dir string }

func (b folderBank) pay(id, amount int64, destination string) error {
	if strings.HasPrefix(destination, "closed") {
		return errClosed
	}
	path := filepath.Join(b.dir, strconv.FormatInt(id, 10))
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.FormatInt(amount, 10))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(path+".new", path); err != nil && !errors.Is(err, os.ErrExist) { // one name, one payment
		return err
	}
	return os.Remove(path + ".new")
}

func (b folderBank) paid() (sum int64, err error) {
	files, err := os.ReadDir(b.dir)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".new") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(b.dir, f.Name()))
		if err != nil {
			return 0, err
		}
		amount, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			return 0, err
		}
		sum += amount
	}
	return sum, nil
}
