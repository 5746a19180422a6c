package sysctlconf

import (
	"fmt"
	"strings"
	"testing"

	"fettle/host/hosttest"
)

// TestLinesEnd: where a line ends for each of the readers.
func TestLinesEnd(t *testing.T) {
	for text, want := range map[string][2]string{ // systemd's, procps'
		"a\nb": {"a|b", "a\n|b"}, "a\r\nb\n": {"a|b", "a\r\n|b\n"}, "a\n\rb": {"a|b", "a\n|\rb"}, "a\n\nb": {"a||b", "a\n|\n|b"},
		"a\r\rb": {"a||b", "a\r\rb"}, "a\x00b": {"a|b", "a"}, "": {"", ""}, "\n": {"", "\n"},
		"\nb": {"|b", "\n|b"}, "a\x00\nb": {"a||b", "a|b"},
	} {
		for i, r := range []Reader{Systemd, Procps} {
			if got := strings.Join(lines(r, []byte(text)), "|"); got != want[i] {
				t.Errorf("%q, reader %v: %q, want %q", text, i, got, want[i])
			}
		}
	}
}

// TestParseLines: spaces, dashes, comments and short lines, as each reader takes them.
func TestParseLines(t *testing.T) {
	for text, want := range map[string][2]string{
		"a.b=1": {"a/b=1", "a/b=1"}, " a.b = 1 2 ": {"a/b=1 2", "a/b=1 2"}, "-a.b=1": {"a/b=1?", "a/b=1?"}, "-a.b": {"a/b=-", "a/b=-"},
		"- a.b = 1": {"a/b=1?", " a/b=1?"}, "#a=1": {"", ""}, ";a=1": {"", ""}, "\fa=1": {"\fa=1", "a=1"}, "a": {"!1", ""},
		"ab": {"!1", "!1"}, "=1": {"!1", "!1"}, "a=": {"a=", "a="}, "a=b=c": {"a=b=c", "a=b=c"}, "\n\na=1": {"a=1", "a=1"},
	} {
		for i, r := range []Reader{Systemd, Procps} {
			set, bad := Parse(r, "f", []byte(text))
			var got []string
			for _, s := range set {
				mark := ""
				switch {
				case s.IgnoreFailure:
					mark = "?"
				case s.Exclude:
					mark = "-"
				}
				got = append(got, s.Key+"="+s.Value+mark)
			}
			for _, b := range bad {
				got = append(got, fmt.Sprint("!", b.Line))
			}
			if strings.Join(got, "|") != want[i] {
				t.Errorf("%q, reader %v: %q, want %q", text, i, got, want[i])
			}
		}
	}
}

// TestExcluded: a line that keeps a key from being set is told, unless another sets it after all.
func TestExcluded(t *testing.T) {
	for text, want := range map[string]string{
		"net.*.x=1\n-net.a.x": "excluded f:2, loses f:1", "-net.a.x\nnet.a.x=2": "wins f:2 2, loses f:1", "net.a.x=1": "wins f:1 1",
		"net.b.x=1": "", "net.*.x=1\nnet.a.x=2\nnet.*.x=3": "wins f:2 2, loses f:1, loses f:3",
		"net.a.x=1\nnet.a.x=1": "wins f:2 1, loses f:1", "net.a.x=1\nnet.a.x=2\nnet.a.x=1": "wins f:3 1, loses f:1, loses f:2",
	} {
		c := &Config{Reader: Systemd}
		c.Settings, _ = Parse(Systemd, "f", []byte(text))
		r := c.Lookup("net/a/x")
		var got []string
		if v, ok := r.Value(); ok != (r.Winner != nil) || ok && v != r.Winner.Value {
			t.Errorf("%q: %q, %v", text, v, ok)
		}
		if r.Winner != nil {
			got = append(got, fmt.Sprintf("wins %s:%d %s", r.Winner.Path, r.Winner.Line, r.Winner.Value))
		}
		if r.Excluded != nil {
			got = append(got, fmt.Sprintf("excluded %s:%d", r.Excluded.Path, r.Excluded.Line))
		}
		for _, l := range r.Losers {
			got = append(got, fmt.Sprintf("loses %s:%d", l.Path, l.Line))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: %s; want %s", text, strings.Join(got, ", "), want)
		}
	}
}

// TestReaderOfTheHost: systemd's where it is installed, or where nobody can tell.
func TestReaderOfTheHost(t *testing.T) {
	for text, want := range map[string]Reader{
		"-- root/usr/lib/systemd/systemd-sysctl --\n": Systemd, "-- root/lib/systemd/systemd-sysctl --\n": Systemd,
		"-- root/etc/x --\n": Procps, "-- uncollected/usr/lib/systemd/systemd-sysctl --\n": Systemd,
	} {
		if got := Installed(t.Context(), hosttest.New(t, text)); got != want {
			t.Errorf("%q: reader %v", text, got)
		}
	}
}

// TestFilesOfEachReader: hidden files are procps' alone, the main file is its last; a link in sysctl.d
// has systemd read that, too.
func TestFilesOfEachReader(t *testing.T) {
	const files = "-- root/etc/sysctl.d/.50-hidden.conf --\na=1\n-- root/etc/sysctl.d/20-b.conf --\na=2\n" +
		"-- root/usr/lib/sysctl.d/10-a.conf --\na=3\n-- root/etc/sysctl.d/README --\na=4\n-- root/etc/sysctl.conf --\na=5\n"
	for _, tt := range []struct {
		r         Reader
		more      string
		read      string
		unwitting int
	}{
		{Systemd, "", "10-a.conf 20-b.conf", 1}, {Procps, "", ".50-hidden.conf 10-a.conf 20-b.conf sysctl.conf", 0},
		{Systemd, "-- link/etc/sysctl.d/99-sysctl.conf --\n../sysctl.conf\n", "10-a.conf 20-b.conf 99-sysctl.conf", 0},
		{Systemd, "-- link/etc/sysctl.d/99-sysctl.conf --\n/etc/sysctl.conf\n", "10-a.conf 20-b.conf 99-sysctl.conf", 0},
		{Systemd, "-- link/etc/sysctl.d/10-a.conf --\n/dev/null\n", "20-b.conf", 1},
	} {
		c, err := Read(t.Context(), hosttest.New(t, files+tt.more), tt.r)
		if err != nil {
			t.Fatal(err)
		}
		var read []string
		for _, f := range c.Files {
			read = append(read, f[strings.LastIndexByte(f, '/')+1:])
		}
		if strings.Join(read, " ") != tt.read || len(c.NotRead) != tt.unwitting {
			t.Errorf("reader %v, %q: read %q, %d not read; want %q", tt.r, tt.more, read, len(c.NotRead), tt.read)
		}
	}
}

// TestUfwOff: what ufw would set counts where it is enabled and names a file.
func TestUfwOff(t *testing.T) {
	const on = "-- root/etc/ufw/ufw.conf --\n# ENABLED=no\nENABLED=YES\n"
	const file = "-- root/etc/default/ufw --\nIPT_SYSCTL='/etc/ufw/sysctl.conf'\n"
	for text, want := range map[string]string{
		on + file + "-- root/etc/ufw/sysctl.conf --\na=1\n": "a", on: "none", file: "none",
		on + "-- root/etc/default/ufw --\nIPT_SYSCTL=\n":   "none",
		"-- root/etc/ufw/ufw.conf --\nENABLED=no\n" + file: "none",
	} {
		c, err := ReadUfw(t.Context(), hosttest.New(t, text))
		got := "none"
		if c != nil {
			keys := make([]string, 0, len(c.Settings))
			for _, s := range c.Settings {
				keys = append(keys, s.Key)
			}
			got = strings.Join(keys, " ")
		}
		if err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
}
