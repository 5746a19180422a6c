package sample_test

import (
	"testing"

	"fettle/host"
	"fettle/host/sample"
	"fettle/internal/means"
)

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzParse: a sample that somebody sends is read or refused, and what was read
// of it answers.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"hostname: web1\ntime: 2026-01-02T03:04:05Z\neuid: 0\n-- root/etc/a --\nx\n-- link/etc/b --\na\n",
		"incomplete: true\n-- stat/etc/a --\nmode 0644 uid 0 gid 0 size 3 type dir mtime 2026-01-02T03:04:05Z\n-- denied/etc/c --\n-- " +
			"uncollected/table/links --\n",
		"-- units --\nssh.service loaded active running enabled\n-- packages --\nopenssh-server 1:9.2p1-2\n# rpm\nbash 5.2-1\n",
		"-- xattr/security.capability/bin/ping --\n0100\n-- command/uname -r --\nexit 1\nx\n-- table/links --\n[]\n",
		"-- link/a --\nb\n-- link/b --\na\n-- link/c --\n../../..\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		src, _, err := sample.Parse(b)
		if err != nil {
			return
		}
		h := host.New(src)
		for _, name := range []string{"/", "/etc", "/etc/a", "/a", "/c/etc/b"} {
			h.ReadFile(t.Context(), name)
			h.ReadDir(t.Context(), name)
			h.Lstat(t.Context(), name)
		}
		h.Packages(t.Context())
	})
}
