package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Credential is the file of a credential that systemd loaded for this service, where name
// is credential:NAME (systemd.exec(5), LoadCredential=); any other name is a file's.
func Credential(name string) (string, error) {
	id, ok := strings.CutPrefix(name, "credential:")
	if !ok {
		return name, nil
	}
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	switch {
	case id == "" || strings.ContainsAny(id, "/\x00") || id == "." || id == "..":
		return "", fmt.Errorf("%s: expected credential:NAME, the name of LoadCredential=NAME:FILE", name)
	case dir == "":
		return "", fmt.Errorf("%s: systemd loaded no credentials; the unit needs LoadCredential=%s:FILE", name, id)
	}
	return filepath.Join(dir, id), nil
}
