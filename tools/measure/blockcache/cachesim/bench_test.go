package cachesim

import (
	"testing"

	"fettle/tools/measure/blockcache/trace"
)

// BenchmarkAccess is requests a second of CPU time and the memory a cached
// block: fio's zipf over a million blocks, caches of a tenth of them, warm.
func BenchmarkAccess(b *testing.B) {
	const requests = 1 << 22
	for _, w := range []string{"zipf:1.2", "zipf:0.9", "hot:10:90"} {
		t, err := trace.Workload{Pattern: w, Blocks: 1 << 20, Requests: requests, Seed: 1, BlockSize: 65536}.Make()
		if err != nil {
			b.Fatal(err)
		}
		next := t.NextAccess()
		for _, k := range Kinds {
			b.Run(w+"/"+k.Name, func(b *testing.B) {
				const size = 1 << 20 / 10
				in, err := newInput(t, SMQ{Rate: 100_000}, nil)
				if err != nil {
					b.Fatal(err)
				}
				in.next = next
				p := k.make(size, in)
				replay(p, t.Blocks, nil)
				b.ResetTimer()
				start := cpuTime()
				for done := 0; done < b.N; {
					n := min(requests, b.N-done)
					if s, ok := p.(*belady); ok {
						s.at = 0
					}
					replay(p, t.Blocks[:n], nil)
					done += n
				}
				b.ReportMetric(float64(b.N)/(cpuTime()-start).Seconds()/1e6, "Mreq/CPU-s")
				b.ReportMetric(float64(p.Bytes())/size, "bytes/block")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
