//go:build !linux

package archive

import "os"

func tempFile() (*os.File, error) { return unlinkedTemp(os.TempDir()) }
