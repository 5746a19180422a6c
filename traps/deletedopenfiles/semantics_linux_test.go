package deletedopenfiles

import (
	"testing"

	"fettle/lab/filesemantics"
)

// TestSemantics is what the lore says of names and open files, tried: on the
// file system of the machine's temporary folder and on tmpfs. fettle lab
// file-semantics tries the same on more of them.
func TestSemantics(t *testing.T) {
	for _, fs := range []struct {
		name string
		dir  func(*testing.T) string
	}{{"disk", func(t *testing.T) string { return t.TempDir() }}, {"tmpfs", tmpfs}} {
		for _, c := range filesemantics.Cases {
			t.Run(fs.name+"/"+c.Name, func(t *testing.T) {
				dir := fs.dir(t)
				if err := c.Prepare(dir); err != nil {
					t.Fatal(err)
				}
				seen, err := c.Try(dir)
				if err != nil {
					t.Fatal(err)
				}
				if d := c.Differs(seen); d != "" {
					t.Error(d)
				}
			})
		}
	}
}
