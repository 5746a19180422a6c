//go:build unix

package archive

import (
	"io/fs"
	"syscall"

	"fettle/host"
)

func infoOf(st fs.FileInfo) host.Info {
	i := host.Info{Mode: st.Mode(), Size: st.Size(), Nlink: 1, ModTime: st.ModTime().UTC()}
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		i.UID, i.GID, i.Nlink, i.Dev, i.Ino = s.Uid, s.Gid, uint64(s.Nlink), uint64(s.Dev), s.Ino
	}
	return i
}
