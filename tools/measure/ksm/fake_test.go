package ksm

import (
	"os"
	"path/filepath"
	"testing"
)

// fake is a kernel in a folder, as Linux 6.18 has it unless files are taken out.
func fake(t *testing.T) *Kernel {
	t.Helper()
	root := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"run": "0", "pages_to_scan": "100", "sleep_millisecs": "20", "smart_scan": "1", "advisor_mode": "[none] scan-time",
		"pages_shared": "512", "pages_sharing": "50944", "pages_unshared": "51200", "pages_volatile": "3", "full_scans": "20",
		"ksm_zero_pages": "7", "pages_scanned": "102400", "pages_skipped": "11", "general_profit": "202113024",
	} {
		put(Dir+"/"+name, value+"\n")
	}
	put(
		"/proc/37/stat",
		"37 (ksmd) S 2 0 0 0 -1 2097216 0 0 0 0 0 180 0 0 25 5 1 0 29 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 1 0 0 17 1 0 0 0 0 "+
			"0 0 0 0 0 0 0 0 0\n",
	)
	put("/proc/37/schedstat", "1808195924 1269556 4\n")
	put(
		"/proc/41/stat",
		"41 (ksmd) S 1 0 0 0 -1 2097216 0 0 0 0 900 180 0 0 25 5 1 0 29 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 1 0 0 17 1 0 0 0 "+
			"0 0 0 0 0 0 0 0 0 0\n",
	)
	put("/proc/vmstat", "nr_free_pages 1\ncow_ksm 42\n")
	put("/proc/meminfo", "MemTotal:       24000000 kB\nMemFree:  1 kB\nMemAvailable:   12000000 kB\nAnonPages:        409600 kB\n")
	return &Kernel{Root: root, PageSize: 4096}
}

// set writes a file of KSM's as somebody else does.
func set(t *testing.T, k *Kernel, name, value string) {
	t.Helper()
	if err := os.WriteFile(k.path(name), []byte(value+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func wants(t *testing.T, k *Kernel, name, want string) {
	t.Helper()
	if got, err := k.Value(name); err != nil || got != want {
		t.Errorf("%s is %q (%v), expected %q", name, got, err, want)
	}
}
