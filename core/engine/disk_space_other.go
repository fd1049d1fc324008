//go:build !unix

package engine

import "errors"

func freeOf(string) (uint64, error) { return 0, errors.ErrUnsupported }
