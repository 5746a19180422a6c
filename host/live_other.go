//go:build !linux

package host

// NewLive and NewRoot need Linux; captures and sosreports are read anywhere.
func NewLive() (Source, error) { return nil, ErrUnsupported }

// NewRoot opens dir as a host.
func NewRoot(string) (Source, error) { return nil, ErrUnsupported }

func kernelRing() ([]byte, error) { return nil, ErrUnsupported }
