package park

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// upgrade runs on the booted host instead of ask.
//
//go:embed upgrade.sh
var upgrade string

// fetch has apt load what the upgrade will install, and change nothing: the host
// itself has no network. Its own sources still name the old release.
const fetch = `
mkdir -p /var/lib/park/lists
for s in 'debian trixie' 'debian trixie-updates' 'debian-security trixie-security'; do
	echo "deb http://deb.debian.org/$s main"
done >/var/lib/park/sources.list
next() {
	apt-get -q -o Dir::Etc::SourceList=/var/lib/park/sources.list -o Dir::Etc::SourceParts=/nonexistent -o Dir::State::Lists=/var/lib/park/lists \
		-o APT::Default-Release= -o APT::Sandbox::User=root "$@"
}
next update
next -y -d full-upgrade
`

// Upgrade makes a host, has fettle look at it, upgrades it, starts it again, and
// returns the folder of answers below dir. Packages are kept in the folder debs.
func (u *Upgraded) Upgrade(ctx context.Context, layers []string, mended bool, fettle, debs, dir string) (string, error) {
	up := filepath.Join(dir, "up")
	if err := errors.Join(os.Mkdir(up, 0o755), os.MkdirAll(filepath.Join(debs, "partial"), 0o755)); err != nil {
		return "", err
	}
	root, unmount, err := overlay(up, layers...)
	if err != nil {
		return "", err
	}
	defer unmount()
	r := Recipe{Name: "upgraded-" + u.Name}
	if err := errors.Join(prepare(root, r, fettle), u.lay(root, mended)); err != nil {
		return "", fmt.Errorf("preparing the host: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 100*time.Minute)
	defer cancel()
	if mended {
		if err := u.install(ctx, root); err != nil {
			return "", err
		}
	}
	for _, phase := range []string{"prepare", "upgrade", "after"} {
		if err := os.WriteFile(filepath.Join(root, "usr/local/lib/park/phase"), []byte(phase), 0o644); err != nil {
			return "", err
		}
		if phase == "upgrade" {
			if err := script(ctx, root, fetch, "--bind="+debs+":/var/cache/apt/archives"); err != nil {
				return "", fmt.Errorf("loading the next release: %w", err)
			}
		}
		if err := container(ctx, root, r, dir, "--bind="+debs+":/var/cache/apt/archives"); err != nil {
			return "", fmt.Errorf("%s: %w", phase, err)
		}
	}
	return filepath.Join(up, answers), nil
}

// install installs what fettle advises to install before the upgrade.
func (u *Upgraded) install(ctx context.Context, root string) error {
	var names []string
	for _, c := range u.Cases {
		names = append(names, c.Install...)
	}
	if len(names) == 0 {
		return nil
	}
	return script(ctx, root, "apt-get update -q\napt-get install -y -q --no-install-recommends "+strings.Join(names, " "))
}

// lay puts the cases' scripts into a host's root.
func (u *Upgraded) lay(root string, mended bool) error {
	lib := filepath.Join(root, "usr/local/lib/park")
	err := errors.Join(
		os.WriteFile(filepath.Join(lib, "ask"), []byte(upgrade), 0o755),
		// A unit that never starts must not keep the script waiting.
		os.WriteFile(filepath.Join(root, "etc/systemd/system/park.service"), []byte(strings.Replace(unit, "multi-user", "basic", 1)), 0o644),
		os.MkdirAll(filepath.Join(root, "etc/systemd/system.conf.d"), 0o755),
		os.WriteFile(filepath.Join(root, "etc/systemd/system.conf.d/park.conf"), []byte("[Manager]\nDefaultTimeoutStopSec=20s\n"), 0o644),
	)
	if mended {
		err = errors.Join(err, os.WriteFile(filepath.Join(lib, "mended"), nil, 0o644))
	}
	for i, c := range u.Cases {
		dir := filepath.Join(lib, "cases", fmt.Sprintf("%02d", i))
		err = errors.Join(err, os.MkdirAll(dir, 0o755))
		files := map[string]string{"prepare": c.Prepare, "works": c.Works, "mend": c.Mend, "after": c.After}
		if c.Sources {
			files["sources"] = "yes"
		}
		for name, text := range files {
			if text != "" {
				err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
			}
		}
	}
	return err
}

// Judge reads a host's answers.
func (u *Upgraded) Judge(answers string) (Result, error) {
	var told Told
	if err := readJSON(filepath.Join(answers, "told.json"), &told); err != nil {
		return Result{}, err
	}
	state := func(dir string) map[string]bool {
		m := map[string]bool{}
		for i, c := range u.Cases {
			from := dir
			if c.Sources && dir == "after" {
				from = "sources"
			}
			b, err := os.ReadFile(filepath.Join(answers, from, fmt.Sprintf("%02d.status", i)))
			m[c.Name] = err == nil && strings.TrimSpace(string(b)) == "0"
		}
		return m
	}
	failing, err := failedUnits(filepath.Join(answers, "failed.after"))
	if err != nil {
		return Result{}, err
	}
	old, err := failedUnits(filepath.Join(answers, "failed.before"))
	if err != nil {
		return Result{}, err
	}
	failing = slices.DeleteFunc(failing, func(unit string) bool { return slices.Contains(old, unit) })
	r := Weigh(u, &told, state("before"), state("after"), failing)
	log, err := os.ReadFile(filepath.Join(answers, "upgrade.log"))
	r.Packages = strings.Count(string(log), "\nUnpacking ")
	return r, err
}

// failedUnits reads what systemctl list-units --failed printed.
func failedUnits(file string) (all []string, err error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the host left no %s", filepath.Base(file))
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 0 {
			all = append(all, f[0])
		}
	}
	return all, err
}
