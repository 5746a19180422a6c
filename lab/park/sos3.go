package park

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
)

var sosVersion = regexp.MustCompile(`(?m)^sosreport: .*$`)

// AsSOS3 gives an unpacked report of sos 4 the layout of sos 3.9: no manifest,
// so that nothing says what was looked for without success.
func AsSOS3(dir string) error {
	reports := filepath.Join(dir, "sos_reports")
	err := errors.Join(remove(filepath.Join(reports, "manifest.json")), remove(filepath.Join(reports, "sos.json")))
	name := filepath.Join(dir, "version.txt")
	b, rerr := os.ReadFile(name)
	if rerr != nil {
		return errors.Join(err, rerr)
	}
	return errors.Join(err, os.WriteFile(name, sosVersion.ReplaceAll(b, []byte("sosreport: 3.9")), 0o644))
}

func remove(name string) error {
	if err := os.Remove(name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
