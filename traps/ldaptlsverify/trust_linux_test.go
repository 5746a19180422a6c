package ldaptlsverify

import (
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/format/ldapconf"
	"fettle/internal/means"
)

// TestTrustAgrees compares what a client trusts, of all kinds of files and
// folders, with what the real ldapsearch (GnuTLS) makes of them.
func TestTrustAgrees(t *testing.T) {
	if !alone(t) {
		return
	}
	root := issue(t, nil, "Trust CA", 0, ca)
	other := issue(t, nil, "Other CA", 0, ca)
	leaf := issue(t, root, "trusted server", 0, forHost)
	d := slapd(t, leaf)
	uri := fmt.Sprintf("ldaps://127.0.0.1:%d", d.ldaps)
	dir := t.TempDir()
	folder := func(name string, files map[string][]*x509.Certificate) string {
		p := filepath.Join(dir, name)
		if err := os.Mkdir(p, 0o755); err != nil {
			t.Fatal(err)
		}
		for f, certs := range files {
			write(t, filepath.Join(p, f), pemOf(certs...))
		}
		return p
	}
	right := write(t, filepath.Join(dir, "right.pem"), pemOf(root.cert))
	live, err := host.NewLive()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		file, dir string
		works     bool
	}{
		"the CA": {file: right, works: true},
		"among others": {file: write(t, filepath.Join(dir, "more.pem"),
			append([]byte("# text\n"), pemOf(other.cert, root.cert)...)), works: true},
		"another CA":           {file: write(t, filepath.Join(dir, "other.pem"), pemOf(other.cert))},
		"missing":              {file: filepath.Join(dir, "none.pem")},
		"empty":                {file: write(t, filepath.Join(dir, "empty.pem"), nil)},
		"no certificate":       {file: write(t, filepath.Join(dir, "text.pem"), []byte("hello\n"))},
		"nothing set":          {},
		"a folder":             {dir: folder("named", map[string][]*x509.Certificate{"ca.crt": {root.cert}}), works: true},
		"a folder of hashes":   {dir: folder("hashes", map[string][]*x509.Certificate{"0123abcd.0": {root.cert}}), works: true},
		"an empty folder":      {dir: folder("empty", nil)},
		"a missing folder":     {dir: filepath.Join(dir, "gone")},
		"folder and file":      {file: filepath.Join(dir, "other.pem"), dir: filepath.Join(dir, "named"), works: true},
		"missing file, folder": {file: filepath.Join(dir, "none.pem"), dir: filepath.Join(dir, "named")},
		"empty file, folder":   {file: filepath.Join(dir, "empty.pem"), dir: filepath.Join(dir, "named"), works: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := &ldapconf.Client{Name: "openldap", Program: ldapconf.OpenLDAP}
			if tt.file != "" {
				c.CACert = ldapconf.Setting{Value: tt.file, File: "environment"}
			}
			if tt.dir != "" {
				c.CACertDir = ldapconf.Setting{Value: tt.dir, File: "environment"}
			}
			s, err := trusted(t.Context(), host.New(live), c, GnuTLS)
			if err != nil {
				t.Fatal(err)
			}
			v := judge([]*x509.Certificate{leaf.cert}, s.Trust, "127.0.0.1", "", leaf.cert.NotBefore.AddDate(0, 0, 1), GnuTLS)
			if got := s.Wrong == "" && len(v.Problems) == 0; got != tt.works {
				t.Errorf("fettle says %q, %q; want %t", s.Wrong, v.Text(), tt.works)
			}
			cmd := exec.Command(means.Tool(t, "ldapsearch"), "-x", "-H", uri, "-b", "", "-s", "base", "1.1")
			cmd.Env = []string{"HOME=/nonexistent", "LDAPTLS_CACERT=" + tt.file, "LDAPTLS_CACERTDIR=" + tt.dir}
			b, err := cmd.CombinedOutput()
			if (err == nil) != tt.works {
				t.Errorf("ldapsearch works: %t; want %t\n%s", err == nil, tt.works, b)
			}
			if s.Wrong != "" && strings.ContainsAny(s.Wrong, "\n") {
				t.Error(s.Wrong)
			}
		})
	}
}
