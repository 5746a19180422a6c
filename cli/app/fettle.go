package app

import "path/filepath"

// FindFettle is the absolute path of the program fettle: the one given, or else the one beside
// this program, or that on PATH. What somebody else can have put there is refused.
func FindFettle(given string) (string, error) {
	if given == "" {
		return find("fettle")
	}
	abs, err := filepath.Abs(given)
	if err != nil {
		return "", err
	}
	self, err := itself()
	if err != nil {
		return "", err
	}
	return abs, planted(abs, self)
}
