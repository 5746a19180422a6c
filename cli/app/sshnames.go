package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fettle/engine/run"
	"fettle/host"
	"fettle/host/format/sshconfig"
	"fettle/host/format/sshd"
)

// named are the hosts of ssh's configuration that a pattern means: the names on
// Host lines of the user's file and the system's, or of --ssh-config alone, as
// ssh -F takes it. A user stays: root@web* is root@web1 and root@web2.
func (o *HostFlags) named(ctx context.Context, pattern string) ([]string, error) {
	user, glob := "", pattern
	if i := strings.LastIndexByte(pattern, '@'); i >= 0 {
		user, glob = pattern[:i+1], pattern[i+1:]
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("%q: finding ssh's configuration: %w", pattern, err)
	}
	src, err := run.OpenLive()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	h := host.New(src)
	ssh := filepath.Join(home, ".ssh")
	files := [][2]string{{filepath.Join(ssh, "config"), ssh}, {sshconfig.System, filepath.Dir(sshconfig.System)}}
	if o.Config != "" {
		abs, err := filepath.Abs(o.Config)
		if err != nil {
			return nil, err
		}
		files = [][2]string{{abs, ssh}}
	}
	var names, read []string
	for _, f := range files {
		c, err := sshconfig.Read(ctx, h, f[0], f[1], home)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%q: reading ssh's configuration: %w", pattern, err)
		}
		read = append(read, f[0])
		for _, n := range c.Names {
			if sshd.PatternList(n, glob) == 1 && !slices.Contains(names, user+n) {
				names = append(names, user+n)
			}
		}
	}
	switch {
	case len(read) == 0:
		return nil, fmt.Errorf("%q is a pattern of names in ssh's configuration, and there is no %s", pattern, files[0][0])
	case len(names) == 0:
		return nil, fmt.Errorf("no Host line of %s names a host like %q", strings.Join(read, " or "), pattern)
	}
	return names, nil
}
