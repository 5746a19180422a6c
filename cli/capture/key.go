package capture

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"fettle/cli/app"
	"fettle/internal/files"
)

// redactKey reads the key from a file, in hexadecimal; makes both if the file
// is absent. Without a file the key is random and forgotten.
func redactKey(file string) ([]byte, error) {
	key := make([]byte, 32)
	rand.Read(key)
	if file == "" {
		return key, nil
	}
	b, err := files.ReadAtMost(file, 4096)
	if err == nil {
		key, err := hex.DecodeString(strings.TrimSpace(string(b)))
		if err != nil || len(key) < 16 {
			return nil, app.Usagef("--redact-key %s: not a key: at least 32 hexadecimal digits are needed", file)
		}
		return key, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, app.Usagef("--redact-key: %w", err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, app.Usagef("--redact-key: %w", err)
	}
	if _, err = fmt.Fprintln(f, hex.EncodeToString(key)); err == nil {
		err = f.Close()
	}
	if err != nil {
		os.Remove(file) // half a key would be refused next time
		return nil, app.Failf("--redact-key: %w", err)
	}
	return key, nil
}
