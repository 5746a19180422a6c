package rule

import (
	"fmt"
	"os"
	"syscall"
)

// Stamp tells one state of a file that root or this user owns from all others:
// ctime is set by the kernel alone. Empty: it is no file to keep.
func Stamp(name string) string {
	var st syscall.Stat_t
	if syscall.Lstat(name, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG || st.Mode&0o022 != 0 ||
		st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return ""
	}
	return fmt.Sprintf("%d:%d:%d:%d:%d.%d:%d.%d", st.Dev, st.Ino, st.Uid, st.Size, st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec)
}
