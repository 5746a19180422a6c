package aptsources

import (
	"fmt"
	"strings"
	"testing"

	"fettle/host/hosttest"
)

func TestRead(t *testing.T) {
	h := hosttest.New(t, `
-- root/etc/apt/sources.list --
deb http://deb.debian.org/debian/ bookworm main contrib # ours
deb-src http://deb.debian.org/debian bookworm main
#deb http://off.example.org/debian bookworm main
deb [arch=amd64 signed-by=/a,/b] http://a.example.org/x ./
deb [ trusted=yes ] file:/srv/x ./
deb
-- root/etc/apt/sources.list.d/b.sources --
# comment
Types: deb deb-src
URIs: http://one/debian http://two/debian
Suites: bookworm
 bookworm-updates
# between
Components: main
Signed-By: /k

Types: deb
Enabled: no
URIs: http://off/debian
Suites: bookworm
Components: main

Types: deb
URIs: http://mine
Suites: ./
Trusted: Yes
-- root/etc/apt/sources.list.d/b.save --
deb http://save/debian bookworm main
-- denied/etc/apt/sources.list.d/c.list --
`)
	got, err := Read(t.Context(), h)
	var b strings.Builder
	for _, s := range got {
		fmt.Fprintln(&b, s.URI, s.Suite, s.Components, s.From, s.Signed, s.Keys, s.Trusted)
	}
	want := `http://deb.debian.org/debian bookworm [main contrib] /etc/apt/sources.list:1 false [] false
http://a.example.org/x ./ [] /etc/apt/sources.list:4 true [/a /b] false
file:/srv/x ./ [] /etc/apt/sources.list:5 false [] true
http://one/debian bookworm [main] /etc/apt/sources.list.d/b.sources:2 true [/k] false
http://one/debian bookworm-updates [main] /etc/apt/sources.list.d/b.sources:2 true [/k] false
http://two/debian bookworm [main] /etc/apt/sources.list.d/b.sources:2 true [/k] false
http://two/debian bookworm-updates [main] /etc/apt/sources.list.d/b.sources:2 true [/k] false
http://mine ./ [] /etc/apt/sources.list.d/b.sources:16 false [] true
`
	if b.String() != want || err != nil {
		t.Errorf("got:\n%s\nwant:\n%s%v", b.String(), want, err)
	}
}

// TestSignedBy: Signed-By names files between commas or blanks, or keys, or holds the key itself.
func TestSignedBy(t *testing.T) {
	for value, want := range map[string]string{
		" /k,/l":     `[/k /l] ""`,
		" /k /l\t/m": `[/k /l /m] ""`,
		"\n /k\n /l": `[/k /l] ""`,
		"":           `[] ""`,
		" 0123456789ABCDEF0123456789ABCDEF01234567!": `[] ""`,
		" /k,0123456789ABCDEF":                       `[/k] ""`,
		" 0123":                                      `[] "0123"`,
		"\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n /abc\n -----END PGP PUBLIC KEY BLOCK-----": "[] " +
			`"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n/abc\n-----END PGP PUBLIC KEY BLOCK-----\n"`,
	} {
		text := "-- root/etc/apt/sources.list.d/a.sources --\nTypes: deb\nURIs: http://a\nSigned-By:" + value + "\nSuites:\n x\n"
		got, err := Read(t.Context(), hosttest.New(t, text))
		if err != nil || len(got) != 1 || fmt.Sprintf("%v %q", got[0].Keys, got[0].Inline) != want || got[0].Signed != (value != "") {
			t.Errorf("%q: %+v, %v; want %s", value, got, err, want)
		}
	}
}

// TestUnread: the error is of the first file that could not be read; the others are.
func TestUnread(t *testing.T) {
	const list, dir = "/etc/apt/sources.list", "/etc/apt/sources.list.d"
	const one = "-- root" + dir + "/z.list --\ndeb http://z ./\n"
	for text, want := range map[string]string{
		one: "1 <nil>",
		one + "-- link" + dir + "/a.list --\n/none\n":                            "1 <nil>",
		one + "-- denied" + list + " --\n":                                       "1 reading " + list + ": permission denied",
		one + "-- stat" + dir + "/a.list --\n\n-- denied" + dir + "/a.list --\n": "1 reading " + dir + "/a.list: permission denied",
		one + "-- denied" + list + " --\n-- stat" + dir + "/a.list --\n\n-- denied" + dir + "/a.list --\n": "1 reading " + list +
			": permission denied",
		one + "-- denied" + dir + " --\n": "0 listing " + dir + ": permission denied",
	} {
		got, err := Read(t.Context(), hosttest.New(t, text))
		if is := fmt.Sprint(len(got), " ", err); is != want {
			t.Errorf("%q: %s, want %s", text, is, want)
		}
	}
}
