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
