package park

import (
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/internal/means"
)

// restarted is what runs on a booted host instead of ask.
//
//go:embed testdata/restarted.sh
var restarted string

// lost are the hosts whose recipe makes something by hand, and what before reboot says of it.
var lost = map[string]string{"router": "comes back from a restart without the link lan0"}

// TestRestarted restarts every host of the park that boots as a container: before reboot says that
// it comes back, or without what, and after says nothing.
//
//	FETTLE_LONG=1 go test ./lab/park -run Restarted -v -timeout 3h -fettle $PWD/fettle
func TestRestarted(t *testing.T) {
	if os.Getenv("FETTLE_LONG") == "" || *binary == "" {
		means.Left(t, "the hosts of the park take long to make")
	}
	means.Root(t)
	means.Tool(t, "mmdebstrap")
	means.Tool(t, "systemd-nspawn")
	im := images(t)
	recipes, err := Recipes(os.DirFS("hosts"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recipes {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), r.Name) || !slices.Contains(r.Boots, "container") {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			before, after := restart(t, im, r)
			t.Logf("%s%s", before, after)
			if loses := lost[r.Name]; loses != "" {
				if !strings.Contains(before, loses) || !strings.HasSuffix(after, "status 1\n") {
					t.Errorf("it is to say %q, and to lack that", loses)
				}
				return
			}
			if !strings.Contains(before, "comes back from a restart; nothing that fettle looks at is lost") {
				t.Error("before reboot does not say that it comes back")
			}
			if !strings.HasSuffix(after, "status 0\n") {
				t.Error("after says that something is missing")
			}
		})
	}
}

// restart boots a host twice, and returns what fettle said before and after.
func restart(t *testing.T, im Images, r Recipe) (before, after string) {
	got := visitWith(t, im, r, "restarted-"+r.Name, restarted)
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(got, name))
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	return read("before"), read("after")
}
