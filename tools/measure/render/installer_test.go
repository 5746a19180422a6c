package render

import (
	"testing"
	"time"

	"fettle/tools/measure/installer"
)

func TestInstaller(t *testing.T) {
	done := func(name string, took time.Duration) installer.Phase {
		return installer.Phase{Name: name, Took: took, Done: true}
	}
	packages := func(p installer.Phase) *installer.Phase { return &p }
	plainRun := installer.Run{Name: "/var/log/plain.log", Packages: packages(done("packages", 64*time.Minute)), Phases: []installer.Phase{
		done(
			"localechooser",
			5*time.Second,
		), done("partman-base", 3*time.Minute), done("pkgsel", 65*time.Minute), done("partman-base", time.Minute)}}
	hooks := installer.Run{
		Name:     "/var/log/hooks\x1b[31m.log",
		Packages: packages(done("packages", 44*time.Minute)),
		Phases: []installer.Phase{
			done(
				"partman-base",
				5*time.Minute,
			), {Name: "pkgsel", Jumped: true, Done: true}, done("lilo\x1b[2J", 1500*time.Millisecond), {Name: "grub"}},
	}
	failed := installer.Run{
		Name:     "failed.log",
		Packages: packages(installer.Phase{Name: "packages"}),
		Phases:   []installer.Phase{done("localechooser", 0)},
	}
	bare := installer.Run{Name: "bare.log", Phases: []installer.Phase{done("pkgsel", time.Hour)}}
	for _, c := range []struct {
		name string
		runs []installer.Run
		on   Terminal
	}{
		{"one", []installer.Run{plainRun}, plain},
		{"compared", []installer.Run{plainRun, hooks, failed, bare}, Terminal{Width: 100}},
		{"narrow", []installer.Run{plainRun, hooks}, Terminal{Width: 40}},
		{"first-not-timed", []installer.Run{failed, plainRun}, plain},
	} {
		golden(t, "installer/"+c.name, Installer(installer.Compare(c.runs)), c.on)
	}
}
