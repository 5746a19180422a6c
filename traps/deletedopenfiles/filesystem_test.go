package deletedopenfiles

import (
	"testing"

	"fettle/host"
)

func TestFilesystemOf(t *testing.T) {
	tmpfs := func(mount string, dev uint64) host.Filesystem {
		return host.Filesystem{Mount: mount, Type: "tmpfs", Dev: dev, Size: 1 << 30, Files: 1000}
	}
	overlay := func(mount, upper string, dev uint64) host.Filesystem {
		return host.Filesystem{Mount: mount, Type: "overlay", Dev: dev, Size: 1 << 30, Files: 1000,
			Options: "rw,lowerdir=/l,upperdir=" + upper + ",workdir=/w"}
	}
	ext4 := func(mount string, dev uint64) host.Filesystem {
		return host.Filesystem{Mount: mount, Type: "ext4", Dev: dev, Size: 20 << 30, Files: 5000}
	}
	docker := overlay("/var/lib/docker/overlay2/1/merged", "/var/lib/docker/overlay2/1/diff", 53)
	docker.Size, docker.Files = 20<<30, 5000
	btrfs := host.Filesystem{Mount: "/data", Type: "btrfs", Dev: 40, Size: 1 << 40}
	for _, c := range []struct {
		name string
		dev  uint64
		path string
		away bool // in another mount namespace
		fss  []host.Filesystem
		want string
	}{
		{"its device", 46, "/var/tm/x", false, []host.Filesystem{overlay("/", "/gone/u", 42), tmpfs("/var/tm", 46)}, "/var/tm"},
		{"an upper tmpfs that is hidden, beside one of its size", 43, "/var/log/x", false,
			[]host.Filesystem{overlay("/", "/gone/u", 42), tmpfs("/var/tm", 46)}, "/"},
		{"the same, and the path of the upper now is another's", 43, "/var/log/x", false,
			[]host.Filesystem{overlay("/", "/var/tm/u", 42), tmpfs("/var/tm", 46)}, "/"},
		{"overlayroot, whose upper tmpfs is mounted", 43, "/var/log/x", false,
			[]host.Filesystem{overlay("/", "/media/root-rw/overlay", 42), tmpfs("/media/root-rw", 43), tmpfs("/run", 44)}, "/media/root-rw"},
		{"overlayroot of an initramfs whose folder moved", 43, "/var/log/x", false,
			[]host.Filesystem{overlay("/", "/cow/upper", 42), tmpfs("/run", 44), tmpfs("/media/root-rw", 43)}, "/media/root-rw"},
		{"layers on one file system", 53, "/app/x", true, []host.Filesystem{ext4("/", 1), ext4("/srv", 2), docker}, "/"},
		{"layers on one file system, below another mount", 53, "/app/x", true, []host.Filesystem{ext4("/", 1), ext4("/var", 2), docker}, "/var"},
		{"the path of the upper leads elsewhere", 53, "/app/x", true, []host.Filesystem{tmpfs("/", 1), docker}, docker.Mount},
		{"a subvolume", 41, "/data/sub/x", false, []host.Filesystem{ext4("/", 1), btrfs}, "/data"},
		{"unmounted lazily", 47, "/x", false, []host.Filesystem{ext4("/", 1), tmpfs("/run", 44)}, ""},
		{"mounted over", 47, "/run/x", false, []host.Filesystem{ext4("/", 1), tmpfs("/run", 44)}, ""},
		{"a container's own tmpfs", 47, "/run/x", true, []host.Filesystem{ext4("/", 1), tmpfs("/run", 44), btrfs}, ""},
		{"a report without device numbers", 0, "/var/x", false, []host.Filesystem{ext4("/", 0), ext4("/var", 0)}, "/var"},
	} {
		v, ok := filesystemOf(host.OpenFile{Path: c.path, Dev: c.dev, Elsewhere: c.away}, c.fss)
		if v.Mount != c.want && ok || ok != (c.want != "") {
			t.Errorf("%s: %s, %v; want %s", c.name, v.Mount, ok, c.want)
		}
	}
}
