package app

import (
	"io/fs"
	"syscall"
	"testing"

	"fettle/engine/pack"
	"fettle/engine/rule"
	"fettle/internal/means"
)

func TestOnlyForRoot(t *testing.T) {
	denied := &fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}
	packs := rule.Refused{Path: pack.Host().Dir, Err: denied}
	if onlyForRoot(packs) {
		t.Error("root is not warned that it cannot read its packs")
	}
	means.AsNobody(t, func() {
		if !onlyForRoot(packs) {
			t.Error("others are warned at each verb")
		}
		for _, r := range []rule.Refused{{Path: "/etc/fettle/traps.d/a.yaml", Err: denied}, {Path: packs.Path, Err: fs.ErrInvalid}} {
			if onlyForRoot(r) {
				t.Errorf("no warning of %s: %v", r.Path, r.Err)
			}
		}
	})
}
