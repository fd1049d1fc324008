package cli

// FlagError reports a flag whose value cannot work. dx exits with code 2 on it.
type FlagError struct {
	Flag string // the name of the flag, without dashes
	Err  error
}

// BadFlag returns a FlagError.
func BadFlag(flag string, err error) error { return FlagError{Flag: flag, Err: err} }

func (e FlagError) Error() string { return "--" + e.Flag + ": " + e.Err.Error() }

// Unwrap returns the reason without the name of the flag.
func (e FlagError) Unwrap() error { return e.Err }
