package app

import (
	"os"
	"path/filepath"
	"testing"
)

// Whoever may write where fettle lies, or to a folder on PATH, has no say in
// what fettle lab starts.
func TestPlantedLab(t *testing.T) {
	for _, c := range []struct {
		what         string
		folder, file os.FileMode
		uid          int
		refused      bool
	}{
		{"mine", 0o755, 0o755, os.Geteuid(), false},
		{"my group's", 0o775, 0o775, os.Geteuid(), false},
		{"in a folder like /tmp", os.ModeSticky | 0o777, 0o755, os.Geteuid(), false},
		{"in a folder for everybody", 0o777, 0o755, os.Geteuid(), true},
		{"for everybody", 0o755, 0o757, os.Geteuid(), true},
		{"another's in a folder like /tmp", os.ModeSticky | 0o777, 0o755, 4242, true},
	} {
		if c.uid != os.Geteuid() && os.Geteuid() != 0 {
			continue // only root can give a file away
		}
		dir := filepath.Join(t.TempDir(), "bin")
		bin, self := filepath.Join(dir, labProgram), filepath.Join(t.TempDir(), "fettle")
		for _, err := range []error{
			os.Mkdir(dir, 0o755), os.WriteFile(bin, nil, 0o755), os.WriteFile(self, nil, 0o755),
			os.Chown(bin, c.uid, -1), os.Chmod(bin, c.file), os.Chmod(dir, c.folder),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := planted(bin, self); (err != nil) != c.refused {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
