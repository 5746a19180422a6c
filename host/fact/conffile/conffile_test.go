package conffile

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"testing"

	"fettle/host/hosttest"
)

func sum(s string) string {
	b := md5.Sum([]byte(s))
	return hex.EncodeToString(b[:])
}

func TestAll(t *testing.T) {
	h := hosttest.New(t, fmt.Sprintf(`-- root/var/lib/dpkg/status --
Package: a
Status: install ok installed
Conffiles:
 /etc/same %s
 /etc/changed %s
 /etc/old %s obsolete
 /etc/secret %s
 /etc/new newconffile
Version: 1

-- root/var/lib/ucf/hashfile --
%s  /etc/u
-- root/var/lib/ucf/registry --
b	/etc/u
-- root/etc/same --
x
-- root/etc/changed --
y
-- root/etc/u --
z
-- denied/etc/secret --
`, sum("x\n"), sum("x\n"), sum("x\n"), sum("x\n"), sum("x\n")))
	all, err := All(t.Context(), h, func(f File) bool { return true })
	got := ""
	for _, f := range all {
		got += fmt.Sprintf("%s %s ucf:%v obsolete:%v gone:%v changed:%v unknown:%v\n", f.Package, f.Path, f.UCF, f.Obsolete, f.Gone,
			f.Changed, f.Err != nil)
	}
	want := `a /etc/same ucf:false obsolete:false gone:false changed:false unknown:false
a /etc/changed ucf:false obsolete:false gone:false changed:true unknown:false
a /etc/old ucf:false obsolete:true gone:true changed:false unknown:false
a /etc/secret ucf:false obsolete:false gone:false changed:false unknown:true
b /etc/u ucf:true obsolete:false gone:false changed:true unknown:false
`
	if err != nil || got != want {
		t.Errorf("%v\n%s\nwant:\n%s", err, got, want)
	}
}
