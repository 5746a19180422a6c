package capture

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
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
	f, err := files.Hold(file)
	if err == nil {
		defer f.Close()
		b, err := files.AtMost(f, file, 4096)
		if err != nil {
			return nil, app.Usagef("--redact-key: %w", err)
		}
		key, err := hex.DecodeString(strings.TrimSpace(string(b)))
		if err != nil || len(key) < 16 {
			return nil, app.Usagef("--redact-key %s: not a key: at least 32 hexadecimal digits are needed", file)
		}
		return key, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, app.Usagef("--redact-key: %w", err)
	}
	if err := files.WriteNew(file, []byte(hex.EncodeToString(key)+"\n"), 0o600); err != nil {
		return nil, app.Failf("--redact-key: %w", err)
	}
	return key, nil
}
