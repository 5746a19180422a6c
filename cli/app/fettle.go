package app

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// FindFettle is the absolute path of the program fettle: the one given, the one beside this
// program, or that on PATH.
func FindFettle(given string) (string, error) {
	if given == "" {
		self, err := os.Executable()
		if err != nil {
			return "", err
		}
		if given = filepath.Join(filepath.Dir(self), "fettle"); !isProgram(given) {
			if given, err = exec.LookPath("fettle"); err != nil {
				return "", errors.New("the program fettle is neither beside this one nor on PATH")
			}
		}
	}
	return filepath.Abs(given)
}

func isProgram(file string) bool {
	st, err := os.Stat(file)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}
