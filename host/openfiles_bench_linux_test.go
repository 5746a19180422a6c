package host

import "testing"

// BenchmarkOpenFiles reads this machine as it is; its siblings tell the
// cost of 10,000 further open files, and of 100 further processes.
func BenchmarkOpenFiles(b *testing.B) { benchScan(b) }

func BenchmarkOpenFiles10000InOneProcess(b *testing.B) {
	start(b, "", "many=10000")
	benchScan(b)
}

func BenchmarkOpenFiles40000In4Processes(b *testing.B) {
	for range 4 {
		start(b, "", "many=10000")
	}
	benchScan(b)
}

func BenchmarkOpenFiles10000In100Processes(b *testing.B) {
	for range 100 {
		start(b, "", "many=100")
	}
	benchScan(b)
}

func BenchmarkOpenFiles100Processes(b *testing.B) {
	for range 100 {
		start(b, "", "many=0")
	}
	benchScan(b)
}

func benchScan(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		scan(b)
	}
}
