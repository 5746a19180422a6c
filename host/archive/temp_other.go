//go:build !linux

package archive

import "os"

// TempFile makes a temporary file whose name is gone immediately.
func TempFile() (*os.File, error) { return unlinkedTemp(os.TempDir()) }
