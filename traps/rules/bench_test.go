package rules

import (
	"testing"

	"fettle/engine/trap"
	"fettle/host"
)

// BenchmarkLive is a run of all rules over this machine, their decoding
// included.
func BenchmarkLive(b *testing.B) {
	src, err := host.NewLive()
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	b.ReportAllocs()
	for b.Loop() {
		trap.Run(b.Context(), host.New(src), All(), trap.Options{}, func(trap.Result) {})
	}
}
