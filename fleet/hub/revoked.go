package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	"github.com/nats-io/nkeys"

	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/internal/files"
)

// RevokedFile lists the keys that were revoked, beside the hub's own keys: a database
// that is restored is older than what was revoked since. Keep a copy of it elsewhere.
const RevokedFile = "revoked.txt"

const revokedLimit = 64 << 20

// Remember writes to the list in a hub's folder what its database revoked.
func Remember(ctx context.Context, dir string, db *store.DB) error {
	file := filepath.Join(dir, RevokedFile)
	list, err := readRevoked(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	is, derr := db.RevokedKeys(ctx)
	if derr != nil {
		return derr
	}
	all := merged(list, is)
	if err == nil && len(all) == len(list) {
		return nil
	}
	return writeRevoked(file, all)
}

// recall tells a database what the list in the hub's folder says.
func recall(ctx context.Context, dir string, db *store.DB) error {
	list, err := readRevoked(filepath.Join(dir, RevokedFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	have, err := db.RevokedKeys(ctx)
	if err == nil {
		err = db.Revoke(ctx, merged(have, list)[len(have):])
	}
	if err != nil {
		return fmt.Errorf("the database: %w", err)
	}
	return Remember(ctx, dir, db)
}

func merged(list, more []store.RevokedKey) []store.RevokedKey {
	have := map[string]bool{}
	for _, k := range list {
		have[k.Key] = true
	}
	for _, k := range more {
		if !have[k.Key] {
			have[k.Key] = true
			list = append(list, k)
		}
	}
	return list
}

func readRevoked(file string) ([]store.RevokedKey, error) {
	b, err := files.ReadAtMost(file, revokedLimit)
	if err != nil {
		return nil, err
	}
	var out []store.RevokedKey
	for i, line := range strings.Split(string(b), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 4 || !nkeys.IsValidPublicUserKey(f[0]) || !message.IsID(f[1]) || !slices.Contains([]string{"retired", "replaced"}, f[2]) {
			return nil, fmt.Errorf("%s:%d: expected KEY AGENT retired|replaced TIME", file, i+1)
		}
		at, err := time.Parse(time.RFC3339, f[3])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		out = append(out, store.RevokedKey{Key: f[0], Agent: f[1], Retired: f[2] == "retired", At: at})
	}
	return out, nil
}

func writeRevoked(file string, list []store.RevokedKey) error {
	var b bytes.Buffer
	b.WriteString("# Keys of agents that fettle-hub revoked. fettle-hub restore --revoked reads this file: keep a copy off this machine.\n")
	for _, k := range list {
		why := "replaced"
		if k.Retired {
			why = "retired"
		}
		fmt.Fprintf(&b, "%s %s %s %s\n", k.Key, k.Agent, why, k.At.UTC().Format(time.RFC3339))
	}
	return renameio.WriteFile(file, b.Bytes(), 0o600)
}
