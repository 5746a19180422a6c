package tree

import (
	"fmt"
	"strings"
	"testing"

	"fettle/host/hosttest"
)

func pair(folder, kernel, initrd, release string) string {
	return fmt.Sprintf(
		"-- root%[1]s/%[2]s --\n-- root%[1]s/%[3]s --\n-- table/kernel %[1]s/%[2]s --\n{\"form\":\"bzImage\",\"release\":%[4]q}\n-- "+
			"table/initrd %[1]s/%[3]s "+
			"--\n{\"modules\":{%[4]q:5},\"parts\":[\"gzip\"],\"codename\":\"bookworm\",\"distribution\":\"Debian\",\"description\":\"12 "+
			"(bookworm) - installer build 20230607+deb12u15\"}\n",
		folder,
		kernel,
		initrd,
		release,
	)
}

// TestInfo: version.info tells the build where the initrd does not.
func TestInfo(t *testing.T) {
	tree := "-- root/srv/tftp/debian-installer/amd64/linux --\n-- root/srv/tftp/debian-installer/amd64/initrd.gz --\n-- table/kernel " +
		"/srv/tftp/debian-installer/amd64/linux --\n{\"form\":\"bzImage\",\"release\":\"6.1.0-50-amd64\"}\n" +
		"-- table/initrd /srv/tftp/debian-installer/amd64/initrd.gz " +
		"--\n{\"modules\":{\"6.1.0-50-amd64\":5},\"parts\":[\"gzip\"],\"description\":\"DESC\"}\n-- root/srv/tftp/version.info --\nDebian " +
		"version:  12 (bookworm)\nInstaller build: 20230607+deb12u15\n"
	for described, build := range map[string]string{"": "20230607+deb12u15", "12 (bookworm) - installer build 20230607": "20230607"} {
		pairs, err := Find(t.Context(), hosttest.New(t, strings.Replace(tree, "DESC", described, 1)), "/srv/tftp")
		if err != nil || len(pairs) != 1 || pairs[0].Build() != build ||
			pairs[0].Info != (Info{"/srv/tftp/version.info", "12 (bookworm)", "20230607+deb12u15"}) {
			t.Errorf("%q: %+v, %v", described, pairs, err)
		}
	}
}

func TestFind(t *testing.T) {
	h := hosttest.New(t, pair("/srv/tftp/debian-installer/amd64", "linux", "initrd.gz", "6.1.0-50-amd64")+
		pair("/srv/tftp/live", "vmlinuz-6.1", "initrd.img-6.1", "6.1.0-1-arm64")+
		pair("/srv/tftp/live", "vmlinuz-6.2", "initrd.img-6.2", "6.2.0-1-arm64")+
		"-- root/srv/tftp/debian-installer/amd64/grub/x86_64-efi/linux.mod --\n-- root/srv/tftp/alone/linux --\n-- link/srv/tftp/loop "+
		"--\n.\n-- root/srv/tftp/.old/linux --\n-- root/srv/tftp/.old/initrd.gz --\n")
	pairs, err := Find(t.Context(), h, "/srv/tftp")
	var got []string
	for i := range pairs {
		p := &pairs[i]
		got = append(got, strings.Join([]string{p.Linux, p.Initrd, p.Release(), p.Arch(), p.Suite(), p.Build()}, " "))
	}
	want := `/srv/tftp/debian-installer/amd64/linux /srv/tftp/debian-installer/amd64/initrd.gz 6.1.0-50-amd64 amd64 bookworm 20230607+deb12u15
/srv/tftp/live/vmlinuz-6.1 /srv/tftp/live/initrd.img-6.1 6.1.0-1-arm64 arm64 bookworm 20230607+deb12u15
/srv/tftp/live/vmlinuz-6.2 /srv/tftp/live/initrd.img-6.2 6.2.0-1-arm64 arm64 bookworm 20230607+deb12u15`
	if strings.Join(got, "\n") != want || err != nil {
		t.Errorf("got:\n%s\nwant:\n%s\n%v", strings.Join(got, "\n"), want, err)
	}
}

// TestNames: a confined check makes its parent ask for the lists of trees that
// are served, and for nothing else.
func TestNames(t *testing.T) {
	h := hosttest.New(t, pair("/srv/tftp/debian-installer/amd64", "linux", "initrd.gz", "6.1.0-50-amd64")+
		"-- root/etc/default/tftpd-hpa --\nTFTP_DIRECTORY=/srv/tftp\n-- "+
		"root/etc/apt/sources.list --\ndeb http://m.example.org/debian bookworm main\n")
	for url, want := range map[string]bool{
		"http://m.example.org/debian/dists/bookworm/main/debian-installer/binary-amd64/Packages.xz":    true,
		"http://m.example.org/debian/dists/bookworm/main/debian-installer/binary-arm64/Packages.xz":    false,
		"http://evil.example.org/debian/dists/bookworm/main/debian-installer/binary-amd64/Packages.xz": false,
		"http://m.example.org/debian/": false,
		"":                             false,
	} {
		if Names(t.Context(), h, url) != want {
			t.Errorf("%q: want %v", url, want)
		}
	}
}

func TestFromPreseed(t *testing.T) {
	for _, tt := range []struct{ lines, base, err string }{
		{"d-i mirror/http/hostname string m.example.org", "http://m.example.org/debian", ""},
		{"d-i mirror/protocol string https;d-i mirror/https/hostname string m;d-i mirror/https/directory string x/", "https://m/x", ""},
		{"d-i mirror/http/hostname string m/../../x?y", "", "unusable mirror"},
		{"d-i mirror/protocol string ftp;d-i mirror/ftp/hostname string m", "", "unusable mirror"},
		{"d-i mirror/country string manual", "", ""},
	} {
		s, _, err := fromPreseed(strings.Split(tt.lines, ";"), "preseed.cfg")
		if s.Base != tt.base || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %+v, %v", tt.lines, s, err)
		}
	}
}

// TestBounds: trees are looked at six folders deep, and no deeper; a folder of
// thousands of folders is an error, not an answer.
func TestBounds(t *testing.T) {
	deep := func(n int) string { return "/srv/tftp" + strings.Repeat("/d", n) }
	h := hosttest.New(
		t,
		pair(deep(maxDepth), "linux", "initrd.gz", "6.1.0-1-amd64")+pair(deep(maxDepth+1), "linux", "initrd.gz", "6.1.0-2-amd64"),
	)
	pairs, err := Locate(t.Context(), h, "/srv/tftp")
	if err != nil || len(pairs) != 1 || pairs[0].Folder != deep(maxDepth) {
		t.Errorf("%+v, %v", pairs, err)
	}
	var kernels strings.Builder
	for i := range maxPairs + 1 {
		fmt.Fprintf(&kernels, "-- root/srv/tftp/linux-%d --\n-- root/srv/tftp/initrd-%[1]d --\n", i)
	}
	if pairs, err := Locate(t.Context(), hosttest.New(t, kernels.String()), "/srv/tftp"); err == nil || len(pairs) > 0 ||
		!strings.Contains(err.Error(), "more than 500 kernels") {
		t.Errorf("%d pairs, %v", len(pairs), err)
	}
	var many strings.Builder
	for i := range maxFolders {
		fmt.Fprintf(&many, "-- root/srv/tftp/%d/x --\n", i)
	}
	if _, err := Locate(t.Context(), hosttest.New(t, many.String()), "/srv/tftp"); err == nil ||
		!strings.Contains(err.Error(), "more than 2000 folders") {
		t.Errorf("%v", err)
	}
}
