package cause

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// command runs a program with a clean environment and returns what it printed;
// the error holds what it complained of.
func command(ctx context.Context, limit time.Duration, path string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	cmd.WaitDelay = time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &capped{&out}, &capped{&errs}
	err := cmd.Run()
	if ctx.Err() != nil {
		return out.Bytes(), fmt.Errorf("no end after %s", limit)
	}
	if err != nil {
		if s := strings.TrimSpace(errs.String()); s != "" {
			err = fmt.Errorf("%s (%w)", strings.ReplaceAll(s, "\n", "; "), err)
		}
		return out.Bytes(), err
	}
	return out.Bytes(), nil
}

// capped keeps the first MiB.
type capped struct{ b *bytes.Buffer }

func (c *capped) Write(p []byte) (int, error) {
	if room := 1<<20 - c.b.Len(); room > 0 {
		c.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
