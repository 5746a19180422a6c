package park

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/internal/means"
)

// TestUpgraded upgrades loaded hosts of Debian 12 to 13, and holds what broke
// against what fettle before upgrade had said:
//
//	FETTLE_LONG=1 go test ./lab/park -run Upgraded -v -timeout 6h -fettle $PWD/fettle
//
// With FETTLE_UPDATE=1 it writes the table into docs/upgrade.md.
func TestUpgraded(t *testing.T) {
	if *again == "" && (os.Getenv("FETTLE_LONG") == "" || *binary == "") {
		means.Left(t, "upgrading hosts takes hours")
	}
	means.Root(t)
	for _, tool := range []string{"mmdebstrap", "systemd-nspawn"} {
		means.Tool(t, tool)
	}
	all, err := Upgrades(os.DirFS("upgrades"))
	if err != nil {
		t.Fatal(err)
	}
	var results []Result
	for _, u := range all {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), u.Name) {
			continue
		}
		t.Run(u.Name, func(t *testing.T) { results = append(results, upgradeOne(t, &u, false)) })
		if u.Mended {
			t.Run(u.Name+"/mended", func(t *testing.T) { upgradeOne(t, &u, true) })
		}
	}
	t.Log("\n" + UpgradeTable(results))
	if os.Getenv("FETTLE_UPDATE") != "" && *only == "" {
		const file = "../../docs/upgrade.md"
		doc, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := PutTable(string(doc), UpgradeTable(results))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// upgradeOne upgrades a host and judges what came of it.
func upgradeOne(t *testing.T, u *Upgraded, mended bool) Result {
	name := u.Name
	if mended {
		name += "-mended"
	}
	got := filepath.Join(*again, name)
	if *again == "" {
		got = upgradeHost(t, u, name, mended)
	}
	r, err := u.Judge(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Fates {
		t.Logf("%-60s %-32s before %-5v after %-5v told %v", f.Name, f.Trap, f.Before, f.After, f.Told)
	}
	if mended {
		for _, f := range r.Fates {
			if f.Broke() || f.Told && f.Case.After == "" {
				t.Errorf("%s: told %v, broke %v, although it was mended", f.Name, f.Told, f.Broke())
			}
		}
		return r
	}
	for _, wrong := range r.Wrong(u.Innocent) {
		t.Error(wrong)
	}
	return r
}

func upgradeHost(t *testing.T, u *Upgraded, name string, mended bool) string {
	im := images(t)
	layers, err := im.Layer(t.Context(), Recipe{Name: "upgraded-" + u.Name, Release: "bookworm", Bare: true, Packages: u.Packages})
	if err != nil {
		t.Fatal(err)
	}
	dir := runFolder(t, im, "upgraded-"+name)
	got, err := u.Upgrade(t.Context(), layers, mended, *binary, filepath.Join(im.Dir, "debs-"+u.Name), dir)
	if *keep != "" {
		to := filepath.Join(*keep, name)
		os.RemoveAll(to)
		if out, err := exec.Command("cp", "-a", filepath.Join(dir, "up", answers), to).CombinedOutput(); err != nil {
			t.Logf("keeping the answers: %v: %s", err, out)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}
