package app

import (
	"os"
	"os/user"
)

// Whoami is the user who runs a verb: with sudo, who ran that; empty if nobody knows.
func Whoami() string {
	if s := os.Getenv("SUDO_USER"); s != "" && os.Geteuid() == 0 {
		return s
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}
