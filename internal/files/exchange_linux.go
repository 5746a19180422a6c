package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Exchange exchanges two names in open folders in one act (renameat2(2)).
func Exchange(a *os.Root, aName string, b *os.Root, bName string) error {
	da, err := a.Open(".")
	if err != nil {
		return err
	}
	defer da.Close()
	db, err := b.Open(".")
	if err != nil {
		return err
	}
	defer db.Close()
	err = unix.Renameat2(int(da.Fd()), aName, int(db.Fd()), bName, unix.RENAME_EXCHANGE)
	return errors.Join(err, da.Sync(), db.Sync())
}
