package sample

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/host"
)

func parsed(t *testing.T, text string) *Source {
	t.Helper()
	s, _, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const house = `time: 2026-11-30T12:00:00Z
-- root/etc/hosts --
127.0.0.1 localhost
-- root/etc/dir/deep/a --
-- link/etc/link --
hosts
-- link/etc/away --
/srv/data
-- root/srv/data/b --
-- link/etc/loop --
loop
-- stat/etc/shadow --
mode 4640 uid 7 gid 0x2a size 99 nlink 2 dev 3 ino 4 mtime 2026-01-02T03:04:05Z
-- stat/etc/empty --
type dir mode 1777
-- xattr/user.x/etc/hosts --
616263
-- denied/etc/denied --
-- denied/table/links --
-- denied/command/nft list ruleset --
-- table/routes6 --
[]
-- command/systemctl show ssh.service --
exit 3
NRestarts=7
-- command/date --
exit
`

// TestAnswers: a host answers by what is in the file; the rest is absent.
func TestAnswers(t *testing.T) {
	s, ctx := parsed(t, house), t.Context()
	for name, want := range map[string]string{"/etc/hosts": "127.0.0.1 localhost\n", "/etc/link": "127.0.0.1 localhost\n", "/etc/away/b": "",
		"/etc/dir/../hosts": "127.0.0.1 localhost\n", "/etc/dir": "not a regular file", "/etc/none": "absent", "/etc/denied": "denied",
		"/etc/loop": "too many symlinks"} {
		b, err := s.ReadFile(ctx, name, 20)
		got := string(b)
		switch {
		case errors.Is(err, host.ErrAbsent):
			got = "absent"
		case errors.Is(err, host.ErrDenied):
			got = "denied"
		case err != nil:
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, %v, want %q", name, b, err, want)
		}
	}
	if _, err := s.ReadFile(ctx, "/etc/hosts", 19); !errors.Is(err, host.ErrTooBig) {
		t.Errorf("over the limit: %v", err)
	}
	var got []string
	for _, name := range []string{"/etc", "/etc/dir", "/etc/away", "/", "/etc/empty"} {
		es, err := s.ReadDir(ctx, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, e := range es {
			got = append(got, name+": "+e.Type.String()[:1]+" "+e.Name)
		}
	}
	want := []string{"/etc: L away", "/etc: d dir", "/etc: d empty", "/etc: - hosts", "/etc: L link", "/etc: L loop", "/etc: - shadow",
		"/etc/dir: d deep", "/etc/away: - b", "/: d etc", "/: d srv"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, name := range []string{"/etc/hosts", "/etc/none", "/et"} {
		if es, err := s.ReadDir(ctx, name); !errors.Is(err, host.ErrAbsent) {
			t.Errorf("%s: %v, %v", name, es, err)
		}
	}
	for name, want := range map[string]host.Info{
		"/etc/shadow": {Mode: 0o640 | fs.ModeSetuid, UID: 7, GID: 42, Size: 99, Nlink: 2, Dev: 3, Ino: 4,
			ModTime: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		"/etc/empty": {Mode: fs.ModeDir | fs.ModeSticky | 0o777, Nlink: 1}, "/etc/hosts": {Mode: 0o644, Size: 20, Nlink: 1},
		"/etc/dir": {Mode: fs.ModeDir | 0o755, Nlink: 2}, "/etc/link": {Mode: fs.ModeSymlink | 0o777, Size: 5, Nlink: 1},
	} {
		if got, err := s.Stat(ctx, name, false); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
	if got, err := s.Stat(ctx, "/etc/link", true); err != nil || got.Size != 20 {
		t.Errorf("followed: %+v, %v", got, err)
	}
	if got, err := s.Readlink(ctx, "/etc/away"); err != nil || got != "/srv/data" {
		t.Error(got, err)
	}
	if b, err := s.Xattr(ctx, "/etc/link", "user.x"); err != nil || string(b) != "abc" {
		t.Error(b, err)
	}
	for what, err := range map[string]error{
		"stat":  func() error { _, err := s.Stat(ctx, "/etc/none", true); return err }(),
		"link":  func() error { _, err := s.Readlink(ctx, "/etc/hosts"); return err }(),
		"xattr": func() error { _, err := s.Xattr(ctx, "/etc/hosts", "user.y"); return err }(),
	} {
		if !errors.Is(err, host.ErrAbsent) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"stat":  func() error { _, err := s.Stat(ctx, "/etc/denied", true); return err }(),
		"dir":   func() error { _, err := s.ReadDir(ctx, "/etc/denied"); return err }(),
		"link":  func() error { _, err := s.Readlink(ctx, "/etc/denied"); return err }(),
		"xattr": func() error { _, err := s.Xattr(ctx, "/etc/denied", "user.x"); return err }(),
		"table": func() error { _, err := s.Table(ctx, host.TableLinks); return err }(),
		"command": func() error {
			_, err := s.Command(ctx, host.Command{Name: "nft", Args: []string{"list", "ruleset"}})
			return err
		}(),
	} {
		if !errors.Is(err, host.ErrDenied) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if b, err := s.Table(ctx, host.TableRoutes6); err != nil || string(b) != "[]\n" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := s.Table(ctx, host.TableProcesses); !errors.Is(err, host.ErrNotCollected) {
		t.Error(err)
	}
}

// TestCommands: what a command prints and how it ends, what systemctl and rpm say of lists, and what nobody has.
func TestCommands(t *testing.T) {
	const lists = "-- units --\nssh.service loaded active running enabled\n# a comment\n\nrun-x.mount loaded active mounted\n" +
		"-- packages --\n# rpm\nbash 4.4-150400\n"
	for _, c := range []struct{ text, command, want string }{
		{house, "systemctl show ssh.service", "3 NRestarts=7\n"}, {house, "date", "0 exit\n"}, {house, "uptime", "command is not installed"},
		{"incomplete: true\n", "uptime", "not collected in this capture"}, {"kind: root\n", "uptime", "only files are seen here"},
		{lists, "systemctl show --property=Id -- ssh.service gone.service",
			"0 Id=ssh.service\nLoadState=loaded\nActiveState=active\nSubState=running\nUnitFileState=enabled\n\n" +
				"Id=gone.service\nLoadState=not-found\nActiveState=inactive\nSubState=dead\nUnitFileState=\n\n"},
		{lists, "systemctl show -- run-x.mount", "0 Id=run-x.mount\nLoadState=loaded\nActiveState=active\nSubState=mounted\nUnitFileState=\n\n"},
		{lists, "systemctl", "command is not installed"}, {lists, "systemctl -- x", "command is not installed"}, {lists, "systemctl show x",
			"command is not installed"},
		{lists, "rpm -qa", "0 bash\t4.4-150400\tx86_64\n"}, {"-- units --\n", "rpm -qa", "command is not installed"},
	} {
		f := strings.Fields(c.command)
		out, err := parsed(t, c.text).Command(t.Context(), host.Command{Name: f[0], Args: f[1:]})
		got := fmt.Sprintf("%d %s", out.Exit, out.Stdout)
		if err != nil {
			got = host.Reason(err)
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s: %q, want %q", c.command, got, c.want)
		}
	}
	dpkg := parsed(t, "-- packages --\nbash 5.2\n# x\ndash 0.5\n")
	const want = "Package: bash\nStatus: install ok installed\nArchitecture: amd64\nVersion: 5.2\n\n" +
		"Package: dash\nStatus: install ok installed\nArchitecture: amd64\nVersion: 0.5\n\n"
	if b, err := dpkg.ReadFile(t.Context(), "/var/lib/dpkg/status", 1<<20); err != nil || string(b) != want {
		t.Errorf("%q, %v", b, err)
	}
	for name, text := range map[string]string{"/run/systemd/system": lists, "/var/lib/rpm": lists} {
		if i, err := parsed(t, text).Stat(t.Context(), name, true); err != nil || !i.Mode.IsDir() {
			t.Errorf("%s: %v, %v", name, i, err)
		}
	}
	if _, err := dpkg.Stat(t.Context(), "/var/lib/rpm", true); !errors.Is(err, host.ErrAbsent) {
		t.Errorf("rpm beside dpkg: %v", err)
	}
}

// TestNotRunning: a root folder has no kernel to be asked.
func TestNotRunning(t *testing.T) {
	s := parsed(t, "kind: root\n-- root/proc/x --\n-- root/process --\n-- table/links --\n[]\n")
	for _, name := range []string{"/proc/x", "/sys", "/run/x", "/dev/null"} {
		if _, err := s.ReadFile(t.Context(), name, 9); !errors.Is(err, host.ErrNotRunning) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.ReadFile(t.Context(), "/process", 9); err != nil {
		t.Error(err)
	}
	if _, err := s.Table(t.Context(), host.TableLinks); !errors.Is(err, host.ErrNotRunning) {
		t.Error(err)
	}
}

// TestMistakesInSections: which section, and what is expected there.
func TestMistakesInSections(t *testing.T) {
	for text, want := range map[string]string{
		"-- stat/a --\nmode\n":                `stat/a: "mode": expected pairs, such as mode 0644 uid 0`,
		"-- stat/a --\nmode 0999\n":           "stat/a: strconv.ParseUint",
		"-- stat/a --\nuid root\n":            "stat/a: strconv.ParseInt",
		"-- stat/a --\nmtime yesterday\n":     "stat/a: parsing time",
		"-- stat/a --\ntype device\n":         `stat/a: unknown type "device": expected block, char, dir, file, link, pipe, socket`,
		"-- stat/a --\nsizes 3\n":             `stat/a: unknown field "sizes"`,
		"-- xattr/user.x/etc/a --\nxyz\n":     "xattr/user.x/etc/a: encoding/hex",
		"-- command/date --\nexit one\nnow\n": `command/date: "exit one": expected a number behind exit`,
		"-- units --\nssh.service loaded\n":   `units: "ssh.service loaded": a line is name, load, active and sub state`,
		"-- units --\na b c d e f\n":          `units: "a b c d e f"`,
		"-- packages --\nbash\n":              `packages: "bash": a line is a package's name and version`,
		"-- packages --\n# rpm\nbash 1 2\n":   `packages: "bash 1 2"`,
		"time: noon\n":                        "parsing time",
		"incomplete: perhaps\n":               "invalid syntax",
		"-- raw/a --\n\"a\"\nplain\n\"b\"\n":  "raw/a: plain is no Go string literal",
	} {
		if _, _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	_, extra, err := Parse([]byte("-- want --\nclear\n-- plan --\nx\n"))
	if err != nil || extra["want"] != "clear\n" || extra["plan"] != "x\n" {
		t.Errorf("%v, %v", extra, err)
	}
}
