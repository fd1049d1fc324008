package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// bank is where the money is. Replace folderBank by one that talks to yours.
type bank interface {
	// pay pays amount pips to a destination. The same id again is the same payment, and pays nothing.
	pay(id, amount int64, destination string) error
	// arrived returns nil once a payment has arrived, and errClosed if the money is back. Any other error
	// means that nobody knows yet.
	arrived(id int64) error
	// paid returns the sum of all payments that are not back.
	paid() (int64, error)
}

// errClosed is the permanent failure of a payment.
var errClosed = errors.New("the account is closed")

// folderBank is a bank for trying: each payment is a file, named by its id. Payments to accounts that begin
// with "closed" come back.
type folderBank struct{ dir string }

const returned = ".returned"

func (b folderBank) path(id int64) string { return filepath.Join(b.dir, strconv.FormatInt(id, 10)) }

func (b folderBank) pay(id, amount int64, destination string) error {
	path := b.path(id)
	if _, err := os.Stat(path + returned); err == nil {
		return nil
	}
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%d %s", amount, destination)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(path+".new", path); err != nil && !errors.Is(err, os.ErrExist) { // one name, one payment
		return err
	}
	return os.Remove(path + ".new")
}

func (b folderBank) arrived(id int64) error {
	path := b.path(id)
	if _, err := os.Stat(path + returned); err == nil {
		return errClosed
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if _, destination, _ := strings.Cut(string(text), " "); strings.HasPrefix(destination, "closed") {
		if err := os.Rename(path, path+returned); err != nil {
			return err
		}
		return errClosed
	}
	return nil
}

func (b folderBank) paid() (sum int64, err error) {
	files, err := os.ReadDir(b.dir)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		if strings.Contains(f.Name(), ".") { // not paid yet, or back
			continue
		}
		text, err := os.ReadFile(filepath.Join(b.dir, f.Name()))
		if errors.Is(err, os.ErrNotExist) { // it came back just now
			continue
		}
		if err != nil {
			return 0, err
		}
		amount, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(amount, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}
