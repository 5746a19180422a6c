package bridgemtu

import "testing"

// 804b854d374e came with Linux 4.17: git describe --contains says v4.17-rc1.
func TestBefore417(t *testing.T) {
	for release, want := range map[string]bool{
		"3.10.0-1160.el7": true, "4.16.18": true, "4.9.0-19-amd64": true,
		"4.17.0": false, "4.17": false, "4.18.0-553.el8": false, "5.10.0-30-amd64": false, "6.1.0": false,
		"": false, "unknown": false,
	} {
		if got := before417(release); got != want {
			t.Errorf("%q: %v", release, got)
		}
	}
}
