package files

import (
	"errors"
	"os"
	"testing"

	"fettle/internal/means"
)

// TestSynced: what gets its name is on the disk by then; an exchange is, when it is over.
func TestSynced(t *testing.T) {
	calls := means.Trace(t, "fsync,renameat,renameat2", func() {
		dir := t.TempDir()
		a, b := dir+"/a", dir+"/b"
		if err := errors.Join(WriteFile(dir+"/f", []byte("x"), 0o644), os.Mkdir(a, 0o755), os.Mkdir(b, 0o755),
			os.WriteFile(a+"/f", nil, 0o644), os.WriteFile(b+"/f", nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		one, err := Folder(a)
		if err != nil {
			t.Fatal(err)
		}
		defer one.Close()
		two, err := Folder(b)
		if err != nil {
			t.Fatal(err)
		}
		defer two.Close()
		if err := Exchange(one, "f", two, "f"); err != nil {
			t.Fatal(err)
		}
	})
	calls.Order(t, "fsync( /.fettle-", `renameat( "f")`, "renameat2( RENAME_EXCHANGE", "fsync( /a>")
	calls.Order(t, "renameat2( RENAME_EXCHANGE", "fsync( /b>")
}
