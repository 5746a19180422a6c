//go:build !linux

package files

import "os"

// Folder opens a folder to make files in. What is made there is named relative
// to what was opened, so that nobody leads it elsewhere afterwards.
func Folder(dir string) (*os.Root, error) { return os.OpenRoot(dir) }

const nonblock = 0
