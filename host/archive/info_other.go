//go:build !unix

package archive

import (
	"io/fs"

	"fettle/host"
)

func infoOf(st fs.FileInfo) host.Info {
	return host.Info{Mode: st.Mode(), Size: st.Size(), Nlink: 1, ModTime: st.ModTime().UTC()}
}
