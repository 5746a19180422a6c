package host

import (
	"errors"
	"path"
	"strings"
)

// ErrSecret is the answer to whoever asks for the content of a file that is a
// secret as a whole.
var ErrSecret = errors.New("holds secrets, which fettle does not read")

// secret tells of files whose content no check, rule, plan or capture may
// have: users' secrets of one-time codes, with what the PAM module, its tool
// and fettle leave beside them. Mode, owner and size are no secret.
func secret(name string) bool {
	return strings.HasPrefix(path.Base(name), ".google_authenticator")
}
