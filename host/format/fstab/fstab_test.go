package fstab

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"fettle/internal/means"
)

var tables = []string{
	"UUID=1-2 / ext4 errors=remount-ro 0 1\n", "/dev/sda1\t/boot\text4\tdefaults\t0\t2\n", "# a comment\n\n/dev/sdb1 /srv xfs noauto\n",
	"  /dev/sdb1   /mnt/a\\040b  " +
		"xfs  defaults,nofail  1  2  \n",
	"nas:/export /mnt nfs soft,rw 0 " +
		"0\n//win/share /w cifs credentials=/etc/c 0 0\n", "tmpfs /tmp tmpfs\n", "/dev/sda2 none swap sw 0 0\n", "/dev/sda2 swap swap\n",
	"/dev/sda1 / ext4 defaults 0 1", "LABEL=a\\011b /x ext4 defaults 0 0\n", "/dev/x /y ext4 contex" +
		"t=\"system_u:object_r:t:s0:c1,c2\",ro 0 0\n", "#/dev/x /y ext4 defaults 0 0\n /dev/y /z ext4 ro 0 0\n",
	"/dev/x /y auto defaults 0 0 # the disk\n", "/dev/x /y\vz\fa ext4 defaults 0 2\n", "/dev/x /y\u00a0z ext4 ro 0 2\n",
}

// TestAsFindmnt: findmnt reads the same tables.
func TestAsFindmnt(t *testing.T) {
	findmnt := means.Tool(t, "findmnt")
	for _, text := range tables {
		file := filepath.Join(t.TempDir(), "fstab")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(findmnt, "--fstab", "--tab-file", file, "--list", "--json", "--output",
			"SOURCE,TARGET,FSTYPE,OPTIONS,FREQ,PASSNO").
			Output()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var told struct {
			Filesystems []struct {
				Source, Target, Fstype, Options string
				Freq, Passno                    int
			}
		}
		if err := json.Unmarshal(out, &told); err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, f := range told.Filesystems {
			if f.Options == "" {
				f.Options = "defaults"
			}
			want = append(
				want,
				Entry{Device: f.Source, Mount: f.Target, Type: f.Fstype, Options: splitOptions(f.Options), Dump: f.Freq, Pass: f.Passno}.String(),
			)
		}
		for _, e := range Parse(text) {
			got = append(got, e.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q:\nfindmnt %q\nhere    %q", text, want, got)
		}
	}
}

func TestOptions(t *testing.T) {
	e := Parse(tables[10])[0]
	if !slices.Equal(e.Options, []string{`context="system_u:object_r:t:s0:c1,c2"`, "ro"}) {
		t.Errorf("%q", e.Options)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range tables {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, e := range Parse(text) {
			if e.Line < 1 || len(e.Options) == 0 || e.Device == "" {
				t.Errorf("%q: %+v", text, e)
			}
		}
	})
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }
