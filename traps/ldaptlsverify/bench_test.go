package ldaptlsverify

import (
	"testing"

	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
)

func BenchmarkCheck(b *testing.B) {
	src, _ := hosttest.Load(b, "testdata/trapped-ca.txtar")
	for b.Loop() {
		traptest.Run(b, &Trap, host.New(src))
	}
}
