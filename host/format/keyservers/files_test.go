package keyservers

import (
	"fmt"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
)

func paths(files []File) string {
	var out []string
	for _, f := range files {
		for _, m := range f.Mentions {
			out = append(out, fmt.Sprintf("%s:%d:%s", f.Path, m.Line, m.Host))
		}
		if len(f.Mentions) == 0 {
			out = append(out, f.Path+": none")
		}
	}
	return strings.Join(out, " ")
}

// unread counts what could not be read though it is there.
func unread(n *int) func(error) {
	return func(err error) {
		if err == nil || !host.IsAbsent(err) {
			*n++
		}
	}
}

// TestScripts: each script is read that runs by itself, unless it is hidden, too long, or has no command for gpg.
func TestScripts(t *testing.T) {
	const d, gpg = "-- root/etc/cron.daily/", "gpg --keyserver a.example --recv-keys 1\n"
	comments := strings.Repeat("#\n", 128<<10-len(gpg)/2)
	for text, want := range map[string]string{
		"-- root/etc/crontab --\n" + gpg + d + "x --\n" + gpg: "/etc/crontab:1:a.example " +
			"/etc/cron.daily/x:1:a.example",
		d + ".x --\n" + gpg + d + "y/z --\n" + gpg: "",
		d + "x --\n" + strings.Repeat("#", 256<<10-len(gpg)) +
			"\n" + gpg + d + "y --\n" + gpg: "/etc/cron.daily/y:1:a.example",
		d + "x --\n" + comments + gpg: fmt.Sprintf("/etc/cron.daily/x:%d:a.example", len(comments)/2+1),
		d + "x --\nkeyserver a.example\n" + d + "y --\nkeyserver b.example --recv-key 1\n":             "/etc/cron.daily/y:1:b.example",
		d + "x --\ngpg --keyserver-options y\n":                                                        "",
		"-- stat/etc/cron.daily/x --\ntype file\n-- denied/etc/cron.daily/x --\n" + d + "y --\n" + gpg: "/etc/cron.daily/y:1:a.example, 1 unread",
		"-- denied/etc/cron.d --\n" + d + "y --\n" + gpg:                                               "/etc/cron.daily/y:1:a.example, 1 unread",
	} {
		n := 0
		got := paths(Scripts(t.Context(), hosttest.New(t, text), unread(&n)))
		if n > 0 {
			got += fmt.Sprintf(", %d unread", n)
		}
		if got != want {
			t.Errorf("%.80q: %s, want %s", text, got, want)
		}
	}
}

// TestHiddenFolder: where a user's folder cannot be listed, the usual files are looked for by name.
func TestHiddenFolder(t *testing.T) {
	const users = "-- root/etc/passwd --\nana:x:1000:1000::/home/ana:/bin/bash\n-- root/etc/group --\nana:x:1000:\n" +
		"-- denied/home/ana/.gnupg --\n"
	const g, old = "/home/ana/.gnupg/", "-- root/var/lib/dpkg/status --\nPackage: gnupg\nStatus: install ok installed\n" +
		"Architecture: amd64\nVersion: 1.4.23-1\n\n"
	for text, want := range map[string]string{
		"-- root" + g + "gpg.conf --\n" + dead:                                                g + "gpg.conf:1:subkeys.pgp.net",
		"-- root" + g + "gpg.conf-2 --\n" + dead:                                              "",
		"-- denied" + g + "gpg.conf --\n":                                                     ", 1 unread",
		old + "-- root" + g + "options --\n" + dead:                                           g + "options:1:subkeys.pgp.net",
		old + "-- denied" + g + "options --\n":                                                "",
		"-- root" + g + "gpg.conf --\n# " + dead + "-- root" + g + "dirmngr.conf --\n" + dead: g + "dirmngr.conf:1:subkeys.pgp.net",
	} {
		n := 0
		got := paths(Configured(t.Context(), hosttest.New(t, users+text), unread(&n)))
		if n > 0 {
			got += fmt.Sprintf(", %d unread", n)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestFind: comments and lines that nobody writes name no keyserver, and there are bounds.
func TestFind(t *testing.T) {
	const a = "keyserver a.example"
	for text, want := range map[string]int{
		"# " + a + "\n" + a + "\n":                                 1,
		strings.Repeat(" ", 4096-len(a)) + a:                       1,
		strings.Repeat(" ", 4097-len(a)) + a + "\n" + a + "\n" + a: 2,
		strings.Repeat(a+"\n", 300):                                MaxMentions + 1,
	} {
		if got := Find(text); len(got) != want {
			t.Errorf("%.60q: %d, want %d", text, len(got), want)
		}
	}
}

func TestURL(t *testing.T) {
	for name, want := range map[string]string{"a.example": "https://a.example", "hkp://a.example/": "http://a.example:11371",
		"http://a.example": "http://a.example", "hkps://": "", "hkp://a b": "", "ldap://a.example": ""} {
		got, err := URL(name)
		if got != want || (err == nil) != (want != "") || err != nil && !strings.Contains(err.Error(), "expected hkps://HOST") {
			t.Errorf("%s: %s, %v; want %s", name, got, err, want)
		}
	}
	for n, want := range map[int]bool{254: true, 255: false} {
		if _, err := WebKeyURLs(strings.Repeat("x", n-len("@a.example")) + "@a.example"); (err == nil) != want {
			t.Errorf("an address of %d letters: %v", n, err)
		}
	}
}

func TestParseVersion(t *testing.T) {
	for s, want := range map[string]string{"1:1.4.23-1.1": "[1 4 23] true", "2.2.40~rc1-1": "[2 2 40] true", "2.x": "[2 0 0] true",
		"2": "[2 0 0] true", "x": "[0 0 0] false", "": "[0 0 0] false"} {
		if v, ok := parseVersion(s); fmt.Sprint(v, ok) != want {
			t.Errorf("%q: %v %v, want %s", s, v, ok, want)
		}
	}
}

// TestAptFiles: keys for all repositories count where one names none, and each file is listed once.
func TestAptFiles(t *testing.T) {
	const list, trusted = "-- root/etc/apt/sources.list --\n", "/etc/apt/trusted.gpg /etc/apt/trusted.gpg.d/a.gpg /etc/apt/trusted.gpg.d/b.asc"
	const keys = "-- root/etc/apt/trusted.gpg.d/a.gpg --\n-- root/etc/apt/trusted.gpg.d/b.asc --\n" +
		"-- root/etc/apt/trusted.gpg.d/.c.asc --\n-- root/etc/apt/trusted.gpg.d/d.txt --\n"
	const inline = "-- root/etc/apt/sources.list.d/i.sources --\nTypes: deb\nURIs: http://a http://b\nSuites: ./\nSigned-By:\n" +
		" -----BEGIN PGP PUBLIC KEY BLOCK-----\n x\n"
	for text, want := range map[string]string{
		"":                                "/etc/apt/trusted.gpg",
		keys + list + "deb http://a ./\n": trusted,
		keys + list + "deb [signed-by=/k] http://a ./\ndeb [signed-by=/k,/l] http://b ./\n": "/k(signed) /l(signed)",
		keys + list + "deb [signed-by=/k] http://a ./\ndeb http://b ./\n":                   trusted + " /k(signed)",
		keys + inline: "/etc/apt/sources.list.d/i.sources(signed)(inline)",
		keys + "-- denied/etc/apt/sources.list --\n" + inline: trusted + " /etc/apt/sources.list.d/i.sources(signed)(inline), 1 unread",
		"-- denied/etc/apt/trusted.gpg.d --\n":                "/etc/apt/trusted.gpg, 1 unread",
	} {
		n := 0
		var got []string
		for _, f := range AptFiles(t.Context(), hosttest.New(t, text), unread(&n)) {
			s := f.Path
			if f.SignedBy {
				s += "(signed)"
			}
			if f.Inline != "" {
				s += "(inline)"
			}
			got = append(got, s)
		}
		is := strings.Join(got, " ")
		if n > 0 {
			is += fmt.Sprintf(", %d unread", n)
		}
		if is != want {
			t.Errorf("%q: %s, want %s", text, is, want)
		}
	}
}
