package rule

import "testing"

func TestLockedBy(t *testing.T) {
	// As Linux 6.18 writes it while apt-get holds its locks and another waits.
	const locks = `0: POSIX

1: POSIX  ADVISORY  WRITE 4711 fe:00:827396 0 EOF
1: -> POSIX  ADVISORY  WRITE 4800 fe:00:827396 0 EOF
2: OFDLCK ADVISORY  WRITE -1 fe:00:10185025 0 EOF
3: FLOCK  ADVISORY  WRITE 490 fe:00:9979442 0 EOF
`
	for ino, want := range map[uint64]int{827396: 4711, 9979442: 490, 10185025: -1, 82739: 0, 490: 0} {
		if pid, held := lockedBy(locks, ino); pid != want || held != (want != 0) {
			t.Errorf("inode %d: %d %v", ino, pid, held)
		}
	}
}
