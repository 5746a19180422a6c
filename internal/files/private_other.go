//go:build !linux

package files

import "os"

// Private makes a folder for this process alone where temporary files go.
func Private(prefix string) (string, error) { return os.MkdirTemp("", prefix) }

// Made tells whether an open folder was made for this user alone.
func Made(root *os.Root) (bool, error) {
	st, err := root.Stat(".")
	return err == nil && st.Mode()&0o077 == 0, err
}
